"""The first words of a picture: whether the daemon works, and where."""

from __future__ import annotations

import time

from tuner.cli.watch.follow import View
from tuner.cli.watch.look import BAD, CAREFUL, GOOD
from tuner.cli.wording import duration
from tuner.records import DecisionKind, Lifecycle
from tuner.settings import Mode

LATE_TICKS = 3.0
"""A loop whose last tick is so many intervals old does not tick."""

LATE_SECONDS = 2.0
"""And so many seconds: a daemon that ticks often may be asked rarely."""


def verdict(view: View, now: float) -> tuple[str, str, str]:
    """Return whether it works in a word or two, the style of that, and what is to be added.

    Args:
        view: what is known.
        now: monotonic, seconds.
    """
    return _unheard(view, now) or _heard(view)


def _unheard(view: View, now: float) -> tuple[str, str, str] | None:
    """Return what is wrong with the daemon's answers, or with its ticks; None where nothing is."""
    status, gone = view.status, view.gone
    if gone is not None:
        since = f"since {clock(gone.since)} UTC, {duration(max(0.0, now - gone.began))}"
        again = f"trying again in {duration(max(1.0, gone.again - now))}"
        return "TOKEN REFUSED" if gone.refused else "NO ANSWER", BAD, f"{since}; {again}"
    most = max(LATE_SECONDS, LATE_TICKS * (1.0 if status.process is None else status.process.interval))
    if status.seconds_old > most:
        return "LOOP STANDS", BAD, f"its last tick is {duration(status.seconds_old)} old"
    if now - view.answered > view.interval + most:
        return "SLOW ANSWER", CAREFUL, f"this is {duration(now - view.answered)} old"
    return None


def _heard(view: View) -> tuple[str, str, str]:
    """Return what a daemon says of itself that answers and ticks."""
    status, server = view.status, _server(view)
    if status.missed is not None:
        return "NO READING", BAD, status.missed
    if status.lifecycle is not Lifecycle.RUNNING:
        return status.lifecycle.value.upper(), CAREFUL, server
    if status.decision.kind is DecisionKind.EMERGENCY:
        return "EMERGENCY", BAD, server
    if status.holds:
        return "HELD", CAREFUL, f"{', '.join(hold.code.value for hold in status.holds)}; {server}"
    if status.mode is Mode.ADVISORY:
        return "ADVISORY", CAREFUL, f"nothing is written; {server}"
    return "WORKING", GOOD, f"{status.mode.value}; {server}"


def clock(wall: float) -> str:
    """Return the time of day of a Unix time, UTC as everywhere."""
    return time.strftime("%H:%M:%S", time.gmtime(wall))


def _server(view: View) -> str:
    server = view.status.server
    return "the server is not known" if server is None else f"{server.product} at {server.endpoint}"
