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
from tests.servers.fixtured import HOLDERS, Fixtured, good
from tests.servers.plain import plain
from tuner.records import STRANGER, Sample
from tuner.servers.hostlock import WRITER_LOCK, HostLock
from tuner.servers.port import Unreachable
from tuner.servers.server import RealServer
from tuner.servers.writerlock import AGAIN_SECONDS, BREAKS, CLAIM_SECONDS

LINUX = pytest.mark.skipif(sys.platform != "linux", reason="only Linux has such addresses")
HOLDER = """
import socket, sys
held = socket.socket(socket.AF_UNIX)
held.bind(chr(0) + sys.argv[1])
print("held", flush=True)
sys.stdin.read()
"""
LISTENER = HOLDER.replace("print", "held.listen()\nprint")
STRANGE = (42, "app", "10.0.0.7:55123", 0, 0, 1)
OURS = (42, "other_innobrim", "10.0.0.7:55123", 0, 1, 1)
"""Rows of who has the server's lock: another account without the mark of an InnoBrim, and one with it."""


def refused(number: int = 1105, words: str = "Percona-XtraDB-Cluster prohibits use of GET_LOCK") -> Exception:
    """Return what a server says that gives no lock."""
    return pymysql.OperationalError(number, words)


def claiming(session: Fixtured, clock: SimClock, identity: str) -> RealServer:
    """Return an adapter in active mode."""
    made = RealServer(session.endpoint, clock, session=session)
    made._lock.identity = identity
    made.claims_writer = True
    return made


@pytest.fixture
def server(session: Fixtured, clock: SimClock) -> Iterator[RealServer]:
    """Return an adapter in active mode; its server is another one than every other test's."""
    made = claiming(session, clock, str(uuid4()))
    yield made
    made.close()


@contextmanager
def held(server: RealServer, program: str = HOLDER, user: int | None = None) -> Iterator[None]:
    """Have another process hold a server's lock of this host, and kill it in the end."""
    command = ["/usr/bin/env", "python3", "-c", program, f"{WRITER_LOCK}.{server._lock.identity}"]
    with subprocess.Popen(  # noqa: S603 - our own words
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, user=user, cwd="/"
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == b"held\n"
        yield
        other.kill()


def gets(session: Fixtured) -> int:
    """Return how often the named lock was asked for."""
    return sum("GET_LOCK" in one for one in session.asked)


def after(clock: SimClock, seconds: float) -> None:
    """Let time pass."""
    clock.advance_to(clock.monotonic() + seconds)


def taken(session: Fixtured, *holders: tuple[object, ...]) -> None:
    """Have another session hold the server's lock, as the process list shows it."""
    session.instead |= {"GET_LOCK": [(0,)], HOLDERS: holders}
    session.writer = "0"


def freed(session: Fixtured) -> None:
    """Have the server give the lock."""
    session.instead.clear()
    session.writer = "1"


def test_the_writer_lock_is_taken_once_and_given_back(server: RealServer, session: Fixtured) -> None:
    """In active mode the lock is taken at the next reading, again after a reconnect, and released after."""
    counts = []
    for wanted, connection in [(False, 1), (True, 1), (True, 1), (True, 2), (False, 2), (False, 2)]:
        server.claims_writer, session.connection = wanted, connection
        server.read()
        counts.append(gets(session))

    assert counts == [0, 1, 1, 2, 2, 2]
    assert sum("RELEASE_LOCK" in one for one in session.asked) == 1


def test_a_lock_that_another_holds_is_tried_again(
    server: RealServer, session: Fixtured, clock: SimClock
) -> None:
    """While another daemon has the lock this one is no writer, and asks again now and then."""
    taken(session)
    assert not good(server).writer
    server.read()
    assert gets(session) == 1
    freed(session)
    assert not good(server).writer, "the other one is gone, and the lock is nobody's yet"
    after(clock, CLAIM_SECONDS)
    assert good(server).writer
    assert gets(session) == 2


def test_an_innobrims_session_is_marked_before_it_has_the_lock(server: RealServer, session: Fixtured) -> None:
    """In one statement, the mark first: MySQL 5.6 gives the earlier lock up where another one is taken."""
    good(server)
    (asked,) = [one for one in session.asked if "GET_LOCK" in one]

    assert asked.index("CONNECTION_ID()") < asked.index(f"'{WRITER_LOCK}'")


@LINUX
def test_where_named_locks_are_refused_the_host_has_one(
    server: RealServer, session: Fixtured, clock: SimClock
) -> None:
    """Where the server refuses named locks, two daemons of one host still do not write both."""
    session.instead["GET_LOCK"] = refused()
    with held(server):
        assert not good(server).writer
    after(clock, CLAIM_SECONDS)

    assert good(server).writer, "the other one was killed, and left nothing behind"
    asked = gets(session)
    good(server)
    assert gets(session) == asked, "it is kept without asking again"


@LINUX
@pytest.mark.parametrize("how", ["advisory", "closed"])
def test_the_hosts_lock_is_given_back(server: RealServer, session: Fixtured, how: str) -> None:
    """Whoever stops writing lets the next one write, and asks the server for nothing that it refuses."""
    session.instead["GET_LOCK"] = refused()
    assert good(server).writer
    if how == "closed":
        server.close()
    else:
        server.claims_writer = False
        good(server)

    with socket.socket(socket.AF_UNIX) as other:
        other.bind(f"\0{WRITER_LOCK}.{server._lock.identity}")
    assert not any("RELEASE_LOCK" in one for one in session.asked)


LONG = "mariadb-0.mariadb.production.svc.cluster.local:3306:/srv/mysql/instances/production-orders-01/data/"


@LINUX
@pytest.mark.parametrize(
    "identity", ["", LONG, "x" * 91, "x" * 1024, "b\u00fccher" * 20, "\udcff" * 40], ids=len
)
def test_the_hosts_lock_is_of_one_server(identity: str) -> None:
    """One process of a host has a server's lock, however long its name; another one taken gives it back."""
    first = f"{WRITER_LOCK}.{identity}{uuid4()}"
    one, other = HostLock(), HostLock()
    assert one.take(first)
    assert not other.take(first)
    assert one.take(f"{first}x")

    assert other.take(first)
    assert not other.take(f"{first}x")
    one.release()
    other.release()


@LINUX
@pytest.mark.parametrize(
    ("error", "again"),
    [
        (refused(), AGAIN_SECONDS),
        (refused(1235, "doesn't yet support 'GET_LOCK in cluster (wsrep_on=ON)'"), AGAIN_SECONDS),
        (refused(1370, "execute command denied to user for routine 'GET_LOCK'"), AGAIN_SECONDS),
        (refused(1148, "Command not allowed"), AGAIN_SECONDS),
        (refused(1969, "Query execution was interrupted (max_statement_time exceeded)"), CLAIM_SECONDS),
        (refused(1317, "Query execution was interrupted"), CLAIM_SECONDS),
        (None, AGAIN_SECONDS),
    ],
    ids=["Percona XtraDB Cluster", "Galera", "privilege", "firewall", "time limit", "KILL", "NULL"],
)
def test_however_the_server_gives_no_lock_the_host_has_one_and_it_is_said(
    server: RealServer, session: Fixtured, clock: SimClock, error: Exception | None, again: float
) -> None:
    """Refused, cut short or NULL: the loop writes with a lock of this host, says why, and asks again."""
    session.instead["GET_LOCK"] = [(None,)] if error is None else error
    reading = good(server)

    assert reading.writer
    assert "the writer lock is one of this host alone" in reading.lock
    assert ("NULL" if error is None else str(error.args[-1])) in reading.lock
    freed(session)
    after(clock, again)
    reading = good(server)
    assert (reading.writer, reading.lock) == (True, "")


class Ending(Fixtured):
    """A session through a proxy that ends it where GET_LOCK is asked for."""

    cause: Exception | None = None

    def query(self, statement: str) -> Sequence[tuple[Any, ...]]:
        """Answer, or end the connection; the next statement opens another one."""
        if self.connection is None:
            self.connection = object()
            self.connections += 1
        if "GET_LOCK" in statement:
            self.asked.append(statement)
            self.connection = None
            raise Unreachable("innobrim@127.0.0.1:3306: the connection was lost") from self.cause
        return super().query(statement)


@pytest.fixture
def ending(clock: SimClock) -> Iterator[tuple[RealServer, Ending]]:
    """Return an adapter whose connection ends where it asks for the lock."""
    session = Ending(plain())
    made = claiming(session, clock, str(uuid4()))
    yield made, session
    made.close()


@LINUX
def test_a_proxy_that_ends_the_connection_at_get_lock_costs_a_reading(
    ending: tuple[RealServer, Ending],
) -> None:
    """The second connection that ends there is the last one: the host has the lock then, and it is said."""
    server, session = ending
    assert not isinstance(server.read(), Sample)
    *_, last = [good(server) for _ in range(3)]

    assert last.writer
    assert "the connection ends where GET_LOCK is asked for" in last.lock
    assert gets(session) == BREAKS


def test_a_dead_line_is_no_server_without_locks(ending: tuple[RealServer, Ending]) -> None:
    """However often no answer comes in time, the host's lock stands in for nothing: ours may be held."""
    server, session = ending
    session.cause = pymysql.OperationalError(2013, "no whole answer within 1 s")
    session.cause.__cause__ = TimeoutError("the time is over")

    assert not any(isinstance(server.read(), Sample) for _ in range(3 * BREAKS))


def test_a_server_that_is_down_is_no_server_without_locks(server: RealServer, session: Fixtured) -> None:
    """However long nothing answers, the server's lock is asked for once it does."""
    session.connection = None
    session.instead["GET_LOCK"] = Unreachable("nothing listens there")
    assert not any(isinstance(server.read(), Sample) for _ in range(20))
    session.instead.clear()
    session.connection = object()
    reading = good(server)

    assert (reading.writer, reading.lock) == (True, "")


@pytest.mark.parametrize(
    ("rows", "stranger", "said"),
    [
        ([STRANGE], True, "connection 42, app@10.0.0.7:55123"),
        ([(42, "innobrim", "10.0.0.7:55123", 1, 0, 1)], False, "connection 42, innobrim@10.0.0.7:55123"),
        ([OURS], False, "connection 42, other_innobrim@10.0.0.7:55123"),
        ([(42, "app", "localhost", 0, 0, 0)], False, "connection 42, app@localhost"),
        ([(42, "app\x1b[2J\n" + "A" * 2_000_000, "localhost", 0, 0, 1)], True, "connection 42, app?[2J?AAA"),
        ([], False, ""),
    ],
    ids=["another account", "ours", "another InnoBrim's", "one lock a session", "any words", "invisible"],
)
def test_who_has_the_lock_is_said_a_reading_later(
    server: RealServer, session: Fixtured, rows: list[tuple[object, ...]], said: str, *, stranger: bool
) -> None:
    """Another account without the mark is a stranger; whoever may be an InnoBrim is taken for one."""
    taken(session, *rows)
    good(server)
    reading = good(server)

    assert (reading.writer, reading.stranger) == (False, stranger)
    assert reading.lock.removeprefix(STRANGER).startswith(said)
    assert reading.lock.isprintable()
    good(server)
    assert sum("processlist" in one for one in session.asked) == 1


@LINUX
@pytest.mark.parametrize(
    ("number", "given"), [(errno.EAFNOSUPPORT, True), (errno.EPERM, True), (errno.EMFILE, False)]
)
@pytest.mark.parametrize("where", ["made", "bound"])
def test_only_a_system_without_such_locks_gives_one_unasked(
    monkeypatch: pytest.MonkeyPatch, number: int, where: str, *, given: bool
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

    assert HostLock().take(f"{WRITER_LOCK}.{uuid4()}") is given


@LINUX
@pytest.mark.parametrize(
    ("program", "user", "stranger"),
    [(HOLDER, None, True), (LISTENER, None, False), (LISTENER, 65534, True)],
    ids=["no InnoBrim", "maybe one of ours", "another user's"],
)
def test_a_stranger_with_the_hosts_lock_is_told(
    server: RealServer, session: Fixtured, program: str, user: int | None, *, stranger: bool
) -> None:
    """A process of another user, or one that does not listen, is no InnoBrim; the loop is held even so."""
    if user is not None and os.geteuid() != 0:
        pytest.skip("only root runs a process as another user")
    session.instead["GET_LOCK"] = refused()
    with held(server, program, user):
        good(server)
        reading = good(server)

    assert (reading.writer, reading.stranger) == (False, stranger)
    assert "this host" in reading.lock


@LINUX
def test_whoever_has_the_hosts_lock_is_known_however_often_others_ask(
    session: Fixtured, clock: SimClock
) -> None:
    """A daemon that has the lock is one to each daemon that asks, and never taken for a stranger."""
    session.instead["GET_LOCK"] = refused()
    first, second = (claiming(session, clock, identity) for identity in [str(uuid4())] * 2)
    assert good(first).writer
    for _ in range(200):
        after(clock, CLAIM_SECONDS)
        assert [(one.writer, one.stranger) for one in (good(second), good(second))] == [(False, False)] * 2
        assert good(first).writer
    first.close()
    second.close()


@LINUX
@pytest.mark.parametrize("row", [STRANGE, OURS], ids=["stranger", "InnoBrim"])
@pytest.mark.parametrize("number", [1235, 1317, 1969, 3024, 1053, 1205])
def test_a_named_stranger_is_told_whatever_becomes_of_get_lock(
    server: RealServer, session: Fixtured, clock: SimClock, number: int, row: tuple[object, ...]
) -> None:
    """Who has the server's lock is asked where only the host's was to be had, and again where it changes."""
    taken(session, row)
    session.instead["GET_LOCK"] = refused(number, "no")
    good(server)
    found = good(server)

    assert (found.writer, found.stranger) == (False, row is STRANGE)
    session.instead[HOLDERS] = [OURS]
    after(clock, CLAIM_SECONDS)
    good(server)
    assert not good(server).stranger
    session.writer = "1"
    assert good(server).writer


@pytest.mark.parametrize("error", [None, refused(1317, "no"), refused(1235, "no")], ids=repr)
def test_a_lock_that_another_was_seen_with_is_not_replaced(
    server: RealServer, session: Fixtured, clock: SimClock, error: Exception | None
) -> None:
    """A try that fails while another session has the server's lock changes nothing of who has it."""
    taken(session, STRANGE)
    good(server)
    assert good(server).stranger
    session.instead["GET_LOCK"] = [(None,)] if error is None else error
    for _ in range(3):
        after(clock, CLAIM_SECONDS)
        good(server)
        found = good(server)
        assert (found.writer, found.stranger) == (False, True)
        assert "this host alone" not in found.lock
    freed(session)
    after(clock, CLAIM_SECONDS)

    assert good(server).writer
