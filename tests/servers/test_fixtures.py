"""Every fixture, recorded or synthetic, goes through detection and readings, as its server would."""

from __future__ import annotations

from itertools import pairwise

import pytest

from policies.registry import LAWS
from tests.servers.fixtured import BOOTED, FILES, MARGINS, REFUSED, TAKEN, fixture, good, opened
from tuner.core.gate import SECONDS_APART
from tuner.records import Facts, Sample
from tuner.servers.adapter import CHANGES, MAXIMUM_32, MAXIMUM_64
from tuner.servers.enginestatus import parse
from tuner.servers.fixture import Fixture
from tuner.servers.port import Unsupported

LAW = {
    "mysql-5.6": "legacy-56",
    "mysql-5.7": "legacy-whole",
    "mysql-8.0.1": "legacy-whole",
    "mysql-8.0.29": "legacy-whole",
    "mysql-": "legacy",
    "percona-5.7.44-legacy": "legacy-57",
    "percona-5.7": "high_checkpoint-57",
    "percona-8.0.28": "high_checkpoint-whole",
    "percona-8.4.6-legacy": "legacy",
    "percona-8": "high_checkpoint",
    "mariadb-10.5.23": "mariadb-wakes",
    "mariadb-10.6.16": "age-blind",
    "mariadb-10.6.22": "mariadb",
    "mariadb-11.4.5-lwm": "mariadb",
    "mariadb-11.8.6-lwm": "mariadb",
    "mariadb-": "soft-limit",
    "rds-mariadb": "soft-limit",
    "": "legacy",
}
"""By what a fixture's name begins with, the first that fits."""

PROVIDER = {
    "rds": "Amazon RDS",
    "cloudsql-mysql-8.0.41": "Google Cloud SQL with optimized writes",
    "cloudsql": "Google Cloud SQL",
    "azure": "Azure Database for MySQL",
    "heatwave": "MySQL HeatWave",
}
NARROW = ("mysql-26", "mysql-9", "mysql-8.4", "percona-8.4", "mariadb-10.11.18", "mariadb-11.8.6")
"""Whose C and M have 32 bits."""

RECORDED = [name for name in TAKEN if not fixture(name).synthetic]
BLOCK, PAYLOAD = 512, 496


def sampled(name: str, number: int = 0) -> tuple[Facts, Sample, Fixture]:
    """Return what a server is, and one reading of it."""
    server, session, fixture = opened(name)
    facts = server.facts()
    session.at = number
    return facts, good(server), fixture


@pytest.mark.parametrize("name", TAKEN)
def test_the_server_is_what_its_name_says(name: str) -> None:
    """Family, law, privilege, provider and range of the knobs are found, and nothing stands in the way."""
    facts, _, fixture = sampled(name)

    assert facts.family == next(one for one in ("mariadb", "percona", "mysql") if one in name)
    assert facts.version == fixture.version
    assert facts.flush_law == next(law for start, law in LAW.items() if name.startswith(start))
    assert facts.blockers == facts.own_limits == facts.unseen == ()
    assert facts.started == BOOTED
    exported = set(fixture.readings[0].metrics)
    assert not exported & {one.partition(":")[0] for one in facts.lacks}
    new = facts.family != "mariadb" and int(fixture.version.partition(".")[0]) >= 8
    assert facts.write_privilege == ("SYSTEM_VARIABLES_ADMIN" if new else "SUPER")
    assert facts.managed == next((one for start, one in PROVIDER.items() if name.startswith(start)), "")
    assert facts.capacity_maximum == (MAXIMUM_32 if name.startswith(NARROW) else MAXIMUM_64)
    assert bool(facts.unverified) == (facts.flush_law == "age-blind")


@pytest.mark.parametrize("name", REFUSED)
def test_a_server_that_cannot_be_tuned_is_refused_with_the_reason(name: str) -> None:
    """The words say what it is and why."""
    server, _, _ = opened(name)

    with pytest.raises(Unsupported) as caught:
        server.facts()

    assert REFUSED[name] in str(caught.value)


@pytest.mark.parametrize("name", TAKEN)
def test_limits_are_those_that_the_server_exports(name: str) -> None:
    """Flush limit, sync point and stall point equal the server's own numbers, to the byte."""
    facts, sample, fixture = sampled(name)
    now = fixture.readings[0]
    exported = {one: int(count) for one, (_, count) in now.metrics.items() if one.startswith("log_max")}
    max_age = int(now.status.get("Innodb_checkpoint_max_age", 0))

    if max_age:
        assert sample.stall_point == max_age
    if facts.disabled_counters:
        return
    limit = exported["log_max_modified_age_async"]
    if "log_concurrency_margin" not in now.metrics:
        assert sample.flush_limit == limit
        last = sample.flush_limit if sample.flush_law in {"mariadb", "mariadb-wakes"} else max_age
        lag = facts.flush_order_lag if facts.version.startswith("8") else 0
        assert sample.sync_point + lag == exported.get("log_max_modified_age_sync", last)
        return
    margin = int(now.metrics["log_concurrency_margin"][1]) or MARGINS[name]
    in_lsn = margin // PAYLOAD * BLOCK + margin % PAYLOAD + 12
    assert sample.flush_limit == (limit - in_lsn) // BLOCK * BLOCK
    assert sample.sync_point + facts.flush_order_lag == exported["log_max_modified_age_sync"] - in_lsn


@pytest.mark.parametrize("name", [one for one in RECORDED if "9.7" in one and "off" not in one])
def test_the_stall_point_is_where_the_free_space_ends(name: str) -> None:
    """log_free_space and the checkpoint age make up the soft capacity, within two log blocks."""
    _, sample, fixture = sampled(name)
    now = {one: int(count) for one, (_, count) in fixture.readings[0].metrics.items()}
    margin = now["log_concurrency_margin"]
    soft = now["log_free_space"] + now["log_lsn_current"] - now["log_lsn_last_checkpoint"]

    stall = soft - (margin // PAYLOAD * BLOCK + margin % PAYLOAD + 12)
    assert abs(sample.stall_point - stall) <= 2 * BLOCK


@pytest.mark.parametrize("name", TAKEN)
def test_the_low_water_mark_follows_from_the_redo_log(name: str) -> None:
    """Ten percent of the stall point in MySQL 8.0 and later, of nine tenths of the log elsewhere."""
    _, sample, fixture = sampled(name)
    percent = float(fixture.readings[0].variables["innodb_adaptive_flushing_lwm"])

    assert sample.low_water is not None
    of = sample.low_water * 100 / percent
    eight = "log_concurrency_margin" in fixture.readings[0].metrics
    assert of == pytest.approx(sample.stall_point if eight else 0.9 * sample.redo_capacity, rel=1e-3)


@pytest.mark.parametrize("name", TAKEN)
def test_a_reading_has_the_servers_numbers(name: str) -> None:
    """Settings, ages, pages and rows of a reading are those in the server's tables."""
    facts, sample, fixture = sampled(name, -1)
    now = fixture.readings[-1]
    metrics = {one: int(count) for one, (_, count) in now.metrics.items()}
    on = metrics["log_lsn_current"] > 0

    assert sample.degraded == (not on)
    assert str(sample.io_capacity) == now.variables["innodb_io_capacity"]
    assert str(sample.io_capacity_max) == now.variables["innodb_io_capacity_max"]
    assert str(sample.pages_dirty) == now.status["Innodb_buffer_pool_pages_dirty"]
    assert str(sample.commits) == now.status["Handler_commit"]
    assert (sample.adaptive_flushing, sample.flush_sync) == (True, True)
    assert (sample.writer, sample.read_only) == (True, False)
    assert sample.select_statements == int(now.status["Com_select"]) > 0
    assert sample.change_statements == sum(int(now.status[one]) for one in CHANGES) > 0
    assert (sample.replica, sample.role_known) == (False, True)
    changes = (now.status.get(f"Innodb_rows_{what}") for what in ("inserted", "updated", "deleted"))
    handlers = (now.status[f"Handler_{what}"] for what in ("write", "update", "delete"))
    wanted = handlers if facts.family == "mariadb" else changes
    assert sample.row_changes == sum(int(value or 0) for value in wanted)
    if not on:
        return
    oldest = metrics.get("log_lsn_buf_pool_oldest_approx", metrics.get("log_lsn_buf_pool_oldest", 0))
    assert sample.modified_age == metrics["log_lsn_current"] - oldest
    assert sample.pages_adaptive == metrics["buffer_flush_adaptive_total_pages"]
    assert sample.flush_percentage == metrics["buffer_flush_pct_for_lsn"]


@pytest.mark.parametrize("name", [one for one in TAKEN if "off" in one])
def test_without_counters_the_age_is_never_too_low(name: str) -> None:
    """A degraded reading's age is the checkpoint's, or from the LOG section, whichever the family shows."""
    facts, sample, fixture = sampled(name)
    now = fixture.readings[0]
    log = {one: int(lsn) for one, lsn in parse(f"---\nLOG\n---\n{now.engine_log}").items()}

    assert facts.disabled_counters
    assert sample.degraded
    assert facts.ages_need_counters == (fixture.version.startswith("5.") and facts.family == "mysql")
    if facts.ages_need_counters:
        assert sample.modified_age == log["engine_lsn"] - log["engine_oldest"]
    else:
        assert sample.lsn_oldest <= log["engine_oldest"]
        assert sample.modified_age == sample.checkpoint_age
    assert 0 < sample.modified_age <= sample.checkpoint_age < sample.stall_point


@pytest.mark.parametrize("name", RECORDED)
def test_the_flush_law_says_what_the_server_said(name: str) -> None:
    """The percentage that a real server exports lies between those of our law around its reading."""
    server, session, fixture = opened(name)
    facts = server.facts()
    law = LAWS[facts.flush_law]
    samples = []
    for session.at in range(len(fixture.readings)):
        samples.append(good(server))
    if samples[0].degraded or not law.m_moves_age:
        return
    for last, sample in pairwise(samples):
        redo = max(sample.lsn_current - last.lsn_current, sample.lsn_oldest - last.lsn_oldest)
        said = [
            law.percentage(
                age=max(0.0, sample.modified_age + way * SECONDS_APART * redo),
                flush_limit=sample.flush_limit,
                io_capacity=sample.io_capacity,
                io_capacity_max=sample.io_capacity_max,
            )
            for way in (-1, 1)
        ]
        assert sample.modified_age > sample.low_water_age
        assert said[0] - 1 <= sample.flush_percentage <= said[1] + 1
        assert sample.pages_adaptive > last.pages_adaptive


@pytest.mark.parametrize("name", TAKEN)
def test_nothing_is_set_by_looking(name: str) -> None:
    """Facts and readings are SELECT and SHOW alone."""
    server, session, _ = opened(name)
    server.facts()
    good(server)

    assert all(statement.startswith(("SELECT ", "SHOW ")) for statement in session.asked)


@pytest.mark.parametrize("name", FILES)
def test_a_fixture_says_what_it_stands_on(name: str) -> None:
    """It was recorded, and says by what and how, or it is written and says from which documents."""
    found = fixture(name)

    if found.synthetic:
        assert (found.program, bool(found.built_from)) == ("", True)
    else:
        assert (found.program, bool(found.note), found.built_from) == ("0.1.0", True, ())
        assert len(found.readings) >= 5
