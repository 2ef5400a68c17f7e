"""What may be written, what the daemon's account may write, and by which statement.

An administrator may have made procedures through which an account writes that may set nothing itself;
``tuner.servers.setupsql`` has their text. Each call is one statement in the place of one ``SET GLOBAL``, so
that what holds between two of these holds between two calls.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import pymysql

from tuner.records import (
    ENABLE_COUNTERS,
    GROW_REDO_LOG,
    LOW_WATER_MARK,
    SET_GLOBAL,
    SET_LOW_WATER,
    WRITE_PRIVILEGE,
    Bounds,
    percent,
)
from tuner.servers.failures import CUT_SHORT, FIXES, HANGS, NOT_READY, error_number, in_words
from tuner.servers.port import ServerError, Unreachable
from tuner.servers.session import Session
from tuner.servers.values import plausible, text, whole

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
        Unreachable: nothing answers in time, or no statement now.
    """
    try:
        rows = session.query(ASK)
        lowest, highest, capacity = (whole(value) for value in rows[0])
        return plausible(Bounds(lowest, highest, capacity))
    except pymysql.MySQLError as error:
        if (number := error_number(error)) in CUT_SHORT or number == NOT_READY:
            raise Unreachable(f"{session.endpoint}: {in_words(error)}", FIXES.get(number, HANGS)) from error
    except (IndexError, ValueError, TypeError, ArithmeticError):
        pass
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


WRITABLE = ("innodb_io_capacity", "innodb_io_capacity_max")
"""The variables that the loop may write, itself or by the procedure; with ``enable_counters`` also
innodb_monitor_enable."""

WITH_OPTION = (LOW_WATER_MARK,)
"""What it may write besides with ``loop.low_water_mark``, and to put the operator's value back."""

REDO_LOG = ("innodb_redo_log_capacity", "innodb_log_file_size")
"""What ``innobrim redo`` may write where a person asks for it, and a daemon with ``redo.grow_to``; never the
loop."""


def must_be_writable(name: str, *, optional: bool) -> None:
    """Refuse any variable that is not on the list.

    Args:
        name: of the variable.
        optional: those that need an option may be written, or are to be put back.

    Raises:
        ServerError: it is not; the message says what is.
    """
    allowed = (*WRITABLE, *WITH_OPTION) if optional else WRITABLE
    if name not in allowed:
        raise ServerError(f"{name} may not be written; what may: {', '.join(allowed)}")


def resizing(variable: str, size: int, *, called: bool) -> str:
    """Return the statement that sets the size of the redo log, bytes; by the procedure that only grows it.

    Raises:
        ServerError: the variable is none of a redo log's.
    """
    if variable not in REDO_LOG:
        raise ServerError(f"{variable} may not be written; what may: {', '.join(REDO_LOG)}")
    return f"CALL {GROW_REDO_LOG}({size})" if called else f"SET GLOBAL {variable} = {size}"


SET_BY_US = (
    "SELECT variable_name FROM performance_schema.variables_info "
    f"WHERE variable_name IN ({', '.join(repr(name) for name in WRITABLE)}) "
    f"AND set_user IN (SUBSTRING_INDEX(USER(), '@', 1), '{DEFINER}')"
)
"""Those that this account was the last to set since mysqld started, itself or by the procedure."""

ALLOWING = re.compile(rf"^GRANT (?=.*\b({WRITE_PRIVILEGE}|SUPER|ALL PRIVILEGES)\b).* ON \*\.\*$")
"""A grant, up to its account, that lets C and M be written; active roles' are among those shown."""


def may_write(session: Session) -> bool | None:
    """Tell whether the account may set C and M itself; None where the server does not say."""
    try:
        grants = [text(row[0]) for row in session.query("SHOW GRANTS")]
    except (ServerError, pymysql.MySQLError, IndexError):
        return None
    return any(ALLOWING.search(grant.partition(" TO ")[0]) for grant in grants)


def set_by_us(session: Session) -> frozenset[str]:
    """Return which of C and M this account set last; none where the server does not say."""
    try:
        return frozenset(text(name) for (name,) in session.query(SET_BY_US))
    except (ServerError, pymysql.MySQLError, ValueError):
        return frozenset()
