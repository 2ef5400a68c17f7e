"""The size of the redo log, set over a session whose answers are given: by a person's command alone."""

from __future__ import annotations

import pymysql
import pytest
from msgspec.structs import replace

from lab.plant.clock import SimClock
from tests.factory import FACTS
from tests.servers.fixtured import Fixtured, Rows
from tests.servers.plain import plain
from tuner.records import Capacity
from tuner.servers.families.mariadb import MariaDBAdapter
from tuner.servers.port import Unreachable
from tuner.servers.redosize import DeniedError, NotSetError, OtherSizeError, TimeUpError, resize, under_way
from tuner.servers.server import RealServer
from tuner.servers.writing import REDO_LOG

UUID = "11111111-2222-3333-4444-555555555555"
IDENTITY = "@@GLOBAL.server_uuid"
MYSQL = replace(FACTS, identity=UUID, family="mysql", redo_variable="innodb_redo_log_capacity")
MARIADB = replace(MYSQL, family="mariadb", redo_variable="innodb_log_file_size")
SIZE = 2**30


@pytest.fixture
def session() -> Fixtured:
    """Return a session to a server that takes the size."""
    made = Fixtured(plain())
    made.instead[f"SELECT {IDENTITY}"] = [(UUID,)]
    for name in REDO_LOG:
        made.instead[f"SET GLOBAL {name}"] = []
        made.instead[f"SELECT @@GLOBAL.{name}"] = [(SIZE,)]
    return made


def test_mysql_takes_one_set(session: Fixtured) -> None:
    """The size is one SET GLOBAL of a number, and is read back."""
    resize(session, IDENTITY, MYSQL, SIZE, 60.0)

    assert session.asked[1:] == [
        f"SET GLOBAL innodb_redo_log_capacity = {SIZE}",
        "SELECT @@GLOBAL.innodb_redo_log_capacity",
    ]


def test_a_procedure_takes_the_place_of_the_set(session: Fixtured) -> None:
    """Where the account may call it alone, the size is one CALL, and is read back."""
    session.instead["CALL innobrim.grow_redo_log"] = []
    resize(session, IDENTITY, MYSQL, SIZE, 60.0, called=True)

    assert session.asked[1] == f"CALL innobrim.grow_redo_log({SIZE})"


def test_mariadb_gives_up_by_itself(session: Fixtured) -> None:
    """A SET that waits for a checkpoint has the server's own limit, after which the old log stays."""
    resize(session, IDENTITY, MARIADB, SIZE, 60.0)

    assert session.asked[1:3] == [
        "SET SESSION max_statement_time = 60",
        f"SET GLOBAL innodb_log_file_size = {SIZE}",
    ]


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (pymysql.OperationalError(1227, "Access denied"), DeniedError),
        (pymysql.OperationalError(1969, "max_statement_time exceeded"), TimeUpError),
        (pymysql.OperationalError(1290, "read-only"), NotSetError),
        (Unreachable("lost connection"), Unreachable),
    ],
)
def test_what_became_of_it_is_told_apart(session: Fixtured, error: Exception, kind: type[Exception]) -> None:
    """A refusal leaves what was there, and a lost connection leaves open whether it was set."""
    session.instead["SET GLOBAL innodb_log_file_size"] = error
    with pytest.raises(kind):
        resize(session, IDENTITY, MARIADB, SIZE, 60.0)


def test_a_size_that_was_cut_is_told(session: Fixtured) -> None:
    """Where the server has another size after the SET, that size is known."""
    session.instead["SELECT @@GLOBAL.innodb_redo_log_capacity"] = [(SIZE // 2,)]
    with pytest.raises(OtherSizeError) as failed:
        resize(session, IDENTITY, MYSQL, SIZE, 60.0)

    assert failed.value.there == SIZE // 2


def test_another_server_gets_no_set(session: Fixtured) -> None:
    """Where another server answers over the new connection, nothing is written."""
    session.instead[f"SELECT {IDENTITY}"] = [("somebody-else",)]
    with pytest.raises(NotSetError, match="somebody-else"):
        resize(session, IDENTITY, MYSQL, SIZE, 60.0)

    assert not any(one.startswith("SET") for one in session.asked)


def test_the_loop_can_set_no_redo_log(clock: SimClock) -> None:
    """What the loop writes through refuses the redo log, whatever it was allowed besides."""
    session = Fixtured(plain())
    server = RealServer(session.endpoint, clock, session=session)
    server.writes_low_water = True
    for name in REDO_LOG:
        receipt = server.apply(((name, SIZE),), Capacity(225, 450))
        assert "may not be written" in receipt.error

    assert not any(one.startswith(("SET GLOBAL", "CALL")) for one in session.asked)


@pytest.mark.parametrize(
    ("release", "safe"),
    [
        ((10, 6, 20), False),
        ((10, 11, 9), False),
        ((10, 11, 10), True),
        ((11, 2, 5), False),
        ((11, 4, 3), False),
        ((11, 4, 4), True),
        ((11, 5, 2), False),
        ((11, 6, 2), True),
        ((11, 8, 6), True),
        ((12, 3, 1), True),
    ],
)
def test_mariadb_is_resized_where_a_crash_meanwhile_is_survived(
    release: tuple[int, ...], *, safe: bool
) -> None:
    """Releases with MDEV-34750 are told to set the size in my.cnf."""
    assert MariaDBAdapter(release=release).redo_dynamic is safe


@pytest.mark.parametrize(
    ("answer", "at_work"),
    [([(1,)], True), ([(0,)], False), (pymysql.OperationalError(1227, "Access denied"), False)],
)
def test_a_resize_is_under_way_while_a_statement_sets_the_size(
    session: Fixtured, answer: Rows | Exception, *, at_work: bool
) -> None:
    """Another session's SET is seen; an account that may not look sees none, and that is no error."""
    session.instead = {"SELECT COUNT(*) FROM information_schema.processlist": answer}

    assert under_way(session, MARIADB) is at_work
