"""One writer per server: a named lock on the server, or one on this host where the server refuses those."""

from __future__ import annotations

import errno
import socket
import sys

import pymysql

from tuner.clock import Clock
from tuner.servers.connect import Session

WRITER_LOCK = "innobrim.writer"
"""Named lock that the one writing daemon holds; it is gone with its session."""

CLAIM_SECONDS = 5.0
"""Between two tries to get it while somebody else has it, so that a reading stays short."""


class HostLock:
    """A lock among the processes of this host (of its network namespace), gone with the process.

    An address in Linux's abstract namespace of unix sockets: no file that a crash could leave behind.
    """

    def __init__(self) -> None:
        self._socket: socket.socket | None = None
        self._name = ""

    def take(self, name: str) -> bool:
        """Take it, or keep it; False where another process has it.

        A system without such addresses has no such lock: there the answer is yes.
        """
        if sys.platform != "linux" or (self._socket is not None and name == self._name):
            return True
        self.release()
        made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            made.bind(f"\0{name}")
        except OSError as error:
            made.close()
            return error.errno != errno.EADDRINUSE
        self._socket, self._name = made, name
        return True

    def release(self) -> None:
        """Give it back; safe without it."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None


class WriterLock:
    """The claim to be the one that writes to a server.

    Attributes:
        wanted: take the lock at the next ``settle`` and keep it.
        identity: which server this is, for the lock on this host.
        refused: somebody else had it when it was last asked for.
    """

    def __init__(self, session: Session, clock: Clock) -> None:
        self.wanted = False
        self.identity = str(session.endpoint)
        self._session = session
        self._clock = clock
        self._host = HostLock()
        self._holder: object | None = None
        self._named = False
        self._refused_at: float | None = None

    @property
    def refused(self) -> bool:
        """Tell whether somebody else had it when it was last asked for."""
        return self._refused_at is not None

    def settle(self) -> None:
        """Take the lock once per session, give it back when nothing is written any more.

        At most one statement.

        Raises:
            Unreachable: nothing answers in time.
        """
        if not self.wanted:
            self.give_back()
            return
        now = self._clock.monotonic()
        waiting = self._refused_at is not None and now - self._refused_at < CLAIM_SECONDS
        if self._mine or waiting:
            return
        taken = self._take()
        self._holder = self._session.current if taken else None
        self._refused_at = None if taken else now

    def give_back(self) -> None:
        """Give it to whoever asks next, which may be this session's successor; safe without it.

        Raises:
            Unreachable: nothing answers in time.
        """
        mine, self._holder, self._refused_at = self._mine, None, None
        self._host.release()
        if mine and self._named:
            self._session.query(f"SELECT RELEASE_LOCK('{WRITER_LOCK}')")

    @property
    def _mine(self) -> bool:
        return self._holder is not None and self._holder is self._session.current

    def close(self) -> None:
        """Give the lock on this host back; the server's goes with the session."""
        self._host.release()
        self._holder = None

    def _take(self) -> bool:
        try:
            rows = self._session.query(f"SELECT GET_LOCK('{WRITER_LOCK}', 0)")
        except pymysql.MySQLError:
            self._named = False
            return self._host.take(f"{WRITER_LOCK}.{self.identity}")
        self._named = True
        taken = [tuple(row) for row in rows] == [(1,)]
        if taken:
            self._host.release()
        return taken
