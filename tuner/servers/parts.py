"""What else goes on in a server: replication, locks, clones, latency; one statement for all of it.

Each part reads tables of the Performance Schema that an account may or may not look at.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pymysql
from msgspec import Struct

from tuner.printable import printable
from tuner.servers.connect import Session, text, whole

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
    role_known: bool = False


class Part(Struct, frozen=True):
    """One part of the surroundings.

    Attributes:
        statement: rows of name and two values, to be joined with those of other parts.
        found: turns its rows, by name, into fields of ``Around``.
        fields: the names of these.
    """

    statement: str
    found: Callable[[Mapping[str, Row]], dict[str, Any]]
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


_EVENTS = ", ".join(repr(name) for name in WRITES)

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

ROLE = frozenset({"replica", "group"})
"""The parts that tell the server's role: asked for until they answer."""


def ask(session: Session, parts: Mapping[str, Part], names: Sequence[str]) -> dict[str, Any]:
    """Return fields of ``Around``.

    Raises:
        Unreachable: nothing answers in time.
        pymysql.MySQLError: the server refused, or gave an answer without sense.
    """
    rows = session.query(" UNION ALL ".join(parts[name].statement for name in names))
    found: dict[str, Any] = {}
    try:
        by_name = {text(name): (first, second) for name, first, second in rows}
        for name in names:
            found |= parts[name].found(by_name)
    except (KeyError, ValueError, TypeError, ArithmeticError) as error:
        raise pymysql.DataError(0, f"unexpected answer: {error}") from error
    return found


def _number(value: object) -> float:
    return 0.0 if value is None else float(text(value))


def counted(value: object) -> int:
    """Return a sum or a count; of no rows it is 0."""
    return 0 if value is None else whole(value)
