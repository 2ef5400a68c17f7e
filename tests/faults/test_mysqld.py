"""mysqld is killed, or stands still."""

from __future__ import annotations

import time

import pytest

from tests.faults.catalogue import Group, fault
from tests.faults.harness import BACK, FROZEN, Rig
from tests.real.support import DEFAULT, WRITE_IOPS, in_force, pair
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


@fault(
    Group.MYSQLD,
    what="SIGSTOP of mysqld for 30 s, as when its storage hangs, then SIGCONT",
    left="the last values: no statement gets through",
    back="by itself: it parks at the first good contact and goes on",
    invariants=(5, 9),
)
def test_mysqld_stands_still(rig: Rig) -> None:
    """While mysqld hangs the loop waits and stays responsive; when it answers again it parks and goes on."""
    daemon = rig.active()
    rig.server.pause()
    try:
        began = time.monotonic()
        hold = daemon.await_hold("stale")
        assert hold["clears"] == "a good sample"
        time.sleep(max(0.0, began + FROZEN - time.monotonic()))
        asked = time.monotonic()
        assert daemon.status() is not None
        assert time.monotonic() - asked < 1.0
    finally:
        rig.server.unpause()
    daemon.await_no_hold()
    assert in_force(rig.server).io_capacity_max >= daemon.wanted.io_capacity_max
    daemon.want(900)
    verdict = rig.finish()
    assert verdict.held()[-1] == "stale"
