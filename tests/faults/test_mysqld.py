"""mysqld is killed."""

from __future__ import annotations

import pytest

from tests.faults.catalogue import Group, fault
from tests.faults.harness import BACK, Daemon, Rig
from tests.real.support import WRITE_IOPS, pair
from tuner.journal.reader import originals
from tuner.records import Capacity

pytestmark = pytest.mark.real

WARM = 60.0
"""Seconds after a start of mysqld: at its configured values it flushes by age only after a while."""


@fault(
    Group.MYSQLD,
    what="`kill -9` of mysqld, crash recovery, start",
    left="what mysqld starts with, until its law is verified again; these are the new originals",
    back="by itself within a minute, after ten good readings with flushing by age",
    invariants=(4, 6, 7),
)
def test_mysqld_is_killed(rig: Rig) -> None:
    """After a crash of mysqld the loop takes its new values for originals, not for a change, and goes on."""
    daemon = rig.active()
    mysqld_killed(rig, daemon, unlimited=True)  # with 10000/20000 a slow disk would hold next to no age
    events = rig.finish().events()
    assert events.index("hold_stale") < events.index("hold_restarted") < events.index("clear_restarted")
    assert "foreign_change" not in events


def mysqld_killed(rig: Rig, daemon: Daemon, *, unlimited: bool, within: float = WARM) -> None:
    """Kill the server beside an active daemon, start it, and see the daemon go on.

    Args:
        rig: server and load.
        daemon: in active mode.
        unlimited: the disk is as fast as it can be from the start to the daemon's next write.
        within: seconds until that write, at the most.
    """
    spec = rig.server.spec
    configured = Capacity(spec.io_capacity, spec.io_capacity_max)
    rig.restart_server(once=lambda: daemon.await_hold("stale"))
    if unlimited:
        rig.server.limit_write_iops(None)
    try:
        daemon.await_status(
            lambda now: pair(now["originals"]) == configured,
            BACK,
            "the originals that the server started with",
        )
        daemon.await_force(daemon.wanted, within)
    finally:
        rig.server.limit_write_iops(WRITE_IOPS)
    assert [one.capacity for one in originals(daemon.state)] == [configured]
