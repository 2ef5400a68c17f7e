"""The procedures through which an account writes that may set nothing itself, where they were made.

``tuner.servers.setupsql`` has their text. Each call is one statement in the place of one ``SET GLOBAL``, so
that what holds between two of these holds between two calls.
"""

from __future__ import annotations

from collections.abc import Sequence

import pymysql

from tuner.records import ENABLE_COUNTERS, SET_GLOBAL, Bounds
from tuner.servers.connect import Session

SCHEMA, SETS = SET_GLOBAL.split(".")
ENABLES = "enable_counters"
DEFINER = "innobrim_definer"
"""The account whose privileges the procedures use, and that nobody can log in with."""

THERE = (
    "(SELECT COUNT(*) FROM information_schema.routines"
    f" WHERE routine_schema = '{SCHEMA}' AND routine_name = '{SETS}' AND routine_type = 'PROCEDURE')"
)
"""Whether there is one that this account may call: the server shows an account no other."""

ASK = f"CALL {SET_GLOBAL}(NULL, NULL)"
"""Has the procedure say what it lets through: one row."""


def bounds(session: Session) -> Bounds | None:
    """Return what the procedure lets through; None where there is none, or none that this account may call.

    Raises:
        Unreachable: nothing answers in time.
    """
    try:
        rows = session.query(ASK)
        lowest, highest, capacity = (int(value) for value in rows[0])
    except (pymysql.MySQLError, IndexError, ValueError, TypeError):
        return None
    return Bounds(lowest, highest, capacity)


def setting(name: str, value: int, *, called: bool) -> str:
    """Return the statement that sets C or M.

    Args:
        name: of the variable.
        value: pages/s.
        called: by the procedure.
    """
    return f"CALL {SET_GLOBAL}('{name}', {value})" if called else f"SET GLOBAL {name} = {value}"


def enabling(*, called: bool) -> Sequence[str]:
    """Return the statements that turn InnoDB's counters on, by the procedure or without."""
    return (f"CALL {SCHEMA}.{ENABLES}()",) if called else ENABLE_COUNTERS
