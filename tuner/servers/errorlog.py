"""How long the last start took where it recovered from a crash, by the server's own error log.

Codes and words: share/messages_to_error_log.txt of the server. With ``log_error_verbosity`` below 3 InnoDB
says nothing of a recovery; the server's own line follows, where it had a binary log to recover with.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence

import pymysql

from tuner.servers.connect import Session, text
from tuner.servers.port import Unreachable

STARTED = "MY-013576"
"""InnoDB initialization has started."""

ENDED = "MY-013577"
"""InnoDB initialization has ended."""

CRASHED = ("MY-012551", "MY-012552")
"""Not shut down normally; starting crash recovery. A clean start applies a batch of redo records, too."""

CRASHED_LATER = "MY-010229"
"""Starting XA crash recovery: comes after InnoDB's own."""

_CODES = (STARTED, ENDED, *CRASHED, CRASHED_LATER)
QUERY = (
    "SELECT ERROR_CODE, UNIX_TIMESTAMP(LOGGED) FROM performance_schema.error_log WHERE ERROR_CODE IN "
    f"({', '.join(repr(code) for code in _CODES)}) ORDER BY LOGGED DESC LIMIT 64"
)


def recovery_seconds(session: Session) -> float | None:
    """Return the time of InnoDB's last start where that was a recovery; None where clean or not visible."""
    with contextlib.suppress(Unreachable, pymysql.MySQLError, ValueError, TypeError, ArithmeticError):
        rows = session.query(QUERY)
        return last_recovery([(text(code), float(text(logged))) for code, logged in reversed(rows)])
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
