"""A MySQL server's TCP port with somebody on the line who can act between two statements."""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Self

HEADER = 4
COM_QUERY = 3
CHUNK = 65_536
AT_ONCE = struct.pack("ii", 1, 0)
"""SO_LINGER that makes a close a reset."""


@dataclass(slots=True)
class _Line:
    """One connection through the proxy.

    Attributes:
        client: the daemon's side.
        server: the server's side.
        dead: nothing passes any more, a goodbye neither, and both sides stay open.
        threads: those that pass the packets on.
    """

    client: socket.socket
    server: socket.socket
    dead: bool = False
    threads: list[threading.Thread] = field(default_factory=list)


class Proxy:
    """Passes a client's packets on one by one, so that a statement can be kept back.

    Attributes:
        port: where to connect to, on 127.0.0.1.
        passed: the statements let through, in order.
    """

    def __init__(self, port: int, let_through: Callable[[str], bool] = lambda _: True) -> None:
        """Listen at once.

        Args:
            port: the server's, on 127.0.0.1.
            let_through: asked about every statement; after a no the connection is closed.
        """
        self._server_port = port
        self._let_through = let_through
        self._silent = False
        self._mute: list[socket.socket] = []
        self._lines: list[_Line] = []
        self._acceptor = threading.Thread(target=self._accept, name="proxy", daemon=True)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listener.getsockname()[1])
        self.passed: list[str] = []

    def __enter__(self) -> Self:
        self._acceptor.start()
        return self

    def __exit__(self, *_: object) -> None:
        _end(self._listener)
        self._listener.close()
        self._acceptor.join(5.0)
        for one in self._mute:
            one.close()
        for line in self._lines:
            _end(line.client, line.server)
            self._close(line)

    def fall_silent(self) -> None:
        """Be a black hole: no packet passes any more, and nobody is told that a connection is over.

        Connections that are open now, or come meanwhile, stay dead for good on both sides.
        """
        self._silent = True
        for line in self._lines:
            line.dead = True

    def speak(self) -> None:
        """Pass packets on again, for connections made from now on."""
        self._silent = False

    def reset(self) -> None:
        """Reset every connection: both sides get a RST."""
        lines, self._lines = self._lines, []
        for line in lines:
            line.dead = True
            for one in (line.client, line.server):
                with contextlib.suppress(OSError):
                    one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, AT_ONCE)
                    one.shutdown(socket.SHUT_RD)  # wakes its reader, and tells the other side nothing
            self._close(line)

    def lead_to(self, port: int) -> None:
        """Have another server behind this address from now on; connections to the old one are reset."""
        self._server_port = port
        self.reset()

    def _close(self, line: _Line) -> None:
        for thread in line.threads:
            thread.join(5.0)
        line.client.close()
        line.server.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):  # the listener's end is ours
            while True:
                client, _ = self._listener.accept()
                if self._silent:
                    self._mute.append(client)
                    continue
                self._begin(client)

    def _begin(self, client: socket.socket) -> None:
        try:
            server = socket.create_connection(("127.0.0.1", self._server_port), 5.0)
        except OSError:
            client.close()
            return
        server.settimeout(None)
        line = _Line(client, server)
        for work in (partial(self._questions, line), partial(_answers, line)):
            line.threads.append(threading.Thread(target=work, name="proxy", daemon=True))
        self._lines.append(line)
        line.dead = line.dead or self._silent  # it may have fallen silent while this line was made
        for thread in line.threads:
            thread.start()

    def _questions(self, line: _Line) -> None:
        with contextlib.suppress(OSError):
            while len(header := _exactly(line.client, HEADER)) == HEADER:
                body = _exactly(line.client, int.from_bytes(header[:3], "little"))
                if line.dead:
                    continue
                if body[:1] == bytes([COM_QUERY]):
                    statement = body[1:].decode(errors="replace")
                    if not self._let_through(statement):
                        break
                    self.passed.append(statement)
                line.server.sendall(header + body)
        if not line.dead:
            _end(line.client, line.server)


def _answers(line: _Line) -> None:
    with contextlib.suppress(OSError):
        while data := line.server.recv(CHUNK):
            if not line.dead:
                line.client.sendall(data)
    if not line.dead:
        _end(line.client, line.server)


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
