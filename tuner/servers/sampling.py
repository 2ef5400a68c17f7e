"""The two statements of a reading, and the sample that their answers make."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from msgspec.structs import asdict

from tuner.records import Sample
from tuner.servers.detect import COUNTERS
from tuner.servers.limits import RedoLimits, redo_limits
from tuner.servers.parts import Around
from tuner.servers.writerlock import WRITER_LOCK

DDL = ("Com_alter_table", "Com_create_index", "Com_drop_index", "Com_optimize")
DROPS = ("Com_drop_table", "Com_drop_db", "Com_truncate")

_VARIABLES = (
    "innodb_io_capacity",
    "innodb_io_capacity_max",
    "innodb_adaptive_flushing",
    "innodb_adaptive_flushing_lwm",
    "innodb_flush_sync",
    "innodb_thread_concurrency",
    "innodb_max_dirty_pages_pct",
    "read_only",
    "super_read_only",
    "server_uuid",
)
COUNTER_QUERY = (
    "SELECT name, count FROM information_schema.innodb_metrics WHERE status = 'enabled' AND name IN "
    f"({', '.join(repr(name) for name in COUNTERS)})"
    + "".join(f" UNION ALL SELECT '{name}', @@GLOBAL.{name}" for name in _VARIABLES)
    + f" UNION ALL SELECT 'writer', COALESCE(IS_USED_LOCK('{WRITER_LOCK}') = CONNECTION_ID(), 1)"
)
"""Counters that are on, variables, and whether the writer lock is ours or nobody's."""

_STATUS = (
    "Innodb_redo_log_capacity_resized",
    "Innodb_redo_log_resize_status",
    "Innodb_redo_log_logical_size",
    "Innodb_redo_log_enabled",
    "Innodb_redo_log_current_lsn",
    "Innodb_redo_log_checkpoint_lsn",
    "Innodb_rows_inserted",
    "Innodb_rows_updated",
    "Innodb_rows_deleted",
    "Innodb_buffer_pool_wait_free",
    "Innodb_buffer_pool_pages_dirty",
    "Innodb_buffer_pool_pages_flushed",
    "Innodb_buffer_pool_pages_total",
    "Innodb_buffer_pool_load_status",
    "Innodb_undo_tablespaces_active",
    "Innodb_undo_tablespaces_total",
    "Handler_commit",
    "Uptime",
    *DDL,
    *DROPS,
)
STATUS_QUERY = f"SHOW GLOBAL STATUS WHERE Variable_name IN ({', '.join(repr(name) for name in _STATUS)})"
"""SHOW, because the Performance Schema's table of status variables leaves all ``Com_`` out."""

_POOL_LOADING = re.compile(r"Loading buffer pool|Loaded \d")

Answers = Mapping[str, str]
"""What both statements said, by name."""


def counters_off(answers: Answers) -> tuple[str, ...]:
    """Return the counters that a full sample needs and that are off."""
    return tuple(name for name in COUNTERS if name not in answers)


def inactive_undo(answers: Answers) -> int:
    """Return how many undo tablespaces are not active."""
    return int(answers["Innodb_undo_tablespaces_total"]) - int(answers["Innodb_undo_tablespaces_active"])


def sample(
    answers: Answers,
    around: Around,
    *,
    monotonic: float,
    wall: float,
    read_seconds: float,
    page_size: int,
    writer: bool,
    undo_truncating: bool,
) -> Sample:
    """Return the sample that these answers make; a degraded one where a counter is missing.

    Args:
        answers: what both statements said.
        around: what is known of the surroundings.
        monotonic: when, on the daemon's clock, seconds.
        wall: when, Unix time, seconds.
        read_seconds: how long the reading took.
        page_size: bytes.
        writer: false where the lock is known to be somebody else's.
        undo_truncating: an undo tablespace is being truncated.

    Raises:
        KeyError: an answer is missing.
        ValueError: an answer makes no sense.
    """
    limits = _limits(
        int(answers["Innodb_redo_log_capacity_resized"]),
        page_size,
        int(answers["innodb_thread_concurrency"]),
    )
    return Sample(
        monotonic=monotonic,
        wall=wall,
        read_seconds=read_seconds,
        identity=answers["server_uuid"],
        uptime=float(answers["Uptime"]),
        io_capacity=int(answers["innodb_io_capacity"]),
        io_capacity_max=int(answers["innodb_io_capacity_max"]),
        redo_capacity=int(answers["Innodb_redo_log_capacity_resized"]),
        flush_limit=limits.flush_limit,
        sync_point=limits.sync_point,
        stall_point=limits.stall_point,
        redo_logical_size=int(answers["Innodb_redo_log_logical_size"]),
        redo_enabled=answers["Innodb_redo_log_enabled"] == "ON",
        resizing=answers["Innodb_redo_log_resize_status"] != "OK",
        adaptive_flushing=answers["innodb_adaptive_flushing"] == "1",
        adaptive_flushing_lwm=float(answers["innodb_adaptive_flushing_lwm"]),
        flush_sync=answers["innodb_flush_sync"] == "1",
        pages_dirty=int(answers["Innodb_buffer_pool_pages_dirty"]),
        pages_total=int(answers["Innodb_buffer_pool_pages_total"]),
        free_page_waits=int(answers["Innodb_buffer_pool_wait_free"]),
        row_changes=sum(int(answers[f"Innodb_rows_{what}"]) for what in ("inserted", "updated", "deleted")),
        commits=int(answers["Handler_commit"]),
        writer=answers["writer"] == "1" and writer,
        read_only=answers["read_only"] == "1",
        super_read_only=answers["super_read_only"] == "1",
        dirty_limit=float(answers["innodb_max_dirty_pages_pct"]),
        ddl_statements=sum(int(answers[name]) for name in DDL),
        drop_statements=sum(int(answers[name]) for name in DROPS),
        undo_truncating=undo_truncating,
        pool_loading=_POOL_LOADING.match(answers["Innodb_buffer_pool_load_status"]) is not None,
        **asdict(around),
        **(_degraded(answers) if counters_off(answers) else _full(answers)),
    )


def _full(answers: Answers) -> dict[str, Any]:
    """Return what InnoDB's counters say."""
    current = int(answers["log_lsn_current"])
    return {
        "lsn_current": current,
        "lsn_oldest": int(answers["log_lsn_buf_pool_oldest_approx"]) or current,
        "lsn_checkpoint": int(answers["log_lsn_last_checkpoint"]),
        "pages_adaptive": int(answers["buffer_flush_adaptive_total_pages"]),
        "pages_sync": int(answers["buffer_flush_sync_total_pages"]),
        "pages_background": int(answers["buffer_flush_background_total_pages"]),
        "pages_lru": int(answers["buffer_LRU_batch_flush_total_pages"]),
        "pages_neighbour": int(answers["buffer_flush_neighbor_total_pages"]),
        "flush_percentage": int(answers["buffer_flush_pct_for_lsn"]),
        "flush_requested": int(answers["buffer_flush_n_to_flush_requested"]),
        "flush_by_age": int(answers["buffer_flush_n_to_flush_by_age"]),
        "lsn_average_rate": int(answers["buffer_flush_lsn_avg_rate"]),
        "redo_space_waits": int(answers["log_on_file_space_waits"]),
    }


def _degraded(answers: Answers) -> dict[str, Any]:
    """Return what the status variables say in place of the counters.

    The checkpoint stands for the oldest modification, which is never older: the modified age comes out too
    high by the checkpoint's lag, never too low. Pages flushed from the flush lists and from the LRU tail
    are one number.
    """
    checkpoint = int(answers["Innodb_redo_log_checkpoint_lsn"])
    return {
        "degraded": True,
        "lsn_current": int(answers["Innodb_redo_log_current_lsn"]),
        "lsn_oldest": checkpoint,
        "lsn_checkpoint": checkpoint,
        "pages_adaptive": int(answers["Innodb_buffer_pool_pages_flushed"]),
        "pages_sync": 0,
        "pages_background": 0,
        "pages_lru": 0,
        "pages_neighbour": 0,
        "flush_percentage": 0,
        "flush_requested": 0,
        "flush_by_age": 0,
        "lsn_average_rate": 0,
        "redo_space_waits": 0,
    }


@lru_cache(maxsize=16)
def _limits(capacity: int, page_size: int, thread_concurrency: int) -> RedoLimits:
    return redo_limits(capacity, page_size=page_size, thread_concurrency=thread_concurrency)
