"""What a family's answers come to, where a plausible reading of them would be the wrong one."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import Any

import pytest
from msgspec.structs import replace

from tests.servers.fixtured import MARGINS, Fixtured, good, opened
from tests.servers.plain import plain
from tuner.records import Facts, Missed, Sample
from tuner.servers.adapter import MARGIN
from tuner.servers.enginestatus import SECONDS, EngineStatus
from tuner.servers.families.log_files import MySQL57Adapter
from tuner.servers.port import ServerError
from tuner.servers.server import RealServer

LOG = "---\nLOG\n---\nLog sequence number 300\nPages flushed up to 200\nLast checkpoint at 100\n"
LWM = "innodb_max_dirty_pages_pct_lwm"
PERCENTAGE = "buffer_flush_pct_for_lsn"
ENGINE = "SHOW ENGINE INNODB STATUS"
SET_BY_THE_SERVER = (
    *(MARGIN, PERCENTAGE, "buffer_flush_lsn_avg_rate"),
    *("buffer_flush_n_to_flush_requested", "buffer_flush_n_to_flush_by_age"),
)
"""By MONITOR_SET (buf/buf0flu.cc, log/log0log.cc): after a reset their count has the old value in it."""


def read(name: str, **changes: Any) -> tuple[Facts, Sample, Sequence[str]]:  # noqa: ANN401 - see opened
    """Return what a fixture's server is, a reading of it, and what was asked; arguments as ``opened``'s."""
    server, session, _ = opened(name, **changes)
    return server.facts(), good(server), session.asked


@pytest.mark.parametrize(
    ("said", "on"), [("OFF", False), ("ON", True), ("NO_LOCK", True), ("NO_LOCK_NO_ADMIN", True)]
)
def test_every_kind_of_read_only_counts(
    server: RealServer, session: Fixtured, said: str, *, on: bool
) -> None:
    """MariaDB 12 has four values for read_only; all but one of them make the server one not to be written."""
    session.reading.variables["read_only"] = said

    assert good(server).read_only is on


def test_a_group_of_57_has_one_primary() -> None:
    """The applier that every member of a group has makes no replica of the primary."""
    database = sqlite3.connect(":memory:")
    database.execute("ATTACH ':memory:' AS performance_schema")
    table = "performance_schema.replication_applier_status"
    database.execute(f"CREATE TABLE {table} (CHANNEL_NAME, SERVICE_STATE)")
    part = MySQL57Adapter.parts["replica"]
    found = []
    for channel in ("group_replication_applier", ""):
        database.execute(f"INSERT INTO {table} VALUES (?, 'ON')", (channel,))
        rows = {name: (first, second) for name, first, second in database.execute(part.statement)}
        found.append(part.read(rows)["replica"])

    assert found == [False, True]


class Engine(Fixtured):
    """A server whose SHOW ENGINE INNODB STATUS says what it is told to."""

    said = ""

    def query(self, statement: str) -> Sequence[tuple[Any, ...]]:
        """Answer."""
        self.asked.append(statement)
        return [("InnoDB", "", self.said)]


@pytest.mark.parametrize("before", ["", LOG], ids=["never answered", "answered before"])
def test_the_last_resort_is_asked_seldom_also_where_it_fails(before: str) -> None:
    """What holds statements up is not asked at every reading, and no older answer is believed meanwhile."""
    engine, session = EngineStatus(), Engine(plain())
    if before:
        session.said = before
        assert engine.read(session, -SECONDS)["engine_oldest"] == "200"
    session.asked.clear()
    session.said = "nothing of a log"
    with pytest.raises(ValueError, match="without a LOG section"):
        engine.read(session, 0.0)
    for second in (1.0, SECONDS - 0.1):
        with pytest.raises(ServerError, match="gave no ages; it is asked every 5 s"):
            engine.read(session, second)

    assert len(session.asked) == 1
    session.said = LOG
    assert engine.read(session, SECONDS)["engine_oldest"] == "200"


@pytest.mark.parametrize(
    ("lwm", "version", "heeds"),
    [
        ("0.001", "10.6.22", True),
        *(("60", one, False) for one in ("10.6.22", "11.0.5", "11.1.4", "11.2.3", "11.3.2", "11.4.1")),
    ],
)
def test_too_few_dirty_pages_make_the_age_count_for_nothing(lwm: str, version: str, *, heeds: bool) -> None:
    """MariaDB flushes for all of C then, and the percentage that it exports is no proof of its law."""
    server, session, _ = opened("mariadb-10.6.22", variables={LWM: lwm, "version": f"{version}-MariaDB"})
    server.facts()
    found = good(server)
    exported = int(session.reading.metrics[PERCENTAGE][1])

    assert found.flush_law == "mariadb"
    assert (100.0 * found.pages_dirty / found.pages_total >= float(lwm)) is heeds
    assert found.flush_percentage == (exported if heeds else 100)
    assert exported != 100


@pytest.mark.parametrize("name", ["mysql-9.7.4", "mysql-5.6.24", "mariadb-11.8.6-lwm"])
def test_a_reset_of_all_counters_changes_no_reading(name: str) -> None:
    """After SET GLOBAL innodb_monitor_reset = 'all' the percentage is the server's, and no sum of two."""
    server, session, _ = opened(name)
    server.facts()
    usual = good(server)
    metrics = session.reading.metrics
    session.before_reset = {one: int(metrics[one][1]) for one in SET_BY_THE_SERVER if one in metrics}

    assert good(server) == replace(usual, read_seconds=0.0)
    assert usual.flush_percentage > 0


def test_what_the_counters_said_before_is_not_what_the_server_does() -> None:
    """Below the low-water mark MariaDB leaves its counters as they were: its law says 0 there, and is met."""
    _, before, _ = read("mariadb-11.8.6-lwm")
    oldest = before.lsn_current - before.low_water_age // 2
    _, found, _ = read("mariadb-11.8.6-lwm", metrics={"log_lsn_buf_pool_oldest": oldest})

    assert before.flush_percentage > 0
    assert (found.flush_percentage, found.flush_requested, found.flush_by_age) == (0, 0, 0)


def test_percona_server_shows_its_age_without_counters() -> None:
    """Its own status variables are read each second, and what holds statements up is not asked."""
    facts, found, asked = read("percona-5.7.44-off")

    assert not facts.ages_need_counters
    assert found.degraded
    assert found.modified_age == found.checkpoint_age == found.redo_logical_size > 0
    assert not any(ENGINE in one for one in asked)


@pytest.mark.parametrize("hidden", ["Innodb_lsn_current", "Innodb_lsn_last_checkpoint"])
def test_a_percona_server_without_such_variables_is_asked_the_last_resort(hidden: str) -> None:
    """Percona Server 8.0 before 8.0.21 shows no ages of its own: it is read, and held, as MySQL is."""
    facts, found, asked = read("percona-5.7.44-off", status={hidden: None})

    assert facts.ages_need_counters
    assert 0 < found.modified_age < found.checkpoint_age
    assert sum(ENGINE in one for one in asked) == 1


@pytest.mark.parametrize("name", ["mysql-5.7.44", "mysql-8.0.29", "percona-5.7.44"])
def test_ages_that_the_counters_show_are_not_asked_of_the_last_resort(name: str) -> None:
    """With module_log on and module_buffer off the age is the counters' own, fresh at each reading."""
    server, session, _ = opened(name)
    metrics = session.reading.metrics
    metrics |= {one: ("disabled", "0") for one in metrics if one.startswith("buffer_")}
    server.facts()
    found = good(server)
    oldest = metrics.get("log_lsn_buf_pool_oldest") or metrics["log_lsn_buf_pool_oldest_approx"]

    assert found.degraded
    assert found.modified_age == int(metrics["log_lsn_current"][1]) - int(oldest[1]) > 0
    assert found.lsn_checkpoint == int(metrics["log_lsn_last_checkpoint"][1])
    assert not any(ENGINE in one for one in session.asked)


def margin_of(times: float) -> int:
    """Return so much of the margin that a MySQL 8.0.29 usually comes to, payload bytes in whole blocks."""
    return -(-int(MARGINS["mysql-8.0.29"] * times) // 512) * 512


def test_a_margin_that_the_server_made_larger_is_gone_by() -> None:
    """MySQL 8.0 before 8.0.30 that ran short of log space has lower limits since, and is no other build."""
    small, large = margin_of(1.0), margin_of(1.2)
    before, usual, _ = read("mysql-8.0.29", metrics={MARGIN: small})
    after, tight, _ = read("mysql-8.0.29", metrics={MARGIN: large})

    assert before.blockers == after.blockers == ()
    lost = large // 496 * 512 + large % 496 - (small // 496 * 512 + small % 496)
    assert usual.stall_point - tight.stall_point == pytest.approx(lost, abs=512)
    assert usual.flush_limit - tight.flush_limit == pytest.approx(lost, abs=512)


def test_a_margin_that_the_server_never_counted_is_no_other_build() -> None:
    """MySQL 8.0 before 8.0.30 works it out before any counter is on: it says 0, and ours holds."""
    _, usual, _ = read("mysql-8.0.29", metrics={MARGIN: margin_of(1.0)})
    facts, found, _ = read("mysql-8.0.29", metrics={MARGIN: 0})

    assert facts.blockers == facts.disabled_counters == ()
    assert (found.flush_limit, found.stall_point) == (usual.flush_limit, usual.stall_point)


@pytest.mark.parametrize(
    ("galera", "ready", "missed"), [("ON", "OFF", True), ("ON", "ON", False), ("OFF", "OFF", False)]
)
def test_a_node_without_its_cluster_is_no_reading(galera: str, ready: str, *, missed: bool) -> None:
    """A Galera node that takes no statement answers for its counters, and would refuse each write."""
    server, _, _ = opened("mariadb-11.8.6", variables={"wsrep_on": galera}, status={"wsrep_ready": ready})
    server.facts()
    said = server.read()

    assert isinstance(said, Missed) is missed
    assert not missed or "wsrep_ready is OFF" in said.reason
