"""Connections: how many there may be, of whom, and how long one may keep the daemon waiting.

HTTP is uvicorn's. It accepts without end and gives a peer any time for its request and for taking an answer,
though, and the process has only so many file descriptors, of which the loop and its journal need some. So a
listening socket counts its connections from accept to close, TLS handshakes too, and one look a second ends
those that are overdue (docs/decisions/api-limits.md).
"""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import socket
import ssl
import struct
import time
from collections import OrderedDict
from collections.abc import Callable, Collection, Hashable
from functools import partial
from typing import Any

import h11
import uvicorn
from starlette.types import ASGIApp, Scope
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

from api.problems import ApiError, Refusal

CONNECTIONS = 128
"""At a time over TCP, and as many over the unix socket: a flood over TCP leaves the socket free."""

CONNECTIONS_OF_A_PEER = 32
"""Of these, for each address of another machine; this machine may have all of them."""

PROBE_PLACES = 16
"""Connections over ``CONNECTIONS`` that are taken for probes alone."""

PROBE_PLACES_OF_A_PEER = 4
"""Of these, for each address of another machine."""

REQUESTS_PER_SECOND = 300.0
"""Of one peer, in the long run; new connections too."""

BURST = 600.0
"""Requests of one peer at once, after some quiet seconds."""

HANDSHAKES_PER_SECOND = 30.0
HANDSHAKES_AT_ONCE = 120.0
"""New connections of one peer with TLS, each of which costs a signature."""

TLS_HEADER = 5
"""Bytes of a TLS record before what it holds, the last two of them its length."""

HEADER_BYTES = 16 * 1024
"""Of a request's line and headers."""

REQUEST_SECONDS = 10.0
"""A request must have come whole in this time, and a TLS handshake be done, seconds."""

KEEP_ALIVE_SECONDS = 5.0
"""A connection without a request is closed after so long, seconds."""

PROBE_SECONDS = 1.0
"""A request over a connection for probes alone must have come whole in this time, seconds."""

STALLED_SECONDS = 10.0
"""A peer that takes nothing of an answer for so long is cut off, seconds."""

LINGER_SECONDS = 5.0
"""A connection that is closed has so long to take the rest and, with TLS, to say goodbye, seconds."""

LOOK_SECONDS = 1.0
"""Connections are looked at so often; the time limits are that coarse."""

BACKLOG = 256
"""Connections that wait to be accepted; with more a probe may wait longer for its turn than it does."""

ACCEPTED_AT_ONCE = 1
"""Connections, in a turn of the event loop: a probe's request is read before the next ones take its place."""

_MOST_PEERS = 1024
_FULL = (
    b"HTTP/1.1 503 Service Unavailable\r\nretry-after: 5\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
)
Refused = Callable[[Refusal | None], None]
"""Counts what was turned away; None is nothing to count."""


def full_error() -> ApiError:
    """Return what a connection is told that was taken for a probe, and asks something else or nothing."""
    return ApiError(
        "busy",
        "as many connections are open as there may be; one more is for the probes /livez and /readyz alone",
        headers={"Retry-After": "5", "Connection": "close"},
        refusal=Refusal.CONNECTIONS,
    )


def peer_of(address: str) -> str:
    """Return who an address counts as: an IPv6 network of 64 bits is one peer."""
    try:
        parsed = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if isinstance(parsed, ipaddress.IPv6Address):
        if parsed.ipv4_mapped is not None:
            return str(parsed.ipv4_mapped)
        if not parsed.is_loopback:
            return str(ipaddress.ip_network((parsed, 64), strict=False))
    return str(parsed)


def peer_in(scope: Scope) -> str:
    """Return who a request counts as."""
    client = scope.get("client")
    return peer_of(str(client[0])) if client else ""


def is_of_this_machine(peer: str) -> bool:
    """Tell whether a peer is of this machine: loopback, or a user over the unix socket."""
    try:
        return ipaddress.ip_address(peer).is_loopback
    except ValueError:
        return not peer or peer.startswith("uid ")


class TokenBuckets:
    """A token bucket for each peer: it fills steadily. Forgets who has been quiet longest."""

    def __init__(self, per_second: float = REQUESTS_PER_SECOND, burst: float = BURST) -> None:
        """Begin with full buckets of ``burst`` tokens, of which some come back each second."""
        self._per_second = per_second
        self._burst = burst
        self._buckets: OrderedDict[Hashable, tuple[float, float]] = OrderedDict()

    def take(self, peer: Hashable, now: float, tokens: float = 1.0) -> bool:
        """Take tokens out of a bucket at a monotonic time, seconds; False: too few are in it, and stay."""
        left, at = self._buckets.pop(peer, (self._burst, now))
        left = min(self._burst, left + (now - at) * self._per_second)
        enough = left >= tokens
        self._buckets[peer] = (left - tokens if enough else left, now)
        if len(self._buckets) > _MOST_PEERS:
            self._buckets.popitem(last=False)
        return enough


class Listener(socket.socket):
    """A listening socket that counts its connections from accept to close.

    Attributes:
        open: those that are open, by file descriptor, oldest first.
        refused: counts what is turned away.
    """

    def __init__(self, listening: socket.socket, refused: Refused, *, encrypted: bool) -> None:
        """Take over a socket that listens; ``encrypted``: its connections begin with a TLS handshake."""
        super().__init__(fileno=listening.detach())
        self.settimeout(0.0)
        self.open: dict[int, Accepted] = {}
        self.refused = refused
        self.encrypted = encrypted
        self._arrivals = (
            TokenBuckets(HANDSHAKES_PER_SECOND, HANDSHAKES_AT_ONCE) if encrypted else TokenBuckets()
        )

    def listen(self, backlog: int = BACKLOG, /) -> None:  # noqa: ARG002 - asyncio's is how many it accepts at once
        """Have as many wait as may, whatever is asked for."""
        super().listen(BACKLOG)

    def accept(self) -> tuple[socket.socket, Any]:
        """Accept one connection; where there is place for probes alone, the first of a crowd that is prompt.

        Raises:
            BlockingIOError: there is none.
            ConnectionAbortedError: there is no place for it.
        """
        connection, address, why = self._next()
        for _ in range(BACKLOG):
            if why is None or connection.prompt:
                break
            try:
                following = self._next()
            except BlockingIOError:  # a probe may send its first bytes a moment later
                break
            self.refused(why)
            connection.turn_away()
            connection, address, why = following
        if why is not None and not self._has_place_for_probe(connection.peer):
            self.refused(why)
            connection.turn_away()
            raise ConnectionAbortedError
        connection.for_probes = why is not None
        self.open[connection.fileno()] = connection
        return connection, address

    def _next(self) -> tuple[Accepted, Any, Refusal | None]:
        """Return who waits longest, the address, and why there is no place for more than a probe."""
        taken, address = super().accept()
        connection = Accepted(taken, self, peer_of(str(address[0])) if isinstance(address, tuple) else "")
        return connection, address, self._no_place(connection.peer)

    def look(self, now: float) -> None:
        """End what is overdue at a monotonic time, seconds."""
        for one in tuple(self.open.values()):
            if one.protocol is not None:
                one.protocol.look(now)
            elif now - one.since > REQUEST_SECONDS:
                one.drop()

    def close_all(self) -> None:
        """Close it, and every connection that is still open, where nobody serves any more."""
        self.close()
        for one in tuple(self.open.values()):
            one.close()

    def _no_place(self, peer: str) -> Refusal | None:
        """Return why a further connection may carry no more than a probe; None where it may."""
        if not self._arrivals.take(peer, time.monotonic()):
            return Refusal.RATE
        usual = [one.peer for one in self.open.values() if not (one.for_probes or one.dropped)]
        full = len(usual) >= CONNECTIONS or _has_share(peer, usual, CONNECTIONS_OF_A_PEER)
        return Refusal.CONNECTIONS if full else None

    def _has_place_for_probe(self, peer: str) -> bool:
        """Tell whether one more is taken for a probe; who has kept its request back for longest makes room.

        A probe sends its request, or TLS's first record, at once. A peer's own go before those of others.
        """
        probes = [one for one in self.open.values() if one.for_probes and not one.dropped]
        own = _has_share(peer, [one.peer for one in probes], PROBE_PLACES_OF_A_PEER)
        if len(probes) < PROBE_PLACES and not own:
            return True
        waiting = [one for one in probes if one.waits and (one.peer == peer or not own)]
        if not waiting:
            return False
        self.refused(Refusal.CONNECTIONS)
        min(waiting, key=lambda one: (one.peer != peer, one.prompt)).drop()
        return True


def _has_share(peer: str, taken: Collection[str], most: int) -> bool:
    """Tell whether a peer of another machine has as many as one may."""
    return not is_of_this_machine(peer) and sum(one == peer for one in taken) >= most


class Accepted(socket.socket):
    """A connection's socket, which has a place of its listener until it is closed.

    Attributes:
        peer: who it counts as.
        since: monotonic time of its beginning, seconds.
        protocol: what serves it; None before its TLS handshake is done.
        for_probes: there was a place for a probe alone.
        dropped: it has no place any more, and is about to be closed.
        prompt: what it begins with, the first request or TLS's first record, was there whole when it was
            accepted.
    """

    def __init__(self, taken: socket.socket, listener: Listener, peer: str) -> None:
        super().__init__(fileno=taken.detach())
        self.peer = peer
        self.since = time.monotonic()
        self.protocol: Connection | None = None
        self.for_probes = self.dropped = False
        self._listener = listener
        self.prompt = self._is_prompt()

    def _is_prompt(self) -> bool:
        try:
            sent = self.recv(HEADER_BYTES, socket.MSG_PEEK | socket.MSG_DONTWAIT)
        except OSError:
            return False
        if self._listener.encrypted:
            return len(sent) >= TLS_HEADER + int.from_bytes(sent[TLS_HEADER - 2 : TLS_HEADER])
        return b"\r\n\r\n" in sent

    @property
    def waits(self) -> bool:
        """Tell whether its request is still to come whole, or its TLS handshake to be done."""
        return self.protocol is None or self.protocol.awaits_request

    def drop(self) -> None:
        """Give the place back and end the connection, whatever state it is in."""
        self.dropped = True
        with contextlib.suppress(OSError):
            self.shutdown(socket.SHUT_RDWR)

    def turn_away(self) -> None:
        """Close it with a word of why where that can be read."""
        with contextlib.suppress(OSError):
            if not self._listener.encrypted:
                self.settimeout(0.0)
                self.send(_FULL)
        self.close()

    def close(self) -> None:
        """Close it, and give its place back."""
        had_place = self._listener.open.pop(self.fileno(), None) is not None and not self.dropped
        if had_place and self._listener.encrypted and self.protocol is None:
            self._listener.refused(Refusal.TLS)  # no TLS, none that both know, or a peer that is gone
        super().close()


class Connection(H11Protocol):
    """uvicorn's HTTP/1.1 on one connection, with time limits; ``state.connection`` of each request."""

    place: Accepted

    def __init__(self, *args: Any, listener: Listener, **kwargs: Any) -> None:  # noqa: ANN401 - passed on as uvicorn gives them
        super().__init__(*args, **kwargs)
        self.app_state = {"connection": self}
        self._listener = listener
        self._unsent = 0
        self._taken_at = time.monotonic()
        self._awaited_since: float | None = self._taken_at
        self._closing_since: float | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # base allows any transport; TCP and unix sockets give this
        """Begin with a request that is due."""
        super().connection_made(transport)
        peer: socket.socket = transport.get_extra_info("socket")
        self.place = self._listener.open[peer.fileno()]
        self.place.protocol = self
        if peer.family is socket.AF_UNIX:
            pid, uid, _ = struct.unpack("3i", peer.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
            self.client = (f"uid {uid}", pid)
        elif self.client is not None and self.client[0].startswith("::ffff:"):
            self.client = (peer_of(self.client[0]), self.client[1])

    @property
    def _request(self) -> RequestResponseCycle | None:
        """Return the newest request; uvicorn has None before the first one, and no type for that."""
        return getattr(self, "cycle", None)

    @property
    def awaits_request(self) -> bool:
        """Tell whether a request is still to come whole: the first one, or the rest of a later one."""
        state = self.conn.their_state
        begun = self._request is None or bool(self.conn.trailing_data[0])
        return state is h11.SEND_BODY or (state is h11.IDLE and begun)

    def on_response_complete(self) -> None:
        """Give the next request a time of its own; a body that is still to come has its request's."""
        if self.conn.their_state is not h11.SEND_BODY:
            self._awaited_since = None
        super().on_response_complete()

    def look(self, now: float) -> None:
        """End what is overdue at a monotonic time, seconds."""
        if self.transport.is_closing():
            self._closing_since = self._closing_since or now
            if now - self._closing_since > LINGER_SECONDS:
                self.transport.abort()
            return
        unsent = self.transport.get_write_buffer_size()
        if unsent == 0 or unsent < self._unsent:
            self._taken_at = now
        self._unsent = unsent
        if now - self._taken_at > STALLED_SECONDS:
            self.transport.abort()
        elif not self.awaits_request:
            self._awaited_since = None
        else:
            self._awaited_since = self._awaited_since or now
            self._check_request(now - self._awaited_since)

    def _check_request(self, waited: float) -> None:
        """End a connection whose request has not come whole in time, seconds."""
        silent = self.conn.their_state is h11.IDLE and not self.conn.trailing_data[0]
        patience = KEEP_ALIVE_SECONDS if silent else REQUEST_SECONDS
        if self.place.for_probes and waited > PROBE_SECONDS:
            self._answer_last(full_error())
        elif waited > patience:
            refusal = None if silent else Refusal.SLOW  # browsers open connections that they may not need
            detail = f"the request did not come whole within {patience:.0f} s"
            self._answer_last(ApiError("too-slow", detail, refusal=refusal))

    def data_received(self, data: bytes) -> None:
        """Take some bytes; none of who is told to go."""
        if not self.transport.is_closing():
            super().data_received(data)

    def send_400_response(self, msg: str) -> None:
        """Answer what is no HTTP, or has too large a header, with a problem like any other; then close."""
        detail = f"{msg.rstrip('.')}, or its header is too large"
        self._answer_last(ApiError("malformed", detail, refusal=Refusal.MALFORMED))

    def shutdown(self) -> None:
        """End when the daemon does; a connection in no state for that does not keep the others open."""
        try:
            super().shutdown()
        except h11.LocalProtocolError:
            self.transport.abort()

    def _answer_last(self, error: ApiError) -> None:
        """Answer with a problem where nothing was answered yet, and close."""
        self._listener.refused(error.refusal)
        if self.conn.our_state in {h11.IDLE, h11.SEND_RESPONSE}:
            answer = error.response()
            answer.headers["connection"] = "close"
            head = h11.Response(status_code=answer.status_code, headers=answer.raw_headers)
            for event in (head, h11.Data(data=bytes(answer.body)), h11.EndOfMessage()):
                self.transport.write(self.conn.send(event) or b"")
        request = self._request
        if request is not None and not request.response_complete:
            request.disconnected = True
            request.message_event.set()
        self.transport.close()


class Server(uvicorn.Server):
    """uvicorn on one listener, which looks at its connections once a second and else sleeps."""

    def __init__(self, app: ASGIApp, listener: Listener, context: ssl.SSLContext | None) -> None:
        """Take a listener, which listens already; nothing is accepted yet."""
        config = uvicorn.Config(
            app,
            http=partial(Connection, listener=listener),  # type: ignore[arg-type]  # any factory of a protocol will do
            loop="none",
            ws="none",
            interface="asgi3",
            lifespan="off",
            log_config=None,
            log_level="error",  # a line for each peer that sends no HTTP would fill a disk; they are counted
            access_log=False,
            proxy_headers=False,
            server_header=False,
            date_header=False,
            backlog=ACCEPTED_AT_ONCE,
            timeout_keep_alive=int(KEEP_ALIVE_SECONDS),
            timeout_graceful_shutdown=1,
            h11_max_incomplete_event_size=HEADER_BYTES,
        )
        config.load()
        config.ssl = context
        super().__init__(config)
        self.listener = listener
        self._loop: asyncio.AbstractEventLoop | None = None
        self._end = asyncio.Event()

    async def serve(self, sockets: list[socket.socket] | None = None) -> None:
        """Serve until told to end."""
        self._loop = asyncio.get_running_loop()
        await super().serve(sockets or [self.listener])

    async def main_loop(self) -> None:
        """Look at the connections until the end."""
        while not self.should_exit:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(LOOK_SECONDS):
                    await self._end.wait()
            self.listener.look(time.monotonic())

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Accept no more; finish what is under way, and close what does not end."""
        asyncio.get_running_loop().remove_reader(self.listener)
        await asyncio.sleep(0.01)  # who was accepted is begun with; a closed server would not let it
        await super().shutdown(sockets)
        for one in tuple(self.listener.open.values()):
            one.drop()
        for _ in range(20):  # a dropped one is closed as soon as the loop comes to it
            if self.listener.open:
                await asyncio.sleep(0.01)

    def end(self) -> None:
        """Ask for the end, from any thread."""
        self.should_exit = True
        if self._loop is not None:
            with contextlib.suppress(RuntimeError):  # it has ended
                self._loop.call_soon_threadsafe(self._end.set)
