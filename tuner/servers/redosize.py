"""The size of the redo log, set while the server runs: on a connection of its own, and never in the loop."""

from __future__ import annotations

import pymysql
from pymysql.constants import ER

from tuner.records import GROW_REDO_LOG, Facts
from tuner.servers.failures import error_number, in_words
from tuner.servers.port import ServerError, Unreachable
from tuner.servers.session import Session
from tuner.servers.values import text, whole
from tuner.servers.writing import resizing
from tuner.system.printable import printable

GRACE_SECONDS = 10.0
"""So long is the server waited for beyond its own limit: MariaDB looks at that every five seconds."""

STATEMENT_TIMEOUT = 1969
"""MariaDB's error for a statement that reached ``max_statement_time``; it keeps the log that it had."""

ASK = f"CALL {GROW_REDO_LOG}(NULL)"
"""Has the procedure say up to which size it grows a redo log: one row."""

DENIED = frozenset({ER.SPECIFIC_ACCESS_DENIED_ERROR, ER.ACCESS_DENIED_ERROR, ER.DBACCESS_DENIED_ERROR})


class NotSetError(ServerError):
    """Nothing was set: the server has the log that it had."""


class DeniedError(NotSetError):
    """The account lacks the privilege."""


class TimeUpError(NotSetError):
    """The server gave up in time."""


class OtherSizeError(ServerError):
    """The server took another size.

    Attributes:
        there: bytes.
    """

    def __init__(self, message: str, there: int) -> None:
        super().__init__(message)
        self.there = there


def limit(session: Session) -> int | None:
    """Return up to which size a procedure grows the redo log, bytes; None where this account may call none.

    Raises:
        Unreachable: nothing answers in time.
    """
    try:
        return whole(session.query(ASK)[0][0])
    except (pymysql.MySQLError, IndexError, ValueError, TypeError, ArithmeticError):
        return None


def resize(
    session: Session, identity: str, facts: Facts, size: int, seconds: float, *, called: bool = False
) -> None:
    """Set the size of the redo log, and read it back.

    Args:
        session: of its own; a MariaDB answers only when the new log is in place.
        identity: expression for what tells this server from all others.
        facts: of the server that is meant.
        size: bytes.
        seconds: after which a MariaDB gives up.
        called: by the procedure of ``innobrim setup-sql``.

    Raises:
        NotSetError: the server refused, the account may not (DeniedError), a MariaDB gave up (TimeUpError),
            or another server answers.
        OtherSizeError: the server took another size than it was given.
        Unreachable: no answer, so that nobody knows.
    """
    statement = resizing(facts.redo_variable, size, called=called)
    try:
        named = printable(text(session.query(f"SELECT {identity}")[0][0]))
        if named not in facts.names:
            raise NotSetError(f"{named} answers, and {facts.identity} is meant: nothing is written")
        if facts.family == "mariadb":
            session.query(f"SET SESSION max_statement_time = {seconds:g}")
        session.query(statement)
        there = whole(session.query(f"SELECT @@GLOBAL.{facts.redo_variable}")[0][0])
    except pymysql.MySQLError as error:
        number = error_number(error)
        if number in DENIED:
            raise DeniedError(in_words(error)) from error
        if number == STATEMENT_TIMEOUT:
            raise TimeUpError(in_words(error)) from error
        raise NotSetError(in_words(error)) from error
    except (IndexError, ValueError, TypeError, ArithmeticError) as error:
        raise Unreachable(f"{session.endpoint}: unexpected answer: {in_words(error)}") from error
    if there != size:
        raise OtherSizeError(f"{facts.redo_variable} is {there} after {statement}", there)


def under_way(session: Session, facts: Facts) -> bool:
    """Tell whether a statement sets the size right now, which MariaDB shows nowhere else.

    Raises:
        Unreachable: nothing answers in time.
    """
    try:
        rows = session.query(
            "SELECT COUNT(*) FROM information_schema.processlist"
            f" WHERE (info LIKE 'SET GLOBAL {facts.redo_variable} %' OR info LIKE 'CALL {GROW_REDO_LOG}(%')"
            " AND id <> CONNECTION_ID()"
        )
        return whole(rows[0][0]) > 0
    except (pymysql.MySQLError, IndexError, ValueError, TypeError, ArithmeticError):
        return False
