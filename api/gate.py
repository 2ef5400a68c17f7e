"""Who may ask what: the outermost layer of the application, in front of every route.

A request's transport is what the server marked it with, never what it says about itself: an
unmarked request counts as TCP. Over TCP a change needs the token; over the unix socket the
file's permission has already decided.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import logging
import socket
import struct
from typing import Literal

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from api.problems import ApiError, defect

_LOG = logging.getLogger("innobrim.api")

Transport = Literal["tcp", "unix"]

LARGEST_BODY = 16 * 1024
LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})
READING = frozenset({"GET", "HEAD", "OPTIONS"})

_TRANSPORT = "innobrim.transport"
_WHO = "innobrim.who"
_CONNECTION = "innobrim.connection"
_AT_ONCE = struct.pack("ii", 1, 0)
_HEADERS = {
    "cache-control": "no-store",
    "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
}


class Marked:
    """The application as one listener serves it: every request carries the listener's transport."""

    def __init__(self, app: ASGIApp, transport: Transport) -> None:
        self._app = app
        self._transport = transport

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        scope[_TRANSPORT] = self._transport
        scope[_CONNECTION] = getattr(getattr(send, "__self__", None), "transport", None)  # uvicorn's own
        await self._app(scope, receive, send)


def who(scope: Scope) -> str:
    """Return who asks and from where, for the record."""
    return str(scope[_WHO])


def cut(scope: Scope) -> None:
    """End a request's connection at once, whatever its peer has not taken yet; nothing without a listener."""
    connection = scope.get(_CONNECTION)
    if isinstance(connection, asyncio.Transport):
        peer = connection.get_extra_info("socket")
        peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _AT_ONCE)  # the system's own buffer goes as well
        connection.abort()


class Gate:
    """Refuses foreign hosts, changes without a token, and large bodies."""

    def __init__(self, app: ASGIApp, *, host: str, token_sha256: str | None) -> None:
        self._app = app
        self._hosts = LOOPBACK_NAMES | {host.lower().strip("[]")}
        self._token_sha256 = token_sha256

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve or refuse one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        started = False

        async def answer(message: Message) -> None:
            nonlocal started
            started = True
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        try:
            scope[_WHO] = self._admit(scope)
        except ApiError as error:
            await error.response()(scope, receive, answer)
            return
        try:
            await self._app(scope, _limited(receive), answer)
        except Exception:
            method, path = scope["method"], scope["path"]
            _LOG.exception("%s %s failed", method, path)
            if started:
                raise
            await defect(method, path).response()(scope, receive, answer)

    def _admit(self, scope: Scope) -> str:
        headers = Headers(scope=scope)
        client = scope.get("client")
        if scope.get(_TRANSPORT, "tcp") == "unix":
            caller = f"{client[0]} over the unix socket" if client else "the unix socket"
        else:
            self._check_host(headers.getlist("host"))
            caller = str(client[0]) if client else "TCP"
            if scope["method"] not in READING:
                self._check_token(headers.get("authorization"))
                caller = f"the token from {caller}"
        _check_length(headers.get("content-length"))
        return caller

    def _check_host(self, values: list[str]) -> None:
        name = _host_name(values[0]) if len(values) == 1 else ""
        if name not in self._hosts:
            sent = ", ".join(values) or "nothing"
            raise ApiError(
                "foreign-host",
                f"the Host header says {sent}; this daemon answers to {', '.join(sorted(self._hosts))}",
            )

    def _check_token(self, authorisation: str | None) -> None:
        challenge = {"WWW-Authenticate": 'Bearer realm="innobrim"'}
        if self._token_sha256 is None:
            raise ApiError("unauthorised", "this daemon has no token: use its unix socket", headers=challenge)
        scheme, _, token = (authorisation or "").partition(" ")
        if scheme.lower() != "bearer" or not token.strip():
            detail = (
                "send Authorization: Bearer with the token of the state directory, or use the unix socket"
            )
            raise ApiError("unauthorised", detail, headers=challenge)
        sent = hashlib.sha256(token.strip().encode()).hexdigest()
        if not hmac.compare_digest(sent, self._token_sha256):
            raise ApiError(
                "unauthorised",
                "the token is not this daemon's; it is in the file token of the state directory",
                headers={"WWW-Authenticate": 'Bearer realm="innobrim", error="invalid_token"'},
            )


def _host_name(value: str) -> str:
    """Return the name in a Host header, without port and brackets."""
    value = value.strip().lower()
    if value.startswith("["):
        name, _, rest = value[1:].partition("]")
        return name if not rest or rest.startswith(":") else ""
    name, _, port = value.partition(":")
    return name.removesuffix(".") if not port or port.isdecimal() else ""


def _check_length(value: str | None) -> None:
    if value is not None and value.isdecimal() and int(value[:20]) > LARGEST_BODY:
        raise _too_large()


def _too_large() -> ApiError:
    return ApiError("too-large", f"a body may have at most {LARGEST_BODY} bytes")


def _limited(receive: Receive) -> Receive:
    """Return ``receive``, ending a body that grows beyond the limit whatever its header said."""
    seen = 0

    async def counted() -> Message:
        nonlocal seen
        message = await receive()
        seen += len(message.get("body", b""))
        if seen > LARGEST_BODY:
            raise _too_large()
        return message

    return counted
