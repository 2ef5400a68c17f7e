"""A daemon is killed at the boundaries of a write, statement by statement, and what is left is judged."""

from __future__ import annotations

import signal
from collections.abc import Callable

from tests.faults.harness import FIRST_WRITE, WANTED, QuickDaemon, Rig
from tests.real.killer import Killer
from tests.real.support import in_force, until
from tuner.journal.reader import originals
from tuner.records import Capacity

BETWEEN = "between the two"


BOUNDARIES = ("before the first SET", BETWEEN, "before they are read back", "after that")


Request = tuple[str, str, dict[str, object]]
"""Method, path and body."""


OVERRIDE: Request = ("PUT", "/v1/override", {"io_capacity_max": WANTED.io_capacity_max, "ttl": 60})
"""What the policy wants as well, but at once: a person's value waits for no rates."""


def kill_at_boundaries(
    rig: Rig,
    daemon: QuickDaemon,
    killer: Killer,
    *,
    old: Capacity,
    provoke: Callable[[QuickDaemon], object],
    known: Capacity,
    boundaries: tuple[str, ...] = BOUNDARIES,
) -> None:
    """Kill a daemon at boundaries of a write, starting it again each time, and judge what is left.

    Args:
        rig: the server under load.
        daemon: goes through a proxy that asks the killer.
        killer: who kills it.
        old: the pair in force before each write.
        provoke: makes the daemon write, once it was started.
        known: the originals.
        boundaries: where it is killed, in order; the first time it may run already.
    """
    for where in boundaries:
        number = BOUNDARIES.index(where) + 1
        rig.server.set_capacity(old.io_capacity, old.io_capacity_max)
        if not daemon.alive():
            daemon.start()
        killer.aim(daemon.pid, number)
        provoke(daemon)
        assert daemon.wait(FIRST_WRITE) == -signal.SIGKILL, f"{where}: {daemon.log()}"
        assert len(killer.seen) == number, f"{where}: {killer.seen}"
        left = in_force(rig.server)
        assert left.io_capacity <= left.io_capacity_max, where
        assert (left == old) == (number == 1), where
        if number > 1:
            low, high = sorted((old.gain, killer.target(old).gain))
            assert low <= left.gain <= high, where
        assert [one.capacity for one in originals(daemon.state)] == [known], where


def ask(*requests: Request) -> Callable[[QuickDaemon], object]:
    """Return what asks a running daemon for all of this until it accepts it, or is gone."""

    def until_accepted(daemon: QuickDaemon) -> None:
        daemon.await_status(lambda now: now["tick"] > 1, FIRST_WRITE, "two ticks")

        def accepted() -> bool:
            return not daemon.alive() or all(daemon.asked(*one) for one in requests)

        until(accepted, FIRST_WRITE, lambda: f"{requests} accepted; the daemon said:\n{daemon.log()}")

    return until_accepted
