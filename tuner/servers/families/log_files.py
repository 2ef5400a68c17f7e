"""MySQL and Percona Server before 8.0.30: ``innodb_log_file_size`` times ``innodb_log_files_in_group``.

Limits of MySQL 5.6 and 5.7, and Percona Server 5.7: log/log0log.cc, ``log_group_get_capacity`` and
``log_calc_max_ages``, the same arithmetic in 5.6.41 and 5.7.37. What these servers export is what they use.

Limits of MySQL and Percona Server 8.0 before 8.0.30: log/log0chkp.cc, ``log_calc_max_ages``,
``log_calc_concurrency_margin``, ``log_get_free_check_capacity`` and ``log_get_max_modified_age_async`` of
8.0.27. As with later versions the exported counters are the raw values. 8.0.15 and 8.0.16 rounded none of
them up, and took the margin off in buf/buf0flu.cc, ``af_get_pct_for_lsn``.

Limits of 8.0.11 and 8.0.12, which have no counter for the margin: the same file, ``log_calc_max_ages``,
``log_update_limits`` and ``log_consider_sync_flush``. The flush law divides by the exported value itself.

Of the surroundings MySQL 5.6 says in a status variable that an applier runs; its lag would take SHOW SLAVE
STATUS, and a privilege more.
"""

from __future__ import annotations

import contextlib
import math
from functools import lru_cache
from typing import Any, ClassVar

from msgspec.structs import replace

from tuner.servers.adapter import (
    FACTOR,
    MARGIN,
    STARTED_BY_SCHEMA,
    Adapter,
    Answers,
    Build,
    Family,
    points,
)
from tuner.servers.exported import BLOCK, Limits, Points, moved
from tuner.servers.families.redo_capacity import (
    ASYNC,
    EXTRA_WRITER_PERCENT,
    FLUSH_ORDER_LAG,
    REDO_VARIABLE,
    SYNC,
    RedoLimits,
    aligned,
    limits_with,
    payload_to_lsn,
)
from tuner.servers.surroundings import PARTS, older_parts, slaves

FILE_HEADER = 2048
"""``LOG_FILE_HDR_SIZE``, bytes of each file."""

PAGES_PER_THREAD = 4
"""``LOG_CHECKPOINT_FREE_PER_THREAD``, pages."""

EXTRA_PAGES = 8
"""``LOG_CHECKPOINT_EXTRA_FREE``, pages."""

EXTRA_THREADS = 10
"""Threads that room is kept for beside ``innodb_thread_concurrency``."""

SAFETY_PAGES = 256 * PAGES_PER_THREAD
"""Pages' worth of log that 8.0 never uses, or a tenth of the log where that is less."""

SMALLEST_FILE = 4 * 1024 * 1024
"""What 8.0 takes at least as ``innodb_log_file_size``, bytes."""

WITH_MARGIN = (8, 0, 13)
"""The release of MySQL 8.0 from which on a margin is taken off; 8.0.12 takes none, 8.0.15 does."""

THREADS = "innodb_thread_concurrency"

MOST_THREADS = 1000
"""The most that it can be set to."""

LSN, CHECKPOINT = "Innodb_lsn_current", "Innodb_lsn_last_checkpoint"
"""Percona Server 5.7 has them, and 8.0 from 8.0.21 on (PS-7275)."""

COUNTED = ("log_lsn_current", "log_lsn_last_checkpoint")

ENGINE = ("engine_lsn", "engine_checkpoint")
"""The same in InnoDB's counters, and of what SHOW ENGINE INNODB STATUS said last."""


def kept_for(threads: int, *, page_size: int) -> int:
    """Return the redo that room is kept for, bytes: statements of so many threads that are under way."""
    return (PAGES_PER_THREAD * threads + EXTRA_PAGES) * page_size


def margins_of_5(capacity: int, reserve: int, names: str) -> tuple[int, int]:
    """Return the usable capacity and the maximum checkpoint age of a log of MySQL 5 or MariaDB, bytes.

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


@lru_cache(maxsize=16)
def log_group_limits_5(
    file_size: int, files: int, *, page_size: int = 16_384, thread_concurrency: int = 0
) -> Points:
    """Return the limits of MySQL 5.6, 5.7 and Percona Server 5.7; they stay until a restart.

    Args:
        file_size: ``innodb_log_file_size``, bytes.
        files: ``innodb_log_files_in_group``.
        page_size: ``innodb_page_size``, bytes.
        thread_concurrency: ``innodb_thread_concurrency``.

    Raises:
        ValueError: too small a log; no server starts with it.
    """
    reserve = kept_for(EXTRA_THREADS + thread_concurrency, page_size=page_size)
    capacity, oldest = margins_of_5(
        files * (file_size - FILE_HEADER), reserve, f"innodb_log_file_size is {file_size}, × {files} files"
    )
    return Points(
        flush_limit=oldest - oldest // 8,  # log_max_modified_age_async
        sync_point=oldest - oldest // 16,  # log_max_modified_age_sync
        stall_point=oldest,
        low_water_base=capacity,
    )


@lru_cache(maxsize=16)
def limits_5_at_start(
    flush_limit: int,
    sync_point: int,
    *,
    file_size: int,
    files: int,
    page_size: int,
    thread_concurrency: int,
) -> Points:
    """Return the limits of MySQL 5.6 and 5.7 by the threads that mysqld started with.

    They do not follow an ``innodb_thread_concurrency`` that is set later (log/log0log.cc,
    ``log_calc_max_ages``): which one it was shows in the limits that the server exports.

    Args:
        flush_limit: ``log_max_modified_age_async``, bytes.
        sync_point: ``log_max_modified_age_sync``, bytes.
        file_size: as of ``log_group_limits_5``, as are the others.
        files: likewise.
        page_size: likewise.
        thread_concurrency: in force now; what is taken where no number of threads makes those limits.

    Raises:
        ValueError: too small a log; no server starts with it.
    """
    ours = log_group_limits_5(file_size, files, page_size=page_size, thread_concurrency=thread_concurrency)
    if (ours.flush_limit, ours.sync_point) == (flush_limit, sync_point):
        return ours
    with contextlib.suppress(ValueError):  # more threads than a log of this size has room for
        for threads in range(MOST_THREADS + 1):
            found = log_group_limits_5(file_size, files, page_size=page_size, thread_concurrency=threads)
            if (found.flush_limit, found.sync_point) == (flush_limit, sync_point):
                return found
    return ours


@lru_cache(maxsize=16)
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
    real = _room_of(file_size, files)
    safety = min(real // 10, SAFETY_PAGES * page_size)
    writer = aligned(real - safety)
    soft = writer - aligned(writer * EXTRA_WRITER_PERCENT // 100)
    reserve = kept_for(EXTRA_THREADS + thread_concurrency, page_size=page_size)
    margin = min(reserve + aligned(writer * EXTRA_WRITER_PERCENT // 100), _aligned_up(writer // 2))
    return limits_with(soft, _aligned_up(soft - soft // 8), _aligned_up(soft - soft // 16), margin)


@lru_cache(maxsize=16)
def log_group_limits_8012(
    file_size: int, files: int, *, page_size: int = 16_384, thread_concurrency: int = 0
) -> Points:
    """Return the limits of MySQL 8.0.11 and 8.0.12; arguments and errors as of ``log_group_limits``."""
    real = _room_of(file_size, files)
    capacity = aligned(real * 9 // 10)
    reserve = min(
        kept_for(EXTRA_THREADS + thread_concurrency, page_size=page_size), _aligned_up(capacity // 2)
    )
    oldest = aligned((capacity - reserve) * 9 // 10)
    return Points(
        flush_limit=oldest - oldest // 8,  # log_max_modified_age_async
        sync_point=oldest - oldest // 16 - FLUSH_ORDER_LAG,  # log_max_modified_age_sync
        stall_point=capacity - payload_to_lsn(reserve),
        low_water_base=capacity,
    )


def _room_of(file_size: int, files: int) -> int:
    """Return the bytes of log that files of MySQL 8.0 have without their headers."""
    if file_size < SMALLEST_FILE:
        raise ValueError(f"innodb_log_file_size is {file_size}; the server's minimum is {SMALLEST_FILE}")
    return files * (file_size - FILE_HEADER)


def _aligned_up(value: int) -> int:
    """Return the value rounded up to whole log blocks."""
    return -(-value // BLOCK) * BLOCK


class LogFilesAdapter(Adapter):
    """What 5.6, 5.7 and 8.0 before 8.0.30 have in common; MySQL shows an age in InnoDB's counters alone."""

    sized_by = ("innodb_log_file_size", "innodb_log_files_in_group")
    variables = (THREADS, *sized_by)
    status = ("Innodb_rows_inserted", "Innodb_rows_updated", "Innodb_rows_deleted", "Innodb_redo_log_enabled")
    limit_counters: ClassVar[tuple[str, ...]] = (ASYNC, SYNC)
    percona_ages: ClassVar[tuple[str, ...]] = (LSN, CHECKPOINT)
    ages_need_counters = True
    own_law = "legacy-whole"

    def redo(self, answers: Answers) -> dict[str, Any]:
        """Return what the answers say of the redo log and its limits."""
        current, checkpoint = self.ages(answers)
        return {
            "redo_capacity": math.prod(int(answers[name]) for name in self.sized_by),
            "redo_logical_size": max(0, current - checkpoint),
            "redo_enabled": answers.get("Innodb_redo_log_enabled", "ON") == "ON",
            "resizing": False,
            **points(self.limits(answers), answers),
        }

    def needs_engine_status(self, answers: Answers) -> bool:
        """Tell whether neither the log's counters nor variables of Percona Server's own show an age."""
        return self._ends(answers) == ENGINE

    def ages(self, answers: Answers) -> tuple[int, int]:
        """Return the current LSN and that of the last checkpoint, from the best source that answered."""
        current, checkpoint = self._ends(answers)
        return int(answers[current]), int(answers[checkpoint])

    def oldest_lsn(self, answers: Answers) -> int:
        """Return the oldest modification as the same source has it; Percona Server's has the checkpoint."""
        ends = self._ends(answers)
        if ends == COUNTED:
            return int(answers[self.oldest]) or int(answers[ends[0]])
        return int(answers["engine_oldest" if ends == ENGINE else CHECKPOINT])

    def _ends(self, answers: Answers) -> tuple[str, str]:
        """Return under which names both ends of a checkpoint's age stand; never one of this and one of that.

        The log's counters count where they are on, whatever other counters are off.
        """
        if answers.keys() >= {*COUNTED, self.oldest}:
            return COUNTED
        return (LSN, CHECKPOINT) if answers.keys() >= {LSN, CHECKPOINT} else ENGINE

    def settings(self, answers: Answers) -> dict[str, int]:
        """Return what the limits depend on, as arguments of the functions that work them out."""
        size, files = (int(answers[name]) for name in self.sized_by)
        threads = int(answers[THREADS])
        return {
            "file_size": size,
            "files": files,
            "page_size": self.page_size,
            "thread_concurrency": threads,
        }


class MySQL57Adapter(LogFilesAdapter):
    """MySQL and Percona Server 5.7.

    A checkpoint is at the oldest modification, and writers wait for sync flushing (log/log0log.cc,
    ``log_checkpoint`` and ``log_checkpoint_margin``).
    """

    title = "MySQL 5.7"
    arithmetic = "log_calc_max_ages of MySQL 5.7.37"
    checkpoints: ClassVar = {"flush_order_lag": 0, "sync_stalls": True}
    names_setters = False
    parts = older_parts(
        "SELECT 'replica', COUNT(*), NULL FROM performance_schema.replication_applier_status"
        " WHERE SERVICE_STATE = 'ON' AND CHANNEL_NAME NOT LIKE 'group_replication%'"
    )
    percona_laws: ClassVar = {"legacy": "legacy-57", "high_checkpoint": "high_checkpoint-57"}

    @classmethod
    def recognise(cls, build: Build) -> Family | None:
        """Return what a server of that series is."""
        old = (5, 7) <= build.release < (8, 0) and not build.is_mariadb
        return cls.of_mysql(build, "SUPER") if old else None

    def expected_limits(self, answers: Answers) -> Limits:
        """Return what the server uses, which its counters show."""
        ours = self._ours(answers)
        return {ASYNC: ours.flush_limit, SYNC: ours.sync_point}

    def limits_from(self, answers: Answers, shown: Limits) -> Points:
        """Return the limits that file size and number of files imply, with those that are shown."""
        ours = self._ours(answers)
        stall_point = ours.stall_point + moved(ours.sync_point, shown[SYNC])
        return replace(ours, flush_limit=shown[ASYNC], sync_point=shown[SYNC], stall_point=stall_point)

    def _ours(self, answers: Answers) -> Points:
        settings = self.settings(answers)
        if answers.keys() >= {ASYNC, SYNC}:
            return limits_5_at_start(int(answers[ASYNC]), int(answers[SYNC]), **settings)
        return log_group_limits_5(**settings)


class MySQL56Adapter(MySQL57Adapter):
    """MySQL 5.6."""

    title = "MySQL 5.6"
    arithmetic = "log_calc_max_ages of MySQL 5.6.41"
    parts = older_parts(slaves("SLAVE_RUNNING", "= 'ON'"))
    own_law = "legacy-56"
    percona_ages = ()
    started = STARTED_BY_SCHEMA
    lru = "buffer_LRU_batch_total_pages"
    by_age = None
    lacks: ClassVar = {"buffer_flush_n_to_flush_by_age": "its law asks for no pages by their age"}

    @classmethod
    def recognise(cls, build: Build) -> Family | None:
        """Return what a server of that series is; Percona Server's is not supported."""
        known = FACTOR not in build.variables and not build.is_mariadb
        return cls.of_mysql(build, "SUPER") if known and (5, 6) <= build.release < (5, 7) else None


class MySQL80Adapter(LogFilesAdapter):
    """MySQL and Percona Server 8.0 before 8.0.30.

    Where the log writer ran short of room, it made the margin larger, by a fifth each time, until the next
    restart (log/log0chkp.cc, ``log_increase_concurrency_margin``); seen where the counter was on by then.
    """

    title = "MySQL 8.0 before 8.0.30"
    parts = PARTS
    surroundings = "replication, locks, clones and latency"
    percona_laws: ClassVar = {"legacy": "legacy-whole", "high_checkpoint": "high_checkpoint-whole"}
    oldest = "log_lsn_buf_pool_oldest_approx"
    waits = "log_on_file_space_waits"
    arithmetic = "log_calc_max_ages of MySQL 8.0.27"
    limit_counters: ClassVar[tuple[str, ...]] = (ASYNC, SYNC, MARGIN)

    @classmethod
    def recognise(cls, build: Build) -> Family | None:
        """Return what a server of that series is that has no variable for the whole redo log yet."""
        if build.is_mariadb or build.release < (8, 0) or REDO_VARIABLE in build.variables:
            return None
        kind = MySQL80Adapter if build.release >= WITH_MARGIN else MySQL8012Adapter
        return kind.of_mysql(build)

    def expected_limits(self, answers: Answers) -> Limits:
        """Return the raw values, which counters show."""
        return self._ours(answers).shown()

    def limits_from(self, answers: Answers, shown: Limits) -> Points:
        """Return the limits that file size and number of files imply, with those that are shown."""
        return self._ours(answers).with_shown(shown)

    def _ours(self, answers: Answers) -> RedoLimits:
        """Return the limits that file size and number of files imply, with the margin where that is seen."""
        return log_group_limits(**self.settings(answers)).grown(int(answers.get(MARGIN, 0)))


class MySQL8012Adapter(MySQL80Adapter):
    """MySQL 8.0.11 and 8.0.12: no margin is taken off, and no counter shows one."""

    arithmetic = "log_calc_max_ages of MySQL 8.0.12"
    limit_counters = (ASYNC, SYNC)
    lacks: ClassVar = {MARGIN: "it takes no margin off its limits"}

    def expected_limits(self, answers: Answers) -> Limits:
        """Return what the flush law and the checkpointer use, which counters show."""
        ours = log_group_limits_8012(**self.settings(answers))
        return {ASYNC: ours.flush_limit, SYNC: ours.sync_point + FLUSH_ORDER_LAG}

    def limits_from(self, answers: Answers, shown: Limits) -> Points:
        """Return the limits that file size and number of files imply, with those that are shown."""
        ours = log_group_limits_8012(**self.settings(answers))
        sync_point = shown[SYNC] - FLUSH_ORDER_LAG
        stall_point = ours.stall_point + moved(ours.sync_point, sync_point)
        return replace(ours, flush_limit=shown[ASYNC], sync_point=sync_point, stall_point=stall_point)
