"""One writer per server, whatever the server thinks of named locks."""

from __future__ import annotations

import errno
import os
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from uuid import uuid4

import pymysql
import pytest

from lab.plant.clock import SimClock
from tests.servers.scripted import Scripted, good
from tuner.records import STRANGER, Sample
from tuner.servers.mysql import MySQLServer
from tuner.servers.port import Unreachable
from tuner.servers.writerlock import AGAIN_SECONDS, BREAKS, CLAIM_SECONDS, WRITER_LOCK, HostLock

LINUX = pytest.mark.skipif(sys.platform != "linux", reason="only Linux has such addresses")
REFUSED = pymysql.OperationalError(1105, "Percona-XtraDB-Cluster prohibits use of GET_LOCK")
HOLDER = """
import socket, sys
held = socket.socket(socket.AF_UNIX)
held.bind(chr(0) + sys.argv[1])
print("held", flush=True)
sys.stdin.read()
"""
LISTENER = HOLDER.replace("print", "held.listen()\nprint")


def claiming(session: Scripted, clock: SimClock, identity: str) -> MySQLServer:
    """Return an adapter in active mode."""
    made = MySQLServer(session.endpoint, clock, session=session)
    made._lock.identity = identity
    made.claims_writer = True
    return made


@pytest.fixture
def server(session: Scripted, clock: SimClock) -> Iterator[MySQLServer]:
    """Return an adapter in active mode; its server is another one than every other test's."""
    made = claiming(session, clock, str(uuid4()))
    yield made
    made.close()


@pytest.fixture
def ending(clock: SimClock) -> Iterator[tuple[MySQLServer, Ending]]:
    """Return one whose connection ends where it asks for the lock."""
    session = Ending()
    made = claiming(session, clock, str(uuid4()))
    yield made, session
    made.close()


@contextmanager
def held(name: str, program: str = HOLDER, user: int | None = None) -> Iterator[None]:
    """Have another process hold a lock of this host, and kill it in the end."""
    command = ["/usr/bin/env", "python3", "-c", program, name]
    with subprocess.Popen(  # noqa: S603 - our own words
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, user=user, cwd="/"
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == b"held\n"
        yield
        other.kill()


def gets(session: Scripted) -> int:
    """Return how often the named lock was asked for."""
    return sum("GET_LOCK" in one for one in session.asked)


def test_the_writer_lock_is_taken_once_and_given_back(server: MySQLServer, session: Scripted) -> None:
    """In active mode the lock is taken at the next reading, again after a reconnect, and released after."""
    server.claims_writer = False
    server.read()
    assert gets(session) == 0
    server.claims_writer = True
    server.read()
    server.read()
    assert gets(session) == 1
    session.connection = object()
    server.read()
    assert gets(session) == 2
    server.claims_writer = False
    server.read()
    server.read()

    assert len([one for one in session.asked if "RELEASE_LOCK" in one]) == 1


def test_a_lock_that_another_holds_is_tried_again(
    server: MySQLServer, session: Scripted, clock: SimClock
) -> None:
    """While another daemon has the lock this one is no writer, and asks again now and then."""
    session.lock, session.variables["writer"] = 0, "0"

    assert not good(server).writer
    server.read()
    assert gets(session) == 1
    session.lock, session.variables["writer"] = 1, "1"
    assert not good(server).writer, "the other one is gone, and the lock is nobody's yet"
    clock.advance_to(50.0 + CLAIM_SECONDS)
    assert good(server).writer
    assert gets(session) == 2


@LINUX
def test_where_named_locks_are_refused_the_host_has_one(
    server: MySQLServer, session: Scripted, clock: SimClock
) -> None:
    """Where the server refuses named locks, two daemons of one host still do not write both."""
    session.fails["GET_LOCK"] = REFUSED
    with held(f"{WRITER_LOCK}.{server._lock.identity}"):
        assert not good(server).writer
    clock.advance_to(50.0 + CLAIM_SECONDS)

    assert good(server).writer, "the other one was killed, and left nothing behind"
    asked = gets(session)
    good(server)
    assert gets(session) == asked, "it is kept without asking again"


@LINUX
@pytest.mark.parametrize("how", ["advisory", "closed"])
def test_the_hosts_lock_is_given_back(server: MySQLServer, session: Scripted, how: str) -> None:
    """Whoever stops writing lets the next one write, and asks the server for nothing that it refuses."""
    session.fails["GET_LOCK"] = REFUSED
    assert good(server).writer
    if how == "closed":
        server.close()
    else:
        server.claims_writer = False
        good(server)

    with socket.socket(socket.AF_UNIX) as other:
        other.bind(f"\0{WRITER_LOCK}.{server._lock.identity}")
    assert not any("RELEASE_LOCK" in one for one in session.asked)


@LINUX
def test_the_hosts_lock_is_of_one_server() -> None:
    """Where another server answers at the same address, its lock is taken and the first one's given back."""
    first, second = (f"{WRITER_LOCK}.{uuid4()}" for _ in range(2))
    one, other = HostLock(), HostLock()
    assert one.take(first)
    assert not other.take(first)
    assert one.take(second)

    assert other.take(first)
    assert not other.take(second)
    one.release()
    other.release()


WAYS: dict[str, Exception | None] = {
    "Percona XtraDB Cluster": REFUSED,
    "MariaDB in a Galera cluster": pymysql.OperationalError(
        1235, "This version of MariaDB doesn't yet support 'GET_LOCK in cluster (wsrep_on=ON)'"
    ),
    "no privilege": pymysql.OperationalError(1370, "execute command denied to user for routine 'GET_LOCK'"),
    "a proxy's firewall": pymysql.OperationalError(1148, "Command not allowed"),
    "cut short": pymysql.OperationalError(
        1969, "Query execution was interrupted (max_statement_time exceeded)"
    ),
    "NULL": None,
}


@LINUX
@pytest.mark.parametrize("way", WAYS)
def test_however_the_server_gives_no_lock_the_host_has_one_and_it_is_said(
    server: MySQLServer, session: Scripted, clock: SimClock, way: str
) -> None:
    """Refused, cut short or NULL: the loop writes with a lock of this host, says why, and asks again."""
    error = WAYS[way]
    if error is None:
        session.lock = None  # type: ignore[assignment]  # what GET_LOCK answers after an error
    else:
        session.fails["GET_LOCK"] = error
    reading = good(server)

    assert reading.writer
    assert "the writer lock is one of this host alone" in reading.lock
    assert ("NULL" if error is None else str(error.args[-1])) in reading.lock
    session.fails.clear()
    session.lock = 1
    clock.advance_to(50.0 + AGAIN_SECONDS)
    again = good(server)
    assert (again.writer, again.lock) == (True, "")


class Ending(Scripted):
    """A session through a proxy that ends it where GET_LOCK is asked for."""

    cause: Exception | None = None

    def query(self, statement: str) -> Sequence[tuple[Any, ...]]:
        """Answer, or end the connection; the next statement opens another one."""
        if self.connection is None:
            self.connection = object()
            self.opened += 1
        if "GET_LOCK" in statement:
            self.asked.append(statement)
            self.connection = None
            raise Unreachable("innobrim@127.0.0.1:3306: the connection was lost") from self.cause
        return super().query(statement)


@LINUX
def test_a_proxy_that_ends_the_connection_at_get_lock_costs_a_reading(
    ending: tuple[MySQLServer, Ending],
) -> None:
    """The second connection that ends there is the last one: the host has the lock then, and it is said."""
    server, session = ending
    readings = [server.read() for _ in range(4)]

    assert [isinstance(one, Sample) for one in readings] == [False, True, True, True]
    last = readings[-1]
    assert isinstance(last, Sample)
    assert last.writer
    assert "the connection ends where GET_LOCK is asked for" in last.lock
    assert gets(session) == BREAKS


def test_a_dead_line_is_no_server_without_locks(ending: tuple[MySQLServer, Ending]) -> None:
    """However often no answer comes in time, the host's lock stands in for nothing: ours may be held."""
    server, session = ending
    session.cause = pymysql.OperationalError(2013, "no whole answer within 1 s")
    session.cause.__cause__ = TimeoutError("the time is over")

    assert not any(isinstance(server.read(), Sample) for _ in range(3 * BREAKS))


def test_a_server_that_is_down_is_no_server_without_locks(server: MySQLServer, session: Scripted) -> None:
    """However long nothing answers, the server's lock is asked for once it does."""
    session.connection = None  # type: ignore[assignment]  # there is none
    session.fails["GET_LOCK"] = Unreachable("nothing listens there")
    assert not any(isinstance(server.read(), Sample) for _ in range(20))
    session.fails.clear()
    session.connection = object()
    reading = good(server)

    assert (reading.writer, reading.lock) == (True, "")


@pytest.mark.parametrize(
    ("row", "stranger", "said"),
    [
        ((42, "app", "10.0.0.7:55123", 0, 0, 1), True, "connection 42, app@10.0.0.7:55123"),
        ((42, "innobrim", "10.0.0.7:55123", 1, 0, 1), False, "connection 42, innobrim@10.0.0.7:55123"),
        ((42, "other_innobrim", "10.0.0.7:55123", 0, 1, 1), False, "connection 42, other_innobrim@"),
        ((42, "app", "localhost", 0, 0, 0), False, "connection 42, app@localhost"),
        (None, False, ""),
    ],
    ids=["another account", "our account", "another InnoBrim's account", "one lock a session", "invisible"],
)
def test_who_has_the_lock_is_said_a_reading_later(
    server: MySQLServer,
    session: Scripted,
    row: tuple[object, ...] | None,
    said: str,
    *,
    stranger: bool,
) -> None:
    """Another account without the mark is a stranger; whoever may be an InnoBrim is taken for one."""
    session.lock, session.variables["writer"] = 0, "0"
    session.holders = [] if row is None else [row]
    good(server)
    reading = good(server)

    assert not reading.writer
    assert reading.lock.removeprefix(STRANGER).startswith(said)
    assert reading.stranger is stranger
    good(server)
    assert sum("processlist" in one for one in session.asked) == 1


def test_an_innobrims_session_is_marked_before_it_has_the_lock(
    server: MySQLServer, session: Scripted
) -> None:
    """In one statement, the mark first: MySQL 5.6 gives the earlier lock up where another one is taken."""
    good(server)
    (asked,) = [one for one in session.asked if "GET_LOCK" in one]

    assert asked.index("CONNECTION_ID()") < asked.index(f"'{WRITER_LOCK}'")


LONG = "mariadb-0.mariadb.production.svc.cluster.local:3306:/srv/mysql/instances/production-orders-01/data/"


@LINUX
@pytest.mark.parametrize("identity", [LONG, "x" * 91, "x" * 1024, "b\u00fccher" * 20, "\udcff" * 40])
def test_a_long_identity_has_a_lock_as_well(identity: str) -> None:
    """However long a server's name is, one process of a host has its lock, and another server's is free."""
    name = f"{WRITER_LOCK}.{identity}{uuid4()}"
    one, other = HostLock(), HostLock()

    assert one.take(name)
    assert not other.take(name)
    assert other.take(f"{name}x")
    one.release()
    other.release()


@LINUX
@pytest.mark.parametrize(
    ("number", "taken"), [(errno.EAFNOSUPPORT, True), (errno.EPERM, True), (errno.EMFILE, False)]
)
@pytest.mark.parametrize("where", ["made", "bound"])
def test_only_a_system_without_such_locks_gives_one_unasked(
    monkeypatch: pytest.MonkeyPatch, number: int, where: str, *, taken: bool
) -> None:
    """Where the address could not be had for another reason, the lock is not taken."""

    class Failing(socket.socket):
        def __init__(self, *given: int) -> None:
            if where == "made":
                raise OSError(number, "no socket")
            super().__init__(*given)

        def bind(self, _address: object) -> None:
            raise OSError(number, "no address")

    monkeypatch.setattr(socket, "socket", Failing)

    assert HostLock().take(f"{WRITER_LOCK}.{uuid4()}") is taken


@LINUX
@pytest.mark.parametrize(
    ("program", "user", "stranger"),
    [(HOLDER, None, True), (LISTENER, None, False), (LISTENER, 65534, True)],
    ids=["no InnoBrim", "maybe one of ours", "another user's"],
)
def test_a_stranger_with_the_hosts_lock_is_told(
    server: MySQLServer, session: Scripted, program: str, user: int | None, *, stranger: bool
) -> None:
    """A process of another user, or one that does not listen, is no InnoBrim; the loop is held even so."""
    if user is not None and os.geteuid() != 0:
        pytest.skip("only root runs a process as another user")
    session.fails["GET_LOCK"] = REFUSED
    with held(f"{WRITER_LOCK}.{server._lock.identity}", program, user):
        good(server)
        reading = good(server)

    assert not reading.writer
    assert reading.stranger is stranger
    assert "this host" in reading.lock


@LINUX
def test_whoever_has_the_hosts_lock_is_known_however_often_others_ask(
    session: Scripted, clock: SimClock
) -> None:
    """A daemon that has the lock is one to each daemon that asks, and never taken for a stranger."""
    session.fails["GET_LOCK"] = REFUSED
    first, second = (claiming(session, clock, identity) for identity in [str(uuid4())] * 2)
    assert good(first).writer
    for _ in range(200):
        clock.advance_to(clock.monotonic() + CLAIM_SECONDS)
        assert not good(second).writer
        assert not good(second).stranger
        assert good(first).writer
    first.close()
    second.close()


STRANGE = (42, "app", "10.0.0.7:55123", 0, 0, 1)
OURS = (42, "other_innobrim", "10.0.0.7:55123", 0, 1, 1)


@LINUX
@pytest.mark.parametrize("row", [STRANGE, OURS], ids=["stranger", "InnoBrim"])
@pytest.mark.parametrize("number", [1235, 1317, 1969, 3024, 1053, 1205])
def test_a_named_stranger_is_told_whatever_becomes_of_get_lock(
    server: MySQLServer, session: Scripted, clock: SimClock, number: int, row: tuple[object, ...]
) -> None:
    """Who has the server's lock is asked where only the host's was to be had, and again where it changes."""
    session.fails["GET_LOCK"] = pymysql.OperationalError(number, "no")
    session.variables["writer"], session.holders = "0", [row]
    good(server)
    found = good(server)

    assert (found.writer, found.stranger) == (False, row is STRANGE)
    session.holders = [OURS]
    clock.advance_to(clock.monotonic() + CLAIM_SECONDS)
    good(server)
    assert not good(server).stranger
    session.variables["writer"] = "1"
    assert good(server).writer
    server.close()


@pytest.mark.parametrize("error", [None, *(pymysql.OperationalError(one, "no") for one in (1317, 1235))])
def test_a_lock_that_another_was_seen_with_is_not_replaced(
    server: MySQLServer, session: Scripted, clock: SimClock, error: Exception | None
) -> None:
    """A try that fails while another session has the server's lock changes nothing of who has it."""
    session.lock, session.variables["writer"], session.holders = 0, "0", [STRANGE]
    good(server)
    assert good(server).stranger
    if error is None:
        session.lock = None  # type: ignore[assignment]  # what GET_LOCK answers after an error
    else:
        session.fails["GET_LOCK"] = error
    for _ in range(3):
        clock.advance_to(clock.monotonic() + CLAIM_SECONDS)
        good(server)
        found = good(server)
        assert (found.writer, found.stranger) == (False, True)
        assert "this host alone" not in found.lock
    session.fails.clear()
    session.lock, session.variables["writer"] = 1, "1"
    clock.advance_to(clock.monotonic() + CLAIM_SECONDS)

    assert good(server).writer


@LINUX
def test_a_try_that_was_cut_short_is_made_again_soon(
    server: MySQLServer, session: Scripted, clock: SimClock
) -> None:
    """A statement that was killed says nothing of whether the server has locks."""
    session.fails["GET_LOCK"] = pymysql.OperationalError(1317, "Query execution was interrupted")
    assert "this host alone" in good(server).lock
    session.fails.clear()
    clock.advance_to(clock.monotonic() + CLAIM_SECONDS)

    assert (good(server).writer, good(server).lock) == (True, "")


def test_who_has_the_lock_is_named_in_one_short_line(server: MySQLServer, session: Scripted) -> None:
    """An account of any words costs no reading, and steers no terminal."""
    session.lock, session.variables["writer"] = 0, "0"
    session.holders = [(42, "app\x1b[2J\n" + "A" * 2_000_000, "localhost", 0, 0, 1)]
    good(server)
    reading = good(server)

    assert reading.lock.removeprefix(STRANGER).startswith("connection 42, app?[2J?AAA")
    assert reading.lock.isprintable()
