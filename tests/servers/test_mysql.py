"""The MySQL adapter over a session whose answers are given."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pymysql
import pytest

from lab.plant.clock import SimClock
from tests.factory import C_NAME, LIMITS, M_NAME, MEBIBYTE
from tuner.records import Capacity, Missed, Sample
from tuner.servers.connect import Endpoint, Session
from tuner.servers.detect import COUNTERS, ENABLE_COUNTERS
from tuner.servers.mysql import CLAIM_SECONDS, WRITABLE, MySQLServer
from tuner.servers.port import Unreachable

STEPS = ((C_NAME, 300), (M_NAME, 600))
WANTED = Capacity(300, 600)
STATUS = {
    "Innodb_redo_log_capacity_resized": str(100 * MEBIBYTE),
    "Innodb_redo_log_resize_status": "OK",
    "Innodb_redo_log_logical_size": "70000000",
    "Innodb_redo_log_enabled": "ON",
    "Innodb_rows_inserted": "10",
    "Innodb_rows_updated": "20",
    "Innodb_rows_deleted": "30",
    "Innodb_buffer_pool_wait_free": "4",
    "Innodb_buffer_pool_pages_dirty": "5000",
    "Innodb_buffer_pool_pages_total": "65536",
    "Handler_commit": "99",
    "Uptime": "3600",
    "innodb_io_capacity": "225",
    "innodb_io_capacity_max": "450",
    "innodb_adaptive_flushing": "1",
    "innodb_adaptive_flushing_lwm": "10",
    "innodb_flush_sync": "1",
    "innodb_thread_concurrency": "0",
    "server_uuid": "11111111-2222-3333-4444-555555555555",
    "writer": "1",
}


class Scripted(Session):
    """A session to a server of two tables.

    Attributes:
        asked: every statement.
        counters: what InnoDB's counters say; one that is missing is off.
        status: what status and variables say.
        pair: C and M in force.
        fails: part of a statement, and what is raised when it is asked.
        lock: what GET_LOCK answers.
    """

    def __init__(self) -> None:
        super().__init__(Endpoint(user="innobrim"))
        self.asked: list[str] = []
        self.counters = dict.fromkeys(COUNTERS, 7) | {
            "log_lsn_current": 10_000_000,
            "log_lsn_buf_pool_oldest_approx": 9_000_000,
        }
        self.status = dict(STATUS)
        self.pair = {C_NAME: 225, M_NAME: 450}
        self.fails: dict[str, Exception] = {}
        self.lock = 1
        self.connection = object()

    @property
    def current(self) -> object | None:
        """Return what tells this connection from the next one."""
        return self.connection

    def query(self, statement: str) -> Sequence[tuple[Any, ...]]:
        """Answer, or fail as told."""
        self.asked.append(statement)
        for part, error in self.fails.items():
            if part in statement:
                raise error
        if statement.startswith("SET GLOBAL innodb_io"):
            name, value = statement.removeprefix("SET GLOBAL ").split(" = ")
            self.pair[name] = int(value)
            return []
        if statement.startswith("SELECT @@GLOBAL"):
            return [tuple(self.pair.values())]
        if "innodb_metrics" in statement:
            return list(self.counters.items())
        if "global_status" in statement:
            return list(self.status.items())
        return [(self.lock,)]


@pytest.fixture
def session() -> Scripted:
    """Return a session that answers well."""
    return Scripted()


@pytest.fixture
def clock() -> SimClock:
    """Return the clock that the adapter lives on."""
    return SimClock(start=50.0)


@pytest.fixture
def server(session: Scripted, clock: SimClock) -> MySQLServer:
    """Return the adapter over it."""
    made = MySQLServer(session.endpoint, clock)
    made._session = session
    return made


def good(server: MySQLServer) -> Sample:
    """Return a reading that must be good."""
    reading = server.read()
    assert isinstance(reading, Sample)
    return reading


def test_a_reading_costs_two_statements(server: MySQLServer, session: Scripted) -> None:
    """One statement for the counters and one for all the rest, every second."""
    reading = good(server)

    assert len(session.asked) == 2
    assert reading.capacity == Capacity(225, 450)
    assert (reading.flush_limit, reading.stall_point) == (LIMITS.flush_limit, LIMITS.stall_point)
    assert reading.modified_age == 1_000_000
    assert reading.row_changes == 60
    assert reading.uptime == 3600.0
    assert reading.writer


def test_no_dirty_page_is_no_age(server: MySQLServer, session: Scripted) -> None:
    """A server without dirty pages says 0 for the oldest modification; its age is 0, not the whole LSN."""
    session.counters["log_lsn_buf_pool_oldest_approx"] = 0

    assert good(server).modified_age == 0


def test_a_resize_is_seen(server: MySQLServer, session: Scripted) -> None:
    """A resize under way, and redo logging that is off, are part of the reading."""
    session.status |= {"Innodb_redo_log_resize_status": "Resizing down", "Innodb_redo_log_enabled": "OFF"}

    reading = good(server)

    assert reading.resizing
    assert not reading.redo_enabled


def test_counters_that_went_off_are_named_with_the_way_out(server: MySQLServer, session: Scripted) -> None:
    """After a restart of mysqld counters may be off: the reading is lost, with the statements to paste."""
    del session.counters["log_lsn_current"]
    reading = server.read()

    assert isinstance(reading, Missed)
    assert "log_lsn_current" in reading.reason
    assert all(statement in reading.reason for statement in ENABLE_COUNTERS)
    assert all(statement not in session.asked for statement in ENABLE_COUNTERS)
    server.enables_counters = True
    server.read()
    assert all(statement in session.asked for statement in ENABLE_COUNTERS)


@pytest.mark.parametrize(
    ("part", "error", "said"),
    [
        ("innodb_metrics", Unreachable("innobrim@db:3306: timed out"), "timed out"),
        ("global_status", pymysql.OperationalError(1142, "SELECT command denied"), "SELECT command denied"),
        ("global_status", pymysql.ProgrammingError(1146, "Table doesn't exist"), "doesn't exist"),
    ],
)
def test_a_reading_that_fails_says_why(
    server: MySQLServer, session: Scripted, part: str, error: Exception, said: str
) -> None:
    """Reading never raises: what the server said is the reason of a missed reading."""
    session.fails[part] = error
    reading = server.read()

    assert isinstance(reading, Missed)
    assert said in reading.reason


def test_an_answer_without_sense_is_missed(server: MySQLServer, session: Scripted) -> None:
    """An answer that lacks something, or is no number, is a missed reading too."""
    for change in ({"Uptime": "soon"}, {"Innodb_redo_log_capacity_resized": "1024"}):
        session.status = STATUS | change
        reading = server.read()

        assert isinstance(reading, Missed)
        assert "unexpected answer" in reading.reason


def test_a_write_is_read_back(server: MySQLServer, session: Scripted) -> None:
    """The SETs go out in their order, and the receipt has what is really in force."""
    receipt = server.apply(STEPS, WANTED)

    assert session.asked == [
        "SET GLOBAL innodb_io_capacity = 300",
        "SET GLOBAL innodb_io_capacity_max = 600",
        "SELECT @@GLOBAL.innodb_io_capacity, @@GLOBAL.innodb_io_capacity_max",
    ]
    assert (receipt.requested, receipt.in_force, receipt.done, receipt.error) == (WANTED, WANTED, 2, "")


def test_a_refused_set_stops_the_write(server: MySQLServer, session: Scripted) -> None:
    """After a refusal nothing more is set; the receipt says how far it went, and what is in force."""
    session.fails[M_NAME + " ="] = pymysql.OperationalError(1227, "Access denied")
    receipt = server.apply(STEPS, WANTED)

    assert (receipt.in_force, receipt.done) == (Capacity(300, 450), 1)
    assert receipt.error == "Access denied (error 1227)"
    assert receipt.denied


def test_a_connection_lost_half_way_is_not_waited_for(server: MySQLServer, session: Scripted) -> None:
    """When the connection breaks between two SETs, the pair in force is unknown, and said to be."""
    session.fails[M_NAME + " ="] = Unreachable("innobrim@db:3306: lost connection")
    receipt = server.apply(STEPS, WANTED)

    assert (receipt.in_force, receipt.done) == (None, 1)
    assert "lost connection" in receipt.error


def test_only_the_published_variables_can_be_written(server: MySQLServer, session: Scripted) -> None:
    """Nothing else is ever written, whoever asks."""
    receipt = server.apply((("innodb_flush_sync", 0),), WANTED)

    assert WRITABLE == (C_NAME, M_NAME)
    assert "may not be written" in receipt.error
    assert receipt.done == 0
    assert not any(statement.startswith("SET") for statement in session.asked)


def test_the_writer_lock_is_taken_once_and_given_back(server: MySQLServer, session: Scripted) -> None:
    """In active mode the lock is taken at the next reading, again after a reconnect, and released after."""
    server.read()
    assert not any("_LOCK(" in statement and "GET" in statement for statement in session.asked)
    server.claims_writer = True
    server.read()
    server.read()
    assert len([one for one in session.asked if "GET_LOCK" in one]) == 1
    session.connection = object()
    server.read()
    assert len([one for one in session.asked if "GET_LOCK" in one]) == 2
    server.claims_writer = False
    server.read()
    server.read()

    assert len([one for one in session.asked if "RELEASE_LOCK" in one]) == 1


def test_a_lock_that_another_holds_is_tried_again(
    server: MySQLServer, session: Scripted, clock: SimClock
) -> None:
    """While another daemon has the lock this one is no writer, and asks again now and then."""
    session.lock, session.status["writer"] = 0, "0"
    server.claims_writer = True

    assert not good(server).writer
    server.read()
    assert len([one for one in session.asked if "GET_LOCK" in one]) == 1
    session.lock, session.status["writer"] = 1, "1"
    assert not good(server).writer, "the other one is gone, and the lock is nobody's yet"
    clock.advance_to(50.0 + CLAIM_SECONDS)
    assert good(server).writer
    assert len([one for one in session.asked if "GET_LOCK" in one]) == 2


def test_a_server_without_named_locks_is_written_all_the_same(server: MySQLServer, session: Scripted) -> None:
    """Where named locks are refused, as in some clusters, readings go on."""
    session.fails["GET_LOCK"] = pymysql.OperationalError(
        1105, "Percona-XtraDB-Cluster prohibits use of GET_LOCK"
    )
    server.claims_writer = True

    assert good(server).writer
