"""The server changes under the loop: its redo log, its flush law, its counters, and what else it does."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import pytest

from lab.servers.spec import MEBIBYTE, SCHEMA
from tests.faults.catalogue import Group, fault
from tests.faults.sharing import Sharing
from tests.real.support import WRITE_IOPS, until, variables
from tuner.records import DecisionKind, Missed, Sample, TickRecord
from tuner.servers.families.redo_capacity import redo_limits

pytestmark = pytest.mark.real

REDO = 100 * MEBIBYTE
RESIZED = 90.0
"""Seconds in which a redo log under load takes its new size, and an undo tablespace is emptied."""

QUIET_TICKS = 3
TABLES = 6


def sampled(record: TickRecord) -> Sample | None:
    """Return a tick's reading; None where it failed."""
    return record.tick.reading if isinstance(record.tick.reading, Sample) else None


def resize(sharing: Sharing, capacity: int) -> list[TickRecord]:
    """Give the redo log another size under load, and return the ticks until the loop writes again."""
    began = sharing.now()
    sharing.run(f"SET GLOBAL innodb_redo_log_capacity = {capacity}")
    found = sharing.await_tick(
        lambda one: (now := sampled(one)) is not None and now.redo_capacity == capacity and not now.resizing,
        began,
        RESIZED,
    )
    reading = sampled(found)
    assert reading is not None
    limits = redo_limits(capacity)
    assert (reading.flush_limit, reading.stall_point) == (limits.flush_limit, limits.stall_point)
    return [one for one in sharing.back() if one.tick.number > began]


def only_parked(ticks: list[TickRecord], code: str) -> bool:
    """Return whether nothing but parks was written under a hold, and that hold was there."""
    held = [one for one in ticks if code in {hold.code.value for hold in one.holds}]
    return bool(held) and all(one.decision.kind in {DecisionKind.KEEP, DecisionKind.PARK} for one in held)


@fault(
    Group.LOAD,
    what="Redo capacity doubled",
    left="parked during the resize",
    back="by itself, with the new limits",
    invariants=(1, 4),
)
def test_the_redo_capacity_is_doubled(sharing: Sharing) -> None:
    """A larger redo log has other limits at once, and the loop goes on with them."""
    try:
        resize(sharing, 2 * REDO)
    finally:
        sharing.run(f"SET GLOBAL innodb_redo_log_capacity = {REDO}")
    sharing.await_tick(
        lambda one: (now := sampled(one)) is not None and now.redo_capacity == REDO, 0, RESIZED
    )


@fault(
    Group.LOAD,
    what="Redo capacity halved: the resize waits for a lower age",
    left="parked during the resize",
    back="by itself, with the new limits",
    invariants=(1, 4),
)
def test_the_redo_capacity_is_halved(sharing: Sharing) -> None:
    """While the server makes its redo log smaller it is parked and left alone; then the loop goes on."""
    try:
        ticks = resize(sharing, REDO // 2)
    finally:
        sharing.run(f"SET GLOBAL innodb_redo_log_capacity = {REDO}")
    assert only_parked(ticks, "resizing")


@fault(
    Group.LOAD,
    what="Redo logging disabled by ALTER INSTANCE, and enabled",
    left="parked: there is no age",
    back="by itself when it is enabled",
    invariants=(4,),
)
def test_redo_logging_is_disabled(sharing: Sharing) -> None:
    """Without redo the loop says that it has no effect, parks once and leaves the server alone."""
    began = sharing.now()
    sharing.server.limit_write_iops(None)  # the server writes all dirty pages at both ends
    try:
        sharing.run("ALTER INSTANCE DISABLE INNODB REDO_LOG")
        hold = sharing.daemon.await_hold("inert")
        assert "ALTER INSTANCE ENABLE INNODB REDO_LOG" in hold["clears"]
        sharing.daemon.await_ticks(QUIET_TICKS)
    finally:
        sharing.run("ALTER INSTANCE ENABLE INNODB REDO_LOG")
        sharing.server.limit_write_iops(WRITE_IOPS)
    assert only_parked([one for one in sharing.back() if one.tick.number > began], "inert")


@fault(
    Group.LOAD,
    what="innodb_adaptive_flushing turned off",
    left="parked: the server ignores the age",
    back="by itself when it is on",
    invariants=(4,),
)
def test_adaptive_flushing_is_turned_off(sharing: Sharing) -> None:
    """Where M has no say, the loop says so, parks once and leaves the server alone."""
    began = sharing.now()
    with variables(sharing.server, innodb_adaptive_flushing="OFF"):
        hold = sharing.daemon.await_hold("inert")
        assert "innodb_adaptive_flushing is OFF" in hold["reason"]
        sharing.daemon.await_ticks(QUIET_TICKS)
    assert only_parked([one for one in sharing.back() if one.tick.number > began], "inert")


@fault(
    Group.LOAD,
    what="innodb_max_dirty_pages_pct set so low that it decides the flushing",
    left="the loop's values; the set-point stays",
    back="not interrupted",
    invariants=(1,),
)
def test_the_limit_of_dirty_pages_is_set_low(sharing: Sharing) -> None:
    """Near the server's own limit of dirty pages the loop goes on as before, and holds nothing."""
    began = sharing.daemon.await_ticks(1)["tick"]
    with variables(sharing.server, innodb_max_dirty_pages_pct="1", innodb_max_dirty_pages_pct_lwm="1"):
        now = sharing.daemon.await_ticks(QUIET_TICKS)
        assert not now["holds"]
        newest = sharing.await_tick(lambda _: True, began)
        assert newest.decision.set_point_source != "dirty_pages"
    sharing.back()


@fault(
    Group.LOAD,
    what="InnoDB's counters turned off, without `enable_counters`",
    left="the loop's values, by the status variables",
    back="by itself when they are on; event `degraded`",
    invariants=(5,),
)
def test_the_counters_are_turned_off(sharing: Sharing) -> None:
    """Without InnoDB's counters a weaker estimate takes over and says so, until they are on again."""
    began = sharing.now()
    try:
        sharing.run("SET GLOBAL innodb_monitor_disable = 'module_log'")
        sharing.await_said("degraded", "counters are off", began)
        weak = [one for one in sharing.back() if (now := sampled(one)) is not None and now.degraded]
    finally:
        sharing.run("SET GLOBAL innodb_monitor_enable = 'module_log'")
    sharing.await_said("counters_back", "on again", weak[-1].tick.number)
    assert any(one.decision.steps for one in weak)
    ticks = [one for one in sharing.back() if one.tick.number > began]
    lost = [one.tick.reading.reason for one in ticks if isinstance(one.tick.reading, Missed)]
    assert set(lost) <= {"asked again what server this is"}


@fault(
    Group.LOAD,
    what="A burst of DDL",
    left="the loop's values",
    back="not interrupted; nothing is learned meanwhile",
    invariants=(5,),
)
def test_a_burst_of_ddl(sharing: Sharing) -> None:
    """Tables that are altered and dropped are named in the record, and no reason to stop."""
    began = sharing.now()
    for number in range(TABLES):
        table = f"{SCHEMA}.burst{number}"
        sharing.run(
            f"CREATE TABLE {table} SELECT * FROM {SCHEMA}.sbtest1 LIMIT 5000",
            f"ALTER TABLE {table} ADD INDEX (k), ALGORITHM=INPLACE",
            f"TRUNCATE TABLE {table}",
            f"DROP TABLE {table}",
        )
    sharing.await_said("begin_ddl", "altered", began)
    sharing.await_said("begin_drop", "dropped", began)
    sharing.back()


@fault(
    Group.LOAD,
    what="An undo tablespace is truncated",
    left="the loop's values",
    back="not interrupted; nothing is learned meanwhile",
    invariants=(5,),
)
def test_an_undo_tablespace_is_truncated(sharing: Sharing) -> None:
    """A truncation of undo is named in the record, and no reason to stop."""
    began = sharing.now()
    with undo_tablespace(sharing, "innobrim_fault") as name:
        sharing.run(f"ALTER UNDO TABLESPACE {name} SET INACTIVE")
        sharing.await_said("begin_undo_truncation", "truncated", began)
    sharing.await_said("end_undo_truncation", "over", began)
    sharing.back()


@contextlib.contextmanager
def undo_tablespace(sharing: Sharing, name: str) -> Iterator[str]:
    """Have one undo tablespace more while inside, which is inactive at the end; drop it once it is empty."""
    sharing.run(f"CREATE UNDO TABLESPACE {name} ADD DATAFILE '{name}.ibu'")
    try:
        yield name
    finally:
        state = f"SELECT state FROM information_schema.innodb_tablespaces WHERE name = '{name}'"
        until(lambda: sharing.server.query(state) == [("empty",)], RESIZED, "an empty undo tablespace")
        sharing.run(f"DROP UNDO TABLESPACE {name}")
