"""Serves the application from one thread of its own, over TCP and a unix socket."""

from __future__ import annotations

import asyncio
import logging
import socket
import threading
from collections.abc import Callable
from pathlib import Path

from starlette.types import ASGIApp

from api.limits import CONNECTIONS
from api.listener import Listener
from api.problems import Refusal
from api.sockets import ApiServerError, UnixSocket, tcp_socket
from api.tls import Certificate
from tuner.board import ApiFailure

__all__ = ["CONNECTIONS", "ApiServer", "ApiServerError"]

_START_SECONDS = 5.0
_LOG = logging.getLogger("innobrim.api")


class ApiServer:
    """The listeners and their thread."""

    def __init__(
        self,
        app: ASGIApp,
        host: str,
        port: int,
        socket_path: str | Path | None,
        *,
        certificate: Certificate | None = None,
        insecure: bool = False,
        ending: Callable[[], None] = lambda: None,
        refused: Callable[[Refusal], None] = lambda _: None,
    ) -> None:
        """Take note of where to listen.

        Args:
            app: the application.
            host: address, or localhost; one that other machines can reach needs a certificate.
            port: TCP port; 0 listens on the unix socket only.
            socket_path: the unix socket; None listens on TCP only.
            certificate: for TLS over TCP; None for none.
            insecure: an address that other machines can reach will do without a certificate.
            ending: called first of all when told to stop, to end the answers that have no end of their own.
            refused: called in the API's thread for what is turned away before it is a request.
        """
        self._app = app
        self._refused = refused
        self._ending = ending
        self._host = host
        self._port = port
        self._path = None if socket_path is None else Path(socket_path)
        self._certificate = certificate
        self._insecure = insecure
        self._tcp: Listener | None = None
        self._listeners: list[Listener] = []
        self._sockets: list[socket.socket] = []
        self._unix: UnixSocket | None = None
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
                self._unix = UnixSocket(self._path)
                self._listeners.append(Listener(self._app, self._unix.listener, "unix", None, self._refused))
            if self._port:
                context = None if self._certificate is None else self._certificate.context()
                public = context is not None or self._insecure
                listener = tcp_socket(self._host, self._port, public=public)
                self._sockets.append(listener)
                self._tcp = Listener(self._app, listener, "tcp", context, self._refused)
                self._listeners.append(self._tcp)
        except ApiFailure:
            self._close_sockets()
            raise
        if not self._listeners:
            raise ApiServerError("the API has nowhere to listen: set api.port or api.socket")
        self._thread = threading.Thread(target=self._run, name="api", daemon=True)
        self._thread.start()
        waited = threading.Event()
        for _ in range(int(_START_SECONDS / 0.01)):
            if all(listener.started for listener in self._listeners):
                return
            if not self._thread.is_alive():
                break
            waited.wait(0.01)
        self.stop(timeout=1.0)
        raise ApiServerError(f"the API did not start within {_START_SECONDS:.0f} s; the log has its error")

    def reload(self) -> None:
        """Read the certificate again, for new connections; a bad one is logged and the old one stays."""
        if self._certificate is None or self._tcp is None:
            return
        try:
            context = self._certificate.context()
        except ApiServerError as error:
            _LOG.warning("the old certificate stays in use: %s", error)
            return
        self._tcp.context = context
        _LOG.info("certificate read again")

    def stop(self, timeout: float) -> bool:
        """Stop listening, finish open requests, remove the socket file; safe to call twice.

        Args:
            timeout: seconds to wait for the thread.

        Returns:
            Whether the thread is gone.
        """
        self._ending()
        for listener in self._listeners:
            listener.end()
        if self._thread is not None:
            self._thread.join(timeout)
        self._close_sockets()
        return not self.alive

    def _run(self) -> None:
        async def serve() -> None:
            await asyncio.gather(*(listener.serve() for listener in self._listeners))

        asyncio.run(serve())

    def _close_sockets(self) -> None:
        for listener in self._sockets:
            listener.close()
        if self._unix is not None:
            self._unix.remove()
