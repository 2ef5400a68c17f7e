"""What a server wrote to its files since it started: pages on one side, redo and binary log on the other."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

import pymysql
from msgspec import Meta, Struct

from tuner.servers.session import Session

BY_FILE = (
    "SELECT event_name, count_write + count_misc FROM performance_schema.file_summary_by_event_name"
    " WHERE event_name IN ('wait/io/file/innodb/innodb_data_file', 'wait/io/file/innodb/innodb_dblwr_file',"
    " 'wait/io/file/innodb/innodb_log_file', 'wait/io/file/sql/binlog')"
)
"""Writes and syncs of each kind of file; a few opens and closes among them do not matter."""

DATA = ("wait/io/file/innodb/innodb_data_file", "wait/io/file/innodb/innodb_dblwr_file")
LOG, BINARY_LOG = "wait/io/file/innodb/innodb_log_file", "wait/io/file/sql/binlog"

COUNTED = ("Innodb_data_writes", "Innodb_log_writes", "Innodb_os_log_fsyncs")
CREATED = "Innodb_pages_created"
STATUS = f"SHOW GLOBAL STATUS WHERE Variable_name IN ({', '.join(map(repr, (*COUNTED, CREATED)))})"
VARIABLES = "SHOW GLOBAL VARIABLES WHERE Variable_name IN ('log_bin', 'sync_binlog', 'version')"


class DeviceWrites(Struct, frozen=True):
    """Writes and syncs, as the server counts them; a sync writes the file system's journal at least once."""

    pages: Annotated[int | None, Meta(description="of data files and the doublewrite buffer; null: not told")]
    redo: Annotated[int, Meta(description="of the redo log")]
    binary_log: Annotated[
        int | None, Meta(description="of the binary log; null: not counted, or there is none")
    ]
    logs_binary: Annotated[bool, Meta(description="there is a binary log")] = False
    sync_binlog: Annotated[int, Meta(description="sync_binlog")] = 0
    created: Annotated[int, Meta(description="new pages, each of which is written whatever the redo log")] = 0

    @property
    def logs(self) -> int:
        """Return those of redo and binary log."""
        return self.redo + (self.binary_log or 0)

    def since(self, earlier: DeviceWrites) -> DeviceWrites | None:
        """Return what came after an earlier count; None where the server counts in another way by now."""
        found = DeviceWrites(
            _gone_up(self.pages, earlier.pages),
            self.redo - earlier.redo,
            _gone_up(self.binary_log, earlier.binary_log),
            logs_binary=self.logs_binary,
            sync_binlog=self.sync_binlog,
            created=max(0, self.created - earlier.created),
        )
        return None if found.redo < 0 else found


def device_writes(session: Session) -> DeviceWrites | None:
    """Return the counts of now: by file where performance_schema has them, else by status variables.

    MariaDB's status variables count the log's writes otherwise (11.8.9: more than all that are written), so
    that they do not tell pages from them.

    None where the account may not see them, or the server does not count.

    Raises:
        Unreachable: nothing answers in time.
    """
    variables = _ask(session, VARIABLES)
    logs_binary = variables.get("log_bin", "OFF") in {"ON", "1"}
    sync = int(variables.get("sync_binlog", "0"))
    status = {name: int(count) for name, count in _ask(session, STATUS).items()}
    created = status.get(CREATED, 0)
    by_file = {name: int(count) for name, count in _ask(session, BY_FILE).items()}
    if by_file.get(LOG):
        return DeviceWrites(
            sum(by_file.get(name, 0) for name in DATA),
            by_file[LOG],
            by_file.get(BINARY_LOG, 0) if logs_binary else None,
            logs_binary=logs_binary,
            sync_binlog=sync,
            created=created,
        )
    if not status.get("Innodb_log_writes"):
        return None
    writes, redo, syncs = (status.get(name, 0) for name in COUNTED)
    return DeviceWrites(
        None if "mariadb" in variables.get("version", "").lower() else max(0, writes - redo),
        redo + syncs,
        None,
        logs_binary=logs_binary,
        sync_binlog=sync,
        created=created,
    )


def _gone_up(now: int | None, earlier: int | None) -> int | None:
    return None if now is None or earlier is None or now < earlier else now - earlier


def _ask(session: Session, statement: str) -> Mapping[str, str]:
    try:
        return session.pairs(statement)
    except pymysql.MySQLError:
        return {}
