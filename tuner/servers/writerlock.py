"""One writer per server: a named lock on the server, or one on this host where the server gives none."""

from __future__ import annotations

import pymysql
from pymysql.constants import ER

from tuner.records import STRANGER
from tuner.servers.failures import CUT_SHORT, error_number, in_words
from tuner.servers.hostlock import WRITER_LOCK, Holder, HostLock, holder_of
from tuner.servers.port import Unreachable
from tuner.servers.session import Session
from tuner.servers.values import text, whole
from tuner.system.clock import Clock
from tuner.system.printable import shortened

CLAIM_SECONDS = 5.0
"""Between two tries to get it while somebody else has it, so that a reading stays short."""

AGAIN_SECONDS = 600.0
"""Between two tries where the server gave none and the host's is held in its place."""

BREAKS = 2
"""After so many connections in a row that break during GET_LOCK it is GET_LOCK that breaks them."""

PASSING = CUT_SHORT | {ER.SERVER_SHUTDOWN}
"""The server's errors for a statement that it gives up this once."""

TAKE = f"SELECT GET_LOCK(CONCAT('{WRITER_LOCK}.', CONNECTION_ID()), 0), GET_LOCK('{WRITER_LOCK}', 0)"
"""Takes the lock, and before it the mark of an InnoBrim's session; MySQL 5.6 keeps the last one alone."""

WHO = (
    "SELECT id, user, host, user = SUBSTRING_INDEX(USER(), '@', 1),"
    f" COALESCE(IS_USED_LOCK(CONCAT('{WRITER_LOCK}.', id)) = id, 0),"
    f" COALESCE(IS_USED_LOCK(CONCAT('{WRITER_LOCK}.', CONNECTION_ID())) = CONNECTION_ID(), 0)"
    " OR VERSION() NOT REGEXP '^5[.][56][.]'"
    f" FROM information_schema.processlist WHERE id = IS_USED_LOCK('{WRITER_LOCK}')"
)
"""Who has it: number, account, address, whether that account is ours, whether it has a mark, and whether one
would last: ours does, or the server is none of those that keep one lock for a session."""


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
        self._elsewhere = False
        self._looked_at = 0.0
        self._again = 0.0
        self._broken = 0

    @property
    def refused(self) -> bool:
        """Tell whether somebody else had it when it was last asked for."""
        return self._refused_at is not None

    @property
    def description(self) -> str:
        """Return in words who has it, or why it is one of this host alone; empty where it is simply ours."""
        if self.refused or (self._elsewhere and self.holder is not None):
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
        self._host.answer()
        if self._mine and (self._named or now < self._again):
            old = self.holder is None or now - self._looked_at >= CLAIM_SECONDS
            if self._elsewhere and not self._named and old:
                self._looked_at, self.holder = now, self._who()
            return
        if self._refused_at is not None and now - self._refused_at < CLAIM_SECONDS:
            if self.holder is None:
                self.holder = self._found()
            return
        taken = self._take(now)
        self._mine_in = self._session.current if taken else None
        self._refused_at, self.holder = (None, None) if taken else (now, None)

    def note_reading(self, *, elsewhere: bool) -> None:
        """Note whether a reading saw the server's lock with another session."""
        if elsewhere is not self._elsewhere:
            self._elsewhere, self.holder = elsewhere, None

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
        opened = self._session.connections
        connected = self._session.current is not None
        try:
            rows = [tuple(row) for row in self._session.query(TAKE)]
        except Unreachable as error:
            asked = connected or self._session.connections > opened
            self._broken += 1 if asked and not _in_vain(error) else 0
            if self._broken < BREAKS:
                raise
            return self._without(now, f"the connection ends where GET_LOCK is asked for: {error}")
        except pymysql.MySQLError as error:
            passing = error_number(error) in PASSING
            why = f"the server refuses GET_LOCK: {in_words(error)}"
            return self._without(now, why, again=CLAIM_SECONDS if passing else AGAIN_SECONDS)
        self._broken = 0
        given = rows[0][-1] if rows and rows[0] else None
        if given is None:
            return self._without(now, "GET_LOCK came to NULL")
        self.fallback, self._named = "", True
        self._host.release()
        return bool(given == 1)

    def _without(self, now: float, why: str, *, again: float = AGAIN_SECONDS) -> bool:
        """Take the host's lock; not beside a session that has the server's, and had it when asked before."""
        self._broken = 0
        if self.refused and not self.fallback and self._elsewhere:
            return False
        self._again = now + again
        self.fallback = f"{why}; the writer lock is one of this host alone"
        return self._of_host()

    def _of_host(self) -> bool:
        return self._host.take(f"{WRITER_LOCK}.{self.identity}")

    def _found(self) -> Holder:
        """Return who has the lock that was refused: a stranger, where another session's is not in the way.

        Raises:
            Unreachable: nothing answers in time.
        """
        if not self.fallback:
            return self._who()
        here = holder_of(f"{WRITER_LOCK}.{self.identity}")
        return self._who() if here.stranger and self._elsewhere else here

    def _who(self) -> Holder:
        """Return who has the server's; one of whom nothing can be told may be another InnoBrim.

        Raises:
            Unreachable: nothing answers in time.
        """
        try:
            number, user, host, ours, marked, known = self._session.query(WHO)[0]
            stranger = whole(known) == 1 and whole(ours) == 0 and whole(marked) == 0
            return Holder(f"connection {whole(number)}, {shortened(f'{text(user)}@{text(host)}')}", stranger)
        except (pymysql.MySQLError, IndexError, ValueError, TypeError):
            return Holder()


def _in_vain(error: BaseException) -> bool:
    """Tell whether an answer did not come in time: a dead line or a server that hangs ends nothing."""
    cause = error.__cause__ or error.__context__
    return isinstance(error, TimeoutError) or (cause is not None and _in_vain(cause))
