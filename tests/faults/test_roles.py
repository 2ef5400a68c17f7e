"""The server's role and its locks: read-only, replication, backups."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import pytest

from lab.servers.base import LabServer
from tests.faults.catalogue import Group, fault
from tests.faults.sharing import Sharing, longest_gap
from tests.real.support import LOAD, global_sets, in_force, variables
from tuner.records import Sample

pytestmark = pytest.mark.real

QUIET_TICKS = 5
NOTICED = 30.0
"""Seconds until a lock that begins or ends is in the record; locks are looked for every ten."""

LOCKED_TICKS = 10
"""Ticks that a lock is held on once it was noticed."""

HELD_UP = LOCKED_TICKS / 2.0
"""Seconds between two ticks at most: a lock that held the loop up would do so for as long as it lasts."""


@contextlib.contextmanager
def holding(server: LabServer, lock: str, unlock: str) -> Iterator[None]:
    """Hold a lock over a session of its own while inside."""
    with contextlib.closing(server.connect(timeout=60.0)) as connection, connection.cursor() as cursor:
        cursor.execute(lock)
        yield
        cursor.execute(unlock)


@fault(
    Group.ROLES,
    what="super_read_only set, and cleared",
    left="the last values; the hold says whose they are",
    back="by itself when it is off",
    invariants=(4,),
)
def test_super_read_only_is_set_and_cleared(sharing: Sharing) -> None:
    """While a server takes no writes it gets none from the loop, which says what it left there."""
    sharing.back()
    left = in_force(sharing.server)
    sharing.rig.work.at(None)  # its writes would fail
    with variables(sharing.server, super_read_only="ON", read_only="ON"):
        before = global_sets(sharing.server)
        hold = sharing.daemon.await_hold("not_writer")
        assert "super_read_only is ON" in hold["reason"]
        stays = f"io_capacity {left.io_capacity}, io_capacity_max {left.io_capacity_max}, set by InnoBrim"
        assert stays in hold["reason"]
        assert "OFF" in hold["clears"]
        sharing.daemon.await_ticks(QUIET_TICKS)
        assert global_sets(sharing.server) == before
        assert in_force(sharing.server) == left
    sharing.rig.work.at(LOAD)
    sharing.back()


@fault(
    Group.ROLES,
    what="read_only set, with `allow_read_only_writes`",
    left="the loop's values",
    back="not interrupted",
    invariants=(4,),
)
def test_read_only_where_that_is_allowed(sharing: Sharing) -> None:
    """Where the operator allows it, a read-only server is tuned like any other."""
    daemon = sharing.daemon
    daemon.configure(allow_read_only_writes=True)
    daemon.hang_up()
    began = sharing.now()
    try:
        with variables(sharing.server, read_only="ON"):
            sharing.await_tick(lambda one: _read_only(one.tick.reading), began)
            sharing.back()
            assert not daemon.await_ticks(1)["holds"]
    finally:
        daemon.configure(allow_read_only_writes=None)
        daemon.hang_up()
    sharing.back()


def _read_only(reading: object) -> bool:
    return isinstance(reading, Sample) and reading.read_only


@fault(
    Group.ROLES,
    what="FLUSH TABLES WITH READ LOCK held",
    left="the last values: rates say nothing of the load",
    back="by itself, ten seconds after the lock; no tick is late",
    invariants=(5, 9),
)
def test_flush_tables_with_read_lock(sharing: Sharing) -> None:
    """A global read lock stops the clients, not the loop, which leaves M alone meanwhile and says why."""
    left = in_force(sharing.server)
    began = sharing.now()
    with holding(sharing.server, "FLUSH TABLES WITH READ LOCK", "UNLOCK TABLES"):
        sharing.await_said("begin_read_lock", "FLUSH TABLES WITH READ LOCK", began, NOTICED)
        assert sharing.daemon.await_ticks(LOCKED_TICKS)["decision"]["reason"] == "idle"
        assert in_force(sharing.server) == left
    sharing.await_said("end_read_lock", "over", began, NOTICED)
    ticks = [one for one in sharing.back() if one.tick.number > began]
    locked = [one for one in ticks if "read_lock" in one.occurrences]
    assert len(locked) >= LOCKED_TICKS
    assert all(isinstance(one.tick.reading, Sample) for one in ticks)
    assert longest_gap(ticks) <= HELD_UP


@fault(
    Group.ROLES,
    what="LOCK INSTANCE FOR BACKUP held",
    left="the loop's values",
    back="not interrupted; no tick is late",
    invariants=(5, 9),
)
def test_lock_instance_for_backup(sharing: Sharing) -> None:
    """A backup lock keeps the loop neither from sampling nor from writing."""
    began = sharing.now()
    with holding(sharing.server, "LOCK INSTANCE FOR BACKUP", "UNLOCK INSTANCE"):
        sharing.await_said("begin_backup_lock", "LOCK INSTANCE FOR BACKUP", began, NOTICED)
        ticks = [one for one in sharing.back() if one.tick.number > began]
    sharing.await_said("end_backup_lock", "over", began, NOTICED)
    assert any("backup_lock" in one.occurrences for one in ticks)
    assert all(isinstance(one.tick.reading, Sample) for one in ticks)
    assert longest_gap(ticks) <= HELD_UP
