"""What is said of servers on which control is not what it is on a MySQL of today."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from tests.checked import Odd, line, look
from tests.factory import FACTS, sample
from tuner.core.holds import law_in_doubt, not_writer
from tuner.core.step import start
from tuner.records import Remedy
from tuner.settings import Mode, Settings


@pytest.fixture
def server() -> Odd:
    """Return a healthy server."""
    return Odd()


def test_where_no_m_moves_the_age_the_setting_that_changes_it_is_named(server: Odd) -> None:
    """MariaDB without a low-water mark of dirty pages: a warning with the statement; control is possible."""
    server.changed_facts = {"family": "mariadb", "flush_law": "soft-limit"}
    found = line(look(server), "authority")

    assert found.outcome == "warning"
    assert found.sql == ("SET GLOBAL innodb_max_dirty_pages_pct_lwm = 0.001",)
    assert "also in my.cnf" in found.fix
    assert "only raises an M that is flushed in full" in found.message
    assert look(server).controllable


def test_a_cost_is_said_where_the_provider_sets_the_variable(server: Odd) -> None:
    """On a managed server the way is the provider's, and what the setting costs is said all the same."""
    server.changed_facts = {"family": "mariadb", "flush_law": "soft-limit", "managed": "Amazon RDS"}
    found = line(look(server), "authority")

    assert "parameter group" in found.fix
    assert "leave it at 0 there" in found.brings


def test_where_the_page_cleaner_sleeps_the_gap_is_said(server: Odd) -> None:
    """An older MariaDB with the same setting: when M decides, when not, what ends the gap, at what cost."""
    server.changed_facts = {"family": "mariadb", "flush_law": "mariadb-wakes"}
    found = line(look(server), "authority")

    assert found.outcome == "ok"
    assert "wakes at the flush limit" in found.message
    assert found.sql == ("SET GLOBAL innodb_max_dirty_pages_pct_lwm = 0.001",)
    assert "leave it at 0 there" in found.brings


def test_a_build_that_ignores_the_age_is_told_which_one_does_not(server: Odd) -> None:
    """No setting helps there: the releases that do are named, and no statement is offered."""
    server.changed_facts = {
        "family": "mariadb",
        "version": "10.11.4-MariaDB",
        "flush_law": "age-blind",
        "unverified": "MDEV-31939",
    }
    report = look(server)

    assert "10.11.7" in line(report, "authority").fix
    assert line(report, "authority").sql == ()
    assert line(report, "verified").outcome == "warning"
    assert "loop.accept_unverified" in line(report, "verified").fix
    assert "verified" in report.lacking


def test_a_managed_server_is_for_advice(server: Odd) -> None:
    """Where nobody may SET GLOBAL, nothing is tried, and advisory mode is said to work."""
    server.changed_facts = {"managed": "Amazon RDS"}
    found = line(look(server, active=True), "write")

    assert found.outcome == "warning"
    assert "Amazon RDS takes no SET GLOBAL" in found.message
    assert server.applied == []


def test_no_line_of_a_managed_server_offers_set_global(server: Odd) -> None:
    """Every fix is one that the provider takes."""
    server.changed_facts = {"managed": "Amazon RDS", "disabled_counters": ("log_lsn_current",)}
    server.changed_sample = {"flush_sync": False, "adaptive_flushing": False, "io_capacity_max": 451}
    found = [one for one in look(server).lines if one.sql]

    assert {one.name for one in found} >= {"counters", "adaptive_flushing", "flush_sync", "ratio"}
    assert not any("SET GLOBAL" in statement for one in found for statement in one.sql)


@pytest.mark.parametrize(
    ("facts", "said"),
    [
        ({}, "only where this version matched before"),
        ({"ages_need_counters": True}, "active mode writes nothing"),
        ({"flush_law": "soft-limit"}, "active mode writes all the same"),
    ],
)
def test_what_counters_that_are_off_cost_is_said_by_family(
    server: Odd, facts: dict[str, object], said: str
) -> None:
    """Whether active mode writes without them is not the same everywhere."""
    server.changed_facts = {"disabled_counters": ("log_lsn_current",), **facts}

    assert said in line(look(server), "counters").message


def test_a_law_without_a_percentage_waits_for_no_proof(server: Odd) -> None:
    """Where no M moves the age, active mode is not said to wait for counters that verify something."""
    server.changed_facts = {"flush_law": "soft-limit"}
    found = line(look(server), "verified")

    assert found.outcome == "ok"
    assert "nothing is to be verified" in found.message


def test_a_redo_log_that_needs_a_restart_is_said_to(server: Odd) -> None:
    """No statement is offered where the redo log's size is in my.cnf alone; the variables are named."""
    server.changed_facts = {"redo_variable": "innodb_log_file_size", "redo_dynamic": False}
    found = line(look(server), "redo_capacity")

    assert found.sql == ()
    assert "innodb_log_file_size × innodb_log_files_in_group = 1073741824 in my.cnf and restart" in found.fix


@pytest.mark.parametrize(
    "provider", ["Amazon RDS", "Google Cloud SQL", "Azure Database for MySQL", "MySQL HeatWave"]
)
def test_a_managed_redo_log_that_needs_a_restart_is_no_matter_of_my_cnf(server: Odd, provider: str) -> None:
    """Whose server is managed has no my.cnf and restarts no mysqld: the provider does both."""
    server.changed_facts = {
        "managed": provider,
        "redo_variable": "innodb_log_file_size",
        "redo_dynamic": False,
    }
    fix = line(look(server), "redo_capacity").fix

    assert "my.cnf" not in fix
    assert f"have {provider} set innodb_log_file_size × innodb_log_files_in_group = 1073741824" in fix
    assert "restart the instance" in fix


def test_writers_that_wait_at_the_sync_point_are_said_to(server: Odd) -> None:
    """On 5.6, 5.7 and MariaDB sync flushing stalls the writers, which is not called a rescue."""
    server.changed_facts = {"sync_stalls": True}

    assert "writers wait" in line(look(server), "flush_sync").message
    server.changed_sample = {"flush_sync": False}
    assert line(look(server), "flush_sync").outcome == "warning"


def test_an_age_that_m_may_not_bring_back_is_said_to(server: Odd) -> None:
    """Where M decides the age on MariaDB, check says that it does so below the flush limit only."""
    server.changed_facts = {"flush_law": "mariadb", "sync_stalls": True}
    message = line(look(server), "flush_sync").message

    assert "M may not bring it back before writers wait" in message
    assert "writers wait from 83.4 MiB of age on" in message


def test_an_unverified_law_is_not_acted_on_unless_accepted() -> None:
    """Active mode holds, with the key that lets it write, until the operator has set it."""
    facts = replace(FACTS, unverified="why")
    held = law_in_doubt(start(Settings(mode=Mode.ACTIVE), facts))
    accepted = law_in_doubt(start(Settings(mode=Mode.ACTIVE, accept_unverified=True), facts))

    assert held is not None
    assert "cannot be verified: why" in held[0]
    assert held.remedies == (Remedy.UPGRADE,)
    assert accepted is None or "cannot be verified" not in accepted[0]


def test_a_managed_server_is_never_written_to() -> None:
    """A managed server holds with the provider's name, and points at the advice."""
    state = start(Settings(mode=Mode.ACTIVE), replace(FACTS, managed="Google Cloud SQL"))
    ((reason, remedy),) = not_writer(state, sample())

    assert "Google Cloud SQL lets no account set" in reason
    assert remedy is Remedy.PROVIDER


def test_a_server_is_named_as_people_name_it(server: Odd) -> None:
    """Product, version and provider are said, not what a distribution wrote into version_comment."""
    server.changed_facts = {
        "family": "mariadb",
        "version": "11.8.6-MariaDB",
        "version_comment": "-- Please help get to 10k stars",
        "managed": "Amazon RDS",
    }

    found = line(look(server), "supported").message
    assert found == "MariaDB 11.8.6-MariaDB on Amazon RDS: flush law legacy"


def test_a_latency_that_nobody_counts_is_not_said_to_be_seen(server: Odd) -> None:
    """MariaDB's performance_schema is OFF by default: no grant helps there, and none is offered."""
    server.changed_facts = {"timed": False}
    found = line(look(server), "surroundings")

    assert found.outcome == "untested"
    assert "performance_schema is OFF" in found.message
    assert found.fix.startswith("performance_schema = ON")
    assert found.sql == ()

    server.changed_facts = {"timed": False, "unseen": ("replica", "latency")}
    found = line(look(server), "surroundings")
    assert found.message.count("latency") == 1
    assert "GRANT SELECT ON performance_schema.*" in found.sql[0]


def test_counters_that_active_mode_does_without_are_not_said_to_be_lacking(server: Odd) -> None:
    """Where no M moves the age active mode writes without counters, and is not said to lack them."""
    server.changed_facts = {"flush_law": "soft-limit", "disabled_counters": ("log_lsn_current",)}
    assert look(server).lacking == ()

    server.changed_facts = {"disabled_counters": ("log_lsn_current",)}
    assert look(server).lacking == ("counters",)


def test_what_the_server_does_is_said_by_law(server: Odd) -> None:
    """A build that flushes whatever the age is not said to wait for the flush limit."""
    server.changed_facts = {"family": "mariadb", "flush_law": "age-blind"}
    assert "by C, whatever the age" in line(look(server), "authority").message
    assert "MDEV-31939" in line(look(server), "authority").message

    server.changed_facts = {"family": "mariadb", "flush_law": "soft-limit"}
    found = line(look(server), "authority")
    assert "sleeps until the age is at the flush limit, 7/8 of Innodb_checkpoint_max_age" in found.message
    assert "where fewer than C pages a second become dirty" in found.brings
