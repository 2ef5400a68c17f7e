"""One writer per server: a named lock on the server, or one on this host where the server gives none."""

from __future__ import annotations

import errno
import socket
import sys

import pymysql
from msgspec import Struct

from tuner.clock import Clock
from tuner.printable import shortened
from tuner.records import STRANGER
from tuner.servers.causes import in_words
from tuner.servers.connect import Session, text, whole
from tuner.servers.port import Unreachable

WRITER_LOCK = "innobrim.writer"
"""Named lock that the one writing daemon holds; it is gone with its session."""

CLAIM_SECONDS = 5.0
"""Between two tries to get it while somebody else has it, so that a reading stays short."""

AGAIN_SECONDS = 600.0
"""Between two tries where the server gave none and the host's is held in its place."""

BREAKS = 2
"""Connections that end in a row as they ask for it, after which it is the asking that ends them."""

TAKE = f"SELECT GET_LOCK(CONCAT('{WRITER_LOCK}.', CONNECTION_ID()), 0), GET_LOCK('{WRITER_LOCK}', 0)"
"""Takes the lock, and before it the mark of an InnoBrim's session; MySQL 5.6 keeps the last one alone."""

WHO = (
    "SELECT id, user, host, user = SUBSTRING_INDEX(USER(), '@', 1),"
    f" COALESCE(IS_USED_LOCK(CONCAT('{WRITER_LOCK}.', id)) = id, 0),"
    f" COALESCE(IS_USED_LOCK(CONCAT('{WRITER_LOCK}.', CONNECTION_ID())) = CONNECTION_ID(), 0)"
    f" FROM information_schema.processlist WHERE id = IS_USED_LOCK('{WRITER_LOCK}')"
)
"""Who has it: number, account, address, whether that account is ours, and whether it and we have a mark."""


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
        holder: who else has it; None while nobody does, or nobody has asked.
        fallback: why the lock is one of this host alone; empty where it is the server's.
    """

    def __init__(self, session: Session, clock: Clock) -> None:
        self.wanted = False
        self.identity = str(session.endpoint)
        self.holder: Holder | None = None
        self.fallback = ""
        self._session = session
        self._clock = clock
        self._host = HostLock()
        self._mine_in: object | None = None
        self._named = False
        self._refused_at: float | None = None
        self._again = 0.0
        self._broken = 0

    @property
    def refused(self) -> bool:
        """Tell whether somebody else had it when it was last asked for."""
        return self._refused_at is not None

    @property
    def said(self) -> str:
        """Return in words who has it, or why it is one of this host alone; empty where it is simply ours."""
        if self.refused:
            found = self.holder or Holder()
            return f"{STRANGER if found.stranger else ''}{found.name}"
        return self.fallback if self._mine else ""

    @property
    def stranger(self) -> bool:
        """Tell whether it is held by a session that is surely no InnoBrim's."""
        return self.refused and self.holder is not None and self.holder.stranger

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
        if self._mine and (self._named or now < self._again):
            return
        if self._refused_at is not None and now - self._refused_at < CLAIM_SECONDS:
            if self.holder is None and not self.fallback:
                self.holder = self._who()
            return
        taken = self._take(now)
        self._mine_in = self._session.current if taken else None
        self._refused_at, self.holder = (None, None) if taken else (now, None)

    def give_back(self) -> None:
        """Give it to whoever asks next, which may be this session's successor; safe without it.

        Raises:
            Unreachable: nothing answers in time.
        """
        mine, self._mine_in, self._refused_at, self.holder = self._mine, None, None, None
        self._host.release()
        if mine and self._named:
            self._session.query(f"SELECT RELEASE_LOCK('{WRITER_LOCK}')")

    @property
    def _mine(self) -> bool:
        return self._mine_in is not None and self._mine_in is self._session.current

    def close(self) -> None:
        """Give the lock on this host back; the server's goes with the session."""
        self._host.release()
        self._mine_in = None

    def _take(self, now: float) -> bool:
        """Take the server's lock, or the host's where the server gives none; False where somebody has it."""
        self._named = False
        if self.fallback and now < self._again:
            return self._of_host()
        opened = self._session.opened
        connected = self._session.current is not None
        try:
            rows = [tuple(row) for row in self._session.query(TAKE)]
        except Unreachable as error:
            asked = connected or self._session.opened > opened
            self._broken += 1 if asked else 0
            if self._broken < BREAKS:
                raise
            return self._without(now, f"the connection ends where GET_LOCK is asked for: {error}")
        except pymysql.MySQLError as error:
            return self._without(now, f"the server refuses GET_LOCK: {in_words(error)}")
        self._broken = 0
        given = rows[0][-1] if rows and rows[0] else None
        if given is None:
            return self._without(now, "GET_LOCK came to NULL")
        self.fallback, self._named = "", True
        taken = bool(given == 1)
        if taken:
            self._host.release()
        return taken

    def _without(self, now: float, why: str) -> bool:
        self._broken, self._again = 0, now + AGAIN_SECONDS
        self.fallback = f"{why}; the writer lock is one of this host alone"
        return self._of_host()

    def _of_host(self) -> bool:
        return self._host.take(f"{WRITER_LOCK}.{self.identity}")

    def _who(self) -> Holder:
        """Return who has it; one of whom nothing can be told may be another InnoBrim.

        Raises:
            Unreachable: nothing answers in time.
        """
        try:
            number, user, host, ours, marked, known = self._session.query(WHO)[0]
            stranger = whole(known) == 1 and whole(ours) == 0 and whole(marked) == 0
            return Holder(f"connection {whole(number)}, {shortened(f'{text(user)}@{text(host)}')}", stranger)
        except (pymysql.MySQLError, IndexError, ValueError, TypeError):
            return Holder()
