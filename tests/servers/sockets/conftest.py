"""A listener, a server on it, and a session to that server."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest

from tests.servers.sockets.mysqld import Mysqld, endpoint
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
def session(listener: socket.socket) -> Iterator[Session]:
    """Return a session to that server, without TLS, with short limits."""
    made = Session(endpoint(listener))
    yield made
    made.drop()
