"""What is known of a daemon, and in a word whether it works; nothing here knows how it is drawn."""

from __future__ import annotations

import time

from msgspec import Struct

from api.models import HistoryAnswer, NumberedEvent, Status
from tuner.cli.wording import decision_text, duration, mib, pair_text
from tuner.records import DecisionKind, Lifecycle
from tuner.settings import Mode

GOOD, CAREFUL, BAD = "green", "yellow", "bold red"

LATE_TICKS = 3.0
"""A loop whose last tick is so many intervals old does not tick."""

LATE_SECONDS = 2.0
"""And so many seconds: a daemon that ticks often may be asked rarely."""


class Gone(Struct, frozen=True):
    """A daemon that does not answer, or not to us.

    Attributes:
        since: Unix time of the first question without an answer.
        began: the same, monotonic.
        why: of the last one.
        again: monotonic time of the next one.
        refused: it answers, but does not take the token.
    """

    since: float
    began: float
    why: str
    again: float
    refused: bool = False


class View(Struct, frozen=True):
    """All that is known of a daemon; what is drawn is made of nothing else.

    Attributes:
        status: its last answer.
        answered: monotonic time of that.
        history: numbers of the last ``span`` seconds.
        asked: monotonic time when the history was asked for.
        span: how far back charts go, seconds.
        interval: between two questions, seconds.
        events: the last ones, oldest first.
        gone: it does not answer; None while it does.
    """

    status: Status
    answered: float
    history: HistoryAnswer
    asked: float
    span: float
    interval: float = 1.0
    events: tuple[NumberedEvent, ...] = ()
    gone: Gone | None = None


def verdict(view: View, now: float) -> tuple[str, str, str]:
    """Return whether it works in a word or two, the style of that, and what is to be added.

    Args:
        view: what is known.
        now: monotonic, seconds.
    """
    status, gone, old = view.status, view.gone, max(0.0, now - view.answered)
    late = max(LATE_SECONDS, LATE_TICKS * (1.0 if status.process is None else status.process.interval))
    server = "the server is not known"
    if status.server is not None:
        server = f"{status.server.product} at {status.server.endpoint}"
    since = again = ""
    if gone is not None:
        since = f"since {clock(gone.since)} UTC, {duration(max(0.0, now - gone.began))}"
        again = f"; trying again in {duration(max(1.0, gone.again - now))}"
    held = ", ".join(hold.code.value for hold in status.holds)
    ways = (
        (gone is not None and gone.refused, "TOKEN REFUSED", BAD, since + again),
        (gone is not None, "NO ANSWER", BAD, since + again),
        (
            status.seconds_old > late,
            "LOOP STANDS",
            BAD,
            f"its last tick is {duration(status.seconds_old)} old",
        ),
        (old > view.interval + late, "SLOW ANSWER", CAREFUL, f"this is {duration(old)} old"),
        (status.missed is not None, "NO READING", BAD, status.missed or ""),
        (status.lifecycle is not Lifecycle.RUNNING, status.lifecycle.value.upper(), CAREFUL, server),
        (status.decision.kind is DecisionKind.EMERGENCY, "EMERGENCY", BAD, server),
        (bool(held), "HELD", CAREFUL, f"{held}; {server}"),
        (status.mode is Mode.ADVISORY, "ADVISORY", CAREFUL, f"nothing is written; {server}"),
        (True, "WORKING", GOOD, f"{status.mode.value}; {server}"),
    )
    return next((word, style, more) for so, word, style, more in ways if so)


def line_of(view: View, now: float) -> str:
    """Return one look at the daemon as a line, for a log or a terminal that cannot do more."""
    status, (word, _, more) = view.status, verdict(view, now)
    if view.gone is not None:
        return f"{clock(view.gone.since)} {word} {more}: {view.gone.why}"
    parts = [f"{clock(status.at)} {word}", pair_text(status.in_force)]
    found, limits = status.estimate, status.limits
    if found is not None and limits is not None:
        set_point = "unknown" if status.set_point is None else f"{status.set_point:.3f}"
        parts += [
            f"age {mib(found.checkpoint_age)} of {mib(limits.stall_point)}",
            f"age ratio {found.age_ratio:.3f}, set-point {set_point}",
            f"redo {mib(found.redo_rate)}/s",
            f"pages/s {found.flush_rate:,.0f}, sync {found.sync_rate:,.0f}, LRU {found.lru_rate:,.0f}",
            f"row changes/s {found.row_rate:,.0f}",
        ]
    if status.missed is not None:
        parts.append(status.missed)
    elif status.holds:
        hold = status.holds[0]
        parts.append(f"{hold.code.value} for {duration(hold.seconds)}: {hold.reason}")
    else:
        parts.append(decision_text(status.decision))
    return "; ".join(parts)


def clock(wall: float) -> str:
    """Return the time of day of a Unix time, UTC as everywhere."""
    return time.strftime("%H:%M:%S", time.gmtime(wall))
