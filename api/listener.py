"""One socket that the API listens on: accepts what there is a place for, and hands it to its protocol.

A connection is counted from the moment it is accepted, before any TLS handshake: the process has only so
many file descriptors, and the loop and its journal need some of them.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
import ssl
from collections.abc import Callable
from functools import partial

import uvicorn
from starlette.types import ASGIApp

from api.access import Transport
from api.gate import Marked
from api.limits import (
    HANDSHAKES_AT_ONCE,
    HANDSHAKES_PER_SECOND,
    HEADER_BYTES,
    KEEP_ALIVE_SECONDS,
    LINGER_SECONDS,
    REQUEST_SECONDS,
    Places,
    ProbePlaces,
    Rate,
    peer_of,
)
from api.problems import Refusal
from api.protocol import Connection

_REST_SECONDS = 1.0
"""After a connection that could not be accepted, for want of file descriptors."""

_FULL = (
    b"HTTP/1.1 503 Service Unavailable\r\nretry-after: 5\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
)
_LOG = logging.getLogger("innobrim.api")


class Listener(uvicorn.Server):
    """Accepts connections on one socket and sleeps until it is told to stop.

    uvicorn's own looks ten times a second whether it should, which costs an idle daemon more
    processor time than its loop, and accepts without end.
    """

    def __init__(
        self,
        app: ASGIApp,
        listener: socket.socket,
        transport: Transport,
        context: ssl.SSLContext | None,
        refused: Callable[[Refusal], None],
    ) -> None:
        """Take the socket; nothing is accepted yet.

        Args:
            app: the application.
            listener: listens already.
            transport: that its requests are marked with.
            context: for TLS; None for none.
            refused: told what is turned away.
        """
        super().__init__(
            uvicorn.Config(
                Marked(app, transport),
                http=Connection,
                loop="none",
                ws="none",
                interface="asgi3",
                lifespan="off",
                log_config=None,
                access_log=False,
                proxy_headers=False,
                server_header=False,
                date_header=False,
                timeout_keep_alive=int(KEEP_ALIVE_SECONDS),
                timeout_graceful_shutdown=1,
                h11_max_incomplete_event_size=HEADER_BYTES,
            )
        )
        self.context = context
        self._listener = listener
        self._refused = refused
        self._places = Places()
        self._for_probes = ProbePlaces()
        self._probes: dict[_Probe, None] = {}
        self._arrivals = Rate() if context is None else Rate(HANDSHAKES_PER_SECOND, HANDSHAKES_AT_ONCE)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._accepts = True
        self._end = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:  # noqa: ARG002 - uvicorn passes it
        """Begin to accept."""
        self._loop = asyncio.get_running_loop()
        self.servers = []
        self._listen(self._loop)
        self.started = True

    async def main_loop(self) -> None:
        """Wait for the end."""
        if not self.should_exit:
            await self._end.wait()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Accept no more; finish what is under way."""
        self._accepts = False
        if self._loop is not None:
            with contextlib.suppress(ValueError):  # whoever stops the server waits only so long for its end
                self._loop.remove_reader(self._listener)
        await asyncio.sleep(0)  # who was accepted is begun with, and closed by who serves it
        for task in tuple(self._tasks):
            task.cancel()
        await super().shutdown(sockets)

    def end(self) -> None:
        """Ask for the end, from any thread."""
        self.should_exit = True
        if self._loop is not None:
            with contextlib.suppress(RuntimeError):  # its loop has ended already
                self._loop.call_soon_threadsafe(self._end.set)

    def _listen(self, loop: asyncio.AbstractEventLoop) -> None:
        if self._accepts:
            loop.add_reader(self._listener, self._accept, loop)

    def _accept(self, loop: asyncio.AbstractEventLoop) -> None:
        """Take one connection; at once, so that an end between accepting and serving can lose none."""
        try:
            connection, address = self._listener.accept()
        except (BlockingIOError, InterruptedError, ConnectionAbortedError):
            return
        except OSError as error:
            _LOG.warning("a connection could not be accepted: %s", error.strerror or error)
            loop.remove_reader(self._listener)
            loop.call_later(_REST_SECONDS, self._listen, loop)
            return
        peer = peer_of(str(address[0])) if isinstance(address, tuple) else ""
        why = self._no_place(peer, loop.time())
        if why is not None and not self._takes_probe(peer):
            self._refused(why)
            _turn_away(connection, encrypted=self.context is not None)
            return
        task = loop.create_task(self._serve_one(loop, connection, peer, for_probes=why is not None))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _no_place(self, peer: str, now: float) -> Refusal | None:
        """Take a place; return why there is none for this peer, None where there was."""
        if not self._arrivals.allows(peer, now):
            return Refusal.RATE
        return None if self._places.take(peer) else Refusal.CONNECTIONS

    def _takes_probe(self, peer: str) -> bool:
        """Take a probe's place; where none is free, of who has kept its request back for longest.

        A probe sends its request at once. A peer's own go before those of others.
        """
        if self._for_probes.take(peer):
            return True
        own = self._for_probes.has_its_share(peer)
        for probe in sorted(self._probes, key=lambda one: one.peer != peer):
            if probe.keeps_waiting and (probe.peer == peer or not own):
                probe.drop()
                self._refused(Refusal.CONNECTIONS)
                return self._for_probes.take(peer)
        return False

    async def _serve_one(
        self, loop: asyncio.AbstractEventLoop, connection: socket.socket, peer: str, *, for_probes: bool
    ) -> None:
        """Hand a connection over to its protocol, which gives the place back when it is lost."""
        made: list[Connection] = []
        give_back: Callable[[], None] = partial(self._places.give_back, peer)
        if for_probes:
            probe = _Probe(peer, made, asyncio.current_task(), self._probe_lost)
            self._probes[probe] = None
            give_back = probe.give_back

        def protocol() -> Connection:
            made.append(
                Connection(
                    config=self.config,
                    server_state=self.server_state,
                    app_state=self.lifespan.state,
                    on_lost=give_back,
                    for_probes=for_probes,
                    refused=self._refused,
                )
            )
            return made[0]

        limits: dict[str, float] = {}
        if self.context is not None:
            limits = {"ssl_handshake_timeout": REQUEST_SECONDS, "ssl_shutdown_timeout": LINGER_SECONDS}
        try:
            await loop.connect_accepted_socket(protocol, connection, ssl=self.context, **limits)
        except (OSError, TimeoutError):  # no TLS, none that both know, or a peer that is gone
            if self.context is not None:
                self._refused(Refusal.TLS)
            connection.close()
        finally:
            if not made or not made[0].was_made:
                give_back()

    def _probe_lost(self, probe: _Probe) -> None:
        del self._probes[probe]
        self._for_probes.give_back(probe.peer)


class _Probe:
    """A connection that has a probe's place, from the moment it is served."""

    def __init__(
        self,
        peer: str,
        made: list[Connection],
        task: asyncio.Task[None] | None,
        lost: Callable[[_Probe], None],
    ) -> None:
        self.peer = peer
        self._made = made
        self._task = task
        self._lost = lost
        self._has_place = True

    @property
    def keeps_waiting(self) -> bool:
        """Tell whether its request is still to come whole, or its TLS handshake to be done."""
        return not (self._made and self._made[0].was_made) or self._made[0].keeps_waiting

    def drop(self) -> None:
        """End the connection, and give its place back at once."""
        self.give_back()
        if self._made and self._made[0].was_made:
            self._made[0].transport.abort()
        elif self._task is not None:
            self._task.cancel()

    def give_back(self) -> None:
        """Give the place back; once, however often it is called."""
        if self._has_place:
            self._has_place = False
            self._lost(self)


def _turn_away(connection: socket.socket, *, encrypted: bool) -> None:
    """Close a connection that there is no place for, with a word of it where it can be read."""
    with contextlib.suppress(OSError):
        if not encrypted:
            connection.settimeout(0.0)
            connection.send(_FULL)
    connection.close()
