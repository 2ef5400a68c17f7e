"""A TCP relay that can stop passing anything on without closing anything, as a network that drops packets."""

from __future__ import annotations

import contextlib
import socket
import threading
from typing import Self

CHUNK = 65_536
CONNECT_SECONDS = 5.0


class Relay:
    """Passes bytes between clients and one port until told to drop them.

    A connection that was open while bytes were dropped never carries any again: nobody tells either end, so
    the server keeps its session until its own time is up.

    Attributes:
        port: where to connect to, on 127.0.0.1.
    """

    def __init__(self, port: int) -> None:
        """Listen at once; ``port`` is the server's, on 127.0.0.1."""
        self._server_port = port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listener.getsockname()[1])
        self._dropping = False
        self._lock = threading.Lock()
        self._pairs: set[_Pair] = set()
        self._unheard: list[socket.socket] = []
        self._thread = threading.Thread(target=self._accept, name="relay", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        with self._lock:
            pairs = list(self._pairs)
        for pair in pairs:
            pair.close()
        self.pass_on()
        self._thread.join(CONNECT_SECONDS)

    def drop(self) -> None:
        """Pass nothing on from now, on no connection."""
        with self._lock:
            self._dropping = True
            for pair in self._pairs:
                pair.dead = True

    def pass_on(self) -> None:
        """Let new connections through again."""
        with self._lock:
            self._dropping = False
            unheard, self._unheard = self._unheard, []
        for client in unheard:
            client.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):  # the listener's end is ours
            while True:
                client, _ = self._listener.accept()
                with self._lock:
                    if self._dropping:
                        self._unheard.append(client)
                        continue
                try:
                    server = socket.create_connection(("127.0.0.1", self._server_port), CONNECT_SECONDS)
                except OSError:
                    client.close()
                    continue
                server.settimeout(None)
                with self._lock:
                    pair = _Pair(client, server, dead=self._dropping)
                    self._pairs.add(pair)
                threading.Thread(target=self._carry, args=(pair, client, server), daemon=True).start()
                threading.Thread(target=self._carry, args=(pair, server, client), daemon=True).start()

    def _carry(self, pair: _Pair, source: socket.socket, sink: socket.socket) -> None:
        """Pass on what comes, or swallow it; a dead pair stays open until the server gives it up."""
        with contextlib.suppress(OSError):
            while data := source.recv(CHUNK):
                if not pair.dead:
                    sink.sendall(data)
        if pair.dead and source is pair.client:
            return
        pair.close()
        with self._lock:
            self._pairs.discard(pair)


class _Pair:
    """One connection's two ends."""

    def __init__(self, client: socket.socket, server: socket.socket, *, dead: bool) -> None:
        self.client, self.server, self.dead = client, server, dead

    def close(self) -> None:
        """Close both ends; safe to call twice."""
        for one in (self.client, self.server):
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()
