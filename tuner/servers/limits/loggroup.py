"""Redo limits of the servers with ``innodb_log_file_size`` × ``innodb_log_files_in_group``.

MySQL 5.6 and 5.7, and Percona Server 5.7: log/log0log.cc, ``log_group_get_capacity`` and
``log_calc_max_ages``, the same arithmetic in 5.6.41 and 5.7.37. What these servers export is what they use.

MySQL and Percona Server 8.0 before 8.0.30: log/log0chkp.cc, ``log_calc_max_ages``,
``log_calc_concurrency_margin``, ``log_get_free_check_capacity`` and ``log_get_max_modified_age_async`` of
8.0.27. As with later versions the exported counters are the raw values. 8.0.16 rounded none of them, and its
flush law took no margin off.
"""

from __future__ import annotations

from msgspec import Struct

from tuner.servers.limits.redo import (
    BLOCK,
    EXTRA_WRITER_PERCENT,
    RedoLimits,
    aligned,
    payload_to_lsn,
)

FILE_HEADER = 2048
"""``LOG_FILE_HDR_SIZE``, bytes of each file."""

PAGES_PER_THREAD = 4
"""``LOG_CHECKPOINT_FREE_PER_THREAD``, pages."""

EXTRA_PAGES = 8
"""``LOG_CHECKPOINT_EXTRA_FREE``, pages."""

THREADS = 10
"""Threads that room is kept for beside ``innodb_thread_concurrency``."""

SAFETY_PAGES = 256 * PAGES_PER_THREAD
"""Pages' worth of log that 8.0 never uses, or a tenth of the log where that is less."""


SMALLEST_FILE = 4 * 1024 * 1024
"""What 8.0 takes at least as ``innodb_log_file_size``, bytes."""


class LogGroupLimits(Struct, frozen=True):
    """All the limits that one log of MySQL 5.6 or 5.7 implies, bytes.

    Attributes:
        capacity: ``log_group_capacity``, what ``innodb_adaptive_flushing_lwm`` is a percentage of.
        max_checkpoint_age: as ``SHOW ENGINE INNODB STATUS`` of Percona Server 5.7 says.
    """

    capacity: int
    max_checkpoint_age: int

    @property
    def flush_limit(self) -> int:
        """Return A, ``log_max_modified_age_async`` as exported."""
        return self.max_checkpoint_age - self.max_checkpoint_age // 8

    @property
    def sync_point(self) -> int:
        """Return the modified age above which writers wait for flushing, ``log_max_modified_age_sync``."""
        return self.max_checkpoint_age - self.max_checkpoint_age // 16

    @property
    def checkpoint_target(self) -> int:
        """Return the checkpoint age above which writers ask for a checkpoint and do not wait for it."""
        return self.max_checkpoint_age - self.max_checkpoint_age // 32

    @property
    def stall_point(self) -> int:
        """Return the checkpoint age above which writers wait for a checkpoint."""
        return self.max_checkpoint_age

    @property
    def low_water_base(self) -> int:
        """Return what ``innodb_adaptive_flushing_lwm`` is a percentage of."""
        return self.capacity


def kept_for(threads: int, *, page_size: int) -> int:
    """Return the redo that room is kept for, bytes: statements of so many threads that are under way."""
    return (PAGES_PER_THREAD * threads + EXTRA_PAGES) * page_size


def margins_of_5(capacity: int, reserve: int, names: str) -> tuple[int, int]:
    """Return the capacity and maximum checkpoint age of a log that MySQL 5 or MariaDB lays out.

    Args:
        capacity: bytes of log without its headers.
        reserve: bytes kept for statements under way.
        names: the settings that would have to be larger, for the error.

    Raises:
        ValueError: too small a log; no server starts with it.
    """
    usable = capacity - capacity // 10
    if reserve >= usable // 2:
        raise ValueError(
            f"{usable} usable bytes of redo are too few, the server needs more than {2 * reserve}: {names}"
        )
    margin = usable - reserve
    return usable, margin - margin // 10


def log_group_limits_5(
    file_size: int, files: int, *, page_size: int = 16_384, thread_concurrency: int = 0
) -> LogGroupLimits:
    """Return the limits of MySQL 5.6, 5.7 and Percona Server 5.7; they stay until a restart.

    Args:
        file_size: ``innodb_log_file_size``, bytes.
        files: ``innodb_log_files_in_group``.
        page_size: ``innodb_page_size``, bytes.
        thread_concurrency: ``innodb_thread_concurrency``.

    Raises:
        ValueError: too small a log; no server starts with it.
    """
    reserve = kept_for(THREADS + thread_concurrency, page_size=page_size)
    capacity, oldest = margins_of_5(
        files * (file_size - FILE_HEADER), reserve, f"innodb_log_file_size is {file_size}, × {files} files"
    )
    return LogGroupLimits(capacity=capacity, max_checkpoint_age=oldest)


def log_group_limits(
    file_size: int, files: int, *, page_size: int = 16_384, thread_concurrency: int = 0
) -> RedoLimits:
    """Return the limits of MySQL and Percona Server 8.0 before 8.0.30; the files stay until a restart.

    Args:
        file_size: ``innodb_log_file_size``, bytes.
        files: ``innodb_log_files_in_group``.
        page_size: ``innodb_page_size``, bytes.
        thread_concurrency: ``innodb_thread_concurrency``.

    Raises:
        ValueError: too small a log; no server starts with it.
    """
    if file_size < SMALLEST_FILE:
        raise ValueError(f"innodb_log_file_size is {file_size}; the server's minimum is {SMALLEST_FILE}")
    real = files * (file_size - FILE_HEADER)
    safety = min(real // 10, SAFETY_PAGES * page_size)
    writer = aligned(real - safety)
    soft = writer - aligned(writer * EXTRA_WRITER_PERCENT // 100)
    reserve = kept_for(THREADS + thread_concurrency, page_size=page_size)
    margin = min(reserve + aligned(writer * EXTRA_WRITER_PERCENT // 100), _aligned_up(writer // 2))
    return RedoLimits(
        soft=soft,
        raw_async=_aligned_up(soft - soft // 8),
        raw_sync=_aligned_up(soft - soft // 16),
        concurrency_margin=margin,
        margin=payload_to_lsn(margin),
    )


def _aligned_up(value: int) -> int:
    """Return the value rounded up to whole log blocks."""
    return -(-value // BLOCK) * BLOCK
