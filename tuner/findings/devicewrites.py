"""What a server wrote to its files in a while: pages on one side, redo and binary log on the other."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from msgspec import Meta, Struct

from tuner.findings.combining import Figure
from tuner.servers.adapter import OFF
from tuner.servers.survey import Survey

COUNTED = (
    *("writes:", "syncs:", "Innodb_data_writes", "Innodb_log_writes", "Innodb_os_log_fsyncs"),
    "Innodb_pages_created",
)
"""Beginnings of the counters that are gone by."""


A_SYNC = (1, 2, 4)
"""Writes of the device for a sync of a log in the page cache: least, likeliest, most.

One for the log itself, however many calls wrote it, and those of the file system's journal. MySQL 9.7.4 made
20 write calls a sync, and 2.4 writes of the device (docs/results/redo-sizing.md).
"""


class DeviceWrites(Struct, frozen=True):
    """Writes of the device, by what the server counts of its files."""

    pages: Annotated[int | None, Meta(description="of data files and the doublewrite buffer; null: not told")]
    redo: Annotated[Figure, Meta(description="of the redo log")]
    binary_log: Annotated[
        Figure | None, Meta(description="of the binary log; null: not counted, or there is none")
    ]
    logs_binary: Annotated[bool, Meta(description="there is a binary log")] = False
    sync_binlog: Annotated[int, Meta(description="sync_binlog")] = 0
    created: Annotated[int, Meta(description="new pages, each of which is written whatever the redo log")] = 0

    @property
    def pages_share(self) -> Figure | None:
        """Return the share of the writes that are of pages; None where that is not told."""
        logs = [self.redo, *([] if self.binary_log is None else [self.binary_log])]
        if not self.pages or sum(one.high for one in logs) <= 0.0:
            return None
        low, likeliest, high = (
            self.pages / (self.pages + sum(getattr(one, name) for one in logs))
            for name in ("high", "likeliest", "low")
        )
        return Figure(low, likeliest, high)


def log_writes(calls: float, syncs: float, *, direct: bool) -> Figure:
    """Return the writes of the device for a log's write calls and syncs.

    Args:
        calls: write calls.
        syncs: syncs of its files.
        direct: each call is a write of the device, past the page cache.
    """
    if direct:
        return Figure(float(calls), float(calls + syncs), float(calls + A_SYNC[-1] * syncs))
    return Figure(*(float(min(calls + syncs, writes * syncs)) for writes in A_SYNC))


def past_the_cache(variables: Mapping[str, str]) -> bool:
    """Tell whether each write call of the redo log is one of the device, by the server's variables."""
    synced = variables.get("innodb_flush_method", "").upper() == "O_DSYNC"
    return synced or variables.get("innodb_log_file_buffering", "").upper() in OFF


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

    def there(kind: str) -> bool:
        return bool(after.counters.get(f"writes:{kind}")) and f"writes:{kind}" in grown

    def pages_of(kind: str) -> int:
        return grown[f"writes:{kind}"] + grown.get(f"syncs:{kind}", 0) if there(kind) else 0

    def log_of(kind: str, *, direct: bool = False) -> Figure | None:
        if not there(kind):
            return None
        calls, syncs = grown[f"writes:{kind}"], grown.get(f"syncs:{kind}")
        return None if syncs is None else log_writes(calls, syncs, direct=direct)

    direct = past_the_cache(after.variables)
    logs_binary = after.variables.get("log_bin", "OFF").upper() in {"ON", "1"}
    sync = after.variables.get("sync_binlog", "")
    redo, binary_log = log_of("redo", direct=direct), log_of("binlog") if logs_binary else None
    pages: int | None = pages_of("data") + pages_of("doublewrite")
    if redo is None:
        if "Innodb_log_writes" not in grown or "Innodb_data_writes" not in grown:
            return None
        writes = grown["Innodb_log_writes"]
        pages = None if family == "mariadb" else max(0, grown["Innodb_data_writes"] - writes)
        redo = log_writes(writes, grown.get("Innodb_os_log_fsyncs", 0), direct=direct)
        binary_log = None
    return DeviceWrites(
        pages,
        redo,
        binary_log,
        logs_binary=logs_binary,
        sync_binlog=int(sync) if sync.isdecimal() else 0,
        created=grown.get("Innodb_pages_created", 0),
    )
