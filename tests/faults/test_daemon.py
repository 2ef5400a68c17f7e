"""The daemon is killed or frozen, or told to end while its server hangs."""

from __future__ import annotations

import contextlib
import os
import re
import signal
from collections.abc import Callable

import pytest
from msgspec.structs import replace

from tests.faults.catalogue import Group, fault
from tests.faults.harness import FIRST_WRITE, START, Daemon, Rig
from tests.real.proxy import Proxy
from tests.real.support import in_force
from tuner.core.plan import gain
from tuner.journal.reader import originals
from tuner.records import Capacity

pytestmark = pytest.mark.real

KNOB = re.compile(r"SET GLOBAL innodb_(io_capacity|io_capacity_max) = (\d+)$")
BOUNDARIES = ("before the first SET", "between the two", "before they are read back", "after that")


class Killer:
    """Kills a daemon instead of one statement, counted from its first SET of a knob.

    Attributes:
        seen: the statements from that SET on, the one that the kill came before as the last.
    """

    def __init__(self) -> None:
        self.seen: list[str] = []
        self._victim: int | None = None
        self._number = 0

    def __call__(self, statement: str) -> bool:
        """Say whether a statement goes through."""
        if self._victim is None or not (self.seen or KNOB.match(statement)):
            return True
        self.seen.append(statement)
        if len(self.seen) < self._number:
            return True
        with contextlib.suppress(ProcessLookupError):
            os.kill(self._victim, signal.SIGKILL)
        self._victim = None
        return False

    def aim(self, victim: int, number: int) -> None:
        """Kill this process before the statement with this number."""
        self.seen = []
        self._victim, self._number = victim, number

    def target(self, old: Capacity) -> Capacity:
        """Return the pair that the SETs seen lead to."""
        sets = [found for one in self.seen if (found := KNOB.match(one))]
        return replace(old, **{one[1]: int(one[2]) for one in sets})


def kill_at_every_boundary(rig: Rig, old: Capacity, provoke: Callable[[Daemon], object]) -> None:
    """Kill a daemon at each boundary of a write, starting it again each time, and judge what is left.

    Args:
        rig: the server under load.
        old: the pair in force before each write.
        provoke: makes the daemon write, once it was started.
    """
    killer = Killer()
    with Proxy(rig.server.port, killer) as proxy:
        daemon = rig.daemon(port=proxy.port)
        for number, where in enumerate(BOUNDARIES, start=1):
            daemon.start()
            killer.aim(daemon.pid, number)
            provoke(daemon)
            assert daemon.wait(FIRST_WRITE) == -signal.SIGKILL, f"{where}: {daemon.log()}"
            assert len(killer.seen) == number, f"{where}: {killer.seen}"
            left = in_force(rig.server)
            assert left.io_capacity <= left.io_capacity_max, where
            assert (left == old) == (number == 1), where
            if number > 1:
                low, high = sorted((gain(old), gain(killer.target(old))))
                assert low <= gain(left) <= high, where
            assert [one.capacity for one in originals(daemon.state)] == [START], where
            rig.server.set_capacity(old.io_capacity, old.io_capacity_max)
        daemon.active()
        rig.finish()


@fault(
    Group.DAEMON,
    what="`kill -9` of the daemon at each statement boundary of a write",
    left="a legal pair with a gain between old and new: old, half-way, or new",
    back="by itself when it is started again, with the originals from the journal",
    invariants=(1, 2, 7, 8),
)
def test_killed_at_every_statement_of_a_write(rig: Rig) -> None:
    """Whichever statement of a write a kill comes before, the pair left is legal and between old and new."""
    kill_at_every_boundary(rig, START, lambda _: None)
