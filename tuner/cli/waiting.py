"""Waiting for what a command began in a daemon: parked, restored, or drained."""

from __future__ import annotations

import time
from collections.abc import Iterator

from api.models import Events, Status
from tuner.cli.answer import Refused, Unfinished, say
from tuner.cli.client import DaemonClient
from tuner.cli.wording import drain_text, duration, pair_text, restore_text, to_write
from tuner.core.holds import CANNOT_WRITE
from tuner.records import Capacity, EventCode
from tuner.settings import Mode
from tuner.system.amounts import size

WAIT_SECONDS = 300.0
"""So long without getting any further, and a command gives up."""

RECEIPT_SECONDS = 3.0
"""So long does a park without --wait look whether its write was carried out."""

HELD_SECONDS = 30.0
"""A hold that lasts longer than this is not waited for."""

POLL_SECONDS = 0.5

sleep = time.sleep

LINE_SECONDS = 5.0
"""Between two lines about a drain."""


def polled(daemon: DaemonClient) -> Iterator[Status]:
    """Yield a daemon's status again and again."""
    while True:
        yield daemon.get("/v1/status", Status)
        sleep(POLL_SECONDS)


class Patience:
    """Says how far something is whenever that changed, and ends where it gets no further for too long."""

    def __init__(self, word: str) -> None:
        """Take what is waited for, such as "parked"."""
        self._word = word
        self._further: object = None
        self._since = time.monotonic()

    def look(self, now: Status, line: str) -> None:
        """Take another status, and how far it is in words.

        Raises:
            Refused: it got no further for too long.
        """
        further = (now.in_force, None if now.restore is None else now.restore.step)
        if further != self._further:
            self._further, self._since = further, time.monotonic()
            say(line, err=True)
        elif time.monotonic() - self._since >= WAIT_SECONDS:
            raise Refused(
                f"not {self._word}: no step for {WAIT_SECONDS:g} s; in force: "
                f"{pair_text(now.in_force)}; last decision: {now.decision.detail}"
            )


def last_event(daemon: DaemonClient) -> int:
    """Return the number of the newest event; 0 before the first."""
    found = daemon.get("/v1/events?limit=1", Events).events
    return found[-1].number if found else 0


def until_parked(daemon: DaemonClient, target: Capacity | None, *, after: int, wait: bool) -> bool:
    """Wait until the parked pair is in force; without ``wait`` for a moment only. Tell whether it is.

    Args:
        daemon: asked to park.
        target: the parked pair.
        after: number of the last event before it was asked.
        wait: as long as it may take.

    Raises:
        Refused: the server took no write, or it is not in force in time.
    """
    begun, patience = time.monotonic(), Patience("parked")
    for now in polled(daemon):
        if now.in_force is not None and now.in_force == target:
            return True
        _require_written(daemon, now, after)
        if wait:
            patience.look(now, f"in force: {pair_text(now.in_force)}; parking at {pair_text(target)}")
        elif time.monotonic() - begun >= RECEIPT_SECONDS:
            break
    return False


def _require_written(daemon: DaemonClient, now: Status, after: int) -> None:
    """Raise where the server took no write since an event."""
    in_force = f"in force: {pair_text(now.in_force)}"
    for hold in now.holds:
        if hold.code in CANNOT_WRITE:
            raise Refused(f"not parked, {in_force}: {hold.reason}; what ends it: {hold.clears}")
    for event in daemon.get(f"/v1/events?after={after}", Events).events:
        if event.code == EventCode.WRITE_FAILED:
            raise Refused(f"not parked, {in_force}: the write failed: {event.message}; ask again")


def until_restored(daemon: DaemonClient, wanted: Capacity | None) -> str:
    """Wait until the originals are in force and the loop is advisory; return that in words.

    Raises:
        Refused: it got no further for too long.
    """
    patience = Patience("restored")
    for now in polled(daemon):
        if now.mode is Mode.ADVISORY and now.in_force is not None and now.in_force == wanted:
            return f"restored: {pair_text(wanted)} are in force; the mode is advisory until {to_write(now)}"
        way = now.restore
        patience.look(now, now.decision.detail if way is None else restore_text(way, now.in_force, wanted))
    raise AssertionError("a daemon is asked without end")


def until_drained(daemon: DaemonClient, timeout: float | None = None) -> str:
    """Wait until the checkpoint age is down where it was asked for; return that in words.

    Args:
        daemon: that drains.
        timeout: seconds after which it is waited for no longer; None for as long as the drain lasts.

    Raises:
        Refused: the drain was ended, or is held, with the reason.
        Unfinished: the time is up; the drain goes on.
    """
    begun, told = time.monotonic(), float("-inf")
    for now in polled(daemon):
        drain = now.drain
        if drain is None:
            ended = [one for one in daemon.get("/v1/events", Events).events if one.code == "drain_ended"]
            raise Refused(ended[-1].message if ended else "the drain is over: the daemon was restarted")
        if drain.reached is not None:
            age = "unknown" if drain.age is None else size(drain.age)
            kept = f"kept at or below {size(drain.target)} for {duration(drain.ends_in)}"
            age = f"{age}, the lowest that is safe" if drain.lowest else age
            return f"drained: uncheckpointed {age}, {kept}"
        held = next((hold for hold in now.holds if hold.seconds >= HELD_SECONDS), None)
        if held is not None:
            raise Refused(
                f"held for {duration(held.seconds)}: {held.reason}; what ends it: {held.clears}; "
                f"then the drain goes on, if its time is not over"
            )
        if timeout is not None and time.monotonic() - begun >= timeout:
            over = f"not there after {duration(timeout)}: {drain_text(drain)}"
            raise Unfinished(f"{over}; the drain goes on, innobrim drain --cancel ends it")
        if time.monotonic() - told >= LINE_SECONDS:
            told = time.monotonic()
            say(drain_text(drain), err=True)
    raise AssertionError("a daemon is asked without end")
