"""The command line's way to a running daemon: its unix socket first, then TCP.

Anybody may listen on a port. So without ``--url`` only the daemon of the state directory counts there, and a
change, which carries the token over TCP, goes there only where the configuration wants no socket.
"""

from __future__ import annotations

import errno
import os
import ssl
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from functools import partial, wraps
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar

import click
import msgspec

from tuner.cli.answer import Refused, Unreachable, Unusable, answering
from tuner.cli.options import (
    config_option,
    configuration,
    json_option,
    socket_path,
    state_option,
    with_options,
)
from tuner.config.schema import is_loopback
from tuner.daemon.board import PortTaken
from tuner.system.files import read_whole, require_plain
from tuner.system.imports import hidden
from tuner.system.statedir import read_text

with hidden("pygments"):  # httpx has a command line of its own, which takes rich along
    import httpx

CONNECT_SECONDS = 2.0
ANSWER_SECONDS = 10.0

TOKEN_NAME = "token"  # noqa: S105 - a file's name

_HERE = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - where a daemon that listens everywhere is reached

UNAUTHORISED = 401
_CONFLICT = 409
_FIRST_SERVER_ERROR = 500

AnswerT = TypeVar("AnswerT")

_daemon = with_options(
    config_option,
    state_option,
    click.option(
        "--api-socket", metavar="PATH", help="The daemon's unix socket [default: in its state directory]."
    ),
    click.option("--url", metavar="URL", help="Its API over TCP, for example http://127.0.0.1:8633."),
    click.option("--token-file", metavar="FILE", help="Token for TCP [default: in its state directory]."),
    click.option(
        "--ca-file", metavar="FILE", help="Whom to trust for https, PEM [default: the system, and api.tls]."
    ),
    json_option,
)


@dataclass(frozen=True, slots=True)
class Where:
    """Where the user says the daemon is; None leaves it to the configuration.

    Attributes:
        url: of the API over TCP.
        api_socket: path of its unix socket.
        token_file: path of the token.
        ca_file: certificates to trust for https besides the system's.
        config_path: of the configuration file.
        state_directory: where the daemon keeps socket, token and journal.
    """

    url: str | None
    api_socket: str | None
    token_file: str | None
    config_path: str | None
    state_directory: str | None
    ca_file: str | None = None

    @property
    def named(self) -> str:
        """Return the option that names one certain daemon, for which nothing may stand in; empty without."""
        return "--url" if self.url is not None else "--api-socket" if self.api_socket is not None else ""


def daemon_options(function: Callable[..., None]) -> Callable[..., None]:
    """Add the connection's options and hand them over as one ``where``."""

    @wraps(function)
    def command(**given: Any) -> None:  # noqa: ANN401 - click hands over every option
        where = Where(**{field.name: given.pop(field.name) for field in fields(Where)})
        if where.url is not None and where.api_socket is not None:
            raise click.UsageError("--url and --api-socket both name a daemon; give one of them")
        with answering(as_json=given["as_json"]):
            function(where, **given)

    return _daemon(command)


class Absent(Exception):  # noqa: N818 - reads as what it names
    """No daemon of ours answers at a place; the message says where, and what is there instead.

    Attributes:
        needs_token: whoever listens there says nothing without a token.
    """

    def __init__(self, message: str, *, needs_token: bool = False) -> None:
        super().__init__(message)
        self.needs_token = needs_token


def send(
    method: str,
    path: str,
    *,
    url: str,
    body: dict[str, Any] | None = None,
    uds: str | None = None,
    token: str | None = None,
    verify: ssl.SSLContext | None = None,
) -> httpx.Response:
    """Return the answer to a request; with a body it is a change.

    Args:
        method: of HTTP.
        path: of the route.
        url: of the API.
        body: of a change.
        uds: the unix socket that it goes over in place of TCP.
        token: proves that it is allowed.
        verify: whom to trust for https.

    Raises:
        Absent: nobody listens.
        Unreachable: somebody listens, and does not answer.
        Unusable: the URL is none.
    """
    name = url if uds is None else f"unix socket {uds}"
    timeout = httpx.Timeout(ANSWER_SECONDS, connect=CONNECT_SECONDS)
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    transport = httpx.HTTPTransport(uds=uds, verify=verify or False)
    try:
        with httpx.Client(transport=transport, base_url=url, timeout=timeout, trust_env=False) as client:
            return client.request(method, path, json=body, headers=headers)
    except (httpx.ConnectError, httpx.ConnectTimeout) as error:
        raise Absent(f"{name}: {_plain(error)}") from error
    except (httpx.InvalidURL, httpx.UnsupportedProtocol) as error:
        raise Unusable(f"{url!r} is no URL of an API: {error}") from error
    except httpx.RequestError as error:
        raise Unreachable(f"the daemon at {name} was reached and did not answer: {_plain(error)}") from error


def _decoded(response: httpx.Response, answer: type[AnswerT]) -> AnswerT:
    if response.is_success:
        try:
            return msgspec.json.decode(response.content, type=answer)
        except msgspec.DecodeError as error:
            raise Unusable(f"the daemon's answer is not this version's: {error}") from None
    try:
        problem = msgspec.json.decode(response.content, type=dict[str, Any])
    except msgspec.DecodeError:
        problem = {"status": response.status_code, "title": response.reason_phrase}
    status = response.status_code
    end = Refused if status == _CONFLICT else Unreachable if status >= _FIRST_SERVER_ERROR else Unusable
    raise end(str(problem.get("detail") or problem.get("title")), problem)


def in_the_clear(url: str) -> bool:
    """Tell whether what is sent there can be read on the way."""
    try:
        found = httpx.URL(url)
    except httpx.InvalidURL:
        return False
    return found.scheme == "http" and not is_loopback(found.host)


def _plain(error: Exception) -> str:
    text = str(error) or type(error).__name__
    return (text.partition("] ")[2] if text.startswith("[Errno") else text).lower()


class NoDaemon(Unreachable):
    """No daemon answers anywhere it could be."""

    def __init__(self, tried: list[str]) -> None:
        super().__init__(f"the daemon cannot be reached: {'; '.join(tried) or 'the API is switched off'}")


def require_unnamed(where: Where, nobody: NoDaemon) -> None:
    """Let the journal stand in for a daemon, but for none that was named."""
    if where.named:
        raise Unreachable(
            f"{nobody.message}; the journal was not tried: leave {where.named} out for that"
        ) from nobody


class DaemonClient:
    """A running daemon, wherever it answers first."""

    def __init__(self, where: Where, server: Mapping[str, object] = MappingProxyType({})) -> None:
        """Take what the command line says of it, and of its server, by option name; None is left out.

        Raises:
            ConfigError: the configuration that tells where it lives is wrong.
        """
        self._where = where
        self.config = configuration(where.config_path, {"state_directory": where.state_directory, **server})

    def get(self, path: str, answer: type[AnswerT]) -> AnswerT:
        """Return what a route says.

        Raises:
            NoDaemon: nothing answers.
            CommandError: the answer is a problem, or not from this version.
        """
        return _decoded(self._ask("GET", path, None), answer)

    def send(self, method: str, path: str, body: dict[str, Any], answer: type[AnswerT]) -> AnswerT:
        """Ask for a change and return the loop's answer.

        Raises:
            NoDaemon: nothing answers.
            CommandError: refused, not allowed, or not answered.
        """
        return _decoded(self._ask(method, path, body), answer)

    def _ask(self, method: str, path: str, body: dict[str, Any] | None) -> httpx.Response:
        tried: list[str] = []
        ways: list[Callable[[], httpx.Response]] = []
        socket, url, obstacle = self._socket(), self._url(), 0
        if self._where.url is None and socket is not None:
            if obstacle := _obstacle(socket):
                tried.append(f"unix socket {socket}: {os.strerror(obstacle).lower()}")
            else:
                uds = str(socket)
                ways.append(partial(send, method, path, url="http://localhost", body=body, uds=uds))
        if self._where.api_socket is None and url is not None:
            ways.append(partial(self._over_tcp, url, method, path, body, tried))
        for way in ways:
            try:
                return way()
            except Absent as absent:
                tried.append(str(absent))
        if obstacle == errno.EACCES:
            raise Unusable(
                f"the unix socket {socket} is not for this user; be the daemon's user or in its group"
            )
        raise NoDaemon(tried)

    def _tcp_is_meant(self) -> bool:
        """Tell whether a change may go over TCP: somebody else may listen there, and would get the token."""
        return self._where.url is not None or socket_path(self.config) is None

    def _over_tcp(
        self, url: str, method: str, path: str, body: dict[str, Any] | None, tried: list[str]
    ) -> httpx.Response:
        if body is not None and not self._tcp_is_meant():
            raise Absent(f"{url}: not tried, a change goes there with --url only")
        verify = self._trust(url)
        if self._where.url is None:
            self._require_ours(url, verify)
        if body is None:
            response = send(method, path, url=url, verify=verify)
            if response.status_code != UNAUTHORISED or not self._tcp_is_meant():
                return response
        token, why = self._token(url)
        if token is not None:
            return send(method, path, url=url, body=body, token=token, verify=verify)
        send("GET", "/livez", url=url, verify=verify)
        what = "a change over TCP" if body is not None else "reading from this daemon over TCP"
        before = "".join(f"{line}; " for line in tried)
        raise Unusable(f"{before}{what} needs a token: {why}; see --token-file")

    def _require_ours(self, url: str, verify: ssl.SSLContext | None) -> None:
        """Return where the daemon of the state directory listens; anybody may.

        Where reading needs a token it cannot be asked; over https its certificate has spoken for it then.

        Raises:
            Absent: nobody listens, or somebody else.
        """
        ours = self.config.daemon.state_directory
        try:
            theirs = directory_at(url, verify=verify)
        except Stranger as stranger:
            if stranger.needs_token and url.startswith("https:"):
                return
            raise Absent(f"{url}: no daemon of {ours}, {stranger}") from stranger
        if not _same_place(theirs, ours):
            raise Absent(f"{url}: the daemon of another state directory, {theirs!r}")

    def _socket(self) -> Path | None:
        found = self._where.api_socket or socket_path(self.config)
        return None if found is None else Path(found)

    def _url(self) -> str | None:
        if self._where.url is not None:
            return self._where.url.rstrip("/")
        api = self.config.api
        if not api.port:
            return None
        encrypted = api.certificate is not None
        host = api.names[0] if encrypted and api.names else _HERE.get(api.address, api.address)
        return f"http{'s' if encrypted else ''}://{f'[{host}]' if ':' in host else host}:{api.port}"

    def _trust(self, url: str) -> ssl.SSLContext | None:
        """Return whom to trust for https: the system, ``--ca-file``, and the daemon's own certificate."""
        if not url.startswith("https:"):
            return None
        context = ssl.create_default_context()
        own = (self.config.api.certificate or "").partition(":")[0]
        for path, needed in ((self._where.ca_file, True), (own, False)):
            try:
                if path:
                    require_plain(path)
                    context.load_verify_locations(cafile=path)
            except (OSError, ssl.SSLError) as error:
                if needed:
                    raise Unusable(f"--ca-file {path} holds no certificates: {error}") from error
        context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
        return context

    def _token(self, url: str) -> tuple[str | None, str]:
        """Return the token, or why there is none for this place."""
        if self._where.token_file is None and in_the_clear(url):
            return None, f"{url} is another machine without encryption, which gets one with --token-file only"
        path = Path(self._where.token_file or Path(self.config.daemon.state_directory) / TOKEN_NAME)
        try:
            found = read_text(path) if self._where.token_file is None else read_whole(path).decode("ascii")
        except OSError as error:
            return None, f"{path}: {error.strerror}"
        except UnicodeDecodeError:
            found = ""
        words = found.split()
        if len(words) != 1 or not words[0].isprintable():
            return None, f"{path} holds no token"
        return words[0], ""


def _obstacle(socket: Path) -> int:
    """Return the system's error that keeps this user from a socket; 0 where nothing does."""
    try:
        socket.stat()
    except OSError as error:
        return error.errno or errno.EIO
    return 0 if os.access(socket, os.W_OK) else errno.EACCES


class Stranger(Absent):
    """Somebody listens who is no daemon, or says nothing of whose it is."""


class _StateDirectory(msgspec.Struct):
    state_directory: str


class _Identity(msgspec.Struct):
    """The part of a configuration that says whose daemon it is, of any version."""

    daemon: _StateDirectory


def directory_at(url: str, *, verify: ssl.SSLContext | None = None) -> str:
    """Return the state directory of the daemon that listens at a URL; ``verify``: whom to trust for https.

    Raises:
        Absent: nobody listens there.
        Stranger: somebody else does.
    """
    try:
        response = send("GET", "/v1/config", url=url, verify=verify)
    except Unreachable:
        raise Stranger("it does not answer") from None
    try:
        found = msgspec.json.decode(response.content if response.is_success else b"", type=_Identity)
    except msgspec.DecodeError:
        said = f"it answers GET /v1/config with {response.status_code} {response.reason_phrase}"
        raise Stranger(said, needs_token=response.status_code == UNAUTHORISED) from None
    return found.daemon.state_directory


def _same_place(one: str, other: str) -> bool:
    try:
        return os.path.realpath(one) == os.path.realpath(other)
    except ValueError:  # what a stranger calls its directory need not be a path
        return False


def port_taken(error: PortTaken, *, way: str) -> str:
    """Return who has a port, and ``way``, how this command is given another one."""
    host = f"[{error.host}]" if ":" in error.host else error.host
    try:
        theirs = directory_at(f"http://{host}:{error.port}")
    except Absent:
        theirs = ""
    if theirs:
        found = f"the InnoBrim of the state directory {theirs!r}; each on a host needs a port of its own"
    else:
        found = f"another program (as root: ss -ltnp 'sport = :{error.port}' says which)"
    return f"port {error.port} on {error.host} is taken by {found}: {way}"
