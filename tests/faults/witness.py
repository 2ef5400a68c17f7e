"""What the server itself saw the daemons say: books that no part of the daemon keeps."""

from __future__ import annotations

import contextlib
import re
from collections import Counter
from dataclasses import dataclass

from lab.servers.base import LabServer
from lab.servers.spec import MARIADB, MYSQL_56
from tuner.servers.hostlock import WRITER_LOCK
from tuner.servers.writing import WRITABLE

_LOCKED = f"SELECT IS_USED_LOCK('{WRITER_LOCK}')"
_CURRENT = "events_statements_current"
_HISTORY = "events_statements_history_long"
_KNOB = re.compile(rf"(?:SET GLOBAL |CALL innobrim\.set_global\(')({'|'.join(WRITABLE)})(?: = |', )(\d+)\)?$")
_HARMLESS = re.compile(
    r"(SELECT |CALL innobrim\.set_global\(NULL, NULL\)$|SET SESSION wait_timeout = |SET NAMES |SET AUTOCOMMIT"
    r"|ROLLBACK|KILL \d+$|SHOW )",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Said:
    """A statement of a daemon's, as the server kept it.

    Attributes:
        text: the statement.
        error: the server's error number, 0 where it was carried out.
    """

    text: str
    error: int


def _watching(server: LabServer) -> tuple[str, ...]:
    """Return the statements that have the server keep what the daemons say, and nothing else.

    MySQL 5.6 chooses by account whom it listens to at all, not whose history it keeps. MariaDB keeps no
    statements by itself.
    """
    schema, admin = "performance_schema", server.admin.user
    if server.kind is MYSQL_56:
        whom: tuple[str, ...] = (
            f"DELETE FROM {schema}.setup_actors",
            f"INSERT INTO {schema}.setup_actors VALUES ('%', '{server.daemon.user}', '%')",
            f"UPDATE {schema}.threads SET instrumented = 'NO' WHERE processlist_user = '{admin}'",
        )
    else:
        whom = (
            f"DELETE FROM {schema}.setup_actors WHERE user = '{admin}'",
            f"INSERT INTO {schema}.setup_actors VALUES ('%', '{admin}', '%', 'YES', 'NO')",
            f"UPDATE {schema}.threads SET history = 'NO' WHERE processlist_user = '{admin}'",
        )
    if server.kind is MARIADB:
        whom += (f"UPDATE {schema}.setup_consumers SET enabled = 'YES' WHERE name = '{_CURRENT}'",)
    return (
        *whom,
        f"UPDATE {schema}.setup_consumers SET enabled = 'YES' WHERE name = '{_HISTORY}'",
        f"TRUNCATE TABLE {schema}.{_HISTORY}",
    )


class Witness:
    """The server's statement history, kept for every account but the load's."""

    def __init__(self, server: LabServer) -> None:
        self._server = server

    def watch(self) -> None:
        """Keep what the daemons say from now on, and forget the rest; again after a restart of mysqld."""
        with contextlib.closing(self._server.connect()) as connection, connection.cursor() as cursor:
            for statement in _watching(self._server):
                cursor.execute(statement)

    def said(self) -> list[Said]:
        """Return what every account but the load's has said, in order.

        A statement of the load's that was under way when the books were opened may be in them as well.
        """
        rows = self._server.query(
            f"SELECT sql_text, mysql_errno FROM performance_schema.{_HISTORY} WHERE sql_text IS NOT NULL"
            " AND event_name NOT LIKE 'statement/sp/%'"  # what a procedure does is not said by anybody
            " AND thread_id NOT IN (SELECT thread_id FROM performance_schema.threads"
            f" WHERE processlist_user = '{self._server.admin.user}') ORDER BY timer_start"
        )
        return [Said(str(text), int(error)) for text, error in rows]

    def writes(self) -> Counter[tuple[str, int]]:
        """Return how often each knob was set to each value, as far as the server did it.

        Raises:
            AssertionError: something was said that is on no published list.
        """
        found: Counter[tuple[str, int]] = Counter()
        for one in self.said():
            knob = _KNOB.match(one.text)
            assert knob or _HARMLESS.match(one.text), f"11: not on the published list: {one.text}"
            if knob and not one.error:
                found[knob[1], int(knob[2])] += 1
        return found


def lock_holder(server: LabServer) -> int | None:
    """Return the session that holds the writer lock."""
    found = server.query(_LOCKED)[0][0]
    return None if found is None else int(found)
