"""The procedures through which an account writes that may set nothing itself, where they were made.

``tuner.servers.setupsql`` has their text. Each call is one statement in the place of one ``SET GLOBAL``, so
that what holds between two of these holds between two calls.
"""

from __future__ import annotations

from collections.abc import Sequence

import pymysql

from tuner.records import ENABLE_COUNTERS, LOW_WATER_MARK, SET_GLOBAL, SET_LOW_WATER, Bounds, percent
from tuner.servers.connect import Session, whole
from tuner.servers.sound import sound_numbers

SCHEMA, SETS = SET_GLOBAL.split(".")
ENABLES = "enable_counters"
DEFINER = "innobrim_definer"
"""The account whose privileges the procedures use, and that nobody can log in with."""

THERE = (
    "(SELECT COUNT(*) FROM information_schema.routines"
    f" WHERE routine_schema = '{SCHEMA}' AND routine_name = '{SETS}' AND routine_type = 'PROCEDURE')"
)
"""Whether there is one that this account may call: the server shows an account no other."""

LOW_WATER_THERE = THERE.replace(f"'{SETS}'", f"'{SET_LOW_WATER.split('.')[1]}'")
"""The same of the one for the low-water mark; asked only with ``loop.low_water_mark``."""

ASK = f"CALL {SET_GLOBAL}(NULL, NULL)"
"""Has the procedure say what it lets through: one row."""


def bounds(session: Session) -> Bounds | None:
    """Return what the procedure lets through; None where there is none, or none that this account may call.

    Raises:
        Unreachable: nothing answers in time.
    """
    try:
        rows = session.query(ASK)
        lowest, highest, capacity = (whole(value) for value in rows[0])
        return sound_numbers(Bounds(lowest, highest, capacity))
    except (pymysql.MySQLError, IndexError, ValueError, TypeError, ArithmeticError):
        return None


def sets_low_water(session: Session) -> bool:
    """Tell whether there is a procedure for the low-water mark that this account may call.

    Raises:
        Unreachable: nothing answers in time.
    """
    try:
        return whole(session.query(f"SELECT {LOW_WATER_THERE}")[0][0]) > 0
    except (pymysql.MySQLError, IndexError, ValueError, TypeError, ArithmeticError):
        return False


def setting(name: str, value: int, *, called: bool) -> str:
    """Return the statement that sets C, M or the low-water mark.

    Args:
        name: of the variable.
        value: pages/s; of the mark, millionths of a percent.
        called: by the procedure, of which the mark's knows 0 and 0.001 alone.
    """
    if name == LOW_WATER_MARK:
        return (
            f"CALL {SET_LOW_WATER}({int(value > 0)})" if called else f"SET GLOBAL {name} = {percent(value)}"
        )
    return f"CALL {SET_GLOBAL}('{name}', {value})" if called else f"SET GLOBAL {name} = {value}"


def enabling(*, called: bool) -> Sequence[str]:
    """Return the statements that turn InnoDB's counters on, by the procedure or without."""
    return (f"CALL {SCHEMA}.{ENABLES}()",) if called else ENABLE_COUNTERS
