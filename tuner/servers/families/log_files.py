"""MySQL and Percona Server before 8.0.30: ``innodb_log_file_size`` times ``innodb_log_files_in_group``."""

from __future__ import annotations

import contextlib
from abc import abstractmethod
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, ClassVar

from tuner.servers.adapter import Adapter
from tuner.servers.answers import MARGIN, Answers, first_mismatch, points
from tuner.servers.families.older_parts import PARTS_56, PARTS_57, STARTED
from tuner.servers.limits import LogGroupLimits, RedoLimits, log_group_limits, log_group_limits_5
from tuner.servers.parts import PARTS

THREADS = "innodb_thread_concurrency"
MOST_THREADS = 1000
"""The most that it can be set to."""

LSN, CHECKPOINT = "Innodb_lsn_current", "Innodb_lsn_last_checkpoint"
"""Percona Server 5.7 has them, and 8.0 from 8.0.21 on (PS-7275)."""

COUNTED = ("log_lsn_current", "log_lsn_last_checkpoint")
ENGINE = ("engine_lsn", "engine_checkpoint")
"""The same in InnoDB's counters, and of what SHOW ENGINE INNODB STATUS said last."""


class LogFilesAdapter(Adapter):
    """What 5.6, 5.7 and 8.0 before 8.0.30 have in common; MySQL shows an age in InnoDB's counters alone."""

    variables = (THREADS, "innodb_log_file_size", "innodb_log_files_in_group")
    status = ("Innodb_rows_inserted", "Innodb_rows_updated", "Innodb_rows_deleted", "Innodb_redo_log_enabled")
    limit_counters: ClassVar[tuple[str, ...]] = ("log_max_modified_age_async", "log_max_modified_age_sync")
    percona_ages: ClassVar[tuple[str, ...]] = (LSN, CHECKPOINT)
    ages_need_counters = True
    own_law = "legacy-whole"

    @abstractmethod
    def limits_of(self, answers: Mapping[str, str]) -> LogGroupLimits | RedoLimits:
        """Return the limits that file size and number of files imply; they stay until a restart."""

    @abstractmethod
    def exported_by(self, answers: Mapping[str, str]) -> tuple[int, ...]:
        """Return what ``limit_counters`` must say, in their order."""

    def limits_mismatch(self, exported: Mapping[str, str]) -> str:
        """Compare our limit arithmetic with the server's own values."""
        computed = dict(zip(self.limit_counters, self.exported_by(exported), strict=True))
        size, files = exported["innodb_log_file_size"], exported["innodb_log_files_in_group"]
        return first_mismatch(exported, computed, f"for {files} log files of {size} bytes")

    def redo(self, answers: Answers) -> dict[str, Any]:
        """Return what the answers say of the redo log and its limits."""
        current, checkpoint = self.ages(answers)
        return {
            "redo_capacity": int(answers["innodb_log_file_size"]) * int(answers["innodb_log_files_in_group"]),
            "redo_logical_size": max(0, current - checkpoint),
            "redo_enabled": answers.get("Innodb_redo_log_enabled", "ON") == "ON",
            "resizing": False,
            **points(self.limits_of(answers), answers),
        }

    def last_resort(self, answers: Answers) -> bool:
        """Tell whether neither the log's counters nor variables of Percona Server's own show an age."""
        return self._ends(answers) == ENGINE

    def ages(self, answers: Answers) -> tuple[int, int]:
        """Return the current LSN and that of the last checkpoint, from the best source that answered."""
        current, checkpoint = self._ends(answers)
        return int(answers[current]), int(answers[checkpoint])

    def tail(self, answers: Answers) -> int:
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

    def sizes(self, answers: Mapping[str, str]) -> tuple[int, int, int, int]:
        """Return what the limits depend on."""
        return (
            int(answers["innodb_log_file_size"]),
            int(answers["innodb_log_files_in_group"]),
            self.page_size,
            int(answers[THREADS]),
        )


class MySQL57Adapter(LogFilesAdapter):
    """MySQL and Percona Server 5.7.

    A checkpoint is at the oldest modification, and writers wait for sync flushing (log/log0log.cc,
    ``log_checkpoint`` and ``log_checkpoint_margin``).
    """

    checkpoints: ClassVar = {"flush_order_lag": 0, "sync_stalls": True}
    names_setters = False
    parts = PARTS_57
    percona_laws: ClassVar = {"legacy": "legacy-57", "high_checkpoint": "high_checkpoint-57"}

    def limits_of(self, answers: Mapping[str, str]) -> LogGroupLimits:
        """Return the limits that file size and number of files imply."""
        return _limits_5(*self.sizes(answers))

    def exported_by(self, answers: Mapping[str, str]) -> tuple[int, ...]:
        """Return what the counters must say: what the server uses."""
        limits = self.limits_of(answers)
        return limits.flush_limit, limits.sync_point

    def limits_mismatch(self, exported: Mapping[str, str]) -> str:
        """Compare our limit arithmetic with the server's own values, which are from when mysqld started.

        They do not follow an ``innodb_thread_concurrency`` that is set later.
        """
        mismatch = super().limits_mismatch(exported)
        threads = self._threads_of(exported) if mismatch else None
        if threads is None:
            return mismatch
        return (
            f"{THREADS} is {exported[THREADS]} and was {threads} when mysqld started, which its limits go by "
            f"until it is restarted: set it back to {threads} and restart InnoBrim, or restart mysqld"
        )

    def _threads_of(self, exported: Mapping[str, str]) -> int | None:
        """Return the ``innodb_thread_concurrency`` that makes our limits the server's; None: none does."""
        own = tuple(int(exported[name]) for name in self.limit_counters)
        with contextlib.suppress(ValueError):  # more threads than a log of this size has room for
            for threads in range(MOST_THREADS + 1):
                if self.exported_by({**exported, THREADS: str(threads)}) == own:
                    return threads
        return None


class MySQL56Adapter(MySQL57Adapter):
    """MySQL 5.6."""

    parts = PARTS_56
    own_law = "legacy-56"
    percona_ages = ()
    started = STARTED
    lru = "buffer_LRU_batch_total_pages"
    by_age = None


class MySQL80Adapter(LogFilesAdapter):
    """MySQL and Percona Server 8.0 before 8.0.30.

    Where the log writer ran short of room, it made the margin larger, by a fifth each time, until the next
    restart (log/log0chkp.cc, ``log_increase_concurrency_margin``); seen where the counter was on by then.
    """

    parts = PARTS
    surroundings = "replication, locks, clones and latency"
    percona_laws: ClassVar = {"legacy": "legacy-whole", "high_checkpoint": "high_checkpoint-whole"}
    oldest = "log_lsn_buf_pool_oldest_approx"
    waits = "log_on_file_space_waits"
    further = (MARGIN,)
    limit_counters = ("log_max_modified_age_async", "log_max_modified_age_sync", MARGIN)

    def limits_of(self, answers: Mapping[str, str]) -> RedoLimits:
        """Return the limits that file size and number of files imply, with the margin where that is seen."""
        return _limits_80(*self.sizes(answers)).grown(int(answers.get(MARGIN, 0)))

    def exported_by(self, answers: Mapping[str, str]) -> tuple[int, ...]:
        """Return what the counters must say: the raw values, with no margin taken off."""
        limits = self.limits_of(answers)
        return limits.raw_async, limits.raw_sync, limits.concurrency_margin


@lru_cache(maxsize=16)
def _limits_5(size: int, files: int, page_size: int, thread_concurrency: int) -> LogGroupLimits:
    return log_group_limits_5(size, files, page_size=page_size, thread_concurrency=thread_concurrency)


@lru_cache(maxsize=16)
def _limits_80(size: int, files: int, page_size: int, thread_concurrency: int) -> RedoLimits:
    return log_group_limits(size, files, page_size=page_size, thread_concurrency=thread_concurrency)
