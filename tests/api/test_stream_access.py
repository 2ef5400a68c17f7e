"""Who may hear a stream that is open already: a token counts for as long as it is good, not once."""

from __future__ import annotations

import contextlib
import itertools
import socket
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from api.access import Access
from api.server import ApiServer
from api.tokens import Role, Tokens, let_anonymous_read, make, prepare, revoke
from tests.api.factory import FACTS, START, application, free_port, record
from tuner.board import Board
from tuner.settings import Settings


class Site:
    """A daemon whose register of tokens lies in a directory.

    Attributes:
        wall: what time it is for the tokens, Unix time.
    """

    def __init__(self, board: Board, directory: Path) -> None:
        self.wall = START
        self.directory = directory
        self.tokens = Tokens(
            prepare(directory), monotonic=map(float, itertools.count()).__next__, wall=lambda: self.wall
        )
        self._board = board
        self._port = free_port()
        self._number = 0
        app = application(board, access=Access(self.tokens))
        self.server = ApiServer(app, "127.0.0.1", self._port, None)

    def tick(self) -> bytes:
        """Publish a further tick; return what a stream says of it."""
        self._number += 1
        self._board.publish(record(self._number), Settings(), FACTS)
        return f'"number":{self._number},'.encode()

    @contextlib.contextmanager
    def stream(self, token: str | None) -> Iterator[socket.socket]:
        """Open a stream."""
        said = f"Authorization: Bearer {token}\r\n" if token else ""
        with socket.create_connection(("127.0.0.1", self._port), timeout=10.0) as connection:
            connection.sendall(f"GET /v1/stream HTTP/1.1\r\nHost: localhost\r\n{said}\r\n".encode())
            yield connection


def hears(connection: socket.socket, wanted: bytes) -> bool:
    """Tell whether something comes over a stream before its end."""
    heard = b""
    with contextlib.suppress(ConnectionResetError):
        while part := connection.recv(65_536):
            heard += part
            if wanted in heard:
                return True
    return False


@pytest.fixture
def site(board: Board, tmp_path: Path) -> Iterator[Site]:
    """Serve a board with one tick on it."""
    found = Site(board, tmp_path)
    found.server.start()
    yield found
    assert found.server.stop(timeout=5.0)


def revoked(site: Site) -> None:
    """Take the token back."""
    revoke(site.directory, "grafana")


def expired(site: Site) -> None:
    """Let its time pass."""
    site.wall += 3600.0


@pytest.mark.parametrize("end", [revoked, expired])
def test_a_stream_ends_with_its_token(site: Site, end: Callable[[Site], None]) -> None:
    """A token that is no good any more hears no further tick, and others hear on."""
    lasting = (site.directory / "token").read_text().strip()
    grafana = make(site.directory, "grafana", Role.READ, expires=START + 60.0)
    first = site.tick()
    with site.stream(grafana) as theirs, site.stream(lasting) as ours:
        assert hears(theirs, first)
        assert hears(ours, first)
        end(site)
        second = site.tick()

        assert hears(ours, second)
        assert not hears(theirs, second)


def test_streams_without_a_token_end_when_reading_is_closed(site: Site) -> None:
    """Who revokes anonymous means those as well who are reading just now."""
    first = site.tick()
    with site.stream(None) as stream:
        assert hears(stream, first)
        let_anonymous_read(site.directory, allowed=False)

        assert not hears(stream, site.tick())
