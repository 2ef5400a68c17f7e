"""The command line's way to a running daemon: its unix socket first, then TCP.

Anybody may listen on a port. So without ``--url`` only the daemon of the state directory counts there, and a
change, which carries the token over TCP, goes there only where the configuration wants no socket.
"""

from __future__ import annotations

import os
import ssl
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from tuner.cli.errors import Unreachable, Unusable
from tuner.cli.exchange import UNAUTHORISED, Request, decoded, in_the_clear, send
from tuner.cli.serve import socket_path
from tuner.cli.where import Where
from tuner.cli.whose import Stranger, directory_at, same_place
from tuner.config.schema import Config
from tuner.statedir import read_text

if TYPE_CHECKING:
    import httpx

TOKEN_NAME = "token"  # noqa: S105 - a file's name

_HERE = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - where a daemon that listens everywhere is reached

AnswerT = TypeVar("AnswerT")


class NoDaemon(Unreachable):
    """No daemon answers anywhere it could be."""

    def __init__(self, tried: list[str]) -> None:
        super().__init__(f"the daemon cannot be reached: {'; '.join(tried) or 'the API is switched off'}")


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
        return decoded(self._ask(Request("GET", path)), answer)

    def send(self, method: str, path: str, body: dict[str, Any], answer: type[AnswerT]) -> AnswerT:
        """Ask for a change and return the loop's answer.

        Raises:
            NoDaemon: nothing answers.
            CommandError: refused, not allowed, or not answered.
        """
        return decoded(self._ask(Request(method, path, body)), answer)

    def _ask(self, request: Request) -> httpx.Response:
        tried: list[str] = []
        denied = None
        if self._where.url is None:
            response, denied = self._over_socket(request, tried)
            if response is not None:
                return response
        if self._where.api_socket is None:
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

    def _over_socket(self, request: Request, tried: list[str]) -> tuple[httpx.Response | None, Path | None]:
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
        return send(request, url="http://localhost", name=name, tried=tried, uds=str(socket)), None

    def _over_tcp(self, request: Request, tried: list[str]) -> httpx.Response | None:
        url = self._url()
        if url is None or (self._where.url is None and not self._is_ours(url, tried)):
            return None
        verify = self._trust(url)
        if request.body is None:
            response = send(request, url=url, name=url, tried=tried, verify=verify)
            if response is None or response.status_code != UNAUTHORISED or not self._tcp_is_meant():
                return response
        token, why = self._token(url)
        if token is not None:
            return send(request, url=url, name=url, tried=tried, token=token, verify=verify)
        if send(Request("GET", "/livez"), url=url, name=url, tried=tried, verify=verify) is None:
            return None
        what = "a change over TCP" if request.body is not None else "reading from this daemon over TCP"
        before = "".join(f"{line}; " for line in tried)
        raise Unusable(f"{before}{what} needs a token: {why}; see --token-file")

    def _is_ours(self, url: str, tried: list[str]) -> bool:
        """Tell whether it is the daemon of the state directory that listens there; anybody may.

        Where reading needs a token it cannot be asked; over https its certificate has spoken for it then.
        """
        ours = self._config.daemon.state_directory
        try:
            theirs = directory_at(url, tried, verify=self._trust(url))
        except Stranger as stranger:
            if stranger.closed and url.startswith("https:"):
                return True
            tried.append(f"{url}: no daemon of {ours}, {stranger}")
            return False
        if theirs is None or same_place(theirs, ours):
            return theirs is not None
        tried.append(f"{url}: the daemon of another state directory, {theirs!r}")
        return False

    def _socket(self) -> Path | None:
        found = self._where.api_socket or socket_path(self._config)
        return None if found is None else Path(found)

    def _url(self) -> str | None:
        if self._where.url is not None:
            return self._where.url.rstrip("/")
        api = self._config.api
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
        own = (self._config.api.certificate or "").partition(":")[0]
        for path, needed in ((self._where.ca_file, True), (own, False)):
            try:
                if path:
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
        path = Path(self._where.token_file or Path(self._config.daemon.state_directory) / TOKEN_NAME)
        try:
            if self._where.token_file is None:
                return read_text(path).strip(), ""
            return path.read_text(encoding="ascii").strip(), ""
        except OSError as error:
            return None, f"{path}: {error.strerror}"
        except UnicodeDecodeError:
            return None, f"{path} holds no token"
