"""A MySQL server's TCP port with somebody on the line who can act between two statements."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable
from functools import partial
from typing import Self

HEADER = 4
COM_QUERY = 3
CHUNK = 65_536


class Proxy:
    """Passes a client's packets on one by one, so that a statement can be kept back.

    Attributes:
        port: where to connect to, on 127.0.0.1.
        passed: the statements let through, in order.
    """

    def __init__(self, port: int, let_through: Callable[[str], bool]) -> None:
        """Listen at once.

        Args:
            port: the server's, on 127.0.0.1.
            let_through: asked about every statement; after a no the connection is closed.
        """
        self._server_port = port
        self._let_through = let_through
        self._sockets: list[socket.socket] = []
        self._threads: list[threading.Thread] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listener.getsockname()[1])
        self.passed: list[str] = []

    def __enter__(self) -> Self:
        self._start(self._accept)
        return self

    def __exit__(self, *_: object) -> None:
        for one in (self._listener, *self._sockets):
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()
        for thread in self._threads:
            thread.join(5.0)

    def _start(self, work: Callable[[], None]) -> None:
        thread = threading.Thread(target=work, name="proxy", daemon=True)
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):  # the listener's end is ours
            while True:
                client, _ = self._listener.accept()
                server = socket.create_connection(("127.0.0.1", self._server_port), 5.0)
                server.settimeout(None)
                self._sockets += [client, server]
                self._start(partial(self._questions, client, server))
                self._start(partial(_answers, client, server))

    def _questions(self, client: socket.socket, server: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while len(header := _exactly(client, HEADER)) == HEADER:
                body = _exactly(client, int.from_bytes(header[:3], "little"))
                if body[:1] == bytes([COM_QUERY]):
                    statement = body[1:].decode(errors="replace")
                    if not self._let_through(statement):
                        break
                    self.passed.append(statement)
                server.sendall(header + body)
        _end(client, server)


def _answers(client: socket.socket, server: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while data := server.recv(CHUNK):
            client.sendall(data)
    _end(client, server)


def _exactly(source: socket.socket, count: int) -> bytes:
    """Return so many bytes, fewer at the connection's end."""
    data = b""
    while len(data) < count and (more := source.recv(count - len(data))):
        data += more
    return data


def _end(*sockets: socket.socket) -> None:
    for one in sockets:
        with contextlib.suppress(OSError):
            one.shutdown(socket.SHUT_RDWR)
