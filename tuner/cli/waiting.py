"""Waiting for what a command began, with a line whenever it got further."""

from __future__ import annotations

import time
from collections.abc import Callable

import click

from api.views import Events, Status
from tuner.cli.api_client import Daemon, Where, configuration
from tuner.cli.errors import Refused
from tuner.cli.status_table import drain_text, duration, restore_text
from tuner.cli.steer import pair_named
from tuner.core.ages import said
from tuner.records import Capacity
from tuner.settings import Mode

WAIT_SECONDS = 300.0
"""So long without getting any further, and a command gives up."""

HELD_SECONDS = 30.0
"""A hold that lasts longer than this is not waited for."""

POLL_SECONDS = 0.5

pause = time.sleep

LINE_SECONDS = 5.0
"""Between two lines about a drain."""


def until_parked(where: Where, target: Capacity | None) -> None:
    """Wait until the parked pair is in force.

    Raises:
        CommandError: it is not in time.
    """
    _until(
        where,
        lambda now: now.in_force is not None and now.in_force == target,
        lambda now: f"in force {pair_named(now.in_force)}; parking at {pair_named(target)}",
        "parked",
    )


def until_restored(where: Where, wanted: Capacity | None) -> None:
    """Wait until the originals are in force and the loop is advisory.

    Raises:
        CommandError: it stopped on the way, or got no further for too long.
    """
    _until(
        where,
        lambda now: now.mode is Mode.ADVISORY and now.in_force is not None and now.in_force == wanted,
        lambda now: (
            now.decision.detail if now.restore is None else restore_text(now.restore, now.in_force, wanted)
        ),
        "restored",
    )


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
            click.echo(drain_text(drain), err=True)
        pause(POLL_SECONDS)


def _until(where: Where, done: Callable[[Status], bool], line: Callable[[Status], str], word: str) -> None:
    daemon = Daemon(where, configuration(where))
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
            click.echo(text, err=True)
        pause(POLL_SECONDS)


def _why_ended(daemon: Daemon) -> str:
    """Return the loop's own word on why the drain is over."""
    ended = [one for one in daemon.get("/v1/events", Events).events if one.code == "drain_ended"]
    return ended[-1].message if ended else "the drain is over: the daemon was started anew"
