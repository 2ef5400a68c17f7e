"""The outermost layer, in front of every route: who may come in, and how much at a time.

Together with the connections' own limits it bounds what a flood costs: memory by the connections and the
requests in hand, processor time by the rate, since a request beyond it holds its connection for ``DELAY``
seconds before it is refused.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
import struct
import time

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from api.access import Access, is_over_socket
from api.connections import (
    BURST,
    HEADER_BYTES,
    REQUESTS_PER_SECOND,
    Connection,
    TokenBuckets,
    full_error,
    peer_in,
)
from api.problems import HEADERS, ApiError, Refusal, Refusals, defect

PROBES = frozenset({"/livez", "/readyz"})
"""Who watches the daemon is answered whatever others ask: these count for no rate and wait for no turn."""

COSTS = {"/v1/history": 20.0, "/v1/why": 10.0, "/docs": 10.0}
"""What counts as so many requests, for the work that it is; anything else counts as one."""

DELAY = 1.0
"""A request beyond the rate waits so long for its refusal, seconds."""

IN_HAND = 16
"""Requests that are worked on at a time over TCP, and as many over the unix socket; others wait."""

TURN_SECONDS = 5.0
"""Longest wait for a turn, seconds."""

LARGEST_BODY = 16 * 1024
"""Of a request, bytes."""

CHUNK = 64 * 1024
"""A long answer is handed to the connection in pieces of so many bytes, each when the one before has gone."""

STREAM = "text/event-stream"

_HEAD = "innobrim.head"
_RESET = struct.pack("ii", 1, 0)
"""``SO_LINGER`` with which a close drops what the system has not sent yet."""

_LOG = logging.getLogger("innobrim.api")


def connection_of(scope: Scope) -> Connection | None:
    """Return the connection of a request; None without a listener."""
    connection = scope.get("state", {}).get("connection")
    return connection if isinstance(connection, Connection) else None


def cut(scope: Scope) -> None:
    """End a connection at once, with what its peer has not taken yet; nothing without a listener."""
    connection = connection_of(scope)
    if connection is not None:
        with contextlib.suppress(OSError):  # it is closed already
            connection.place.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
        connection.transport.abort()


def asks_for_head(scope: Scope) -> bool:
    """Tell whether a request wants an answer's header alone."""
    return _HEAD in scope


class Admission:
    """Refuses whom ``access`` refuses, what is too much, and large bodies; sees to headers and defects."""

    def __init__(self, app: ASGIApp, *, access: Access, refusals: Refusals) -> None:
        self._app = app
        self._access = access
        self._refusals = refusals
        self._rate = TokenBuckets()
        self._turns = {over_socket: asyncio.Semaphore(IN_HAND) for over_socket in (False, True)}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve or refuse one request."""
        with contextlib.ExitStack() as turn:
            answer = _Answer(self, scope, send, turn)
            try:
                await self._let_in(scope, turn)
                await self._app(_as_get(scope), self._limited(receive), answer)
            except ApiError as error:
                self._refusals.note(error.refusal)
                await error.response()(scope, receive, answer)
            except ClientDisconnect:
                return
            except Exception:
                method, path = scope["method"], scope["path"]
                _LOG.exception("%s %s failed", method, path)
                if answer.started:
                    raise
                await defect(method, path).response()(scope, receive, answer)

    def still_admits(self, scope: Scope) -> bool:
        """Tell whether a request would be let in now as well; one that would not is cut off."""
        try:
            self._access.admit(scope)
        except ApiError as error:
            self._refusals.note(error.refusal)
            cut(scope)
            return False
        return True

    async def _let_in(self, scope: Scope, turn: contextlib.ExitStack) -> None:
        """Admit a request and take its turn.

        Raises:
            ApiError: it is not let in; a flood is told so after a delay that slows it.
        """
        connection, path = connection_of(scope), scope["path"]
        probe = path in PROBES and scope["method"] in {"GET", "HEAD"}
        if not probe:
            if connection is not None and connection.place.for_probes:
                raise full_error()
            if not self._rate.take(peer_in(scope), time.monotonic(), COSTS.get(path, 1.0)):
                await asyncio.sleep(DELAY)
                raise ApiError(
                    "too-many",
                    f"more than {REQUESTS_PER_SECOND:.0f} requests a second, after {BURST:.0f} at once; "
                    "ask less often",
                    headers={"Retry-After": "2", "Connection": "close"},
                    refusal=Refusal.RATE,
                )
        _check_header(scope)
        self._access.admit(scope)
        length = Headers(scope=scope).get("content-length", "")
        if length.isdecimal() and int(length[:20]) > LARGEST_BODY:
            raise _too_large()
        if not probe:
            turns = self._turns[is_over_socket(scope)]
            try:
                async with asyncio.timeout(TURN_SECONDS):
                    await turns.acquire()
            except TimeoutError:
                raise ApiError(
                    "busy",
                    f"no turn within {TURN_SECONDS:.0f} s; nothing was done, ask again",
                    headers={"Retry-After": "5"},
                    refusal=Refusal.BUSY,
                ) from None
            turn.callback(turns.release)

    def _limited(self, receive: Receive) -> Receive:
        """Return ``receive``, ending a body that grows beyond the limit whatever its header promises."""
        seen = 0

        async def counted() -> Message:
            nonlocal seen
            message = await receive()
            seen += len(message.get("body", b""))
            if seen > LARGEST_BODY:
                self._refusals.note(Refusal.BODY)
                raise _too_large()
            return message

        return counted


class _Answer:
    """What is sent: with our headers, in pieces.

    A stream of events gives its turn back as it begins, and each of its messages asks whether its client may
    still come in: it may outlive the token that opened it.
    """

    def __init__(self, admission: Admission, scope: Scope, send: Send, turn: contextlib.ExitStack) -> None:
        self.started = False
        self._admission = admission
        self._scope = scope
        self._send = send
        self._turn = turn
        self._is_stream = False

    async def __call__(self, message: Message) -> None:
        """Send one message."""
        self.started = True
        if self._is_stream and not self._admission.still_admits(self._scope):
            return
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in HEADERS.items():
                headers.setdefault(name, value)
            connection = connection_of(self._scope)
            if connection is not None and connection.place.for_probes:
                headers["connection"] = "close"
            self._is_stream = headers.get("content-type", "").startswith(STREAM)
            if self._is_stream:
                self._turn.close()
        body, more = message.get("body", b""), message.get("more_body", False)
        while len(body) > CHUNK:
            await self._send({**message, "body": body[:CHUNK], "more_body": True})
            body = body[CHUNK:]
        await self._send({**message, "body": body, "more_body": more} if body else message)


def _as_get(scope: Scope) -> Scope:
    """Return a request as the routes know it: one for a header as one for the whole."""
    return {**scope, "method": "GET", _HEAD: True} if scope["method"] == "HEAD" else scope


def _too_large() -> ApiError:
    return ApiError(
        "too-large",
        f"a body may have at most {LARGEST_BODY} bytes",
        headers={"Connection": "close"},
        refusal=Refusal.BODY,
    )


def _check_header(scope: Scope) -> None:
    """Refuse a header that came at once and whole: the connection sees only to one that does not end.

    One that says twice where its body ends may say another thing to a proxy in front (RFC 9112, 6.3).
    """
    size = len(scope.get("raw_path") or b"") + len(scope.get("query_string") or b"")
    size += sum(len(name) + len(value) for name, value in scope["headers"])
    if size > HEADER_BYTES:
        detail = f"request line and headers may have {HEADER_BYTES} bytes, not {size}"
        raise ApiError("header", detail, headers={"Connection": "close"}, refusal=Refusal.HEADER)
    if {name for name, _ in scope["headers"]} >= {b"content-length", b"transfer-encoding"}:
        detail = "Content-Length and Transfer-Encoding at once: send one of them"
        raise ApiError("malformed", detail, headers={"Connection": "close"}, refusal=Refusal.MALFORMED)
