"""What a family's answers come to, where a plausible reading of them would be the wrong one."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import Any

import pytest
from msgspec.structs import replace

from lab.plant.clock import SimClock
from tests.servers.fixtured import MARGINS, Fixtured, fixture, opened
from tests.servers.scripted import Scripted, good
from tuner.records import Facts, Missed, Sample
from tuner.servers.adapter import MARGIN
from tuner.servers.enginestatus import SECONDS, EngineStatus
from tuner.servers.families.log_files import MySQL57Adapter
from tuner.servers.mysql import MySQLServer
from tuner.servers.port import ServerError

LOG = "---\nLOG\n---\nLog sequence number 300\nPages flushed up to 200\nLast checkpoint at 100\n"


@pytest.mark.parametrize(
    ("said", "on"), [("OFF", False), ("ON", True), ("NO_LOCK", True), ("NO_LOCK_NO_ADMIN", True)]
)
def test_every_kind_of_read_only_counts(
    server: MySQLServer, session: Scripted, said: str, *, on: bool
) -> None:
    """MariaDB 12 has four values for read_only; all but one of them make the server one not to be written."""
    session.variables["read_only"] = said

    assert good(server).read_only is on


def test_a_group_of_57_has_one_primary() -> None:
    """The applier that every member of a group has makes no replica of the primary."""
    database = sqlite3.connect(":memory:")
    database.execute("ATTACH ':memory:' AS performance_schema")
    table = "performance_schema.replication_applier_status"
    database.execute(f"CREATE TABLE {table} (CHANNEL_NAME, SERVICE_STATE)")
    part = MySQL57Adapter.parts["replica"]

    def replica() -> bool:
        rows = {name: (first, second) for name, first, second in database.execute(part.statement)}
        found: bool = part.read(rows)["replica"]
        return found

    database.execute(f"INSERT INTO {table} VALUES ('group_replication_applier', 'ON')")
    assert not replica()
    database.execute(f"INSERT INTO {table} VALUES ('', 'ON')")
    assert replica()


class Engine(Scripted):
    """A server whose SHOW ENGINE INNODB STATUS says what it is told to, or fails."""

    def __init__(self, said: str) -> None:
        super().__init__()
        self.said = said

    def query(self, statement: str) -> Sequence[tuple[Any, ...]]:
        """Answer."""
        self.asked.append(statement)
        return [("InnoDB", "", self.said)]


def test_the_last_resort_is_asked_seldom_also_where_it_fails() -> None:
    """What holds statements up is not asked at every reading because its answer is of no use."""
    engine, session = EngineStatus(), Engine("nothing of a log")
    with pytest.raises(ValueError, match="without a LOG section"):
        engine.read(session, 0.0)
    for second in (1.0, SECONDS - 0.1):
        with pytest.raises(ServerError, match="is asked every 5 s"):
            engine.read(session, second)

    assert len(session.asked) == 1
    session.said = LOG
    assert engine.read(session, SECONDS)["engine_oldest"] == "200"


def test_an_answer_is_not_believed_after_a_later_one_failed() -> None:
    """Ages of an answer that is older than its pace are no reading."""
    engine, session = EngineStatus(), Engine(LOG)
    engine.read(session, 0.0)
    session.said = "cut off"
    with pytest.raises(ValueError, match="without a LOG section"):
        engine.read(session, SECONDS)

    with pytest.raises(ServerError, match="gave no ages"):
        engine.read(session, SECONDS + 1.0)


def with_lwm(name: str, lwm: str, version: str = "") -> tuple[Sample, int]:
    """Return a fixture's reading with another low-water mark of dirty pages, and what the server exports."""
    server, session, _ = opened(name)
    session.reading.variables["innodb_max_dirty_pages_pct_lwm"] = lwm
    if version:
        session.reading.variables["version"] = version
    server.facts()
    return good(server), int(session.reading.metrics["buffer_flush_pct_for_lsn"][1])


def test_too_few_dirty_pages_make_the_age_count_for_nothing() -> None:
    """MariaDB flushes for all of C then, and the percentage that it exports is no proof of its law."""
    found, exported = with_lwm("mariadb-10.6.22", "0.001")
    assert found.flush_percentage == exported

    found, exported = with_lwm("mariadb-10.6.22", "60")
    assert 100.0 * found.pages_dirty / found.pages_total < 60.0
    assert found.flush_percentage == 100 != exported


@pytest.mark.parametrize("version", ["11.0.5", "11.1.4", "11.2.3", "11.3.2", "11.4.1"])
def test_every_mended_series_heeds_the_dirty_pages(version: str) -> None:
    """The first release without MDEV-31939 counts dirty pages as well, in each series of MariaDB 11."""
    found, exported = with_lwm("mariadb-10.6.22", "60", f"{version}-MariaDB")

    assert found.flush_law == "mariadb"
    assert found.flush_percentage == 100 != exported


def ages_without_counters(*hidden: str) -> tuple[Facts, Sample, Sequence[str]]:
    """Return a Percona Server 5.7 whose counters are off, a reading, and what was asked of it."""
    server, session, _ = opened("percona-5.7.44-off")
    for name in hidden:
        del session.reading.status[name]
    return server.facts(), good(server), session.asked


def test_percona_server_shows_its_age_without_counters() -> None:
    """Its own status variables are read each second, and what holds statements up is not asked."""
    facts, found, asked = ages_without_counters()

    assert not facts.ages_need_counters
    assert found.degraded
    assert found.modified_age == found.checkpoint_age == found.redo_logical_size > 0
    assert not any("ENGINE INNODB STATUS" in one for one in asked)


@pytest.mark.parametrize("hidden", ["Innodb_lsn_current", "Innodb_lsn_last_checkpoint"])
def test_a_percona_server_without_such_variables_is_asked_the_last_resort(hidden: str) -> None:
    """Percona Server 8.0 before 8.0.21 shows no ages of its own: it is read, and held, as MySQL is."""
    facts, found, asked = ages_without_counters(hidden)

    assert facts.ages_need_counters
    assert 0 < found.modified_age < found.checkpoint_age
    assert sum("ENGINE INNODB STATUS" in one for one in asked) == 1


@pytest.mark.parametrize("name", ["mysql-5.7.44", "mysql-8.0.29", "percona-5.7.44"])
def test_ages_that_the_counters_show_are_not_asked_of_the_last_resort(name: str) -> None:
    """With module_log on and module_buffer off the age is the counters' own, fresh at each reading."""
    server, session, _ = opened(name)
    metrics = session.reading.metrics
    for one in [one for one in metrics if one.startswith("buffer_")]:
        metrics[one] = ("disabled", "0")
    server.facts()
    found = good(server)
    oldest = metrics.get("log_lsn_buf_pool_oldest") or metrics["log_lsn_buf_pool_oldest_approx"]

    assert found.degraded
    assert found.modified_age == int(metrics["log_lsn_current"][1]) - int(oldest[1]) > 0
    assert found.lsn_checkpoint == int(metrics["log_lsn_last_checkpoint"][1])
    assert not any("ENGINE INNODB STATUS" in one for one in session.asked)


def with_margin(times: float) -> tuple[Facts, Sample, int]:
    """Return a MySQL 8.0.29 whose margin is so much of the usual one, a reading, and what it exports."""
    server, session, _ = opened("mysql-8.0.29")
    metrics = session.reading.metrics
    margin = -(-int(MARGINS["mysql-8.0.29"] * times) // 512) * 512
    metrics[MARGIN] = (metrics[MARGIN][0], str(margin))
    facts = server.facts()
    return facts, good(server), margin


def test_a_margin_that_the_server_made_larger_is_gone_by() -> None:
    """MySQL 8.0 before 8.0.30 that ran short of log space has lower limits since, and is no other build."""
    before, usual, small = with_margin(1.0)
    after, tight, large = with_margin(1.2)

    assert before.blockers == after.blockers == ()
    lost = large // 496 * 512 + large % 496 - (small // 496 * 512 + small % 496)
    assert usual.stall_point - tight.stall_point == pytest.approx(lost, abs=512)
    assert usual.flush_limit - tight.flush_limit == pytest.approx(lost, abs=512)


def test_a_margin_that_the_server_never_counted_is_no_other_build() -> None:
    """MySQL 8.0 before 8.0.30 works it out before any counter is on: it says 0, and ours holds."""
    _, usual, _ = with_margin(1.0)
    facts, found, margin = with_margin(0.0)

    assert margin == 0
    assert facts.blockers == facts.disabled_counters == ()
    assert (found.flush_limit, found.stall_point) == (usual.flush_limit, usual.stall_point)


@pytest.mark.parametrize("rounded", [-64, -511, 0, 511])
def test_a_release_that_rounds_otherwise_is_no_other_build(rounded: int) -> None:
    """MySQL 8.0.15 has the same limits to less than a log block, which no law feels: it is controlled."""
    server, session, _ = opened("mysql-8.0.29")
    metrics = session.reading.metrics
    for name in ("log_max_modified_age_async", "log_max_modified_age_sync"):
        state, limit = metrics[name]
        metrics[name] = (state, str(int(limit) + rounded))

    assert server.facts().blockers == ()
    assert good(server).modified_age > 0


def test_a_margin_below_ours_is_not_understood() -> None:
    """No server comes to a smaller one: it is another build."""
    (facts, _, _) = with_margin(0.8)

    assert "log_concurrency_margin is" in facts.blockers[0]


FIVES = pytest.mark.parametrize("name", ["mysql-5.6.24", "mysql-5.7.44", "percona-5.7.44"])


@FIVES
def test_threads_set_since_mysqld_started_are_no_unknown_build(name: str) -> None:
    """The limits of 5.6 and 5.7 stay those of the start: both numbers are said, and the way out."""
    server, session, _ = opened(name)
    session.reading.variables["innodb_thread_concurrency"] = "64"
    (blocker,) = server.facts().blockers

    assert "innodb_thread_concurrency is 64 and was 0 when mysqld started" in blocker
    assert "set it back to 0 and restart InnoBrim, or restart mysqld" in blocker


@FIVES
def test_limits_that_no_number_of_threads_makes_are_not_understood(name: str) -> None:
    """Any other difference is that of another build."""
    server, session, _ = opened(name)
    metrics = session.reading.metrics
    state, limit = metrics["log_max_modified_age_sync"]
    metrics["log_max_modified_age_sync"] = (state, str(int(limit) + 512))
    (blocker,) = server.facts().blockers

    assert "log_max_modified_age_sync is" in blocker
    assert "this build is not understood" in blocker


def test_what_the_counters_said_before_is_not_what_the_server_does() -> None:
    """Below the low-water mark MariaDB leaves its counters as they were: its law says 0 there, and is met."""
    server, session, _ = opened("mariadb-11.8.6-lwm")
    metrics = session.reading.metrics
    server.facts()
    before = good(server)
    state, current = metrics["log_lsn_current"]
    metrics["log_lsn_buf_pool_oldest"] = (state, str(int(current) - before.low_water_age // 2))
    found = good(server)

    assert int(metrics["buffer_flush_pct_for_lsn"][1]) == before.flush_percentage > 0
    assert (found.flush_percentage, found.flush_requested, found.flush_by_age) == (0, 0, 0)


@pytest.mark.parametrize(
    ("galera", "ready", "missed"), [("ON", "OFF", True), ("ON", "ON", False), ("OFF", "OFF", False)]
)
def test_a_node_without_its_cluster_is_no_reading(galera: str, ready: str, *, missed: bool) -> None:
    """A Galera node that takes no statement answers for its counters, and would refuse each write."""
    plain = fixture("mariadb-11.8.6")
    readings = tuple(
        replace(
            one, variables=one.variables | {"wsrep_on": galera}, status=one.status | {"wsrep_ready": ready}
        )
        for one in plain.readings
    )
    session = Fixtured(replace(plain, readings=readings))
    server = MySQLServer(session.endpoint, SimClock(start=50.0), session=session)
    server.facts()
    said = server.read()

    assert isinstance(said, Missed) is missed
    assert not missed or "wsrep_ready is OFF" in said.reason
