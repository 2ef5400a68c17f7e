"""Going back to the originals without a daemon."""

from __future__ import annotations

import time
from collections.abc import Callable

from tuner.core import latency
from tuner.core.mark import other
from tuner.core.parking import LONGEST_RESTORE, restore_step, restore_steps
from tuner.core.plan import plan
from tuner.records import LOW_WATER_MARK, Capacity, Missed, Sample, percent
from tuner.servers.port import Server, ServerError

BESIDE_A_DAEMON = (
    "a daemon holds this server's writer lock; ask it with innobrim restore --url …, or stop it first "
    "where it has no API (run --no-api)"
)
LOOK_SECONDS = 1.0
"""Between two looks at the server."""


def restore_offline(
    server: Server,
    originals: Capacity,
    *,
    low_water: int | None = None,
    say: Callable[[str], None],
    begins: Callable[[], None] = lambda: None,
    hidden: bool = False,
    wait: Callable[[float], None] = time.sleep,
) -> None:
    """Put the originals back in the same steps, and at the same pace, as the daemon does.

    Args:
        server: reached already; where it can it counts the latency of writes.
        originals: the pair to end at.
        low_water: the low-water mark to put back first, in millionths of a percent, where that of a dead
            daemon's trial is in force; None for none.
        say: told each step in one line.
        begins: called once the server has answered that nobody else writes to it, before the first write.
        hidden: the account is known not to see the latency of writes, so that time alone sets the pace.
        wait: called with the seconds between two looks at the server.

    Raises:
        ServerError: the server did not answer, refused a write, or another daemon holds its writer lock;
            the message says what is in force.
    """
    reading = _read(server)
    begins()
    if low_water is not None and reading.low_water_mark == other(low_water):
        _put_back(server, reading, low_water)
        say(f"{LOW_WATER_MARK} = {percent(low_water)} again")
    pace, begun = latency.Pace(begun=reading.monotonic), reading.monotonic
    while reading.capacity != originals and pace.steps < LONGEST_RESTORE:
        pace = latency.see(pace, reading)
        verdict = latency.judge(pace, now=reading.monotonic, hidden=hidden)
        if verdict.go:
            target = _step(server, reading.capacity, originals)
            pace = latency.stepped(pace, now=reading.monotonic)
            left = restore_steps(target, originals)
            rest = f"; {left} left, {left * latency.STEP_SECONDS:.0f} s at least" if left else ""
            say(f"step {pace.steps}, at {target} of {originals}{rest}")
        if not verdict.go or target != originals:
            wait(LOOK_SECONDS)
        reading = _read(server)
    if reading.capacity != originals:
        raise ServerError(
            f"still not at the originals after {pace.steps} steps and {reading.monotonic - begun:.0f} s"
        )
    say(f"originals {originals} are in force")


def _put_back(server: Server, reading: Sample, low_water: int) -> None:
    receipt = server.apply(((LOW_WATER_MARK, low_water),), reading.capacity)
    if receipt.error or receipt.low_water_mark != low_water:
        why = receipt.error or "somebody else changed it"
        raise ServerError(f"{LOW_WATER_MARK} = {percent(low_water)} could not be put back: {why}")


def _read(server: Server) -> Sample:
    reading = server.read()
    if isinstance(reading, Missed):
        raise ServerError(f"stopped on the way back: {reading.reason}")
    if not reading.writer:
        raise ServerError(BESIDE_A_DAEMON)
    return reading


def _step(server: Server, current: Capacity, originals: Capacity) -> Capacity:
    target = restore_step(current, originals)
    receipt = server.apply(plan(current, target), target)
    if receipt.error or receipt.in_force != target:
        force = receipt.in_force or current
        raise ServerError(f"stopped at {force}: {receipt.error or 'somebody else changed the values'}")
    return target
