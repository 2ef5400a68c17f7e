"""The page cleaner: how many pages are flushed in which round.

Source: storage/innobase/buf/buf0flu.cc of MySQL 8.0.44 and 9.7: namespace ``Adaptive_flush``
(``initialize``, ``set_average``, ``get_pct_for_dirty``, ``get_pct_for_lsn``,
``set_flush_target_by_lsn``, ``page_recommendation``) and ``buf_flush_page_coordinator_thread``;
one buffer pool instance. Integer arithmetic where the server's is.
"""

from __future__ import annotations

import math
from enum import IntEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lab.plant.pages import Ledger
    from lab.plant.parameters import ServerParameters
    from lab.plant.redo import Redo

LOOP_SECONDS = 1.0
LSN_SCAN_FACTOR = 3
"""``buf_flush_lsn_scan_factor``: seconds of redo that the scan for age looks ahead."""

SPREAD_ABOVE_PCT = 30
"""LSN percentage above which the request is spread by age."""


class Batch(IntEnum):
    """What a round of flushing is for; each has a counter of its own."""

    ADAPTIVE = 0
    SYNC = 1
    BACKGROUND = 2


class Cleaner:
    """The coordinator thread's state between two of its loops.

    Attributes:
        io_capacity: C in force, pages/s.
        io_capacity_max: M in force, pages/s.
        wake_at: when the thread looks again, simulated seconds; infinite while a batch runs.
        batch: what the running batch is for.
        left: pages that the running batch has still to write; 0 when none runs.
        pct_for_lsn: ``buffer_flush_pct_for_lsn``, percent of C.
        requested: ``buffer_flush_n_to_flush_requested``, pages.
        by_age: ``buffer_flush_n_to_flush_by_age``, pages.
        lsn_avg_rate: ``buffer_flush_lsn_avg_rate``, bytes/s.
        page_avg_rate: ``buffer_flush_avg_page_rate``, pages/s.
        totals: pages flushed so far, one number per kind of batch.
    """

    __slots__ = (
        "_active",
        "_activity",
        "_age_lwm",
        "_average_lsn",
        "_average_since",
        "_iterations",
        "_last_pages",
        "_loop_start",
        "_parameters",
        "_size",
        "_sum_pages",
        "batch",
        "by_age",
        "io_capacity",
        "io_capacity_max",
        "left",
        "lsn_avg_rate",
        "page_avg_rate",
        "pct_for_lsn",
        "requested",
        "totals",
        "wake_at",
    )

    def __init__(self, parameters: ServerParameters, redo: Redo, *, now: float) -> None:
        """Start asleep, to wake within a second."""
        self._parameters = parameters
        self.io_capacity = min(parameters.io_capacity, parameters.io_capacity_max)
        self.io_capacity_max = parameters.io_capacity_max
        self._age_lwm = parameters.adaptive_flushing_lwm * redo.limits.stall_point / 100.0
        self._loop_start = now
        self.wake_at = now + LOOP_SECONDS
        self._average_since = now
        self._average_lsn = redo.lsn
        self._iterations = 0
        self._sum_pages = 0
        self._last_pages = 0
        self._active = True
        self._activity = 0.0
        self._size = 0.0
        self.batch = Batch.ADAPTIVE
        self.left = 0.0
        self.pct_for_lsn = 0
        self.requested = 0
        self.by_age = 0
        self.lsn_avg_rate = 0
        self.page_avg_rate = 0
        self.totals = [0.0, 0.0, 0.0]

    def wake(self, now: float, redo: Redo, ledger: Ledger, activity: float) -> None:
        """Run one loop of the coordinator: decide whether a batch starts, and which.

        Args:
            now: simulated seconds.
            redo: the log, for the age.
            ledger: the flush list, for the pages.
            activity: the server's activity counter; commits here.
        """
        slept = now >= self._loop_start + LOOP_SECONDS
        active = self._active
        if slept:
            self._loop_start = now
            self._active = activity != self._activity
            self._activity = activity
        oldest = ledger.oldest(redo.lsn)
        limit = redo.sync_flush_lsn(oldest) if self._parameters.flush_sync else None
        size = 0.0
        if limit is not None:
            limit += self.lsn_avg_rate * LSN_SCAN_FACTOR
            wanted = self._recommend(now, redo, ledger, sync_limit=limit)
            # the batch ends early where the limit is reached
            size = min(float(wanted), math.ceil(ledger.count_to(limit, wanted + 1.0)))
            self.batch = Batch.SYNC
        elif active:
            if slept:
                size = float(self._recommend(now, redo, ledger, sync_limit=None))
                self.batch = Batch.ADAPTIVE
        elif slept:
            size = float(self.io_capacity * self._parameters.idle_flush_pct // 100)
            self.batch = Batch.BACKGROUND
        self._size = min(size, ledger.dirty)
        self.left = self._size
        self.wake_at = math.inf if self.left > 0.0 else self._loop_start + LOOP_SECONDS

    def wrote(self, pages: float) -> None:
        """Count pages that the running batch has written."""
        self.totals[self.batch] += pages
        self.left -= pages

    def finish(self, now: float) -> None:
        """End the running batch: sleep out the second, but for sync flushing, which goes on at once."""
        if self.batch is not Batch.BACKGROUND:
            self._last_pages = int(self._size)
        self.left = 0.0
        self.wake_at = now if self.batch is Batch.SYNC else max(now, self._loop_start + LOOP_SECONDS)

    def _recommend(self, now: float, redo: Redo, ledger: Ledger, *, sync_limit: float | None) -> int:
        """Return the pages to flush in this round, after ``page_recommendation``."""
        moved = redo.lsn != self._average_lsn
        self._set_average(now, redo.lsn)
        self._last_pages = 0
        if not moved and sync_limit is None:
            self.requested = 0
            return 0
        age = redo.lsn - ledger.oldest(redo.lsn)
        self.pct_for_lsn = self._pct_for_lsn(age, redo.flush_limit)
        most = 2 * self.io_capacity_max
        if sync_limit is None:
            target = redo.lsn - age + self.lsn_avg_rate * LSN_SCAN_FACTOR
            factor = LSN_SCAN_FACTOR
        else:
            target = sync_limit
            factor = 1
        found = int(ledger.count_to(target, 2.0 * most * factor))
        self.by_age = max(1, found // factor)
        by_age = min(self.by_age, most)
        if sync_limit is None:
            share = int(self.io_capacity * max(self._pct_for_dirty(ledger.dirty), self.pct_for_lsn) / 100.0)
            pages = min((share + self.page_avg_rate + by_age) // 3, self.io_capacity_max)
        else:
            pages = max(by_age, self.io_capacity)
        self.requested = pages
        if self.pct_for_lsn > SPREAD_ABOVE_PCT:
            return (found // factor + 1) * pages // self.by_age + 1
        return pages + 1

    def _set_average(self, now: float, lsn: float) -> None:
        """Renew both averages every ``innodb_flushing_avg_loops`` loops or seconds."""
        self._iterations += 1
        self._sum_pages += self._last_pages
        elapsed = max(1.0, now - self._average_since)
        loops = self._parameters.flushing_avg_loops
        if self._iterations < loops and elapsed < loops:
            return
        self.page_avg_rate = int((self._sum_pages / elapsed + self.page_avg_rate) / 2)
        self.lsn_avg_rate = (self.lsn_avg_rate + int((lsn - self._average_lsn) / elapsed)) // 2
        self._average_lsn = lsn
        self._average_since = now
        self._iterations = 0
        self._sum_pages = 0

    def _pct_for_lsn(self, age: float, flush_limit: float) -> int:
        """Return the flush percentage that the age asks for, percent of C."""
        if age < self._age_lwm:
            return 0
        percent = age * 100.0 / flush_limit
        return int(self.io_capacity_max // self.io_capacity * (percent * math.sqrt(percent)) / 7.5)

    def _pct_for_dirty(self, dirty: float) -> int:
        """Return the flush percentage that the share of dirty pages asks for, percent of C."""
        parameters = self._parameters
        percent = 100.0 * dirty / parameters.buffer_pool_pages
        if parameters.max_dirty_pages_pct_lwm == 0.0:
            return 100 if percent >= parameters.max_dirty_pages_pct and percent > 0.0 else 0
        if percent < parameters.max_dirty_pages_pct_lwm:
            return 0
        return int(percent * 100.0 / (parameters.max_dirty_pages_pct + 1.0))
