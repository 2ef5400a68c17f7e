"""When the parts of the surroundings are asked for, and which answers stand.

A part that the account may not look at is left out; it never costs a reading. Where no answer comes the
last one stands: a role is never made up from silence.
"""

from __future__ import annotations

from collections.abc import Mapping

import pymysql
from msgspec.structs import replace
from pymysql.constants import ER

from tuner.servers.causes import CUT_SHORT, error_number
from tuner.servers.connect import Session
from tuner.servers.parts import PARTS, ROLE, Around, Part, ask
from tuner.servers.port import Unreachable

SURROUNDINGS_SECONDS = 10.0
"""Between two looks at the surroundings; the last answer stands in between."""

MISSING_SECONDS = 60.0
"""Between two looks for a table that was not there, such as that of a plugin not installed yet.

As often a part is asked for again that tells the server's role and gave no answer in time.
"""

UNDO_SECONDS = 600.0
"""An undo tablespace that is inactive for longer than this was set aside, and is not being truncated."""


class Surroundings:
    """The parts that an account may look at, and what they said last."""

    def __init__(self) -> None:
        self._parts: Mapping[str, Part] = PARTS
        self._seen: tuple[str, ...] = ()
        self._later: tuple[str, ...] = ()
        self._doubted: list[str] = []
        self._settled: frozenset[str] = frozenset()
        self._around = Around()
        self._asked_by: object | None = None
        self._asked_at = self._asked_later_at = 0.0

    def look(self, session: Session, parts: Mapping[str, Part] = PARTS) -> tuple[str, ...]:
        """Find out which parts can be seen; return those that the account may not look at.

        One statement where all can be; otherwise one more for each part. Where no answer comes in time,
        one part or another may be to blame: ``read`` then tries them one by one. Until they answer, the
        role is the one known before.

        Args:
            session: who asks.
            parts: those that a server of this family has.
        """
        self._parts = parts
        self._seen, self._later, self._doubted, self._asked_by = (), (), [], None
        for name in parts.keys() - ROLE:
            self._forget(name)
        try:
            self._learn(session, tuple(parts))
        except Unreachable:
            self._doubted = list(parts)
            return ()
        except pymysql.MySQLError:
            return self._look_singly(session)
        self._seen = tuple(parts)
        return ()

    def _look_singly(self, session: Session) -> tuple[str, ...]:
        unseen: list[str] = []
        left = list(self._parts)
        while left:
            name = left.pop(0)
            try:
                seen = self._try(session, name)
            except Unreachable:
                self._doubted = left
                break
            if not seen and name not in self._later:
                unseen.append(name)
        return tuple(unseen)

    def read(self, session: Session, now: float, *, latency: bool) -> Around:
        """Return what is known; asks at most one statement, and mostly none.

        Args:
            session: who asks; a new connection is asked at once.
            now: monotonic time, seconds.
            latency: ask for the latency every time.

        Raises:
            Unreachable: nothing answers in time; each part is tried alone from then on.
        """
        if session.current is not self._asked_by or now - self._asked_at >= SURROUNDINGS_SECONDS:
            self._asked_at, self._asked_by = now, session.current
            self._ask_all(session, self._seen)
        elif self._doubted:
            self._try(session, self._doubted.pop(0))
        elif latency and "latency" in self._seen:
            self._ask_all(session, ("latency",))
        elif self._later and now - self._asked_later_at >= MISSING_SECONDS:
            self._asked_later_at = now
            self._doubted, self._later = list(self._later), ()
        return replace(self._around, role_known=self._settled >= ROLE & self._parts.keys())

    def _ask_all(self, session: Session, names: tuple[str, ...]) -> None:
        if not names:
            return
        try:
            self._learn(session, names)
        except (pymysql.MySQLError, Unreachable) as error:
            self._doubted, self._seen = [*self._seen, *self._doubted], ()
            if isinstance(error, Unreachable):
                raise

    def _try(self, session: Session, name: str) -> bool:
        """Ask for one part alone; tell whether it can be seen from now on."""
        try:
            self._learn(session, (name,))
        except Unreachable:
            self._leave_out(name)
            raise
        except pymysql.MySQLError as error:
            if error_number(error) in CUT_SHORT:
                self._leave_out(name)
                return False
            self._forget(name)
            self._settled |= {name}
            if error_number(error) in {ER.NO_SUCH_TABLE, ER.UNKNOWN_TABLE}:
                self._later += (name,)
            return False
        self._seen += (name,)
        return True

    def _learn(self, session: Session, names: tuple[str, ...]) -> None:
        self._around = replace(self._around, **ask(session, self._parts, names))
        self._settled |= set(names)

    def _leave_out(self, name: str) -> None:
        """Ask no more for a part that gives no answer; one of the role's keeps its last, and waits."""
        if name in ROLE:
            self._later += (name,)
        else:
            self._forget(name)

    def _forget(self, name: str) -> None:
        nothing, fields = Around(), self._parts[name].fields
        self._around = replace(self._around, **{one: getattr(nothing, one) for one in fields})


class UndoWatch:
    """Tells an undo tablespace that is being truncated from one that somebody set aside for good."""

    def __init__(self) -> None:
        self._inactive = self._aside = 0
        self._since = 0.0

    def truncating(self, now: float, inactive: int) -> bool:
        """Return whether one is being truncated.

        Args:
            now: monotonic time, seconds.
            inactive: undo tablespaces that are not active.
        """
        if inactive != self._inactive:
            self._inactive, self._since = inactive, now
        if inactive < self._aside or now - self._since >= UNDO_SECONDS:
            self._aside = inactive
        return inactive > self._aside
