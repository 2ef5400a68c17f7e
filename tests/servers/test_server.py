"""The MySQL adapter over a session whose answers are given."""

from __future__ import annotations

import pymysql
import pytest

from lab.plant.clock import SimClock
from tests.factory import FACTS, LIMITS
from tests.servers.fixtured import Fixtured, good
from tuner.records import ENABLE_COUNTERS, Capacity, Facts, Missed
from tuner.servers import server as server_module
from tuner.servers.adapter import CHANGES, DDL, DROPS, SELECTS
from tuner.servers.families.redo_capacity import RedoCapacityAdapter
from tuner.servers.port import Unreachable
from tuner.servers.server import ENABLE_SECONDS, RealServer


def test_a_reading_costs_two_statements(server: RealServer, session: Fixtured) -> None:
    """One statement for the counters and one for all the rest, every second."""
    reading = good(server)

    assert len(session.asked) == 2
    assert reading.capacity == Capacity(225, 450)
    assert (reading.flush_limit, reading.stall_point) == (LIMITS.flush_limit, LIMITS.stall_point)
    assert reading.low_water == LIMITS.stall_point // 10
    assert reading.modified_age == 1_000_000
    assert reading.row_changes == 60
    assert reading.uptime == 3600.0
    assert reading.writer


def test_no_dirty_page_is_no_age(server: RealServer, session: Fixtured) -> None:
    """A server without dirty pages says 0 for the oldest modification; its age is 0, not the whole LSN."""
    session.count("log_lsn_buf_pool_oldest_approx", 0)

    assert good(server).modified_age == 0


def test_a_resize_is_seen(server: RealServer, session: Fixtured) -> None:
    """A resize under way, and redo logging that is off, are part of the reading."""
    resizing = {"Innodb_redo_log_resize_status": "Resizing down", "Innodb_redo_log_enabled": "OFF"}
    session.reading.status.update(resizing)

    reading = good(server)

    assert reading.resizing
    assert not reading.redo_enabled


def test_what_else_the_status_shows_is_in_the_reading(server: RealServer, session: Fixtured) -> None:
    """Whether writes are allowed, DDL, drops and a buffer pool being loaded are seen at every reading."""
    plain = good(server)
    assert not any((plain.read_only, plain.super_read_only, plain.undo_truncating, plain.pool_loading))
    assert (plain.dirty_limit, plain.ddl_statements, plain.drop_statements) == (90.0, len(DDL), len(DROPS))

    variables, status = session.reading.variables, session.reading.status
    variables |= {"read_only": "ON", "super_read_only": "ON", "innodb_max_dirty_pages_pct": "75.5"}
    status |= {"Com_alter_table": "5", "Com_truncate": "8", "Innodb_undo_tablespaces_active": "1"}
    for loading in ("Loading buffer pool(s) from /data/ib_buffer_pool", "Loaded 100/4096 pages"):
        status["Innodb_buffer_pool_load_status"] = loading
        assert good(server).pool_loading
    changed = good(server)
    assert changed.read_only
    assert changed.super_read_only
    assert changed.undo_truncating
    assert changed.dirty_limit == 75.5
    assert changed.ddl_statements == plain.ddl_statements + 4
    assert changed.drop_statements == plain.drop_statements + 7


COUNTED = {name: str(10**place) for place, name in enumerate((*SELECTS, *CHANGES))}


def test_reads_and_changes_come_with_the_status_that_is_asked_for_anyway(
    server: RealServer, session: Fixtured
) -> None:
    """SELECT is one count, everything that changes rows the other, and the reading stays two statements."""
    session.reading.status.update(COUNTED)
    reading = good(server)

    assert (reading.select_statements, reading.change_statements) == (1, 1_111_111_110)
    assert len(session.asked) == 2
    (status,) = (one for one in session.asked if one.startswith("SHOW GLOBAL STATUS"))
    assert all(f"'{name}'" in status for name in COUNTED)


@pytest.mark.parametrize("name", ["Com_select", "Com_load", "Com_delete_multi"])
@pytest.mark.parametrize("shown", [None, "", "many"])
def test_a_count_that_is_not_shown_makes_both_unknown(
    server: RealServer, session: Fixtured, name: str, shown: str | None
) -> None:
    """Without one of them there is no share of reads, and still a reading."""
    session.reading.status.update(COUNTED)
    session.reading.status.pop(name)
    session.reading.status.update({} if shown is None else {name: shown})
    reading = good(server)

    assert (reading.select_statements, reading.change_statements) == (None, None)


def test_counters_are_turned_on_where_that_is_allowed(server: RealServer, session: Fixtured) -> None:
    """Counters that are off after a restart of mysqld are turned on only where the operator allowed it."""
    counter = session.reading.metrics.pop("log_lsn_current")
    assert good(server).degraded
    assert all(statement not in session.asked for statement in ENABLE_COUNTERS)

    server.enables_counters = True
    reading = server.read()
    assert isinstance(reading, Missed)
    assert "log_lsn_current" in reading.reason
    assert all(statement in session.asked for statement in ENABLE_COUNTERS)

    session.reading.metrics["log_lsn_current"] = counter
    assert not good(server).degraded


def test_a_counter_that_the_server_does_not_have_is_not_turned_on(
    server: RealServer, session: Fixtured
) -> None:
    """It is no counter that is off: no SET is tried for it, and readings are made without it."""
    del session.reading.metrics["log_lsn_current"]
    server.enables_counters = True
    facts = server.facts()

    assert (facts.disabled_counters, facts.absent_counters) == ((), ("log_lsn_current",))
    assert all(good(server).degraded for _ in range(2))
    assert all(statement not in session.asked for statement in ENABLE_COUNTERS)


def test_counters_that_may_not_be_turned_on_cost_a_reading_a_minute(
    server: RealServer, session: Fixtured, clock: SimClock
) -> None:
    """Where the server refuses to turn them on, one reading says so, and the others are degraded."""
    del session.reading.metrics["log_lsn_current"]
    session.instead["innodb_monitor_enable"] = pymysql.OperationalError(1227, "Access denied")
    server.enables_counters = True

    for start in (50.0, 50.0 + ENABLE_SECONDS):
        clock.advance_to(start)
        reading = server.read()
        assert isinstance(reading, Missed)
        assert "Access denied" in reading.reason
        assert good(server).degraded


@pytest.mark.parametrize(
    ("part", "error", "said"),
    [
        ("innodb_metrics", Unreachable("innobrim@db:3306: timed out"), "timed out"),
        ("GLOBAL STATUS", pymysql.OperationalError(1142, "SELECT command denied"), "SELECT command denied"),
        ("GLOBAL STATUS", pymysql.ProgrammingError(1146, "Table doesn't exist"), "doesn't exist"),
    ],
)
def test_a_reading_that_fails_says_why(
    server: RealServer, session: Fixtured, part: str, error: Exception, said: str
) -> None:
    """Reading never raises: what the server said is the reason of a missed reading."""
    session.instead[part] = error
    reading = server.read()

    assert isinstance(reading, Missed)
    assert said in reading.reason


def test_a_server_of_another_family_behind_the_address_is_recognised(
    server: RealServer, session: Fixtured, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the answers are another family's from now on, the next reading finds out which, and is good."""
    looked: list[int] = []

    def find(_session: object) -> tuple[Facts, RedoCapacityAdapter]:
        looked.append(len(session.asked))
        return FACTS, RedoCapacityAdapter(absent=("super_read_only",))

    monkeypatch.setattr(server_module, "detect", find)
    unknown = pymysql.OperationalError(1193, "Unknown system variable 'super_read_only'")
    session.instead["@@GLOBAL.super_read_only"] = unknown

    missed = server.read()
    assert isinstance(missed, Missed)
    assert "super_read_only" in missed.reason
    assert not good(server).super_read_only
    assert good(server)
    assert len(looked) == 1
