"""The command line's way to a running daemon: its unix socket first, then TCP.

A change, which carries the token over TCP, goes there only where that is meant: with ``--url``, or where
the configuration wants no socket.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import click
import httpx
import msgspec

from tuner.cli.exits import NO, UNREACHABLE, USAGE
from tuner.cli.serve import socket_path
from tuner.config.errors import ConfigError
from tuner.config.load import load_config
from tuner.config.schema import Config

TOKEN_NAME = "token"  # noqa: S105 - a file's name
CONNECT_SECONDS = 2.0
ANSWER_SECONDS = 10.0

_CONFLICT = 409
_FIRST_SERVER_ERROR = 500

AnswerT = TypeVar("AnswerT")
FunctionT = TypeVar("FunctionT", bound=Callable[..., Any])


class CommandError(click.ClickException):
    """Ends a command with one of the exit codes of ``tuner.cli.exits``.

    Attributes:
        problem: the daemon's own answer, where it gave one.
    """

    def __init__(self, message: str, problem: dict[str, Any] | None = None) -> None:
        super().__init__(message)
        self.problem = problem


class Refused(CommandError):  # noqa: N818 - reads as the state it names
    """The answer is no."""

    exit_code = NO


class Unusable(CommandError):  # noqa: N818 - reads as the state it names
    """Options, configuration or token are wrong."""

    exit_code = USAGE


class Unreachable(CommandError):  # noqa: N818 - reads as the state it names
    """Daemon or server does not answer; the message says which."""

    exit_code = UNREACHABLE


class NoDaemon(Unreachable):
    """No daemon answers anywhere it could be."""

    def __init__(self, tried: list[str]) -> None:
        super().__init__(f"the daemon cannot be reached: {'; '.join(tried) or 'the API is switched off'}")


@dataclass(frozen=True, slots=True)
class Where:
    """Where the user says the daemon is; None leaves it to the configuration.

    Attributes:
        url: of the API over TCP.
        socket: path of the unix socket.
        token_file: path of the token.
        config: path of the configuration file.
        state_directory: where the daemon keeps socket, token and journal.
    """

    url: str | None
    socket: str | None
    token_file: str | None
    config: str | None
    state_directory: str | None

    @property
    def explicit(self) -> bool:
        """Say whether one certain daemon is meant, so that nothing else may stand in for it."""
        return self.url is not None or self.socket is not None


def connection_options(command: FunctionT) -> FunctionT:
    """Add the options that say where the daemon is; the command takes them as keywords."""
    options = (
        click.option("--config", metavar="FILE", help="Configuration file of the daemon."),
        click.option(
            "--state-directory", metavar="DIR", help="Where the daemon keeps socket, token and journal."
        ),
        click.option("--socket", metavar="PATH", help="Its unix socket [default: in its state directory]."),
        click.option("--url", metavar="URL", help="Its API over TCP, for example http://127.0.0.1:8633."),
        click.option("--token-file", metavar="FILE", help="Token for TCP [default: in its state directory]."),
        click.option("--json", "as_json", is_flag=True, help="Print one JSON object."),
    )
    for option in reversed(options):
        command = option(command)
    return command


def configuration(where: Where, flags: Mapping[str, object] | None = None) -> Config:
    """Return the configuration that tells where the daemon lives.

    Args:
        where: what the command line says.
        flags: more keys from the command line, dotted; None values are left out.

    Raises:
        CommandError: it cannot be used.
    """
    try:
        all_flags = {"daemon.state_directory": where.state_directory, **(flags or {})}
        return load_config(where.config, environ=os.environ, flags=all_flags)
    except ConfigError as error:
        raise Unusable(f"the configuration cannot be used:\n{error}") from error


@dataclass(frozen=True, slots=True)
class _Request:
    """What is asked; a body makes it a change."""

    method: str
    path: str
    body: dict[str, Any] | None = None


class Daemon:
    """A running daemon, wherever it answers first."""

    def __init__(self, where: Where, config: Config) -> None:
        self._where = where
        self._config = config

    def get(self, path: str, answer: type[AnswerT]) -> AnswerT:
        """Return what a route says.

        Raises:
            NoDaemon: nothing answers.
            CommandError: the answer is a problem, or not from this version.
        """
        return _decoded(self._ask(_Request("GET", path)), answer)

    def send(self, method: str, path: str, body: dict[str, Any], answer: type[AnswerT]) -> AnswerT:
        """Ask for a change and return the loop's answer.

        Raises:
            NoDaemon: nothing answers.
            CommandError: refused, not allowed, or not answered.
        """
        return _decoded(self._ask(_Request(method, path, body)), answer)

    def _ask(self, request: _Request) -> httpx.Response:
        tried: list[str] = []
        denied = None
        if self._where.url is None:
            response, denied = self._over_socket(request, tried)
            if response is not None:
                return response
        if self._where.socket is None:
            if request.body is None or self._tcp_is_meant():
                response = self._over_tcp(request, tried)
                if response is not None:
                    return response
            elif self._url() is not None:
                tried.append(f"{self._url()}: not tried, a change goes there with --url only")
        if denied is not None:
            raise Unusable(
                f"the unix socket {denied} is not for this user; be the daemon's user or in its group"
            )
        raise NoDaemon(tried)

    def _tcp_is_meant(self) -> bool:
        """Tell whether a change may go over TCP: somebody else may listen there, and would get the token."""
        return self._where.url is not None or socket_path(self._config) is None

    def _over_socket(self, request: _Request, tried: list[str]) -> tuple[httpx.Response | None, Path | None]:
        """Return the answer, or the socket where this user may not use it."""
        socket = self._socket()
        if socket is None:
            return None, None
        name = f"unix socket {socket}"
        try:
            socket.stat()
        except PermissionError:
            tried.append(f"{name}: permission denied")
            return None, socket
        except OSError as error:
            tried.append(f"{name}: {(error.strerror or str(error)).lower()}")
            return None, None
        if not os.access(socket, os.W_OK):
            tried.append(f"{name}: permission denied")
            return None, socket
        return _send(request, url="http://localhost", name=name, tried=tried, uds=str(socket)), None

    def _over_tcp(self, request: _Request, tried: list[str]) -> httpx.Response | None:
        url = self._url()
        if url is None:
            return None
        if request.body is None:
            return _send(request, url=url, name=url, tried=tried)
        token, why = self._token()
        if token is not None:
            return _send(request, url=url, name=url, tried=tried, token=token)
        if _send(_Request("GET", "/livez"), url=url, name=url, tried=tried) is None:
            return None
        before = "".join(f"{line}; " for line in tried)
        raise Unusable(f"{before}a change over TCP needs the token: {why}; see --token-file")

    def _socket(self) -> Path | None:
        found = self._where.socket or socket_path(self._config)
        return None if found is None else Path(found)

    def _url(self) -> str | None:
        if self._where.url is not None:
            return self._where.url.rstrip("/")
        host, port = self._config.api.host, self._config.api.port
        return f"http://{f'[{host}]' if ':' in host else host}:{port}" if port else None

    def _token(self) -> tuple[str | None, str]:
        path = Path(self._where.token_file or Path(self._config.daemon.state_directory) / TOKEN_NAME)
        try:
            return path.read_text(encoding="ascii").strip(), ""
        except OSError as error:
            return None, f"{path}: {error.strerror}"
        except UnicodeDecodeError:
            return None, f"{path} holds no token"


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
    said = str(problem.get("detail") or problem.get("title"))
    raise _failure(response.status_code)(said, problem)


def _send(
    request: _Request,
    *,
    url: str,
    name: str,
    tried: list[str],
    uds: str | None = None,
    token: str | None = None,
) -> httpx.Response | None:
    """Return the answer; None, with a line in ``tried``, where nobody listens."""
    timeout = httpx.Timeout(ANSWER_SECONDS, connect=CONNECT_SECONDS)
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    transport = httpx.HTTPTransport(uds=uds)
    try:
        with httpx.Client(transport=transport, base_url=url, timeout=timeout, trust_env=False) as client:
            return client.request(request.method, request.path, json=request.body, headers=headers)
    except (httpx.ConnectError, httpx.ConnectTimeout) as error:
        tried.append(f"{name}: {_plain(error)}")
        return None
    except (httpx.InvalidURL, httpx.UnsupportedProtocol) as error:
        raise Unusable(f"{url!r} is no URL of an API: {error}") from error
    except httpx.TransportError as error:
        raise Unreachable(f"the daemon at {name} was reached and did not answer: {_plain(error)}") from error


def _plain(error: Exception) -> str:
    """Return the system's words without its number."""
    text = str(error) or type(error).__name__
    return (text.partition("] ")[2] if text.startswith("[Errno") else text).lower()


def _failure(status: int) -> type[CommandError]:
    if status == _CONFLICT:
        return Refused
    return Unreachable if status >= _FIRST_SERVER_ERROR else Unusable
