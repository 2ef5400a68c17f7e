"""What a server wrote to its files in a while: pages on one side, redo and binary log on the other."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

from tuner.servers.survey import Survey

COUNTED = (
    *("writes:", "syncs:", "Innodb_data_writes", "Innodb_log_writes", "Innodb_os_log_fsyncs"),
    "Innodb_pages_created",
)
"""Beginnings of the counters that are gone by."""


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


def device_writes(before: Survey, after: Survey, family: str) -> DeviceWrites | None:
    """Return what was written between two looks: by file where performance_schema counts, else by status.

    MariaDB's status variables count the log's writes otherwise (11.8.9: more than all that are written), so
    that they do not tell pages from them.

    None where the account may not see it, or the server does not count it.
    """
    grown = {
        name: count - before.counters[name]
        for name, count in after.counters.items()
        if name.startswith(COUNTED) and name in before.counters
    }
    if min(grown.values(), default=-1) < 0:
        return None

    def of(kind: str) -> int | None:
        there = after.counters.get(f"writes:{kind}") and f"writes:{kind}" in grown
        return grown[f"writes:{kind}"] + grown.get(f"syncs:{kind}", 0) if there else None

    logs_binary = after.variables.get("log_bin", "OFF").upper() in {"ON", "1"}
    sync = after.variables.get("sync_binlog", "")
    redo, binary_log = of("redo"), of("binlog") if logs_binary else None
    pages: int | None = (of("data") or 0) + (of("doublewrite") or 0)
    if redo is None:
        if "Innodb_log_writes" not in grown or "Innodb_data_writes" not in grown:
            return None
        writes = grown["Innodb_log_writes"]
        pages = None if family == "mariadb" else max(0, grown["Innodb_data_writes"] - writes)
        redo, binary_log = writes + grown.get("Innodb_os_log_fsyncs", 0), None
    return DeviceWrites(
        pages,
        redo,
        binary_log,
        logs_binary=logs_binary,
        sync_binlog=int(sync) if sync.isdecimal() else 0,
        created=grown.get("Innodb_pages_created", 0),
    )
