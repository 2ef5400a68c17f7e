"""Serves the application from one thread of its own, over TCP on loopback and a unix socket."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import ipaddress
import os
import socket
import struct
import threading
from collections.abc import Callable
from pathlib import Path

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

from api.gate import Marked, Transport
from tuner.board import ApiFailure, PortTaken

CONNECTIONS = 64
"""Connections at a time, for each of the two listeners: a flood over TCP leaves the socket free."""

SOCKET_MODE = 0o660
BACKLOG = 64
_LARGEST_HEAD = 16 * 1024
_LONGEST_SOCKET_PATH = 107
_START_SECONDS = 5.0


class ApiServerError(ApiFailure):
    """The API cannot be served; the message says why and what to do."""


class _UnixProtocol(H11Protocol):
    """Names the peer by what the kernel says about it."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # a stream always
        super().connection_made(transport)
        peer: socket.socket = transport.get_extra_info("socket")
        pid, uid, _ = struct.unpack("3i", peer.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
        self.client = (f"uid {uid}", pid)


class _QuietServer(uvicorn.Server):
    """A server that sleeps until it is told to stop.

    uvicorn's own looks ten times a second whether it should, which costs an idle daemon more
    processor time than its loop.
    """

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._end = asyncio.Event()

    async def main_loop(self) -> None:
        """Wait for the end."""
        self._loop = asyncio.get_running_loop()
        if not self.should_exit:
            await self._end.wait()

    def end(self) -> None:
        """Ask for the end, from any thread."""
        self.should_exit = True
        if self._loop is not None:
            with contextlib.suppress(RuntimeError):  # its loop has ended already
                self._loop.call_soon_threadsafe(self._end.set)


class ApiServer:
    """The listeners and their thread."""

    def __init__(
        self,
        app: ASGIApp,
        host: str,
        port: int,
        socket_path: str | Path | None,
        *,
        ending: Callable[[], None] = lambda: None,
    ) -> None:
        """Take note of where to listen.

        Args:
            app: the application.
            host: loopback address, or localhost.
            port: TCP port; 0 listens on the unix socket only.
            socket_path: the unix socket; None listens on TCP only.
            ending: called first of all when told to stop, to end the answers that have no end of their own.
        """
        self._app = app
        self._ending = ending
        self._host = host
        self._port = port
        self._path = None if socket_path is None else Path(socket_path)
        self._sockets: list[socket.socket] = []
        self._servers: list[_QuietServer] = []
        self._thread: threading.Thread | None = None
        self._inode: int | None = None

    @property
    def alive(self) -> bool:
        """Say whether the thread serves."""
        return self._thread is not None and self._thread.is_alive()

    def start(self) -> None:
        """Listen and serve; return when both listeners accept.

        Raises:
            ApiServerError: the host is no loopback address, the socket is taken, or the socket's folder
                cannot be written.
            PortTaken: somebody else listens on the port.
        """
        try:
            if self._path is not None:  # first: a daemon that answers there has the state directory as well
                self._serve_on(self._unix_socket(self._path), "unix")
            if self._port:
                self._serve_on(_tcp_socket(self._host, self._port), "tcp")
        except ApiFailure:
            self._close_sockets()
            raise
        if not self._servers:
            raise ApiServerError("the API has nowhere to listen: set api.port or api.socket")
        self._thread = threading.Thread(target=self._run, name="api", daemon=True)
        self._thread.start()
        waited = threading.Event()
        for _ in range(int(_START_SECONDS / 0.01)):
            if all(server.started for server in self._servers):
                return
            if not self._thread.is_alive():
                break
            waited.wait(0.01)
        self.stop(timeout=1.0)
        raise ApiServerError(f"the API did not start within {_START_SECONDS:.0f} s; the log has its error")

    def stop(self, timeout: float) -> bool:
        """Stop listening, finish open requests, remove the socket file; safe to call twice.

        Args:
            timeout: seconds to wait for the thread.

        Returns:
            Whether the thread is gone.
        """
        self._ending()
        for server in self._servers:
            server.end()
        if self._thread is not None:
            self._thread.join(timeout)
        self._close_sockets()
        return not self.alive

    def _serve_on(self, listener: socket.socket, transport: Transport) -> None:
        self._sockets.append(listener)
        config = uvicorn.Config(
            Marked(self._app, transport),
            http=_UnixProtocol if transport == "unix" else H11Protocol,
            loop="none",
            ws="none",
            interface="asgi3",
            lifespan="off",
            log_config=None,
            access_log=False,
            proxy_headers=False,
            server_header=False,
            date_header=False,
            limit_concurrency=CONNECTIONS,
            backlog=BACKLOG,
            timeout_keep_alive=5,
            timeout_graceful_shutdown=1,
            h11_max_incomplete_event_size=_LARGEST_HEAD,
        )
        self._servers.append(_QuietServer(config))

    def _run(self) -> None:
        async def serve() -> None:
            pairs = zip(self._servers, self._sockets, strict=True)
            await asyncio.gather(*(server.serve(sockets=[listener]) for server, listener in pairs))

        asyncio.run(serve())

    def _unix_socket(self, path: Path) -> socket.socket:
        """Bind under a draft name, set the mode, move it into place: never open to more than meant."""
        if len(os.fsencode(path)) > _LONGEST_SOCKET_PATH - len(".new"):
            raise ApiServerError(
                f"the path of the unix socket is too long for the system: {path}; set api.socket"
            )
        _check_not_in_use(path)
        draft = path.with_name(path.name + ".new")
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            with contextlib.suppress(FileNotFoundError):
                draft.unlink()
            listener.bind(str(draft))
            draft.chmod(SOCKET_MODE)
            listener.listen(BACKLOG)
            draft.rename(path)
            self._inode = path.stat().st_ino
        except OSError as error:
            listener.close()
            raise ApiServerError(
                f"the unix socket {path} cannot be made: {error.strerror}; set api.socket to a path that "
                "this user may write, or to - for none"
            ) from error
        return listener

    def _close_sockets(self) -> None:
        for listener in self._sockets:
            listener.close()
        if self._path is not None and self._inode is not None:
            with contextlib.suppress(OSError):
                if self._path.stat().st_ino == self._inode:
                    self._path.unlink()
            self._inode = None


def _tcp_socket(host: str, port: int) -> socket.socket:
    try:
        address = ipaddress.ip_address("127.0.0.1" if host == "localhost" else host.strip("[]"))
    except ValueError:
        raise ApiServerError(f"api.host is {host!r}: expected localhost or a loopback address") from None
    if not address.is_loopback:
        raise ApiServerError(
            f"api.host is {host!r}, which other machines can reach: only loopback is served "
            "(127.0.0.1, ::1); for others, put a proxy with TLS and access control in front"
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
