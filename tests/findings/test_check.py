"""Every precondition as a line, with its fix; of other families and accounts too."""

from __future__ import annotations

import shlex
from typing import Any

import pytest
from msgspec.structs import replace

from tests.factory import FACTS, MEBIBYTE, REDO, sample, tick
from tests.findings.checked import Odd, line, look
from tuner.cli.record import record
from tuner.core.gate import GateState
from tuner.core.holds import law_in_doubt
from tuner.core.step import start, step
from tuner.findings.finding import Finding
from tuner.findings.preconditions import way_of_writing
from tuner.findings.remedies import clears, told
from tuner.findings.remedies import said as words_of
from tuner.records import Bounds, Capacity, Facts, HoldCode, Remedy
from tuner.servers.port import Unreachable, Unsupported
from tuner.settings import GrowTo, Mode, Settings

BUDGETS = ("max_recovery_seconds", "max_shutdown_seconds")
LARGER = GrowTo(3 * REDO, unchecked=True)
BOUNDS = Bounds(100, 20_000, 20_000)
MARK = "SET GLOBAL innodb_max_dirty_pages_pct_lwm = 0.001"
OFF = {"disabled_counters": ("log_lsn_current",)}
ABSENT = {"absent_counters": ("log_lsn_current",)}
SEND = '"innobrim record --fixture mysql-'
SOFT = {"family": "mariadb", "flush_law": "soft-limit"}
BLIND = {
    "family": "mariadb",
    "version": "10.11.4-MariaDB",
    "flush_law": "age-blind",
    "unverified": "MDEV-31939",
}


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
    assert {one.severity for one in report.findings} == {"ok", "untested"}
    assert len({one.id for one in report.findings}) == len(report.findings)
    assert server.applied == []


def test_a_server_that_cannot_be_used_says_why(server: Odd) -> None:
    """One that cannot be reached is told from one that answers and is not supported, or gives no reading."""
    server.failure = Unreachable("innobrim@127.0.0.1:3306: refused (error 2003)")
    report = look(server)
    assert (report.reachable, report.controllable) == (False, False)
    assert [(one.id, "error 2003" in one.title, bool(one.fix)) for one in report.findings] == [
        ("reachable", True, True)
    ]
    server.failure = Unreachable("innobrim@/no.sock: no such socket", "SELECT @@socket says where it is")
    assert line(look(server), "reachable").fix == "SELECT @@socket says where it is"
    server.failure = Unsupported("MariaDB 10.4.34 is too old")
    report = look(server)
    assert (report.reachable, report.controllable) == (True, False)
    assert "MariaDB" in line(report, "supported").title
    server.failure, server.down = None, "SELECT command denied"
    report = look(server, active=True)
    assert "SELECT command denied" in line(report, "sample").title
    assert not report.controllable
    untested = {one.id for one in report.findings if one.severity == "untested"}
    assert untested >= {"redo_enabled", "adaptive_flushing", "read_only", "writer", "budgets", "write"}
    assert server.applied == []


@pytest.mark.parametrize(
    ("facts", "seen", "name_and_outcome", "parts"),
    [
        ({}, {"redo_enabled": False}, "redo_enabled: problem", ["ALTER INSTANCE ENABLE INNODB REDO_LOG"]),
        ({}, {"adaptive_flushing": False}, "adaptive_flushing: problem", ["adaptive_flushing = ON"]),
        ({}, {"flush_sync": False}, "flush_sync: warning", ["innodb_flush_sync = ON"]),
        ({"sync_stalls": True}, {}, "flush_sync: ok", ["writers wait"]),
        ({"flush_law": "mariadb"}, {}, "flush_sync: ok", ["writers may wait before the age is back"]),
        ({}, {"redo_capacity": 50_000_000}, "redo_capacity: warning", ["innobrim redo says which size"]),
        ({}, {"resizing": True}, "redo_capacity: warning", []),
        ({}, {"writer": False}, "writer: warning", []),
        (
            {},
            {"read_only": True, "super_read_only": True},
            "read_only: warning",
            ["allow_read_only_writes"],
        ),
        ({"blockers": ("innodb_read_only is ON",)}, {}, "blocked: problem", ["innodb_read_only"]),
        (
            {"own_limits": ("async is 2 and not 3", "sync is 4 and not 5")},
            {},
            "limits: ok",
            ["2 and", "4 and"],
        ),
        (OFF, {}, "counters: warning", ["log_lsn_current", "innodb_monitor_enable = 'module_log'"]),
        ({"lacks": ("log_margin: none is taken",)}, {}, "counters: ok", ["has no log_margin: none is taken"]),
        (ABSENT, {}, "counters: warning", ["has no InnoDB counter log_lsn_current", "writes nothing", SEND]),
        (ABSENT, {}, "verified: warning", ["nothing can verify the law", "log_lsn_current"]),
        (OFF | {"lacks": ("log_margin: none is taken",)}, {}, "counters: warning", ["has no log_margin"]),
        (OFF | {"ages_need_counters": True}, {}, "counters: warning", ["active mode writes nothing"]),
        (OFF | SOFT, {}, "counters: warning", ["active mode writes all the same"]),
        (SOFT, {}, "authority: warning", [MARK, "also in my.cnf", "leave it at 0 there"]),
        (SOFT | {"managed": "Amazon RDS"}, {}, "authority: warning", ["parameter group", "leave it at 0"]),
        ({"flush_law": "mariadb-wakes"}, {}, "authority: ok", [MARK, "wakes at the flush limit"]),
        (BLIND, {}, "authority: warning", ["10.11.7", "MDEV-31939"]),
        (BLIND, {}, "verified: warning", ["loop.accept_unverified"]),
        ({"flush_law": "mariadb-wakes"}, {}, "verified: ok", ["except at the flush limit"]),
        (SOFT, {}, "verified: ok", ["nothing is to be verified"]),
        ({"timed": False}, {}, "surroundings: untested", ["performance_schema is OFF"]),
        (
            {"unseen": ("latency", "locks")},
            {},
            "surroundings: untested",
            ["GRANT SELECT ON performance_schema.* TO 'innobrim'@'…'", "FLUSH TABLES WITH READ LOCK"],
        ),
        (
            SOFT | {"version": "11.8.6-MariaDB"},
            {},
            "supported: ok",
            ["11.8.6-MariaDB: flush law", "was measured"],
        ),
        ({"version": "8.0.29"}, {}, "supported: ok", ["is known from source", "8.0.15 and 8.0.31"]),
        ({"family": "percona", "version": "8.0.31-23"}, {}, "supported: ok", ["source", "no Percona Server"]),
        ({"version": "8.0.31", "managed": "Google Cloud SQL"}, {}, "supported: ok", ["known from source"]),
    ],
)
def test_each_precondition_has_its_line(
    server: Odd, facts: dict[str, Any], seen: dict[str, Any], name_and_outcome: str, parts: list[str]
) -> None:
    """Each is found by facts and one reading, as a warning or a problem, with what mends it."""
    server.changed_facts, server.changed_sample = facts, seen
    name, outcome = name_and_outcome.split(": ")
    report = look(server)
    found = line(report, name)
    said = "\n".join((found.title, found.reason, found.fix, found.effect, found.risk, *found.sql))

    assert found.severity == outcome
    assert all(part in said for part in parts), said
    assert report.controllable is (outcome != "problem" and "managed" not in facts)


@pytest.mark.parametrize(
    ("grow_to", "facts", "limit", "denied", "outcome", "parts"),
    [
        (LARGER, {}, None, False, "ok", ["active mode grows the redo log to it from 100 MiB"]),
        (LARGER, {}, 300 * MEBIBYTE, True, "ok", []),
        (LARGER, {}, None, True, "warning", ["may not set", "innobrim setup-sql --grow-redo-to 300M"]),
        (LARGER, {}, 2 * REDO, True, "warning", ["to 200 MiB at most", "setup-sql --grow-redo-to 300M"]),
        (LARGER, {"redo_dynamic": False}, None, False, "warning", ["cannot safely grow", "my.cnf"]),
        (LARGER, {"managed": "Amazon RDS"}, None, False, "warning", ["parameter group", "aws rds"]),
        (GrowTo(3 * REDO, unchecked=False), {}, None, False, "warning", ["disk cannot be seen", "unchecked"]),
        (GrowTo(REDO, unchecked=True), {}, None, False, "ok", ["is in force"]),
        (GrowTo(REDO // 2, unchecked=True), {}, None, False, "warning", ["has 100 MiB", "a larger size"]),
    ],
)
def test_whether_the_redo_log_gets_to_grow_to_is_known_before_a_daemon_tries(  # noqa: PLR0917 - a table's row
    server: Odd,
    grow_to: GrowTo,
    facts: dict[str, Any],
    limit: int | None,
    denied: bool,  # noqa: FBT001 - as above
    outcome: str,
    parts: list[str],
) -> None:
    """With redo.grow_to a line says that it is reached, or what is in the way and what would be right."""
    server.changed_facts, server.limit, server.refusal = facts, limit, "denied" * denied
    report = look(server, grow_to=grow_to)
    found = line(report, "grow_to")

    assert found.severity == outcome
    assert all(part in f"{found.title}; {found.fix}" for part in parts), found
    assert "grow_to" not in report.lacking
    assert server.applied == []


def test_what_active_mode_lacks_is_said(server: Odd) -> None:
    """Counters where they are needed, an unverified law, a read-only server and a missing privilege."""
    for facts, seen, lacking in (
        (OFF, {}, ("counters",)),
        (OFF | SOFT, {}, ()),
        (BLIND, {}, ("verified",)),
        ({}, {"read_only": True}, ("read_only",)),
    ):
        server.changed_facts, server.changed_sample = facts, seen
        assert look(server).lacking == lacking
    allowed = look(server, settings=Settings(allow_read_only_writes=True))
    assert (allowed.lacking, line(allowed, "read_only").severity) == ((), "ok")


def test_an_odd_ratio_comes_with_safe_statements(server: Odd) -> None:
    """M that is no multiple of C is a warning that says what the server works with, and how to mend it."""
    server.capacity = Capacity(1500, 2000)
    found = line(look(server), "ratio")

    assert found.severity == "warning"
    assert "works with 1500" in found.title
    assert set(found.sql) == {"SET GLOBAL innodb_io_capacity = 2000"}


def test_active_proves_the_privilege_with_what_is_there(server: Odd) -> None:
    """Only active mode writes, and only the value that is in force already."""
    found = line(look(server, active=True), "write")

    assert found.severity == "ok"
    assert [steps for steps, _, _ in server.applied] == [(("innodb_io_capacity", 10_000),)]
    assert server.capacity == Capacity(10_000, 20_000)


def test_a_missing_privilege_comes_with_the_grant(server: Odd) -> None:
    """Refused in active mode it is a problem, with the server's words; in advisory mode it can be watched."""
    server.refusal = "Access denied (error 1227)"
    server.changed_facts = {"account": "inno'brim@%"}
    grant = ("GRANT SYSTEM_VARIABLES_ADMIN ON *.* TO 'inno''brim'@'%'",)
    report = look(server)
    tried, said = line(look(server, active=True), "write"), line(report, "write")

    assert (tried.severity, tried.sql, "Access denied" in tried.title) == ("problem", grant, True)
    assert (report.fine, report.controllable, report.lacking) == (True, False, ("write",))
    assert (said.severity, said.sql) == ("warning", grant)


@pytest.mark.parametrize("change", [{"writer": False}, {"read_only": True}, {"super_read_only": True}])
def test_nothing_is_written_where_active_mode_would_not(server: Odd, change: dict[str, Any]) -> None:
    """Beside another daemon, or on a read-only server, not even to prove a privilege."""
    server.changed_sample = change

    assert line(look(server, active=True), "write").severity == "untested"
    assert server.applied == []
    allowed = look(server, active=True, settings=Settings(allow_read_only_writes=True))
    assert line(allowed, "write").severity == ("untested" if "writer" in change else "ok")


def test_a_budget_that_cannot_be_kept_is_a_warning_with_one_that_can(server: Odd) -> None:
    """Before a daemon runs, a budget out of reach is named with its figures; without any all is fine."""
    server.changed_sample = {"pages_dirty": 8_000}
    tight = Settings(max_recovery_seconds=1.0, max_shutdown_seconds=1.0)
    fine, found = line(look(server), "budgets"), line(look(server, settings=tight), "budgets")

    assert (fine.severity, found.severity) == ("ok", "warning")
    assert "max_recovery_seconds and max_shutdown_seconds cannot be kept" in found.title
    needed = {key: float(found.fix.split(f"{key} = ")[1].split()[0]) for key in BUDGETS}
    assert line(look(server, settings=Settings(**needed)), "budgets").severity == "ok"


def test_without_a_budget_what_takes_long_is_a_warning_alone(server: Odd) -> None:
    """It stands in nothing's way, and a budget that allows for it ends it."""
    server.changed_sample = {"pages_dirty": 900_000}
    report = look(server)

    assert line(report, "budgets").severity == "warning"
    assert report.controllable
    wide = Settings(max_recovery_seconds=5000.0, max_shutdown_seconds=5000.0)
    assert line(look(server, settings=wide), "budgets").severity == "ok"


def test_a_budget_out_of_reach_hides_none_that_is_missing(server: Odd) -> None:
    """Where one of the two cannot be kept and the other takes long without one, the line names both keys."""
    server.changed_sample = {"pages_dirty": 900_000}
    found = line(look(server, settings=Settings(max_recovery_seconds=1.0)), "budgets")

    assert (
        "max_recovery_seconds cannot be kept; shutdown would take long, and no budget is set" in found.title
    )
    assert all(key in found.fix for key in BUDGETS)


def test_an_unverified_law_is_not_acted_on_unless_accepted() -> None:
    """Active mode holds, with what lets it write, until the operator has set it."""
    facts = replace(FACTS, unverified="why")
    held = law_in_doubt(start(Settings(mode=Mode.ACTIVE), facts))
    accepted = law_in_doubt(start(Settings(mode=Mode.ACTIVE, accept_unverified=True), facts))

    assert held is not None
    assert held.remedies == (Remedy.UPGRADE,)
    assert accepted is None or accepted.remedies != (Remedy.UPGRADE,)


def test_a_percentage_that_is_not_the_laws_is_named_with_what_to_send() -> None:
    """The hold has the server's value, its source and the law's, and a command that goes to this server."""
    facts = replace(FACTS, endpoint="app@[::1]@db.example:3307", version="8.0.36-28", family="percona")
    state = start(Settings(mode=Mode.ACTIVE), facts)
    held = law_in_doubt(replace(state, gate=GateState(mismatched=True, said=12, expected=(3, 9))))
    assert held is not None
    _, command, _ = words_of(held.remedies, facts=facts).split('"')
    _, name, *arguments = shlex.split(command)
    given = record.make_context(name, arguments).params

    assert "buffer_flush_pct_for_lsn) was 12, but the flush law legacy predicts 3 to 9" in held.why
    assert (given["host"], given["port"], given["user"]) == ("db.example", 3307, "app@[::1]")
    assert str(given["fixture"]) == "percona-8.0.36.json"


def test_a_counter_that_the_server_lacks_has_no_statement_to_turn_it_on() -> None:
    """What it does not have no SET turns on: a hold for it ends by a file that shows us what it has."""
    facts = replace(FACTS, **ABSENT)
    state = start(Settings(mode=Mode.ACTIVE), facts)
    state, seen = step(state, tick(sample(0.0, degraded=True)))
    (hold,) = [one for one in seen.holds if one.code is HoldCode.MODEL_MISMATCH]
    said = [hold.reason, clears(hold, facts), *map(told, seen.events)]

    assert "this server has no InnoDB counter log_lsn_current" in hold.reason
    assert SEND in clears(hold, facts)
    assert not any("innodb_monitor_enable" in one or "counters are off" in one for one in said)


def said(
    facts: Facts, *, may: bool | None = False, settings: Settings | None = None, **reading: int
) -> Finding:
    """Return the line on what somebody with the account's password could set."""
    return way_of_writing(sample(**reading), facts, settings or Settings(), may=may)


def guarded(bounds: Bounds = BOUNDS) -> Facts:
    """Return a server with the procedure."""
    return replace(FACTS, procedure=bounds, account="innobrim@localhost")


def test_what_the_password_lets_somebody_set_is_said() -> None:
    """The procedure alone is fine; the privilege beside it is a warning with its revoke."""
    assert said(guarded()).severity == "ok"
    assert "io_capacity_max from 100 to 20000, io_capacity from 100 to 20000" in said(guarded()).title
    both = said(guarded(), may=True)
    assert (both.severity, both.sql) == (
        "warning",
        ("REVOKE SYSTEM_VARIABLES_ADMIN ON *.* FROM 'innobrim'@'localhost'",),
    )
    direct = said(FACTS, may=True)
    assert (direct.severity, "innobrim setup-sql" in direct.fix) == ("ok", True)
    assert [said(FACTS, may=may).severity for may in (False, None)] == ["ok", "untested"]


def test_bounds_that_do_not_fit_are_said_before_anything_is_written() -> None:
    """Originals that could not be restored, a C that the loop may exceed, and limits beside the bounds."""
    found = said(guarded(Bounds(100, 1000, 1000)), io_capacity=1000, io_capacity_max=2000)
    assert (found.severity, "innobrim restore could not" in found.title) == ("warning", True)
    facts = guarded(Bounds(100, 20_000, 5000))
    found = said(facts, io_capacity=200, io_capacity_max=2000)
    assert (found.severity, "loop.ratio = 4" in found.fix) == ("warning", True)
    assert said(facts, settings=Settings(ratio=4), io_capacity=200, io_capacity_max=2000).severity == "ok"
    found = said(guarded(Bounds(1000, 8000, 4000)), may=True, settings=Settings(max_io_capacity_max=600))
    assert found.severity == "problem"
    assert "the limits are 100 to 600, and the procedure takes 1000 to 8000" in found.title


def test_check_proves_the_procedure_by_a_write_through_it(server: Odd) -> None:
    """The write goes the way that the daemon's go; where it is refused, no GRANT is offered."""
    server.changed_facts = {"procedure": BOUNDS}
    assert "through innobrim.set_global" in line(look(server, active=True), "write").title
    server.refusal = "execute command denied (error 1370)"
    found = line(look(server, active=True), "write")

    assert (found.severity, found.sql) == ("problem", ())
    assert "innobrim setup-sql" in found.fix


@pytest.mark.parametrize("name", BUDGETS)
def test_the_former_default_written_out_is_said_to_be_kept_once(server: Odd, name: str) -> None:
    """Who has 300 in the file keeps it, and hears in one line that it can go; nobody else does."""
    former = [
        one
        for one in look(server, settings=Settings(**{name: 300.0})).findings
        if one.id == "former_defaults"
    ]

    assert [one.severity for one in former] == ["ok"]
    assert former[0].title.startswith(f"{name} = 300 is kept as your budget")
    for settings in (Settings(), Settings(**{name: 301.0})):
        assert "former_defaults" not in [one.id for one in look(server, settings=settings).findings]
