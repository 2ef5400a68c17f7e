"""Every precondition as a line, with its fix."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.checked import Odd, line, look
from tests.factory import FACTS
from tuner.check import check
from tuner.records import Capacity
from tuner.servers.port import Unreachable, Unsupported
from tuner.settings import Settings

BUDGETS = ("max_recovery_seconds", "max_shutdown_seconds")


@pytest.fixture
def server() -> Odd:
    """Return a healthy server."""
    return Odd()


def test_a_healthy_server_passes(server: Odd) -> None:
    """Nothing is a problem, every line has a name of its own, and nothing was written."""
    server.changed_sample = {"redo_capacity": 1024**3}
    report = look(server)

    assert report.reachable
    assert report.controllable
    assert {one.outcome for one in report.lines} == {"ok", "untested"}
    assert len({one.name for one in report.lines}) == len(report.lines)
    assert server.applied == []


def test_a_server_that_cannot_be_reached(server: Odd) -> None:
    """One line says why, and that is told apart from a server that answers."""
    server.failure = Unreachable("innobrim@127.0.0.1:3306: refused (error 2003)")
    report = look(server)

    assert (report.reachable, report.controllable) == (False, False)
    assert [one.name for one in report.lines] == ["reachable"]
    assert "error 2003" in report.lines[0].message
    assert report.lines[0].fix == "start the server, or correct address and account"


def test_the_fix_fits_the_cause(server: Odd) -> None:
    """Where it is known why a server cannot be reached, that is what the fix mends, said once."""
    server.failure = Unreachable("innobrim@/no.sock: no such socket", "SELECT @@socket says where it is")
    found = line(look(server), "reachable")

    assert found.message == "innobrim@/no.sock: no such socket"
    assert found.fix == "SELECT @@socket says where it is"


def test_a_server_that_is_not_supported(server: Odd) -> None:
    """It answers, and it is said why that does not help."""
    server.failure = Unsupported("MariaDB 10.4.34 is too old")
    report = look(server)

    assert (report.reachable, report.controllable) == (True, False)
    assert "MariaDB" in line(report, "supported").message


def test_counters_that_are_off_come_with_their_statements(server: Odd) -> None:
    """Which counters are off, what is weaker without them, and what turns them on; control is possible."""
    server.changed_facts = {"disabled_counters": ("log_lsn_current",)}
    report = look(server)

    found = line(report, "counters")
    assert found.outcome == "warning"
    assert "log_lsn_current" in found.message
    assert "no model gate" in found.message
    assert "SET GLOBAL innodb_monitor_enable = 'module_log'" in found.sql
    assert report.controllable


def test_what_the_account_may_not_see_comes_with_its_grant(server: Odd) -> None:
    """Each part of the surroundings that goes unnoticed is named, with the grant that shows it."""
    server.changed_facts = {"unseen": ("latency", "locks")}
    report = look(server)
    found = line(report, "surroundings")

    assert found.outcome == "untested"
    assert "how long writing statements take" in found.message
    assert "FLUSH TABLES WITH READ LOCK" in found.message
    assert found.sql == ("GRANT SELECT ON performance_schema.* TO 'innobrim'@'…'",)
    assert report.controllable


def test_a_read_only_server_may_be_meant(server: Odd) -> None:
    """On a read-only server active mode holds, and that is a warning, unless the operator allowed writes."""
    server.changed_sample = {"read_only": True, "super_read_only": True}

    found = line(look(server), "read_only")
    assert found.outcome == "warning"
    assert "read_only and super_read_only are ON" in found.message
    assert "allow_read_only_writes" in found.fix
    assert look(server).lacking == ("read_only",)
    allowed = check(server, active=False, settings=Settings(allow_read_only_writes=True))
    assert line(allowed, "read_only").outcome == "ok"


def test_a_blocker_is_a_problem(server: Odd) -> None:
    """What makes a server uncontrollable is said in its own words."""
    server.changed_facts = {"blockers": ("innodb_read_only is ON: this server writes no pages",)}

    assert "innodb_read_only" in line(look(server), "blocked").message
    assert not look(server).controllable


@pytest.mark.parametrize(
    ("change", "name", "outcome", "sql"),
    [
        ({"redo_enabled": False}, "redo_enabled", "problem", "ALTER INSTANCE ENABLE INNODB REDO_LOG"),
        ({"adaptive_flushing": False}, "adaptive_flushing", "problem", "innodb_adaptive_flushing = ON"),
        ({"flush_sync": False}, "flush_sync", "warning", "innodb_flush_sync = ON"),
        ({"redo_capacity": 50_000_000}, "redo_capacity", "warning", "innodb_redo_log_capacity = 1073741824"),
        ({"resizing": True}, "redo_capacity", "warning", None),
        ({"writer": False}, "writer", "warning", None),
        ({"read_only": True}, "read_only", "warning", None),
    ],
)
def test_each_precondition_has_its_line(
    server: Odd, change: dict[str, Any], name: str, outcome: str, sql: str | None
) -> None:
    """Each of these is found by one reading, as a warning or a problem, with the statement that mends it."""
    server.changed_sample = change
    report = look(server)
    found = line(report, name)

    assert found.outcome == outcome
    assert len(found.sql) == (sql is not None)
    assert sql is None or sql in found.sql[0]
    assert report.controllable is (outcome == "warning")


def test_an_odd_ratio_comes_with_safe_statements(server: Odd) -> None:
    """M that is no multiple of C is a warning that says what the server works with, and how to mend it."""
    server.capacity = Capacity(1500, 2000)
    found = line(look(server), "ratio")

    assert found.outcome == "warning"
    assert "works with 1500" in found.message
    assert set(found.sql) == {"SET GLOBAL innodb_io_capacity = 2000"}


def test_no_reading_is_a_problem(server: Odd) -> None:
    """When the server is there but gives no reading, its reason is a line."""
    server.down = "SELECT command denied"
    report = look(server)

    assert "SELECT command denied" in line(report, "sample").message
    assert not report.controllable


def test_active_proves_the_privilege_with_what_is_there(server: Odd) -> None:
    """Only active mode writes, and only the value that is in force already."""
    found = line(look(server, active=True), "write")

    assert found.outcome == "ok"
    assert [steps for steps, _, _ in server.applied] == [(("innodb_io_capacity", 10_000),)]
    assert server.capacity == Capacity(10_000, 20_000)


def test_a_missing_privilege_comes_with_the_grant(server: Odd) -> None:
    """A refused write is a problem with the server's words and the grant that helps."""
    server.refusal = "Access denied (error 1227)"
    found = line(look(server, active=True), "write")

    assert found.outcome == "problem"
    assert "Access denied" in found.message
    assert FACTS.endpoint in found.message
    assert found.sql == ("GRANT SYSTEM_VARIABLES_ADMIN ON *.* TO 'innobrim'@'…'",)


def test_advisory_says_what_active_mode_lacks(server: Odd) -> None:
    """An account without the privilege is enough to watch, and is not one that could control."""
    server.refusal = "Access denied (error 1227)"
    server.changed_facts = {"account": "inno'brim@%"}
    report = look(server)
    found = line(report, "write")

    assert (report.fine, report.controllable, report.lacking) == (True, False, ("write",))
    assert "no SYSTEM_VARIABLES_ADMIN: advisory mode works, and active mode could not write" in found.message
    assert found.sql == ("GRANT SYSTEM_VARIABLES_ADMIN ON *.* TO 'inno''brim'@'%'",)
    assert server.applied == []


def test_another_writer_is_not_disturbed(server: Odd) -> None:
    """Beside another daemon nothing is written, not even to prove a privilege."""
    server.writer = False
    found = line(look(server, active=True), "write")

    assert found.outcome == "untested"
    assert server.applied == []


@pytest.mark.parametrize("variable", ["read_only", "super_read_only"])
def test_a_read_only_server_is_not_written_to(server: Odd, variable: str) -> None:
    """Where active mode would write nothing, neither does the check, unless the operator allowed writes."""
    server.changed_sample = {variable: True}
    found = line(look(server, active=True), "write")

    assert (found.outcome, found.message) == ("untested", f"not tried: {variable} is ON")
    assert server.applied == []
    allowed = check(server, active=True, settings=Settings(allow_read_only_writes=True))
    assert line(allowed, "write").outcome == "ok"


def test_a_budget_that_cannot_be_kept_is_a_warning_with_one_that_can(server: Odd) -> None:
    """Before a daemon runs, a budget out of reach is named with its figures; without any all is fine."""
    server.changed_sample = {"pages_dirty": 8_000}
    tight = Settings(max_recovery_seconds=1.0, max_shutdown_seconds=1.0)
    fine, found = line(look(server), "budgets"), line(look(server, settings=tight), "budgets")

    assert (fine.outcome, found.outcome) == ("ok", "warning")
    assert "max_recovery_seconds and max_shutdown_seconds cannot be kept" in found.message
    assert "s now, and max_shutdown_seconds is 1" in found.message
    needed = {key: float(found.fix.split(f"{key} = ")[1].split()[0]) for key in BUDGETS}
    assert line(look(server, settings=Settings(**needed)), "budgets").outcome == "ok"


def test_without_a_budget_both_are_said_and_a_long_one_is_a_warning_alone(server: Odd) -> None:
    """Both ages that one reading tells are there; what takes long warns and stands in nothing's way."""
    server.changed_sample = {"pages_dirty": 8_000}
    fine = line(look(server), "budgets")
    server.changed_sample = {"pages_dirty": 900_000}
    report = look(server)
    long = line(report, "budgets")

    assert fine.outcome == "ok"
    assert re.match(
        r"no budget is set, by one reading: crash recovery \d+ s now, \d+ s at the set-point", fine.message
    )
    assert long.outcome == "warning"
    assert "crash recovery and shutdown would take long, and no budget is set" in long.message
    assert report.controllable
    bound = line(
        look(server, settings=Settings(max_recovery_seconds=5000.0, max_shutdown_seconds=5000.0)), "budgets"
    )
    assert bound.outcome == "ok"
