"""Who may ask what, from where, and by which name of this machine: one verdict for each request.

Over which listener a request comes is read off its connection's peer, never off what it says of itself. Over
the unix socket the file's permission has decided already. Over TCP whatever shows or changes something of the
server needs a role; page, documentation and probes show nothing of it.
"""

from __future__ import annotations

import ipaddress
import logging
import time
from collections.abc import Callable

from starlette.datastructures import Headers
from starlette.types import Scope

from api.problems import ApiError, Refusal
from api.tokens import FIRST_FILE, Role, Tokens

LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})
READING = frozenset({"GET", "HEAD", "OPTIONS"})
SAME_SITE = frozenset({"same-origin", "none"})
"""Values of Sec-Fetch-Site of a page of our own, and of a person who typed the address."""

LOGGED_SECONDS = 10.0
"""Refusals are logged at most so often, with how many there were."""

_WHO = "innobrim.who"
_REALM = 'Bearer realm="innobrim"'
_LOG = logging.getLogger("innobrim.api")


def is_over_socket(scope: Scope) -> bool:
    """Tell whether a request came over the unix socket, whose peers are users and no addresses."""
    client = scope.get("client")
    return client is not None and str(client[0]).startswith("uid ")


def who(scope: Scope) -> str:
    """Return who asks and from where, for the record."""
    return str(scope[_WHO])


class Access:
    """Admits requests or says why not."""

    def __init__(
        self,
        tokens: Tokens | None,
        *,
        names: frozenset[str] = frozenset(),
        open_reading: bool = True,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """Set the rules for TCP.

        Args:
            tokens: what opens; None opens nothing that needs a token.
            names: a Host header may name these besides loopback and the address that was connected to.
            open_reading: reading may go without a token, where the tokens' register agrees.
            monotonic: refusals are counted on this, seconds.
        """
        self._tokens = tokens
        self._names = LOOPBACK_NAMES | {name.lower().strip("[]").removesuffix(".") for name in names}
        self._open_reading = open_reading
        self._monotonic = monotonic
        self._refused = 0
        self._logged: float | None = None

    def admit(self, scope: Scope) -> None:
        """Note who asks.

        Raises:
            ApiError: the request is not let in.
        """
        client = scope.get("client")
        if is_over_socket(scope):
            scope[_WHO] = f"{scope['client'][0]} over the unix socket"
            return
        place = str(client[0]) if client else "TCP"
        headers = Headers(scope=scope)
        try:
            self._check_host(scope, headers.getlist("host"))
            _check_origin(scope, headers)
            name = self._check_role(scope, headers.getlist("authorization"))
        except ApiError as error:
            self._complain(f"{scope['method']} {scope['path']} from {place}: {error.detail}")
            raise
        scope[_WHO] = f"token {name} from {place}" if name else place

    def _check_host(self, scope: Scope, values: list[str]) -> None:
        name = host_name(values[0]) if len(values) == 1 else ""
        if name and (name in self._names or _is_local_end(scope, name)):
            return
        sent = ", ".join(values) or "nothing"
        known = ", ".join(sorted(self._names))
        raise ApiError(
            "foreign-host",
            f"the Host header says {sent}; this daemon answers to {known}; api.host may add names",
            refusal=Refusal.HOST,
        )

    def _check_role(self, scope: Scope, values: list[str]) -> str:
        """Return the name of the token that was used; empty where none is needed."""
        needed = role_for(scope["method"], scope["path"])
        if needed is None:
            return ""
        open_to_all = needed is Role.READ and self._open_reading
        if not values and open_to_all and (self._tokens is None or self._tokens.anonymous):
            return ""
        if self._tokens is None:
            raise _unauthorised("this daemon has no tokens: use its unix socket", Refusal.NO_TOKEN)
        scheme, _, secret = values[0].partition(" ") if len(values) == 1 else ("", "", "")
        secret = secret.strip()
        if scheme.lower() != "bearer" or not secret:
            raise _unauthorised(
                f"send Authorization: Bearer with a token: the one in the file {FIRST_FILE} of the state "
                "directory, or one that innobrim token make has printed; or use the unix socket",
                Refusal.NO_TOKEN,
            )
        token = self._tokens.find(secret)
        if token is None:
            raise _unauthorised(
                "the token is not this daemon's, or was revoked; innobrim token list names those there are",
                Refusal.UNKNOWN_TOKEN,
            )
        if self._tokens.expired(token):
            detail = f"the token {token.name} has expired; make another one"
            raise _unauthorised(detail, Refusal.EXPIRED_TOKEN)
        if not token.role.covers(needed):
            detail = f"the token {token.name} may {token.role.value}; this needs the role {needed.value}"
            headers = {"WWW-Authenticate": f'{_REALM}, error="insufficient_scope"'}
            raise ApiError("forbidden", detail, headers=headers, refusal=Refusal.ROLE)
        return token.name

    def _complain(self, refusal: str) -> None:
        """Log a refusal, and how many there were since the last one that was logged."""
        now = self._monotonic()
        self._refused += 1
        if self._logged is None or now - self._logged >= LOGGED_SECONDS:
            more = f" ({self._refused} refused since the last such line)" if self._refused > 1 else ""
            _LOG.warning("refused %s%s", refusal[:500], more)
            self._logged, self._refused = now, 0


def role_for(method: str, path: str) -> Role | None:
    """Return the role that a request needs over TCP; None for what shows nothing of the server."""
    if method not in READING:
        return Role.OPERATE
    return Role.READ if path == "/metrics" or path.startswith("/v1") else None


def host_name(value: str) -> str:
    """Return the name in a Host header, without port and brackets; empty where it is none."""
    value = value.strip().lower()
    if value.startswith("["):
        name, closed, rest = value[1:].partition("]")
        return name if closed and (not rest or rest.startswith(":")) else ""
    name, _, port = value.partition(":")
    return name.removesuffix(".") if not port or port.isdecimal() else ""


def _is_local_end(scope: Scope, name: str) -> bool:
    """Tell whether a name is the very address that was connected to; no foreign name leads to one."""
    server = scope.get("server")
    if not server or server[0] is None:
        return False
    try:
        return ipaddress.ip_address(name) == ipaddress.ip_address(str(server[0]).partition("%")[0])
    except ValueError:
        return False


def _check_origin(scope: Scope, headers: Headers) -> None:
    """Refuse what a page of another origin makes a browser send, except that a person may follow a link."""
    site = headers.get("sec-fetch-site")
    follows_link = scope["method"] == "GET" and headers.get("sec-fetch-mode") == "navigate"
    if site is not None and site.lower() not in SAME_SITE and not follows_link:
        raise _cross_origin(f"Sec-Fetch-Site is {site}: only this daemon's own page may ask")
    origin = headers.get("origin")
    if origin is None or scope["method"] in READING:
        return
    scheme, _, place = origin.lower().partition("://")
    own = headers.get("host", "").lower()  # a proxy in front may have taken TLS off, so either scheme will do
    if scheme not in {"http", "https"} or place != own:
        raise _cross_origin(f"the Origin is {origin}, and this daemon is asked as {own}")


def _cross_origin(detail: str) -> ApiError:
    return ApiError("cross-origin", detail, refusal=Refusal.ORIGIN)


def _unauthorised(detail: str, why: Refusal) -> ApiError:
    challenge = _REALM if why is Refusal.NO_TOKEN else f'{_REALM}, error="invalid_token"'
    return ApiError("unauthorised", detail, headers={"WWW-Authenticate": challenge}, refusal=why)
