"""The outermost layer, in front of every route: who may come in, and how much at a time."""

from __future__ import annotations

import asyncio
import logging
import socket
import struct
import time
from collections.abc import Callable

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from api.access import Access, Transport, mark, transport_of
from api.limits import (
    BURST,
    COSTS,
    DELAY,
    HEADER_BYTES,
    PROBES,
    REQUESTS_PER_SECOND,
    TURN_SECONDS,
    Rate,
    Turns,
    peer_in,
)
from api.problems import ApiError, Refusal, Refusals, defect

_LOG = logging.getLogger("innobrim.api")

LARGEST_BODY = 16 * 1024
"""Of a request, bytes."""

CHUNK = 64 * 1024
"""A long answer is handed to the connection in pieces of so many bytes, each when the one before has gone."""

HEADERS = {
    "cache-control": "no-store",
    "content-security-policy": "default-src 'none'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
}
"""Every answer has them, except where its route says otherwise."""

STREAM = "text/event-stream"

_CONNECTION = "innobrim.connection"
_HEAD = "innobrim.head"
_FOR_PROBES = "innobrim.for-probes"
_AT_ONCE = struct.pack("ii", 1, 0)

_TOO_MANY = ApiError(
    "too-many",
    f"more than {REQUESTS_PER_SECOND:.0f} requests a second, after {BURST:.0f} at once; ask less often",
    headers={"Retry-After": "2", "Connection": "close"},
    refusal=Refusal.RATE,
)
FULL = "as many connections are open as there may be; one more is for the probes /livez and /readyz alone"
"""What a connection is told that was taken for a probe, and asks something else or nothing."""

_FULL = ApiError(
    "busy",
    FULL,
    headers={"Retry-After": "5", "Connection": "close"},
    refusal=Refusal.CONNECTIONS,
)
_BUSY = ApiError(
    "busy",
    f"no turn within {TURN_SECONDS:.0f} s; nothing was done, ask again",
    headers={"Retry-After": "5"},
    refusal=Refusal.BUSY,
)


class Marked:
    """The application as one listener serves it: every request carries the listener's transport."""

    def __init__(self, app: ASGIApp, transport: Transport) -> None:
        self._app = app
        self._transport: Transport = transport

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        mark(scope, self._transport)
        connection = getattr(getattr(send, "__self__", None), "transport", None)  # uvicorn's own
        scope[_CONNECTION] = connection
        if isinstance(connection, asyncio.Transport):
            scope[_FOR_PROBES] = getattr(connection.get_protocol(), "for_probes", False)
        await self._app(scope, receive, send)


def cut(scope: Scope) -> None:
    """End a request's connection at once, whatever its peer has not taken yet; nothing without a listener."""
    connection = scope.get(_CONNECTION)
    if isinstance(connection, asyncio.Transport):
        peer = connection.get_extra_info("socket")
        peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _AT_ONCE)  # the system's own buffer goes as well
        connection.abort()


class Gate:
    """Refuses whom ``access`` refuses, what is too much, and large bodies; sees to headers and defects."""

    def __init__(self, app: ASGIApp, *, access: Access, refusals: Refusals) -> None:
        self._app = app
        self._access = access
        self._refusals = refusals
        self._rates: dict[Transport, Rate] = {"tcp": Rate(), "unix": Rate()}
        self._turns: dict[Transport, Turns] = {"tcp": Turns(), "unix": Turns()}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve or refuse one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        transport = transport_of(scope)
        answer = _Answer(send, lambda: self._still_admits(scope), head=asks_for_head(scope))
        probe = scope["method"] in {"GET", "HEAD"} and scope["path"] in PROBES
        if not probe and (too_much := await self._too_much(scope, transport)) is not None:
            await self._refusal(too_much)(scope, receive, answer)
            return
        try:
            _check_header(scope)
            self._access.admit(scope)
            _check_length(Headers(scope=scope).get("content-length"))
        except ApiError as error:
            await self._refusal(error)(scope, receive, answer)
            return
        if not probe:
            turns = self._turns[transport]
            if not await turns.take():
                await self._refusal(_BUSY)(scope, receive, answer)
                return
            answer.turn = turns.give_back
        try:
            await self._app(_as_get(scope), _limited(receive, self._refusals), answer)
        except ClientDisconnect:
            return
        except Exception:
            method, path = scope["method"], scope["path"]
            _LOG.exception("%s %s failed", method, path)
            if answer.started:
                raise
            await defect(method, path).response()(scope, receive, answer)
        finally:
            answer.end_turn()

    async def _too_much(self, scope: Scope, transport: Transport) -> ApiError | None:
        """Return why a peer asks too much, after a delay that slows a flood; None where it does not."""
        if scope.get(_FOR_PROBES):
            return _FULL
        cost = COSTS.get(scope["path"], 1.0)
        if self._rates[transport].allows(peer_in(scope), time.monotonic(), cost):
            return None
        await asyncio.sleep(DELAY)
        return _TOO_MANY

    def _still_admits(self, scope: Scope) -> bool:
        """Tell whether a request would be let in now as well; one that would not is cut off."""
        try:
            self._access.admit(scope)
        except ApiError as error:
            self._refusals.note(error.refusal)
            cut(scope)
            return False
        return True

    def _refusal(self, error: ApiError) -> Response:
        """Return the answer to a request that is not let in, which is counted."""
        self._refusals.note(error.refusal)
        return error.response()


class _Answer:
    """What is sent: with our headers, in pieces.

    A stream of events gives its turn back as it begins, and each of its messages asks whether its client may
    still come in: it may outlive the token that opened it.
    """

    def __init__(self, send: Send, still_admitted: Callable[[], bool], *, head: bool = False) -> None:
        self.started = False
        self._head = head
        self.turn: Callable[[], None] | None = None
        self._send = send
        self._still_admitted = still_admitted
        self._is_stream = False

    async def __call__(self, message: Message) -> None:
        """Send one message."""
        self.started = True
        if self._is_stream and not self._still_admitted():
            return
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in HEADERS.items():
                headers.setdefault(name, value)
            self._is_stream = headers.get("content-type", "").startswith(STREAM)
            if self._is_stream:
                self.end_turn()
        if self._head and message["type"] == "http.response.body":
            message = {**message, "body": b""}
        for piece in _pieces(message):
            await self._send(piece)

    def end_turn(self) -> None:
        """Give the turn back; safe to call twice."""
        turn, self.turn = self.turn, None
        if turn is not None:
            turn()


def asks_for_head(scope: Scope) -> bool:
    """Tell whether a request wants an answer's header alone."""
    return bool(scope["method"] == "HEAD" or scope.get(_HEAD))


def _as_get(scope: Scope) -> Scope:
    """Return a request as the routes know it: one for a header as one for the whole."""
    return {**scope, "method": "GET", _HEAD: True} if scope["method"] == "HEAD" else scope


def _pieces(message: Message) -> list[Message]:
    """Return a message that carries a long body as several that carry its pieces."""
    body = message.get("body", b"")
    if message["type"] != "http.response.body" or len(body) <= CHUNK:
        return [message]
    cut = [body[at : at + CHUNK] for at in range(0, len(body), CHUNK)]
    more = [{**message, "body": piece, "more_body": True} for piece in cut[:-1]]
    return [*more, {**message, "body": cut[-1]}]


def _check_header(scope: Scope) -> None:
    """Refuse a header that came at once and whole: the connection sees only to one that does not end."""
    size = len(scope.get("raw_path") or b"") + len(scope.get("query_string") or b"")
    size += sum(len(name) + len(value) for name, value in scope["headers"])
    if size > HEADER_BYTES:
        said = f"request line and headers may have {HEADER_BYTES} bytes, not {size}"
        raise ApiError("header", said, headers={"Connection": "close"}, refusal=Refusal.HEADER)


def _check_length(value: str | None) -> None:
    if value is not None and value.isdecimal() and int(value[:20]) > LARGEST_BODY:
        raise _too_large()


def _too_large() -> ApiError:
    said = f"a body may have at most {LARGEST_BODY} bytes"
    return ApiError("too-large", said, headers={"Connection": "close"}, refusal=Refusal.BODY)


def _limited(receive: Receive, refusals: Refusals) -> Receive:
    """Return ``receive``, ending a body that grows beyond the limit whatever its header said."""
    seen = 0

    async def counted() -> Message:
        nonlocal seen
        message = await receive()
        seen += len(message.get("body", b""))
        if seen > LARGEST_BODY:
            refusals.note(Refusal.BODY)
            raise _too_large()
        return message

    return counted
