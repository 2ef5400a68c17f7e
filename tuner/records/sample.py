"""What one reading of a server says."""

from __future__ import annotations

from typing import Annotated

from msgspec import Struct

from tuner.records.field import field
from tuner.records.server import Capacity

STRANGER = "stranger "
"""How the name of a holder of the writer lock begins that is no InnoBrim."""


class Sample(Struct, frozen=True, tag="sample"):
    """One reading of the server, counters as they stand."""

    monotonic: Annotated[float, field("when the reading ended, on the daemon's monotonic clock", "seconds")]
    wall: Annotated[float, field("when the reading ended, Unix time", "seconds")]
    read_seconds: Annotated[float, field("how long the reading took", "seconds")]
    identity: Annotated[str, field("server_uuid at this reading")]
    uptime: Annotated[float, field("server uptime", "seconds", "gauge")]
    io_capacity: Annotated[int, field("innodb_io_capacity in force", "pages/s", "gauge", "IO Capacity")]
    io_capacity_max: Annotated[
        int, field("innodb_io_capacity_max in force", "pages/s", "gauge", "IO Capacity Max")
    ]
    redo_capacity: Annotated[int, field("redo capacity in force", "bytes", "gauge")]
    flush_limit: Annotated[
        int, field("flush limit: the age at which the server flushes at full rate", "bytes", "gauge")
    ]
    sync_point: Annotated[int, field("modified age where sync flushing starts", "bytes", "gauge")]
    stall_point: Annotated[
        int, field("checkpoint age where writers block", "bytes", "gauge", "Max Checkpoint Age")
    ]
    lsn_current: Annotated[int, field("current LSN", "bytes", "counter")]
    lsn_oldest: Annotated[
        int, field("oldest modification in the flush lists; current LSN when none is dirty", "bytes")
    ]
    lsn_checkpoint: Annotated[int, field("last checkpoint LSN", "bytes")]
    redo_logical_size: Annotated[int, field("redo held for any consumer", "bytes", "gauge")]
    redo_enabled: Annotated[bool, field("redo logging is on")]
    resizing: Annotated[bool, field("a redo capacity change is under way")]
    adaptive_flushing: Annotated[bool, field("innodb_adaptive_flushing")]
    adaptive_flushing_lwm: Annotated[float, field("innodb_adaptive_flushing_lwm", "percent")]
    flush_sync: Annotated[bool, field("innodb_flush_sync")]
    pages_adaptive: Annotated[int, field("pages flushed by adaptive flushing", "pages", "counter")]
    pages_sync: Annotated[int, field("pages flushed by sync flushing", "pages", "counter", "Sync Flush")]
    pages_background: Annotated[int, field("pages flushed while idle", "pages", "counter")]
    pages_lru: Annotated[int, field("pages flushed from the LRU tail", "pages", "counter")]
    pages_neighbour: Annotated[int, field("pages flushed as neighbours", "pages", "counter")]
    pages_dirty: Annotated[int, field("dirty pages in the buffer pool", "pages", "gauge")]
    pages_total: Annotated[int, field("pages in the buffer pool", "pages", "gauge")]
    flush_percentage: Annotated[
        int,
        field("the server's own LSN flush percentage (buffer_flush_pct_for_lsn)", "percent of C", "gauge"),
    ]
    flush_requested: Annotated[
        int, field("pages the flush law asked for in its last round", "pages", "gauge")
    ]
    flush_by_age: Annotated[int, field("pages the server expects to flush for age", "pages", "gauge")]
    lsn_average_rate: Annotated[int, field("the server's smoothed redo rate", "bytes/s", "gauge")]
    free_page_waits: Annotated[int, field("waits for a free page", "1", "counter")]
    redo_space_waits: Annotated[int, field("writers that waited for redo space", "1", "counter")]
    row_changes: Annotated[int, field("rows inserted, updated and deleted", "rows", "counter", "Row Changes")]
    commits: Annotated[
        int, field("engine commits; with the binary log two a writing transaction", "1", "counter")
    ]
    writer: Annotated[bool, field("no other daemon holds the server's writer lock")] = True
    lock: Annotated[
        str,
        field(
            "who else has the writer lock, after the word stranger where that is no InnoBrim, or why it is "
            "one of the daemon's host alone; else empty"
        ),
    ] = ""
    degraded: Annotated[
        bool,
        field(
            "the InnoDB counters are off: ages are the checkpoint's, no sync flushing is seen", "", "gauge"
        ),
    ] = False
    read_only: Annotated[bool, field("read_only", "", "gauge")] = False
    super_read_only: Annotated[bool, field("super_read_only", "", "gauge")] = False
    replica: Annotated[bool, field("a replication applier runs on this server", "", "gauge")] = False
    replica_lag: Annotated[
        float | None,
        field("age of the transaction that the applier is at; none where unknown", "seconds", "gauge"),
    ] = None
    group_role: Annotated[
        str, field("this member's role in group replication; empty where it is in no group")
    ] = ""
    role_known: Annotated[
        bool, field("replica and group_role were answered, or refused for good; false: not yet")
    ] = True
    dirty_limit: Annotated[
        float,
        field("innodb_max_dirty_pages_pct: above it the server flushes whatever the age", "percent", "gauge"),
    ] = 90.0
    write_statements: Annotated[
        int | None,
        field("writing statements and commits ended; none where they are not counted", "1", "counter"),
    ] = None
    write_time: Annotated[float | None, field("time that these took", "seconds", "counter")] = None
    select_statements: Annotated[
        int | None, field("SELECT statements begun; none where they are not counted", "1", "counter")
    ] = None
    change_statements: Annotated[
        int | None,
        field(
            "INSERT, UPDATE, DELETE, REPLACE and LOAD DATA begun; none where they are not counted",
            "1",
            "counter",
        ),
    ] = None
    ddl_statements: Annotated[int, field("ALTER TABLE, CREATE and DROP INDEX, OPTIMIZE", "1", "counter")] = 0
    drop_statements: Annotated[int, field("DROP TABLE, DROP DATABASE, TRUNCATE", "1", "counter")] = 0
    undo_truncating: Annotated[bool, field("an undo tablespace is being truncated", "", "gauge")] = False
    pool_loading: Annotated[
        bool, field("the buffer pool's content of the last run is being loaded", "", "gauge")
    ] = False
    cloning: Annotated[bool, field("a clone is under way", "", "gauge")] = False
    backup_locked: Annotated[bool, field("somebody holds LOCK INSTANCE FOR BACKUP", "", "gauge")] = False
    read_locked: Annotated[bool, field("somebody holds FLUSH TABLES WITH READ LOCK", "", "gauge")] = False
    low_water: Annotated[
        int | None,
        field("modified age below which adaptive flushing does nothing; none in older traces", "bytes"),
    ] = None
    flush_law: Annotated[
        str, field("the flush law in force, where a variable says which; empty: the server's only one")
    ] = ""

    low_water_mark: Annotated[
        int | None,
        field(
            "innodb_max_dirty_pages_pct_lwm where it decides whether the age counts; none elsewhere",
            "percent/1000000",
        ),
    ] = None

    @property
    def stranger(self) -> bool:
        """Tell whether the writer lock is held by a session that is no InnoBrim's."""
        return not self.writer and self.lock.startswith(STRANGER)

    @property
    def low_water_age(self) -> float:
        """Return the modified age below which adaptive flushing does nothing, bytes."""
        if self.low_water is not None:
            return self.low_water
        return self.stall_point * self.adaptive_flushing_lwm / 100.0

    @property
    def modified_age(self) -> int:
        """Return current LSN minus oldest modification, bytes, never negative."""
        return max(0, self.lsn_current - self.lsn_oldest)

    @property
    def checkpoint_age(self) -> int:
        """Return the uncheckpointed bytes: current LSN minus last checkpoint, never negative."""
        return max(0, self.lsn_current - self.lsn_checkpoint)

    @property
    def age_ratio(self) -> float:
        """Return x, the modified age over the flush limit."""
        return self.modified_age / self.flush_limit

    @property
    def capacity(self) -> Capacity:
        """Return the pair in force."""
        return Capacity(self.io_capacity, self.io_capacity_max)


class Missed(Struct, frozen=True, tag="missed"):
    """A reading that failed."""

    monotonic: float
    wall: float
    reason: str
