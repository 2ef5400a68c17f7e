"""Going back to the originals without a daemon."""

from __future__ import annotations

import time
from collections.abc import Callable

from tuner.core.parking import RESTORE_SECONDS, restore_step
from tuner.core.plan import plan
from tuner.records import Capacity, Missed
from tuner.servers.port import Server, ServerError

LONGEST_STEPS = 200


def restore_offline(
    server: Server,
    originals: Capacity,
    *,
    say: Callable[[str], None],
    wait: Callable[[float], None] = time.sleep,
) -> None:
    """Put the originals back in the same steps as the daemon does.

    Args:
        server: reached already.
        originals: the pair to end at.
        say: told each step in one line.
        wait: called with the seconds between two steps.

    Raises:
        ServerError: the server did not answer, refused a write, or another daemon holds its writer lock;
            the message says what is in force.
    """
    for _ in range(LONGEST_STEPS):
        reading = server.read()
        if isinstance(reading, Missed):
            raise ServerError(f"stopped on the way back: {reading.reason}")
        if not reading.writer:
            raise ServerError("a daemon holds this server's writer lock; ask it: innobrim restore --url …")
        current = reading.capacity
        if current == originals:
            say(f"originals {originals.io_capacity}/{originals.io_capacity_max} are in force")
            return
        target = restore_step(current, originals)
        receipt = server.apply(plan(current, target), target)
        if receipt.error or receipt.in_force != target:
            force = receipt.in_force or current
            raise ServerError(
                f"stopped at {force.io_capacity}/{force.io_capacity_max}: "
                f"{receipt.error or 'somebody else changed the values'}"
            )
        say(f"{target.io_capacity}/{target.io_capacity_max}")
        if target != originals:
            wait(RESTORE_SECONDS)
    raise ServerError(f"still not at the originals after {LONGEST_STEPS} steps")
