"""A lock among the processes of this host, for a server that gives none; it leaves nothing behind."""

from __future__ import annotations

import errno
import hashlib
import os
import socket
import struct
import sys

from msgspec import Struct

WRITER_LOCK = "innobrim.writer"
"""Named lock that the one writing daemon holds; it is gone with its session."""

ADDRESS_BYTES = 107
"""Longest address of a unix socket in Linux's abstract namespace."""

NO_SUCH_LOCK = frozenset({errno.EAFNOSUPPORT, errno.EPERM, errno.EACCES})
"""Errors of a system that lets the daemon have no such address at all."""

NOBODY_LISTENS = frozenset({errno.ECONNREFUSED, errno.EAGAIN})
"""Errors of an address that is taken, and where nobody takes who asks."""


class Holder(Struct, frozen=True):
    """Who has the lock, where it is somebody else.

    Attributes:
        name: connection and account; empty where that is not known.
        stranger: another account's, without the mark that every InnoBrim's session has.
    """

    name: str = ""
    stranger: bool = False


class HostLock:
    """A lock among the processes of this host (of its network namespace), gone with the process.

    An address in Linux's abstract namespace of unix sockets: no file that a crash could leave behind. Whoever
    has it listens there, so that the kernel tells the next one whose process that is.
    """

    def __init__(self) -> None:
        self._socket: socket.socket | None = None
        self._name = ""

    def take(self, name: str) -> bool:
        """Take it, or keep it; False where another process has it, or the system has no room for it.

        A system without such addresses has no such lock: there the answer is yes.
        """
        if sys.platform != "linux" or (self._socket is not None and name == self._name):
            return True
        self.release()
        try:
            made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        except OSError as error:
            return error.errno in NO_SUCH_LOCK
        try:
            made.bind(_address(name))
            made.listen()
            made.settimeout(0.0)
        except OSError as error:
            made.close()
            return error.errno in NO_SUCH_LOCK
        self._socket, self._name = made, name
        return True

    def answer(self) -> None:
        """Let go whoever asked who has it, so that there is room for the next one; safe without it."""
        try:
            while self._socket is not None:
                self._socket.accept()[0].close()
        except OSError:
            return

    def release(self) -> None:
        """Give it back; safe without it."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None


def holder_of(name: str) -> Holder:
    """Return who has this host's lock; root's processes and those of our own user may be an InnoBrim.

    Any user may take an address, and one that does not listen there is no InnoBrim.
    """
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as asking:
            asking.settimeout(0.0)
            asking.connect(_address(name))
            pid, uid, _ = struct.unpack("3i", asking.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
    except OSError as error:
        silent = error.errno in NOBODY_LISTENS
        return Holder("a process of this host that is no InnoBrim" if silent else "", silent)
    return Holder(f"process {pid} of user {uid} on this host", uid not in {0, os.geteuid()})


def _address(name: str) -> bytes:
    """Return the address for a name, by its digest where it is too long for one."""
    given = b"\0" + name.encode("utf-8", "surrogatepass")
    if len(given) <= ADDRESS_BYTES:
        return given
    return f"\0{WRITER_LOCK}.{hashlib.sha256(given).hexdigest()}".encode()
