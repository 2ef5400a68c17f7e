"""The claim on a schema of a server that is not ours: whose it is, and what C and M were before.

It is a table in that schema, so it goes with it. A bench that was killed leaves it behind, and the next one
on that server finds there what has to be put back.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from lab.servers.flavour import SCHEMA, LabServerError
from lab.servers.owner import mine, orphaned
from tuner.records import Capacity

MARKER = "innobrim_owner"
SHOWN = 5
SAME_START = 2.0
"""Between two readings of one start, seconds."""

Query = Callable[[str], Sequence[tuple[Any, ...]]]


class Mark(NamedTuple):
    """What the marker table says.

    Attributes:
        owner: the process that made it, as ``owner.mine`` has it.
        originals: C and M as they were found.
        started: when mysqld had started, Unix time.
    """

    owner: str
    originals: Capacity
    started: float


def take(query: Query, put_back: Callable[[Capacity], None], in_force: Capacity, started: float) -> Capacity:
    """Make the schema ours and return what C and M have to be put back to.

    Where a bench that is gone left it, C and M are put back first and the schema is dropped after that, so
    that being killed in between loses nothing.

    Args:
        query: runs a statement on the server.
        put_back: sets C and M.
        in_force: C and M now.
        started: when mysqld started, Unix time.

    Raises:
        LabServerError: the schema holds what is not ours, or another bench is at work in it.
    """
    objects = _objects(query)
    mark = _mark(query) if MARKER in objects else None
    refusal = objection(objects, mark)
    if refusal is not None:
        raise LabServerError(refusal)
    originals = in_force if mark is None else owed(mark, in_force, started)
    if originals != in_force:
        put_back(originals)
    if mark is not None:
        release(query)
    made = not query(f"SELECT 1 FROM information_schema.schemata WHERE schema_name = '{SCHEMA}'")
    if made:
        query(f"CREATE DATABASE {SCHEMA}")
    try:
        query(
            f"CREATE TABLE {SCHEMA}.{MARKER} (owner VARCHAR(255) PRIMARY KEY) CHARACTER SET latin1"
            " ENGINE = InnoDB"
            f" SELECT {_literal(mine())} AS owner, {originals.io_capacity} AS io_capacity,"
            f" {originals.io_capacity_max} AS io_capacity_max, {started:.0f} AS started"
        )
    except BaseException:
        if made:
            release(query)
        raise
    return originals


def owed(mark: Mark, in_force: Capacity, started: float) -> Capacity:
    """Return what C and M have to be put back to where a bench is gone: nothing after a start of mysqld."""
    return mark.originals if abs(mark.started - started) <= SAME_START else in_force


def objection(objects: Sequence[str], mark: Mark | None) -> str | None:
    """Return why a schema cannot be taken, None when it can.

    Args:
        objects: the names of its tables, views, routines and events.
        mark: what the marker table among them says.
    """
    if mark is None:
        if not objects:
            return None
        more = f" and {len(objects) - SHOWN} more" if len(objects) > SHOWN else ""
        return (
            f"the schema {SCHEMA} holds what is not ours: {', '.join(objects[:SHOWN])}{more}; the bench needs"
            " a schema of that name for itself alone, so rename or drop that one"
        )
    if mark.owner == mine() or orphaned(mark.owner):
        return None
    host, _, pid = mark.owner.split("|")[:3]
    return (
        f"another bench has the schema {SCHEMA}: process {pid} on {host}; let it end first. Where it is gone:"
        f" C/M were {mark.originals} before it; set them, and DROP SCHEMA {SCHEMA}"
    )


def release(query: Query) -> None:
    """Drop the schema, and with it the claim."""
    query(f"DROP DATABASE IF EXISTS {SCHEMA}")


def _objects(query: Query) -> list[str]:
    """Return the names of whatever is in the schema."""
    names = {"table": "table_schema", "routine": "routine_schema", "event": "event_schema"}
    found: list[str] = []
    for kind, schema in names.items():  # one statement for all would mix collations
        rows = query(f"SELECT {kind}_name FROM information_schema.{kind}s WHERE {schema} = '{SCHEMA}'")
        found += [str(name) for (name,) in rows]
    return sorted(found)


def _mark(query: Query) -> Mark | None:
    rows = query(f"SELECT owner, io_capacity, io_capacity_max, started FROM {SCHEMA}.{MARKER}")
    if len(rows) != 1 or str(rows[0][0]).count("|") != mine().count("|"):
        return None
    owner, io_capacity, io_capacity_max, started = rows[0]
    return Mark(str(owner), Capacity(int(io_capacity), int(io_capacity_max)), float(started))


def _literal(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "''") + "'"
