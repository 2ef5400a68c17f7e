"""One writer per server, whatever the server thinks of named locks."""

from __future__ import annotations

import socket
import subprocess
import sys
from uuid import uuid4

import pymysql
import pytest

from lab.plant.clock import SimClock
from tests.servers.scripted import Scripted, good
from tuner.servers.mysql import MySQLServer
from tuner.servers.writerlock import CLAIM_SECONDS, WRITER_LOCK, HostLock

IDENTITY = str(uuid4())
REFUSED = pymysql.OperationalError(1105, "Percona-XtraDB-Cluster prohibits use of GET_LOCK")
HOLDER = """
import socket, sys
held = socket.socket(socket.AF_UNIX)
held.bind(chr(0) + sys.argv[1])
print("held", flush=True)
sys.stdin.read()
"""


def gets(session: Scripted) -> int:
    """Return how often the named lock was asked for."""
    return sum("GET_LOCK" in one for one in session.asked)


def test_the_writer_lock_is_taken_once_and_given_back(server: MySQLServer, session: Scripted) -> None:
    """In active mode the lock is taken at the next reading, again after a reconnect, and released after."""
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
    server.claims_writer = True

    assert not good(server).writer
    server.read()
    assert gets(session) == 1
    session.lock, session.variables["writer"] = 1, "1"
    assert not good(server).writer, "the other one is gone, and the lock is nobody's yet"
    clock.advance_to(50.0 + CLAIM_SECONDS)
    assert good(server).writer
    assert gets(session) == 2


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has such addresses")
def test_where_named_locks_are_refused_the_host_has_one(
    server: MySQLServer, session: Scripted, clock: SimClock
) -> None:
    """Where the server refuses named locks, two daemons of one host still do not write both."""
    session.fails["GET_LOCK"] = REFUSED
    server._lock.identity = IDENTITY
    server.claims_writer = True
    command = [sys.executable, "-c", HOLDER, f"{WRITER_LOCK}.{IDENTITY}"]
    with subprocess.Popen(  # noqa: S603 - our own words
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == b"held\n"
        assert not good(server).writer
        other.kill()
    clock.advance_to(50.0 + CLAIM_SECONDS)

    assert good(server).writer, "the other one was killed, and left nothing behind"
    asked = gets(session)
    good(server)
    assert gets(session) == asked, "it is kept without asking again"


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has such addresses")
@pytest.mark.parametrize("how", ["advisory", "closed"])
def test_the_hosts_lock_is_given_back(server: MySQLServer, session: Scripted, how: str) -> None:
    """Whoever stops writing lets the next one write, and asks the server for nothing that it refuses."""
    session.fails["GET_LOCK"] = REFUSED
    server._lock.identity = IDENTITY
    server.claims_writer = True
    assert good(server).writer
    if how == "closed":
        server.close()
    else:
        server.claims_writer = False
        good(server)

    with socket.socket(socket.AF_UNIX) as other:
        other.bind(f"\0{WRITER_LOCK}.{IDENTITY}")
    assert not any("RELEASE_LOCK" in one for one in session.asked)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has such addresses")
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
