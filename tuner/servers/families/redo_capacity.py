"""MySQL and Percona Server from 8.0.30 on: those that have ``innodb_redo_log_capacity``.

Limits: log/log0files_capacity.cc, include/log0constants.h and log_calc_concurrency_margin, the same
arithmetic in 8.0.44, 8.4.8 and 9.7.2. The exported counters ``log_max_modified_age_async`` and ``_sync`` are
the raw values: what the flush law and the sync trigger really use is smaller by the margin.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from tuner.servers.adapter import MARGIN, Adapter, Answers, Build, Family, points
from tuner.servers.exported import BLOCK, Limits, Points, moved

ASYNC, SYNC = "log_max_modified_age_async", "log_max_modified_age_sync"
"""InnoDB's counters for the ages that the flush law and sync flushing go by."""

REDO_VARIABLE = "innodb_redo_log_capacity"
RESIZED = "Innodb_redo_log_capacity_resized"
FILES = 32
FILE_HEADER = 2048
FLUSH_ORDER_LAG = 2 * 1024 * 1024
BLOCK_PAYLOAD = 496
WRITER_SAFETY = 131_072
EXTRA_WRITER_PERCENT = 5
MARGIN_CAP_PERCENT = 50


class RedoLimits(Points, frozen=True, kw_only=True):
    """All the limits that one redo log of MySQL 8.0 and later has, bytes.

    Attributes:
        soft: logical capacity left to users and margins.
        raw_async: ``log_max_modified_age_async`` as exported.
        raw_sync: ``log_max_modified_age_sync`` as exported.
        concurrency_margin: ``log_concurrency_margin`` as exported (payload bytes).
    """

    soft: int
    raw_async: int
    raw_sync: int
    concurrency_margin: int

    def shown(self) -> dict[str, int]:
        """Return the limits as counters show them, with no margin taken off."""
        return {ASYNC: self.raw_async, SYNC: self.raw_sync, MARGIN: self.concurrency_margin}

    def grown(self, margin: int) -> RedoLimits:
        """Return the limits with a larger margin, payload bytes, where the server can have come to one.

        It makes none larger than half of the log (log/log0chkp.cc, ``log_increase_concurrency_margin``).
        """
        if not self.concurrency_margin < margin <= _largest_margin(self.soft):
            return self
        return limits_with(self.soft, self.raw_async, self.raw_sync, margin)

    def with_shown(self, shown: Limits) -> RedoLimits:
        """Return the limits with those that counters show; soft moves as the sync age does."""
        found = self.shown() | dict(shown)
        soft = self.soft + moved(self.raw_sync, found[SYNC])
        return limits_with(soft, found[ASYNC], found[SYNC], found[MARGIN])


def limits_with(soft: int, raw_async: int, raw_sync: int, concurrency_margin: int) -> RedoLimits:
    """Return limits with the margin taken off; arguments as the attributes.

    ``log_sync_flush_lsn`` compares the LSN available for a checkpoint, which stays the flush order lag behind
    the oldest modification. Writers wait from the free-check capacity on.
    """
    margin = payload_to_lsn(concurrency_margin)
    free_check = aligned(soft - margin)
    return RedoLimits(
        flush_limit=aligned(raw_async - margin),
        sync_point=raw_sync - margin - FLUSH_ORDER_LAG,
        stall_point=free_check,
        low_water_base=free_check,
        soft=soft,
        raw_async=raw_async,
        raw_sync=raw_sync,
        concurrency_margin=concurrency_margin,
    )


def aligned(value: int) -> int:
    """Return the value rounded down to whole log blocks."""
    return value - value % BLOCK


def payload_to_lsn(payload: int) -> int:
    """Return the LSN bytes that so many payload bytes take up (log_translate_sn_to_lsn)."""
    return payload // BLOCK_PAYLOAD * BLOCK + payload % BLOCK_PAYLOAD + (BLOCK - BLOCK_PAYLOAD - 4)


def lsn_to_payload(lsn: int) -> int:
    """Return the payload bytes of so many LSN bytes in whole blocks (log_translate_lsn_to_sn)."""
    return lsn // BLOCK * BLOCK_PAYLOAD


@lru_cache(maxsize=16)
def redo_limits(capacity: int, *, page_size: int = 16_384, thread_concurrency: int = 0) -> RedoLimits:
    """Return the limits for a redo capacity in force.

    Args:
        capacity: ``Innodb_redo_log_capacity_resized``, bytes.
        page_size: ``innodb_page_size``, bytes.
        thread_concurrency: ``innodb_thread_concurrency``.

    Raises:
        ValueError: a capacity that no server accepts.
    """
    return logical_limits(
        logical_capacity(capacity), page_size=page_size, thread_concurrency=thread_concurrency
    )


def logical_capacity(capacity: int) -> int:
    """Return the bytes of log that a redo capacity leaves the log writer, its hard logical capacity.

    Raises:
        ValueError: a capacity that no server accepts.
    """
    if capacity < 8 * 1024 * 1024:
        raise ValueError(f"redo capacity is {capacity} bytes; the server's minimum is 8388608")
    file = capacity // FILES
    return aligned(file * (FILES - 2) - (FILES - 1) * FILE_HEADER - WRITER_SAFETY - file // 10)


def logical_limits(hard: int, *, page_size: int = 16_384, thread_concurrency: int = 0) -> RedoLimits:
    """Return the limits for a hard logical capacity, bytes; while a log shrinks that is no capacity's."""
    soft = aligned(hard * (100 - EXTRA_WRITER_PERCENT) // 100)
    margin = min(
        aligned(4 * page_size * (thread_concurrency + 10) + 4096 + soft * EXTRA_WRITER_PERCENT // 100),
        _largest_margin(soft),
    )
    return limits_with(soft, aligned(soft - soft // 8), aligned(soft - soft // 16), margin)


def _largest_margin(soft: int) -> int:
    return lsn_to_payload(aligned(soft * (MARGIN_CAP_PERCENT + EXTRA_WRITER_PERCENT) // 100))


class RedoCapacityAdapter(Adapter):
    """MySQL 8.0.30 to 9.x, Percona Server 8.0.30 to 8.4."""

    title = "MySQL from 8.0.30 on"
    variables = ("innodb_thread_concurrency",)
    status = (
        RESIZED,
        "Innodb_redo_log_resize_status",
        "Innodb_redo_log_logical_size",
        "Innodb_redo_log_enabled",
        "Innodb_redo_log_current_lsn",
        "Innodb_redo_log_checkpoint_lsn",
        "Innodb_rows_inserted",
        "Innodb_rows_updated",
        "Innodb_rows_deleted",
        "Innodb_undo_tablespaces_active",
        "Innodb_undo_tablespaces_total",
    )
    redo_variable = REDO_VARIABLE
    sized_by = (RESIZED,)
    redo_dynamic = True
    surroundings = "replication, locks, clones and latency"
    oldest = "log_lsn_buf_pool_oldest_approx"
    waits = "log_on_file_space_waits"
    arithmetic = "Log_files_capacity of MySQL 9.7.2"
    limit_counters = (ASYNC, SYNC, MARGIN)
    limit_status = "SHOW GLOBAL STATUS LIKE 'Innodb_redo_log_%'"

    @classmethod
    def recognise(cls, build: Build) -> Family | None:
        """Return what a server is that has one variable for its redo log."""
        named = REDO_VARIABLE in build.variables and not build.is_mariadb
        return cls.of_mysql(build) if named else None

    def expected_limits(self, answers: Answers) -> Limits:
        """Return the raw values, which counters show; none during a resize, when they follow the age."""
        resizing = answers.get("Innodb_redo_log_resize_status", "OK") != "OK"
        return {} if resizing else self._ours(answers).shown()

    def limits_from(self, answers: Answers, shown: Limits) -> RedoLimits:
        """Return the limits that the capacity in force implies, with those that are shown."""
        return self._ours(answers).with_shown(shown)

    def _ours(self, answers: Answers) -> RedoLimits:
        threads = int(answers["innodb_thread_concurrency"])
        return redo_limits(int(answers[RESIZED]), page_size=self.page_size, thread_concurrency=threads)

    def inactive_undo(self, answers: Answers) -> int:
        """Return how many undo tablespaces are not active."""
        return int(answers["Innodb_undo_tablespaces_total"]) - int(answers["Innodb_undo_tablespaces_active"])

    def redo(self, answers: Answers) -> dict[str, Any]:
        """Return what the answers say of the redo log and its limits."""
        return {
            "redo_capacity": int(answers[RESIZED]),
            "redo_logical_size": int(answers["Innodb_redo_log_logical_size"]),
            "redo_enabled": answers["Innodb_redo_log_enabled"] == "ON",
            "resizing": answers["Innodb_redo_log_resize_status"] != "OK",
            **points(self.limits(answers), answers),
        }

    def ages(self, answers: Answers) -> tuple[int, int]:
        """Return the current LSN and that of the last checkpoint where the counters are off."""
        return int(answers["Innodb_redo_log_current_lsn"]), int(answers["Innodb_redo_log_checkpoint_lsn"])
