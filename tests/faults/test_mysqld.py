"""mysqld is killed."""

from __future__ import annotations

import pytest

from tests.faults.catalogue import Group, fault
from tests.faults.harness import BACK, Rig
from tests.real.support import DEFAULT, WRITE_IOPS, pair
from tuner.journal.reader import originals

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
    rig.restart_server()
    rig.server.limit_write_iops(None)  # with the configured 10000/20000 a slow disk would hold next to no age
    try:
        daemon.await_status(
            lambda now: pair(now["originals"]) == DEFAULT, BACK, "the originals that the server started with"
        )
        daemon.await_force(daemon.wanted, WARM)
    finally:
        rig.server.limit_write_iops(WRITE_IOPS)
    assert [one.capacity for one in originals(daemon.state)] == [DEFAULT]
    verdict = rig.finish()
    events = verdict.events()
    assert events.index("hold_stale") < events.index("hold_restarted") < events.index("clear_restarted")
    assert "foreign_change" not in events
