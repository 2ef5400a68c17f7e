"""HTTP/1.1 on one connection: uvicorn's protocol, cut off where a peer is slow, endless or silent."""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import Callable
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from api.gate import FULL, HEADERS
from api.limits import (
    KEEP_ALIVE_SECONDS,
    LINGER_SECONDS,
    PROBE_SECONDS,
    REQUEST_SECONDS,
    REQUESTS_OF_A_CONNECTION,
    STALLED_SECONDS,
    peer_of,
)
from api.problems import MEDIA_TYPE, ApiError, Refusal

LOOK_SECONDS = 1.0
"""A connection is looked at so often; the time limits are that coarse."""

_COMING = frozenset({h11.IDLE, h11.SEND_BODY})
"""States of a peer that has not sent its whole request."""


class Connection(H11Protocol):
    """A connection with time limits.

    A request must have come whole in ``REQUEST_SECONDS`` from its first byte, and the first byte in
    ``KEEP_ALIVE_SECONDS``; an answer must be taken without a pause of ``STALLED_SECONDS``; a connection that
    is closed has ``LINGER_SECONDS`` for what is left to send. Whoever takes longer is cut off. One that is
    taken for probes alone has a single request, and ``PROBE_SECONDS`` for it.

    Attributes:
        was_made: it has a peer.
        for_probes: there was a place for a probe alone.
    """

    def __init__(
        self,
        *args: Any,  # noqa: ANN401 - passed on as uvicorn gives them
        on_lost: Callable[[], None],
        for_probes: bool = False,
        refused: Callable[[Refusal], None],
        **kwargs: Any,  # noqa: ANN401 - the same
    ) -> None:
        super().__init__(*args, **kwargs)
        self.was_made = False
        self.for_probes = for_probes
        self._on_lost = on_lost
        self._refused = refused
        self._requests = 0
        self._coming_since: float | None = None
        self._stalled_since: float | None = None
        self._closing_since: float | None = None
        self._look_again: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # base allows any transport; TCP and unix sockets give this
        """Begin with a request that is due."""
        self.was_made = True
        super().connection_made(transport)
        peer: socket.socket = transport.get_extra_info("socket")
        if peer.family is socket.AF_UNIX:
            pid, uid, _ = struct.unpack("3i", peer.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
            self.client = (f"uid {uid}", pid)
        elif self.client is not None and self.client[0].startswith("::ffff:"):
            self.client = (peer_of(self.client[0]), self.client[1])
        self._coming_since = self.loop.time()
        self._look_again = self.loop.call_later(LOOK_SECONDS, self._look)

    def connection_lost(self, exc: Exception | None) -> None:
        """End, and give the place back."""
        if self._look_again is not None:
            self._look_again.cancel()
        super().connection_lost(exc)
        self._on_lost()

    def data_received(self, data: bytes) -> None:
        """Take some bytes; note whether a request is still to come whole."""
        if self.transport.is_closing():
            return
        super().data_received(data)
        if self.conn.their_state not in _COMING:
            self._coming_since = None
        elif self._coming_since is None:
            self._coming_since = self.loop.time()

    def handle_events(self) -> None:
        """Turn bytes into requests; the last one that a connection may send is answered with a farewell."""
        before = self.cycle
        super().handle_events()
        if self.cycle is not before:
            self._requests += 1
            if self.for_probes or self._requests >= REQUESTS_OF_A_CONNECTION:
                self.cycle.keep_alive = False

    def send_400_response(self, msg: str) -> None:
        """Answer what is no HTTP, or has too large a header, with a problem like any other; then close."""
        self._refused(Refusal.MALFORMED)
        self._answer_last(ApiError("malformed", f"{msg.rstrip('.')}, or its header is too large"))

    @property
    def keeps_waiting(self) -> bool:
        """Tell whether a request is still to come whole, its first byte or its last."""
        return self._requests == 0 and self.conn.their_state in _COMING and not self.transport.is_closing()

    def shutdown(self) -> None:
        """End when the daemon does; a connection in no state for that does not keep the others open."""
        try:
            super().shutdown()
        except h11.LocalProtocolError:
            self.transport.abort()

    def pause_writing(self) -> None:
        """Note since when the peer takes nothing."""
        self._stalled_since = self.loop.time()
        super().pause_writing()

    def resume_writing(self) -> None:
        """Note that the peer takes again."""
        self._stalled_since = None
        super().resume_writing()

    def _look(self) -> None:
        now = self.loop.time()
        if self.transport.is_closing():
            self._closing_since = self._closing_since or now
        if _over(self._closing_since, LINGER_SECONDS, now) or _over(
            self._stalled_since, STALLED_SECONDS, now
        ):
            self.transport.abort()
            return
        if not self.transport.is_closing() and _over(self._coming_since, self._patience(), now):
            self._coming_since = None
            if self.for_probes:
                self._refused(Refusal.CONNECTIONS)
                self._answer_last(ApiError("busy", FULL))
                self._look_again = self.loop.call_later(LOOK_SECONDS, self._look)
                return
            if not self._silent():  # browsers open connections that they then do not need
                self._refused(Refusal.SLOW)
            self._answer_last(
                ApiError("too-slow", f"the request did not come whole within {self._patience():.0f} s")
            )
        self._look_again = self.loop.call_later(LOOK_SECONDS, self._look)

    def _patience(self) -> float:
        """Return how long to wait for the request, less before its first byte."""
        if self.for_probes:
            return PROBE_SECONDS
        return KEEP_ALIVE_SECONDS if self._silent() else REQUEST_SECONDS

    def _silent(self) -> bool:
        """Tell whether nothing of a request has come yet."""
        return self.conn.their_state is h11.IDLE and not self.conn.trailing_data[0]

    def _answer_last(self, error: ApiError) -> None:
        """Answer with a problem where nothing was answered yet, and close."""
        if self.conn.our_state in {h11.IDLE, h11.SEND_RESPONSE}:
            made = error.response()
            headers = {**HEADERS, "content-type": MEDIA_TYPE, "content-length": str(len(made.body))}
            given = [(name.encode(), value.encode()) for name, value in headers.items()]
            head = h11.Response(status_code=made.status_code, headers=[*given, (b"connection", b"close")])
            for event in (head, h11.Data(data=bytes(made.body)), h11.EndOfMessage()):
                self.transport.write(self.conn.send(event) or b"")
        cycle = getattr(
            self, "cycle", None
        )  # uvicorn has None before the first request, and no type for that
        if cycle is not None and not cycle.response_complete:
            cycle.disconnected = True
            cycle.message_event.set()
        self.transport.close()


def _over(since: float | None, seconds: float, now: float) -> bool:
    return since is not None and now - since > seconds
