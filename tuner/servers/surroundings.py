"""What else goes on in a server: replication, locks, clones, latency, and the recovery of its last start.

Each part reads tables of the Performance Schema that an account may or may not look at. A part that it may
not look at is left out; it never costs a reading. Where no answer comes the last one stands: a role is never
made up from silence.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import pymysql
from msgspec import Struct
from pymysql.constants import ER

from tuner.servers.failures import CUT_SHORT, error_number
from tuner.servers.port import Unreachable
from tuner.servers.session import Session
from tuner.servers.values import decimal, text, whole
from tuner.system.printable import printable

EPOCH_LAG = 1e9
"""A lag beyond this, seconds, was counted from 1970: the source told no commit time."""

PICOSECONDS = 1e12

WRITES = (
    *(f"statement/sql/{name}" for name in ("commit", "insert", "update", "delete", "replace", "execute_sql")),
    "statement/com/Execute",
)
"""The events whose count and time stand for the server's latency.

A prepared statement is counted as its execution, whatever it does: the server does not tell reads apart.
"""

Row = tuple[Any, Any]
_EVENTS = ", ".join(repr(name) for name in WRITES)

ROLE = frozenset({"replica", "group"})
"""The parts that tell the server's role: asked for until they answer."""

NO_SUCH_TABLE = frozenset({ER.NO_SUCH_TABLE, ER.UNKNOWN_TABLE})

SURROUNDINGS_SECONDS = 10.0
"""Between two looks at the surroundings; the last answer stands in between."""

MISSING_SECONDS = 60.0
"""Between two looks for a table that was not there, such as that of a plugin not installed yet.

As often a part is asked for again that tells the server's role and gave no answer in time.
"""

UNDO_SECONDS = 600.0
"""An undo tablespace that is inactive for longer than this was set aside, and is not being truncated."""

STARTED = "MY-013576"
"""InnoDB initialization has started."""

ENDED = "MY-013577"
"""InnoDB initialization has ended."""

CRASHED = ("MY-012551", "MY-012552")
"""Not shut down normally; starting crash recovery. A clean start applies a batch of redo records, too."""

CRASHED_LATER = "MY-010229"
"""Starting XA crash recovery: comes after InnoDB's own."""

_CODES = (STARTED, ENDED, *CRASHED, CRASHED_LATER)

ERROR_LOG = (
    "SELECT ERROR_CODE, UNIX_TIMESTAMP(LOGGED) FROM performance_schema.error_log WHERE ERROR_CODE IN "
    f"({', '.join(repr(code) for code in _CODES)}) ORDER BY LOGGED DESC LIMIT 64"
)


class Part(Struct, frozen=True):
    """One part of the surroundings.

    Attributes:
        statement: rows of name and two values, to be joined with those of other parts.
        read: turns its rows, by name, into fields of a sample.
        fields: the names of these.
    """

    statement: str
    read: Callable[[Mapping[str, Row]], dict[str, Any]]
    fields: tuple[str, ...]


def _replica(rows: Mapping[str, Row]) -> dict[str, Any]:
    channels, appliers = (counted(value) for value in rows["replica"])
    lag = max(_number(rows[name][0]) for name in ("worker", "coordinator"))
    return {
        "replica": channels > 0,
        "replica_lag": max(0.0, lag) if appliers and lag < EPOCH_LAG else None,
    }


def _group(rows: Mapping[str, Row]) -> dict[str, Any]:
    return {"group_role": printable(text(rows["group"][0])) if "group" in rows else ""}


def _latency(rows: Mapping[str, Row]) -> dict[str, Any]:
    count, picoseconds = rows["latency"]
    if count is None:
        return {"write_statements": None, "write_time": None}
    return {"write_statements": counted(count), "write_time": _number(picoseconds) / PICOSECONDS}


def _clone(rows: Mapping[str, Row]) -> dict[str, Any]:
    return {"cloning": counted(rows["clone"][0]) > 0}


def _locks(rows: Mapping[str, Row]) -> dict[str, Any]:
    """Return which locks are held; the table is empty, not absent, where the Performance Schema is off.

    Raises:
        ValueError: it is.
    """
    backup, read = rows["locks"]
    return {"backup_locked": counted(backup) > 0, "read_locked": counted(read) > 0}


def _lag(name: str, doing: str) -> str:
    """Return the age of the oldest transaction that workers, or the coordinator, are at; 0 when idle."""
    return (
        f"SELECT '{name}', MAX(IF({doing}_TRANSACTION = '', 0,"
        f" UNIX_TIMESTAMP() - UNIX_TIMESTAMP({doing}_TRANSACTION_ORIGINAL_COMMIT_TIMESTAMP))), NULL"
        f" FROM performance_schema.replication_applier_status_by_{name} WHERE SERVICE_STATE = 'ON'"
    )


PARTS: Mapping[str, Part] = {
    "replica": Part(
        "SELECT 'replica', SUM(CHANNEL_NAME NOT LIKE 'group_replication%'), COUNT(*)"
        " FROM performance_schema.replication_applier_status WHERE SERVICE_STATE = 'ON'"
        f" UNION ALL {_lag('worker', 'APPLYING')} UNION ALL {_lag('coordinator', 'PROCESSING')}",
        _replica,
        ("replica", "replica_lag"),
    ),
    "group": Part(
        "SELECT 'group', MEMBER_ROLE, NULL FROM performance_schema.replication_group_members"
        " WHERE MEMBER_ID = @@GLOBAL.server_uuid AND MEMBER_STATE <> 'OFFLINE'",
        _group,
        ("group_role",),
    ),
    "latency": Part(
        "SELECT 'latency', SUM(COUNT_STAR), SUM(SUM_TIMER_WAIT)"
        " FROM performance_schema.events_statements_summary_global_by_event_name"
        f" WHERE EVENT_NAME IN ({_EVENTS})",
        _latency,
        ("write_statements", "write_time"),
    ),
    "clone": Part(
        "SELECT 'clone', COUNT(*), NULL FROM performance_schema.clone_status WHERE STATE = 'In Progress'",
        _clone,
        ("cloning",),
    ),
    "locks": Part(
        "SELECT 'locks', IF(@@GLOBAL.performance_schema, SUM(OBJECT_TYPE = 'BACKUP LOCK'), 'off'),"
        " SUM(OBJECT_TYPE = 'GLOBAL')"
        " FROM performance_schema.metadata_locks WHERE OBJECT_TYPE IN ('BACKUP LOCK', 'GLOBAL')"
        " AND LOCK_TYPE = 'SHARED' AND LOCK_DURATION = 'EXPLICIT' AND LOCK_STATUS = 'GRANTED'",
        _locks,
        ("backup_locked", "read_locked"),
    ),
}
"""By the names that ``Facts.unseen`` uses."""


def older_parts(replica: str) -> Mapping[str, Part]:
    """Return what can be seen of servers that lack the tables of MySQL 8.0: an applier at work, and latency.

    MySQL 5.6 and MariaDB say the first in a status variable; the lag would take SHOW SLAVE STATUS, and a
    privilege more.

    Args:
        replica: statement for the row ``replica`` with how many appliers are at work.
    """
    return {"replica": Part(replica, _applying, ("replica", "replica_lag")), "latency": PARTS["latency"]}


def slaves(name: str, on: str) -> str:
    """Return the statement for how many appliers are at work by a status variable, with when it says so."""
    return (
        f"SELECT 'replica', SUM(variable_value {on}), NULL FROM information_schema.global_status"
        f" WHERE variable_name = '{name}'"
    )


def _applying(rows: Mapping[str, Row]) -> dict[str, Any]:
    return {"replica": counted(rows["replica"][0]) > 0, "replica_lag": None}


def _number(value: object) -> float:
    return 0.0 if value is None else decimal(value)


def counted(value: object) -> int:
    """Return a sum or a count; of no rows it is 0."""
    return 0 if value is None else whole(value)


class Surroundings:
    """What was seen last, and when each part is asked for again: all together, as long as all answer."""

    def __init__(self) -> None:
        self._parts: Mapping[str, Part] = PARTS
        self._seen: dict[str, Any] = {}
        self._due: dict[str, float] = {}
        self._alone: set[str] = set()
        self._answered: set[str] = set()
        self._asked_by: object | None = None

    def look(self, session: Session, parts: Mapping[str, Part] = PARTS, now: float = 0.0) -> tuple[str, ...]:
        """Find out which parts can be seen; return those that the account may not look at.

        One statement where all can be; otherwise one more for each part. Where no answer comes in time,
        one part or another may be to blame: ``read`` then tries them one by one. Until they answer, the
        role is the one known before.

        Args:
            session: who asks.
            parts: those that a server of this family has.
            now: monotonic time, seconds.
        """
        self._parts, self._asked_by = parts, None
        self._due, self._alone = dict.fromkeys(parts, now), set()
        for name in parts.keys() - ROLE:
            self._forget(name)
        try:
            self._ask(session, parts)
        except Unreachable:
            self._alone = set(parts)
        except pymysql.MySQLError:
            self._alone = set(parts)
            return self._look_singly(session, now)
        return ()

    def _look_singly(self, session: Session, now: float) -> tuple[str, ...]:
        unseen: list[str] = []
        for name in self._parts:
            try:
                self._ask_alone(session, name, now)
            except Unreachable:
                break
            if name not in self._due:
                unseen.append(name)
        return tuple(unseen)

    def read(self, session: Session, now: float, *, latency: bool) -> Mapping[str, Any]:
        """Return what is known, as fields of a sample; asks at most one statement, and mostly none.

        Args:
            session: who asks; a new connection is asked at once.
            now: monotonic time, seconds.
            latency: ask for the latency every time.

        Raises:
            Unreachable: nothing answers in time; each part is tried alone from then on.
        """
        together = [name for name in self._due if name not in self._alone]
        anew, self._asked_by = session.current is not self._asked_by, session.current
        if together and (anew or any(self._due[name] <= now for name in together)):
            if self._ask_together(session, together, now):
                self._due |= dict.fromkeys(together, now + SURROUNDINGS_SECONDS)
        elif alone := [name for name in self._due if name in self._alone and self._due[name] <= now]:
            self._ask_alone(session, alone[0], now)
        elif latency and "latency" in together:
            self._ask_together(session, ["latency"], now)
        return self._seen | {"role_known": self._answered >= ROLE & self._parts.keys()}

    def _ask_together(self, session: Session, names: Sequence[str], now: float) -> bool:
        """Ask for some parts by one statement; where it fails, each is asked alone next."""
        try:
            self._ask(session, names)
        except (pymysql.MySQLError, Unreachable) as error:
            self._due |= dict.fromkeys(self._due.keys() - self._alone, now)
            self._alone |= self._due.keys()
            if isinstance(error, Unreachable):
                raise
            return False
        return True

    def _ask_alone(self, session: Session, name: str, now: float) -> None:
        """Ask for one part; leave out what gives no answer in time or may not be seen.

        One of the role's that gives no answer keeps its last and is asked for again, as is a missing table.
        """
        try:
            self._ask(session, (name,))
        except (pymysql.MySQLError, Unreachable) as error:
            silent = isinstance(error, Unreachable) or error_number(error) in CUT_SHORT
            waits = silent and name in ROLE
            if not silent:
                self._answered.add(name)
            if not waits:
                self._forget(name)
            if waits or error_number(error) in NO_SUCH_TABLE:
                self._due[name] = now + MISSING_SECONDS
            else:
                del self._due[name]
            if isinstance(error, Unreachable):
                raise
        else:
            self._alone.remove(name)
            self._due[name] = now + SURROUNDINGS_SECONDS

    def _ask(self, session: Session, names: Collection[str]) -> None:
        """Ask for some parts by one statement, and keep what they say.

        Raises:
            Unreachable: nothing answers in time.
            pymysql.MySQLError: the server refused, or gave an answer without sense.
        """
        rows = session.query(" UNION ALL ".join(self._parts[name].statement for name in names))
        seen: dict[str, Any] = {}
        try:
            by_name = {text(name): (first, second) for name, first, second in rows}
            for name in names:
                seen |= self._parts[name].read(by_name)
        except (KeyError, ValueError, TypeError, ArithmeticError) as error:
            raise pymysql.DataError(0, f"unexpected answer: {error}") from error
        self._seen |= seen
        self._answered |= set(names)

    def _forget(self, name: str) -> None:
        for field in self._parts[name].fields:
            self._seen.pop(field, None)


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


def recovery_seconds(session: Session) -> float | None:
    """Return the time of InnoDB's last start where that was a recovery; None where clean or not visible."""
    with contextlib.suppress(Unreachable, pymysql.MySQLError, ValueError, TypeError, ArithmeticError):
        rows = session.query(ERROR_LOG)
        return last_recovery([(text(code), decimal(logged)) for code, logged in reversed(rows)])
    return None


def last_recovery(lines: Sequence[tuple[str, float]]) -> float | None:
    """Return what the lines say of the last start, seconds.

    Args:
        lines: code and Unix time, oldest first.
    """
    starts = [at for at, (code, _) in enumerate(lines) if code == STARTED]
    if not starts:
        return None
    last = lines[starts[-1] :]
    ended = next((logged for code, logged in last if code == ENDED), None)
    crashed = any(code in CRASHED or code == CRASHED_LATER for code, _ in last)
    return ended - last[0][1] if ended is not None and crashed else None
