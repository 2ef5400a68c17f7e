"""A server of a few tables with round figures, for tests that change one of them."""

from __future__ import annotations

from tests.factory import C_NAME, M_NAME, MEBIBYTE
from tuner.records import LOW_WATER_MARK
from tuner.servers.adapter import DDL, DROPS
from tuner.servers.families.redo_capacity import RedoCapacityAdapter
from tuner.servers.fixture import STARTED, Answer, Fixture, Reading

COUNTERS = RedoCapacityAdapter().counters
STATUS = {
    "Innodb_redo_log_capacity_resized": str(100 * MEBIBYTE),
    "Innodb_redo_log_resize_status": "OK",
    "Innodb_redo_log_logical_size": "70000000",
    "Innodb_redo_log_enabled": "ON",
    "Innodb_rows_inserted": "10",
    "Innodb_rows_updated": "20",
    "Innodb_rows_deleted": "30",
    "Innodb_buffer_pool_wait_free": "4",
    "Innodb_buffer_pool_pages_dirty": "5000",
    "Innodb_buffer_pool_pages_total": "65536",
    "Handler_commit": "99",
    "Uptime": "3600",
    "Innodb_redo_log_current_lsn": "10000500",
    "Innodb_redo_log_checkpoint_lsn": "8000000",
    "Innodb_buffer_pool_pages_flushed": "12345",
    "Innodb_buffer_pool_load_status": "Buffer pool(s) load completed at 260101 12:00:00",
    "Innodb_undo_tablespaces_active": "2",
    "Innodb_undo_tablespaces_total": "2",
    **dict.fromkeys((*DDL, *DROPS), "1"),
}
VARIABLES = {
    "server_uuid": "11111111-2222-3333-4444-555555555555",
    "version": "9.7.4",
    "version_comment": "MySQL Community Server - GPL",
    "innodb_page_size": "16384",
    "innodb_read_only": "OFF",
    "innodb_redo_log_capacity": "104857600",
    "innodb_thread_concurrency": "0",
    C_NAME: "225",
    M_NAME: "450",
    "innodb_adaptive_flushing": "ON",
    "innodb_adaptive_flushing_lwm": "10",
    "innodb_flush_sync": "ON",
    "innodb_max_dirty_pages_pct": "90.000000",
    LOW_WATER_MARK: "0.000000",
    "read_only": "OFF",
    "super_read_only": "OFF",
}
QUIET: dict[str, tuple[tuple[str | None, ...], ...]] = {
    "replica": (("replica", None, "0"), ("worker", None, None), ("coordinator", None, None)),
    "group": (),
    "latency": (("latency", "1000", "2500000000000"),),
    "clone": (("clone", "0", None),),
    "locks": (("locks", None, None),),
}
"""The surroundings of a server that replicates nothing and that nobody disturbs."""

GIVEN = Answer(rows=(("1",),))


def plain() -> Fixture:
    """Return a MySQL whose counters all show 7 but for its ages."""
    counts = dict.fromkeys(COUNTERS, "7") | {
        "log_lsn_current": "10000000",
        "log_lsn_buf_pool_oldest_approx": "9000000",
    }
    metrics = {name: ("enabled", count) for name, count in counts.items()}
    parts = {name: Answer(rows=rows) for name, rows in QUIET.items()}
    return Fixture(
        synthetic=True,
        built_from=(),
        note="",
        program="",
        scrubbed=(),
        state_column="status",
        refused={},
        privileges=(),
        locks={"GET_LOCK": GIVEN, "RELEASE_LOCK": GIVEN, "IS_USED_LOCK": Answer()},
        looks={RedoCapacityAdapter.title: {STARTED: Answer(), **parts}},
        readings=(Reading(0.0, dict(VARIABLES), dict(STATUS), metrics),),
    )
