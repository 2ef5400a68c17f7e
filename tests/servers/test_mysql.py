"""The MySQL adapter over a session whose answers are given."""

from __future__ import annotations

from collections.abc import Iterator

import pymysql
import pytest

from lab.plant.clock import SimClock
from tests.factory import C_NAME, LIMITS, M_NAME
from tests.servers.scripted import STATUS, Scripted, good
from tuner.records import ENABLE_COUNTERS, Capacity, Missed
from tuner.servers import mysql
from tuner.servers.adapter import DDL, DROPS
from tuner.servers.families.redo_capacity import RedoCapacityAdapter
from tuner.servers.mysql import ENABLE_SECONDS, MySQLServer
from tuner.servers.port import Unreachable
from tuner.servers.writing import ASK, WRITABLE

STEPS = ((C_NAME, 300), (M_NAME, 600))
WANTED = Capacity(300, 600)


def test_a_reading_costs_two_statements(server: MySQLServer, session: Scripted) -> None:
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


def test_what_else_the_status_shows_is_in_the_reading(server: MySQLServer, session: Scripted) -> None:
    """Whether writes are allowed, DDL, drops and a buffer pool being loaded are seen at every reading."""
    plain = good(server)
    assert not any((plain.read_only, plain.super_read_only, plain.undo_truncating, plain.pool_loading))
    assert (plain.dirty_limit, plain.ddl_statements, plain.drop_statements) == (90.0, len(DDL), len(DROPS))

    session.variables |= {"read_only": "1", "super_read_only": "1", "innodb_max_dirty_pages_pct": "75.5"}
    session.status |= {"Com_alter_table": "5", "Com_truncate": "8", "Innodb_undo_tablespaces_active": "1"}
    for loading in ("Loading buffer pool(s) from /data/ib_buffer_pool", "Loaded 100/4096 pages"):
        session.status["Innodb_buffer_pool_load_status"] = loading
        assert good(server).pool_loading
    changed = good(server)
    assert changed.read_only
    assert changed.super_read_only
    assert changed.undo_truncating
    assert changed.dirty_limit == 75.5
    assert changed.ddl_statements == plain.ddl_statements + 4
    assert changed.drop_statements == plain.drop_statements + 7


def test_without_counters_a_reading_is_a_degraded_one(server: MySQLServer, session: Scripted) -> None:
    """With a counter off the status variables stand in: an age that is never too low, and no flush split."""
    full = good(server)
    del session.counters["log_lsn_buf_pool_oldest_approx"]
    reading = good(server)

    assert (full.degraded, reading.degraded) == (False, True)
    assert reading.lsn_current == 10_000_500
    assert reading.modified_age == reading.checkpoint_age == 2_000_500
    assert reading.modified_age > full.modified_age
    assert reading.pages_adaptive == 12_345
    assert reading.pages_sync == reading.pages_lru == reading.flush_percentage == 0
    assert reading.capacity == full.capacity


def test_counters_are_turned_on_where_that_is_allowed(server: MySQLServer, session: Scripted) -> None:
    """Counters that are off after a restart of mysqld are turned on only where the operator allowed it."""
    counter = session.counters.pop("log_lsn_current")
    assert good(server).degraded
    assert all(statement not in session.asked for statement in ENABLE_COUNTERS)

    server.enables_counters = True
    reading = server.read()
    assert isinstance(reading, Missed)
    assert "log_lsn_current" in reading.reason
    assert all(statement in session.asked for statement in ENABLE_COUNTERS)

    session.counters["log_lsn_current"] = counter
    assert not good(server).degraded


def test_counters_that_may_not_be_turned_on_cost_a_reading_a_minute(
    server: MySQLServer, session: Scripted, clock: SimClock
) -> None:
    """Where the server refuses to turn them on, one reading says so, and the others are degraded."""
    del session.counters["log_lsn_current"]
    session.fails["innodb_monitor_enable"] = pymysql.OperationalError(1227, "Access denied")
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


class Login(Scripted):
    """A session that keeps the global privileges of its login, as SUPER is kept.

    Attributes:
        super: whether the account has it by now.
    """

    def __init__(self) -> None:
        super().__init__()
        self.super = False
        self._refuse()

    def _refuse(self) -> None:
        self.fails = {} if self.super else {"SET GLOBAL": pymysql.OperationalError(1227, "Access denied")}

    def close(self) -> None:
        """Log in again with the next statement, by what the account has then."""
        self.connection = object()
        self._refuse()


@pytest.fixture
def login(clock: SimClock) -> Iterator[tuple[MySQLServer, Login]]:
    """Return a server that claims the writer lock, and was just refused a write."""
    session = Login()
    server = MySQLServer(session.endpoint, clock, session=session)
    server.claims_writer = True
    good(server)
    assert server.apply(STEPS, WANTED).denied
    session.asked.clear()
    yield server, session
    server.close()


def test_a_privilege_that_was_granted_counts_at_the_next_write(login: tuple[MySQLServer, Login]) -> None:
    """SUPER counts from the next login on: a write after a refused one logs in again, and locks first."""
    server, session = login
    session.super = True

    assert server.apply(STEPS, WANTED).in_force == WANTED
    assert session.asked[2] == ASK
    assert ["_LOCK(" in one for one in session.asked] == [True, True, False, False, False, False]
    assert ("RELEASE" in session.asked[0], "GET" in session.asked[1]) == (True, True)
    server.apply(STEPS, WANTED)
    assert sum("GET_LOCK" in one for one in session.asked) == 1


def test_a_new_login_without_the_lock_writes_nothing(login: tuple[MySQLServer, Login]) -> None:
    """Where another daemon takes the lock between two logins, the write is given up and said to be."""
    server, session = login
    session.super, session.lock = True, 0
    receipt = server.apply(STEPS, WANTED)

    assert (receipt.done, receipt.denied) == (0, False)
    assert "took the writer lock" in receipt.error
    assert session.pair == {C_NAME: 225, M_NAME: 450}


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


def test_a_server_that_does_not_say_who_set_them_leaves_it_open(
    server: MySQLServer, session: Scripted
) -> None:
    """Where the question is refused, nothing is claimed."""
    session.fails["variables_info"] = pymysql.err.OperationalError(1142, "SELECT command denied")

    assert server.set_by_us() == frozenset()


@pytest.mark.parametrize(
    ("grant", "may"),
    [
        ("GRANT SYSTEM_VARIABLES_ADMIN,XA_RECOVER_ADMIN ON *.* TO `a`@`%` WITH GRANT OPTION", True),
        ("GRANT PROCESS, SUPER ON *.* TO `a`@`%`", True),
        ("GRANT ALL PRIVILEGES ON *.* TO `a`@`%`", True),
        ("GRANT PROCESS ON *.* TO `SUPER`@`%`", False),
        ("GRANT ALL PRIVILEGES ON `shop`.* TO `a`@`%`", False),
        ("GRANT SESSION_VARIABLES_ADMIN ON *.* TO `a`@`%`", False),
    ],
)
def test_the_privilege_to_write_is_seen_in_the_grants(
    server: MySQLServer, session: Scripted, grant: str, *, may: bool
) -> None:
    """Whether the account may write is known without a write, from what the server grants it."""
    session.grants = ["GRANT USAGE ON *.* TO `a`@`%`", grant]
    assert server.may_write() is may

    session.fails["SHOW GRANTS"] = pymysql.OperationalError(1141, "There is no such grant")
    assert server.may_write() is None


def test_a_server_of_another_family_behind_the_address_is_recognised(
    server: MySQLServer, session: Scripted, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the answers are another family's from now on, the next reading finds out which, and is good."""
    looked: list[int] = []

    def find(_session: object) -> tuple[object, RedoCapacityAdapter]:
        looked.append(len(session.asked))
        return object(), RedoCapacityAdapter(absent=("super_read_only",))

    monkeypatch.setattr(mysql, "detect", find)
    unknown = pymysql.OperationalError(1193, "Unknown system variable 'super_read_only'")
    session.fails["@@GLOBAL.super_read_only"] = unknown

    missed = server.read()
    assert isinstance(missed, Missed)
    assert "super_read_only" in missed.reason
    assert not good(server).super_read_only
    assert good(server)
    assert len(looked) == 1


@pytest.mark.parametrize(
    "lsn",
    [
        "1e999",
        "inf",
        "nan",
        "9" * 400,
        "9" * 5000,
        "",
        None,
        "-1",
        "abc",
        "10000000.5",
        b"\xff",
        [],
        object(),
    ],
)
def test_an_odd_number_before_a_write_ends_in_words(
    server: MySQLServer, session: Scripted, lsn: object
) -> None:
    """Whatever a new connection says of its log, a write is done or told as failed; the next one works."""
    good(server)
    session.opened += 1
    session.counters["log_lsn_current"] = lsn  # type: ignore[assignment] - odd on purpose

    found = server.apply((("innodb_io_capacity", 300),), Capacity(300, 450))

    assert found.done == (0 if found.error else 1)
    session.counters["log_lsn_current"] = 10_000_000
    good(server)
    assert server.apply((("innodb_io_capacity", 300),), Capacity(300, 450)).done == 1


@pytest.mark.parametrize(
    "error", [ValueError("x"), OverflowError("x"), TypeError("x"), IndexError("x")], ids=repr
)
@pytest.mark.parametrize("statement", ["SET GLOBAL", "innodb_metrics"])
def test_nothing_but_words_comes_of_a_write(
    server: MySQLServer, session: Scripted, statement: str, error: Exception
) -> None:
    """An answer that makes no sense to whatever reads it fails the write and costs the connection."""
    good(server)
    session.opened += 1
    session.fails[statement] = error

    found = server.apply((("innodb_io_capacity", 300),), Capacity(300, 450))

    assert (found.done, found.in_force) == (0, None)
    assert "unexpected answer" in found.error
