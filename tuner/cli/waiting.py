"""Waiting for what a command began, with a line whenever it got further."""

from __future__ import annotations

import time
from collections.abc import Callable

from api.models import Events, Status
from tuner.cli.api_client import Daemon
from tuner.cli.errors import Refused
from tuner.cli.saying import say
from tuner.cli.steer import pair_named
from tuner.cli.where import Where, configuration
from tuner.cli.wording import drain_text, duration, restore_text, to_write
from tuner.core.ages import said
from tuner.core.holds import CANNOT_WRITE
from tuner.records import Capacity
from tuner.settings import Mode

WAIT_SECONDS = 300.0
"""So long without getting any further, and a command gives up."""

RECEIPT_SECONDS = 3.0
"""So long does a park without --wait look whether its write was carried out."""

HELD_SECONDS = 30.0
"""A hold that lasts longer than this is not waited for."""

POLL_SECONDS = 0.5

pause = time.sleep

LINE_SECONDS = 5.0
"""Between two lines about a drain."""


def last_event(daemon: Daemon) -> int:
    """Return the number of the newest event; 0 before the first."""
    found = daemon.get("/v1/events?limit=1", Events).events
    return found[-1].number if found else 0


def until_parked(daemon: Daemon, target: Capacity | None, *, after: int, wait: bool) -> bool:
    """Wait until the parked pair is in force; without ``wait`` for a moment only. Tell whether it is.

    Args:
        daemon: asked to park.
        target: the parked pair.
        after: number of the last event before it was asked.
        wait: as long as it may take.

    Raises:
        CommandError: the server took no write, or it is not in force in time.
    """
    begun = time.monotonic()

    def line(now: Status) -> str:
        _require_written(daemon, now, after)
        return f"in force {pair_named(now.in_force)}; parking at {pair_named(target)}"

    def done(now: Status) -> bool:
        return now.in_force is not None and now.in_force == target

    if wait:
        _until(daemon, done, line, "parked")
        return True
    while not done(now := daemon.get("/v1/status", Status)):
        _require_written(daemon, now, after)
        if time.monotonic() - begun >= RECEIPT_SECONDS:
            return False
        pause(POLL_SECONDS)
    return True


def _require_written(daemon: Daemon, now: Status, after: int) -> None:
    """Raise where the server took no write since an event."""
    in_force = f"in force: {pair_named(now.in_force)}"
    for hold in now.holds:
        if hold.code in CANNOT_WRITE:
            raise Refused(f"not parked, {in_force}: {hold.reason}; ended by {hold.clears}")
    for event in daemon.get(f"/v1/events?after={after}", Events).events:
        if event.code == "write_failed":
            raise Refused(f"not parked, {in_force}: the write failed: {event.message}; ask again")


def until_restored(where: Where, wanted: Capacity | None) -> str:
    """Wait until the originals are in force and the loop is advisory; return that in words.

    Raises:
        CommandError: it stopped on the way, or got no further for too long.
    """
    now = _until(
        Daemon(where, configuration(where)),
        lambda now: now.mode is Mode.ADVISORY and now.in_force is not None and now.in_force == wanted,
        lambda now: (
            now.decision.detail if now.restore is None else restore_text(now.restore, now.in_force, wanted)
        ),
        "restored",
    )
    return f"restored: {wanted} is in force; advisory now, until {to_write(now)}"


def until_drained(where: Where) -> str:
    """Wait until the checkpoint age is down where it was asked for; return that in words.

    Raises:
        CommandError: the drain was ended, or is held, with the reason.
    """
    daemon = Daemon(where, configuration(where))
    told = float("-inf")
    while True:
        now = daemon.get("/v1/status", Status)
        drain = now.drain
        if drain is None:
            raise Refused(_why_ended(daemon))
        if drain.reached is not None:
            age = "unknown" if drain.age is None else said(drain.age)
            return f"drained: checkpoint age {age}, kept at or below {said(drain.target)} for " + duration(
                drain.ends_in
            )
        held = next((hold for hold in now.holds if hold.seconds >= HELD_SECONDS), None)
        if held is not None:
            raise Refused(
                f"held for {duration(held.seconds)}: {held.reason}; ended by {held.clears}; "
                f"the drain goes on then, if its time is not over"
            )
        if time.monotonic() - told >= LINE_SECONDS:
            told = time.monotonic()
            say(drain_text(drain), err=True)
        pause(POLL_SECONDS)


def _until(
    daemon: Daemon, done: Callable[[Status], bool], line: Callable[[Status], str], word: str
) -> Status:
    """Return the status that is what is waited for."""
    said_last, in_force, since = "", None, time.monotonic()
    while not done(now := daemon.get("/v1/status", Status)):
        if now.in_force != in_force:
            in_force, since = now.in_force, time.monotonic()
        if time.monotonic() - since >= WAIT_SECONDS:
            raise Refused(
                f"not {word}, and no further for {WAIT_SECONDS:g} s; in force: {pair_named(now.in_force)}; "
                f"last decision: {now.decision.detail}"
            )
        text = line(now)
        if text.partition(";")[0] != said_last.partition(";")[0]:
            said_last = text
            say(text, err=True)
        pause(POLL_SECONDS)
    return now


def _why_ended(daemon: Daemon) -> str:
    """Return the loop's own word on why the drain is over."""
    ended = [one for one in daemon.get("/v1/events", Events).events if one.code == "drain_ended"]
    return ended[-1].message if ended else "the drain is over: the daemon was started anew"
