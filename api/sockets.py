"""The sockets that the API listens on: TCP, and a unix socket that is never open to more than meant."""

from __future__ import annotations

import contextlib
import errno
import ipaddress
import os
import socket
from pathlib import Path

from tuner.board import ApiFailure, PortTaken

SOCKET_MODE = 0o660
BACKLOG = 64
_LONGEST_SOCKET_PATH = 107


class ApiServerError(ApiFailure):
    """The API cannot be served; the message says why and what to do."""


def tcp_socket(host: str, port: int, *, public: bool) -> socket.socket:
    """Return a socket that listens on an address.

    Args:
        host: address, or localhost.
        port: TCP port.
        public: an address that other machines can reach will do.

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
    listener.settimeout(0.0)
    return listener


class UnixSocket:
    """A unix socket with a file of its own."""

    def __init__(self, path: Path) -> None:
        """Bind under a draft name, set the mode, move it into place.

        Raises:
            ApiServerError: the path is too long, in use, or cannot be written.
        """
        if len(os.fsencode(path)) > _LONGEST_SOCKET_PATH - len(".new"):
            raise ApiServerError(
                f"the path of the unix socket is too long for the system: {path}; set api.socket"
            )
        _check_not_in_use(path)
        self._path = path
        draft = path.with_name(path.name + ".new")
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            with contextlib.suppress(FileNotFoundError):
                draft.unlink()
            self.listener.bind(str(draft))
            draft.chmod(SOCKET_MODE)
            self.listener.listen(BACKLOG)
            draft.rename(path)
            self._inode: int | None = path.stat().st_ino
        except OSError as error:
            self.listener.close()
            raise ApiServerError(
                f"the unix socket {path} cannot be made: {error.strerror}; set api.socket to a path that "
                "this user may write, or to - for none"
            ) from error
        self.listener.settimeout(0.0)

    def remove(self) -> None:
        """Close it, and remove the file where it is still this socket's; safe to call twice."""
        self.listener.close()
        if self._inode is not None:
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
