"""What the daemon's account may write, and what it wrote, as far as the server says."""

from __future__ import annotations

import re

import pymysql

from tuner.records import WRITE_PRIVILEGE
from tuner.servers.connect import Session, text
from tuner.servers.port import ServerError
from tuner.servers.procedure import DEFINER
from tuner.servers.writable import WRITABLE

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
