"""Where the API listens, and the thread that serves it: TCP, with or without TLS, and a unix socket.

The unix socket is never open to more than meant; a reload reads a renewed certificate.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import ipaddress
import logging
import os
import socket
import ssl
import stat
import threading
import time
from pathlib import Path

from fastapi import FastAPI

from api.connections import BACKLOG, Listener, Server
from tuner.config.credentials import is_mounted_secret
from tuner.daemon.board import ApiFailure, PortTaken
from tuner.system.files import require_plain

SOCKET_MODE = 0o660
_LONGEST_SOCKET_PATH = 107
_START_SECONDS = 5.0
_LOG = logging.getLogger("innobrim.api")


class ApiServerError(ApiFailure):
    """The API cannot be served; the message says why and what to do."""


def tcp_socket(host: str, port: int, *, public: bool) -> socket.socket:
    """Return a socket that listens on an address, or localhost; ``public``: others may reach it.

    Raises:
        ApiServerError: no address, one that other machines can reach, or it cannot be listened on.
        PortTaken: somebody else listens on the port.
    """
    try:
        address = ipaddress.ip_address("127.0.0.1" if host == "localhost" else host.strip("[]"))
    except ValueError:
        raise ApiServerError(
            f"api.host is {host!r}: expected localhost, or a loopback or other address"
        ) from None
    if not address.is_loopback and not public:
        raise ApiServerError(
            f"api.host is {host!r}, which other machines can reach: without TLS only loopback is served "
            "(127.0.0.1, ::1)"
        )
    family = socket.AF_INET if isinstance(address, ipaddress.IPv4Address) else socket.AF_INET6
    # asyncio turns off Nagle's delay, 40 ms an answer, only for sockets that name their protocol
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((str(address), port))
        listener.listen(BACKLOG)
    except OSError as error:
        listener.close()
        if error.errno == errno.EADDRINUSE:
            raise PortTaken(str(address), port) from error
        raise ApiServerError(f"cannot listen on {address} port {port}: {error.strerror}") from error
    return listener


def unix_socket(path: Path) -> socket.socket:
    """Return a socket that listens on a path: bound under a draft name, given its mode, moved into place.

    Raises:
        ApiServerError: the path is too long, in use, or cannot be written.
    """
    if len(os.fsencode(path)) > _LONGEST_SOCKET_PATH - len(".new"):
        raise ApiServerError(
            f"the path of the unix socket is too long for the system: {path}; set api.socket"
        )
    _check_not_in_use(path)
    draft = path.with_name(path.name + ".new")
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        draft.unlink(missing_ok=True)
        listener.bind(str(draft))
        draft.chmod(SOCKET_MODE)
        listener.listen(BACKLOG)
        draft.rename(path)
    except OSError as error:
        listener.close()
        raise ApiServerError(
            f"the unix socket {path} cannot be made: {error.strerror}; set api.socket to a path that "
            "this user may write, or to - for none"
        ) from error
    return listener


class Certificate:
    """A certificate chain and its key, in one file or two."""

    def __init__(self, files: str) -> None:
        """Take note of ``CERT:KEY``, or one file that has both; PEM."""
        certificate, _, key = files.partition(":")
        self._certificate = Path(certificate)
        self._key = Path(key or certificate)

    def context(self) -> ssl.SSLContext:
        """Return a context for new connections, with the files as they are now; TLS 1.2 at least.

        Raises:
            ApiServerError: a file cannot be read, is no certificate or key, or the two are no pair.
        """
        for path, what in ((self._certificate, "certificate"), (self._key, "key")):
            try:
                require_plain(path)
                with path.open("rb") as file:
                    file.read(1)
            except OSError as error:
                raise ApiServerError(
                    f"api.tls: the {what} {path} cannot be read: {error.strerror}"
                ) from error
        if self._key.stat().st_mode & stat.S_IRWXO and not is_mounted_secret(self._key):
            _LOG.warning("api.tls: the key %s can be read by every account; chmod 640", self._key)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.options |= ssl.OP_NO_RENEGOTIATION
        context.set_alpn_protocols(["http/1.1"])
        try:
            context.load_cert_chain(self._certificate, self._key, password=_no_password)
        except (OSError, ValueError) as error:
            raise ApiServerError(
                f"api.tls: {self._certificate} and {self._key} cannot be used: {error}; expected a "
                "certificate chain and its private key, PEM, without a password"
            ) from error
        return context


class ApiServer:
    """The listeners and their thread.

    Attributes:
        port: of TCP; 0 for none.
    """

    def __init__(
        self,
        app: FastAPI,
        host: str,
        port: int,
        socket_path: str | Path | None,
        *,
        certificate: Certificate | None = None,
        insecure: bool = False,
    ) -> None:
        """Take note of where to listen: port 0 and socket None listen nowhere.

        A host that other machines can reach needs a certificate, or ``insecure``.
        """
        self._app = app
        self._host = host
        self.port = port
        self._path = None if socket_path is None else Path(socket_path)
        self._certificate = certificate
        self._insecure = insecure
        self._context: ssl.SSLContext | None = None
        self._inode: int | None = None
        self._servers: list[Server] = []
        self._thread: threading.Thread | None = None

    @property
    def alive(self) -> bool:
        """Say whether the thread serves."""
        return self._thread is not None and self._thread.is_alive()

    def start(self) -> None:
        """Listen and serve; return when both listeners accept.

        Raises:
            ApiServerError: the address is public and not encrypted, the certificate is unusable, the socket
                is taken, or its folder cannot be written.
            PortTaken: somebody else listens on the port.
        """
        try:
            if self._path is not None:
                self._serve_on(unix_socket(self._path), None)
                self._inode = self._path.stat().st_ino
            if self.port:
                self._context = None if self._certificate is None else self._certificate.context()
                public = self._context is not None or self._insecure
                self._serve_on(tcp_socket(self._host, self.port, public=public), self._context)
        except ApiFailure:
            self._close_sockets()
            raise
        if not self._servers:
            raise ApiServerError("the API has nowhere to listen: set api.port or api.socket")
        self._thread = threading.Thread(target=self._run, name="api", daemon=True)
        self._thread.start()
        ends = time.monotonic() + _START_SECONDS
        while self.alive and time.monotonic() < ends:
            if all(server.started for server in self._servers):
                return
            time.sleep(0.01)  # uvicorn sets a flag and wakes nobody
        self.stop(timeout=1.0)
        raise ApiServerError(f"the API did not start within {_START_SECONDS:.0f} s; the log has its error")

    def reload(self) -> None:
        """Read the certificate again, for new connections; a bad one is logged and the old one stays.

        A context keeps a certificate of each type of key that was loaded into it, so that a renewed one of
        another type would come second: each handshake is handed the newest context instead.
        """
        if self._certificate is None or self._context is None:
            return
        try:
            renewed = self._certificate.context()
        except ApiServerError as error:
            _LOG.warning("the old certificate stays in use: %s", error)
            return

        def hand_over(
            connection: ssl.SSLSocket | ssl.SSLObject, _name: str | None, _: ssl.SSLContext
        ) -> None:
            connection.context = renewed

        self._context.sni_callback = hand_over
        _LOG.info("certificate read again")

    def stop(self, timeout: float) -> bool:
        """Stop listening, finish open requests, remove the socket file; safe to call twice.

        Tell whether the thread is gone after ``timeout`` seconds.
        """
        self._app.state.end_streams()
        for server in self._servers:
            server.end()
        if self._thread is not None:
            self._thread.join(timeout)
        self._close_sockets()
        return not self.alive

    def _serve_on(self, listening: socket.socket, context: ssl.SSLContext | None) -> None:
        listener = Listener(listening, self._app.state.refused, encrypted=context is not None)
        self._servers.append(Server(self._app, listener, context))

    def _run(self) -> None:
        async def serve() -> None:
            await asyncio.gather(*(server.serve() for server in self._servers))

        asyncio.run(serve())
        for server in self._servers:
            server.listener.close_all()

    def _close_sockets(self) -> None:
        for server in self._servers:
            server.listener.close()
        if self._path is not None and self._inode is not None:
            with contextlib.suppress(OSError):
                if self._path.stat().st_ino == self._inode:
                    self._path.unlink()
            self._inode = None


def _check_not_in_use(path: Path) -> None:
    """Raise where a daemon answers at the socket; what answers nobody is a leftover and may be replaced."""
    if not path.exists():
        return
    if not path.is_socket():
        raise ApiServerError(
            f"{path} is in the way of the unix socket and is no socket; set api.socket or move it"
        )
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.settimeout(1.0)
        try:
            probe.connect(str(path))
        except (ConnectionRefusedError, FileNotFoundError):
            return
        except OSError as error:
            raise ApiServerError(
                f"the unix socket {path} exists and cannot be asked who it is: {error.strerror}; "
                "remove it, or set api.socket"
            ) from error
    raise ApiServerError(
        f"another daemon answers at {path}; stop it, or give this one a state directory of its own: "
        "daemon.state_directory, or --state-directory"
    )


def _no_password() -> str:
    """Fail instead of asking at the terminal."""
    raise ValueError("the key is protected by a password")
