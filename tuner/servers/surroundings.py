"""What else goes on in a server: replication, locks, clones, latency; one statement now and then.

Each part reads tables of the Performance Schema that an account may or may not look at. A part that it
may not look at is left out; it never costs a reading.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pymysql
from msgspec import Struct
from msgspec.structs import replace
from pymysql.constants import ER

from tuner.servers.connect import Session
from tuner.servers.port import Unreachable

SURROUNDINGS_SECONDS = 10.0
"""Between two looks at the surroundings; the last answer stands in between."""

MISSING_SECONDS = 60.0
"""Between two looks for a table that was not there, such as that of a plugin not installed yet."""

UNDO_SECONDS = 600.0
"""An undo tablespace that is inactive for longer than this was set aside, and is not being truncated."""

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


class Around(Struct, frozen=True):
    """The answer; fields as in ``Sample``, as they stand where a part is not seen."""

    replica: bool = False
    replica_lag: float | None = None
    group_role: str = ""
    write_statements: int | None = None
    write_time: float | None = None
    cloning: bool = False
    backup_locked: bool = False
    read_locked: bool = False


class Part(Struct, frozen=True):
    """One part of the surroundings.

    Attributes:
        statement: rows of name and two values, to be joined with those of other parts.
        found: turns its rows, by name, into fields of ``Around``.
    """

    statement: str
    found: Callable[[Mapping[str, Row]], dict[str, Any]]


def _replica(rows: Mapping[str, Row]) -> dict[str, Any]:
    channels, appliers = (_count(value) for value in rows["replica"])
    lag = max(_number(rows[name][0]) for name in ("worker", "coordinator"))
    return {
        "replica": channels > 0,
        "replica_lag": max(0.0, lag) if appliers and lag < EPOCH_LAG else None,
    }


def _group(rows: Mapping[str, Row]) -> dict[str, Any]:
    return {"group_role": _text(rows["group"][0]) if "group" in rows else ""}


def _latency(rows: Mapping[str, Row]) -> dict[str, Any]:
    count, picoseconds = rows["latency"]
    if count is None:
        return {"write_statements": None, "write_time": None}
    return {"write_statements": _count(count), "write_time": _number(picoseconds) / PICOSECONDS}


def _clone(rows: Mapping[str, Row]) -> dict[str, Any]:
    return {"cloning": _count(rows["clone"][0]) > 0}


def _locks(rows: Mapping[str, Row]) -> dict[str, Any]:
    backup, read = rows["locks"]
    return {"backup_locked": _count(backup) > 0, "read_locked": _count(read) > 0}


def _lag(name: str, doing: str) -> str:
    """Return the age of the oldest transaction that workers, or the coordinator, are at; 0 when idle."""
    return (
        f"SELECT '{name}', MAX(IF({doing}_TRANSACTION = '', 0,"
        f" UNIX_TIMESTAMP() - UNIX_TIMESTAMP({doing}_TRANSACTION_ORIGINAL_COMMIT_TIMESTAMP))), NULL"
        f" FROM performance_schema.replication_applier_status_by_{name} WHERE SERVICE_STATE = 'ON'"
    )


_EVENTS = ", ".join(repr(name) for name in WRITES)

PARTS: Mapping[str, Part] = {
    "replica": Part(
        "SELECT 'replica', SUM(CHANNEL_NAME NOT LIKE 'group_replication%'), COUNT(*)"
        " FROM performance_schema.replication_applier_status WHERE SERVICE_STATE = 'ON'"
        f" UNION ALL {_lag('worker', 'APPLYING')} UNION ALL {_lag('coordinator', 'PROCESSING')}",
        _replica,
    ),
    "group": Part(
        "SELECT 'group', MEMBER_ROLE, NULL FROM performance_schema.replication_group_members"
        " WHERE MEMBER_ID = @@GLOBAL.server_uuid AND MEMBER_STATE <> 'OFFLINE'",
        _group,
    ),
    "latency": Part(
        "SELECT 'latency', SUM(COUNT_STAR), SUM(SUM_TIMER_WAIT)"
        " FROM performance_schema.events_statements_summary_global_by_event_name"
        f" WHERE EVENT_NAME IN ({_EVENTS})",
        _latency,
    ),
    "clone": Part(
        "SELECT 'clone', COUNT(*), NULL FROM performance_schema.clone_status WHERE STATE = 'In Progress'",
        _clone,
    ),
    "locks": Part(
        "SELECT 'locks', SUM(OBJECT_TYPE = 'BACKUP LOCK'), SUM(OBJECT_TYPE = 'GLOBAL')"
        " FROM performance_schema.metadata_locks WHERE OBJECT_TYPE IN ('BACKUP LOCK', 'GLOBAL')"
        " AND LOCK_TYPE = 'SHARED' AND LOCK_DURATION = 'EXPLICIT' AND LOCK_STATUS = 'GRANTED'",
        _locks,
    ),
}
"""By the names that ``Facts.unseen`` uses."""


class Surroundings:
    """The parts that an account may look at, and what they said last."""

    def __init__(self) -> None:
        self._seen: tuple[str, ...] = ()
        self._missing: tuple[str, ...] = ()
        self._doubted: list[str] = []
        self._around = Around()
        self._asked_by: object | None = None
        self._asked_at = self._missed_at = 0.0

    def look(self, session: Session) -> tuple[str, ...]:
        """Find out which parts can be seen; return those that the account may not look at.

        One statement where all can be; otherwise one more for each part. Where no answer comes in time,
        one part or another may be to blame: ``read`` then tries them one by one.
        """
        self._seen, self._missing, self._doubted = (), (), []
        self._around, self._asked_by = Around(), None
        try:
            _ask(session, tuple(PARTS))
        except Unreachable:
            self._doubted = list(PARTS)
            return ()
        except pymysql.MySQLError:
            return self._look_singly(session)
        self._seen = tuple(PARTS)
        return ()

    def _look_singly(self, session: Session) -> tuple[str, ...]:
        unseen: list[str] = []
        left = list(PARTS)
        while left:
            name = left.pop(0)
            try:
                seen = self._try(session, name)
            except Unreachable:
                self._doubted = left
                break
            if not seen and name not in self._missing:
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
        elif self._missing and now - self._missed_at >= MISSING_SECONDS:
            self._missed_at = now
            self._doubted, self._missing = list(self._missing), ()
        return self._around

    def _ask_all(self, session: Session, names: tuple[str, ...]) -> None:
        if not names:
            return
        try:
            self._around = replace(self._around, **_ask(session, names))
        except (pymysql.MySQLError, Unreachable) as error:
            self._doubted, self._seen, self._around = [*self._seen], (), Around()
            if isinstance(error, Unreachable):
                raise

    def _try(self, session: Session, name: str) -> bool:
        """Ask for one part alone; tell whether it can be seen from now on."""
        try:
            self._around = replace(self._around, **_ask(session, (name,)))
        except pymysql.MySQLError as error:
            if error.args[0] in {ER.NO_SUCH_TABLE, ER.UNKNOWN_TABLE}:
                self._missing += (name,)
            return False
        self._seen += (name,)
        return True


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


def _ask(session: Session, names: Sequence[str]) -> dict[str, Any]:
    """Return fields of ``Around``.

    Raises:
        Unreachable: nothing answers in time.
        pymysql.MySQLError: the server refused, or gave an answer without sense.
    """
    rows = session.query(" UNION ALL ".join(PARTS[name].statement for name in names))
    found: dict[str, Any] = {}
    try:
        by_name = {_text(name): (first, second) for name, first, second in rows}
        for name in names:
            found |= PARTS[name].found(by_name)
    except (KeyError, ValueError, TypeError) as error:
        raise pymysql.DataError(0, f"unexpected answer: {error}") from error
    return found


def _text(value: Any) -> str:  # noqa: ANN401 - the driver returns str, bytes or numbers
    return value.decode() if isinstance(value, bytes) else str(value)


def _number(value: Any) -> float:  # noqa: ANN401 - the same
    return 0.0 if value is None else float(_text(value))


def _count(value: Any) -> int:  # noqa: ANN401 - the same
    return int(_number(value))
