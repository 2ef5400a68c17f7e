"""A listener, a server on it, and sessions to that server."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.servers.sockets.mysqld import Local, Mysqld, Reach, endpoint
from tuner.servers.session import Session


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    """Return a socket that listens on loopback and takes no connection by itself."""
    with socket.create_server(("127.0.0.1", 0)) as found:
        yield found


@pytest.fixture
def mysqld(listener: socket.socket) -> Iterator[Mysqld]:
    """Return a server on that socket."""
    server = Mysqld(listener)
    yield server
    server.end()


@pytest.fixture
def reach(listener: socket.socket) -> Iterator[Reach]:
    """Return how sessions to it are made: without TLS, with short limits; all are ended with the test."""
    made: list[Session] = []

    def make(**changes: Any) -> Session:  # noqa: ANN401 - the endpoint's fields
        made.append(Session(endpoint(listener, **changes)))
        return made[-1]

    yield make
    for one in made:
        one.drop()


@pytest.fixture
def session(reach: Reach) -> Session:
    """Return the plain one."""
    return reach()


@pytest.fixture
def local() -> Iterator[Local]:
    """Return how a server on a unix socket is started."""
    ended: list[Mysqld] = []

    def make(path: Path) -> Mysqld:
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        listener.bind(str(path))
        listener.listen()
        ended.append(Mysqld(listener))
        return ended[-1]

    yield make
    for one in ended:
        one.end()
