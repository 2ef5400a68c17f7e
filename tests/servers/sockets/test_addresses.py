"""An address that leads nowhere, or to somebody else, is said as what it is."""

from __future__ import annotations

import gc
import socket
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.servers.sockets.mysqld import LIMIT, PATIENCE, Mysqld, endpoint, refused
from tuner.servers.connect import Endpoint, Session


def test_a_listener_that_never_greets_is_given_up_in_time(mysqld: Mysqld, session: Session) -> None:
    """A server that accepts and says nothing costs the time-outs and no more."""
    mysqld.greets = False

    said, seconds = refused(session)

    assert seconds < 2 * LIMIT + 0.5
    assert said.startswith("innobrim@127.0.0.1:")
    assert "no greeting within 0.3 s" in said
    assert "hangs" in said


def test_a_full_backlog_is_given_up_in_time(session: Session) -> None:
    """A server that never accepts is given up in the same time."""
    _, seconds = refused(session)

    assert seconds < 2 * LIMIT + 0.5


def test_nobody_listens(listener: socket.socket) -> None:
    """A port without a server is said at once, with the address."""
    there = endpoint(listener)
    listener.close()

    said, seconds = refused(Session(there))

    assert seconds < LIMIT
    assert f"innobrim@127.0.0.1:{there.port}" in said
    assert "(error 2003)" in said


def _nothing(_path: Path) -> None:
    pass


def _bound(path: Path) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as made:
        made.bind(str(path))


@pytest.mark.filterwarnings(
    "ignore::pytest.PytestUnraisableExceptionWarning"  # the driver closes no socket that failed
)
@pytest.mark.parametrize(
    ("make", "why"),
    [
        (_nothing, "no such socket; SELECT @@socket on the server says where it is"),
        (Path.mkdir, "is a directory, not a socket; SELECT @@socket"),
        (Path.touch, "is a file, not a socket; SELECT @@socket"),
        (_bound, "nobody listens there; start the server"),
    ],
    ids=["missing", "directory", "file", "refused"],
)
def test_a_socket_that_cannot_be_used_says_why(
    tmp_path: Path, make: Callable[[Path], None], why: str
) -> None:
    """What is wrong with a socket is said with its path and a remedy, and no TCP address is named."""
    path = tmp_path / "s"
    make(path)

    said, _ = refused(Session(Endpoint(user="innobrim", socket=str(path))))
    gc.collect()

    assert said.startswith(f"innobrim@{path}: {why}")
    assert "127.0.0.1" not in said


@pytest.mark.parametrize(
    "hello",
    [
        b"",
        b"SSH-2.0-OpenSSH_9.6\r\n",
        b"\x05\x00\x00\x00\x0b\x08\x05\x1a\x00",
        b"\x00\x00\x00\x00",
        b"HTTP/1.1 400 Bad Request\r\n\r\n",
    ],
    ids=["closes", "ssh", "x-protocol", "empty", "http"],
)
def test_a_port_of_another_protocol_is_named_as_such(
    listener: socket.socket, session: Session, hello: bytes
) -> None:
    """Whoever is led to SSH, HTTP or MySQL's own X Protocol learns that this is no server for them."""

    def greet() -> None:
        connection, _ = listener.accept()
        with connection:
            connection.sendall(hello)

    stranger = threading.Thread(target=greet)
    stranger.start()
    said, _ = refused(session)
    stranger.join(PATIENCE)

    assert "what listens there does not speak MySQL's protocol" in said
    assert said.endswith("; correct host and port")


def test_a_host_that_is_no_name_is_said() -> None:
    """A host name that cannot be one is an error with a remedy, not a traceback."""
    said, _ = refused(Session(Endpoint(user="innobrim", host="db..example")))

    assert "'db..example' is no host name" in said


def test_a_unix_socket_is_preferred(tmp_path: Path) -> None:
    """With a socket path, host and port are not even looked at."""
    path = str(tmp_path / "s")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        listener.bind(path)
        listener.listen()
        server = Mysqld(listener)
        session = Session(Endpoint(user="innobrim", socket=path, host="192.0.2.1", timeout=LIMIT))
        found = session.query("SELECT 1")
        session.close()
        session.close()
        server.end()

    assert found == (("1",),)
