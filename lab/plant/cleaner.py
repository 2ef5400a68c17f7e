"""The page cleaner of MySQL and Percona Server: how many pages are flushed in which round.

Source: storage/innobase/buf/buf0flu.cc of MySQL 8.0.44 and 9.7: namespace ``Adaptive_flush``
(``initialize``, ``set_average``, ``get_pct_for_dirty``, ``get_pct_for_lsn``,
``set_flush_target_by_lsn``, ``page_recommendation``) and ``buf_flush_page_coordinator_thread``;
include/srv0srv.h, ``PCT_IO``. One buffer pool instance. Integer arithmetic where the server's is.
"""

from __future__ import annotations

import math
from enum import IntEnum
from typing import TYPE_CHECKING, ClassVar

from lab.plant.flavour import Sync

if TYPE_CHECKING:
    from lab.plant.flush_list import FlushList
    from lab.plant.parameters import ServerParameters
    from lab.plant.redo import Redo


class Averages:
    """Renewed by half every ``innodb_flushing_avg_loops`` loops or seconds.

    Source: ``Adaptive_flush::set_average`` of MySQL 9.7, ``page_cleaner_flush_pages_recommendation`` of 5.7
    and MariaDB, ``page_cleaner_flush_pages_if_needed`` of 5.6 (storage/innobase/buf/buf0flu.cc). 5.6 looks at
    no clock: its rates are for a loop, however long that takes.

    Attributes:
        page_rate: ``buffer_flush_avg_page_rate``, pages/s.
        lsn_rate: ``buffer_flush_lsn_avg_rate``, bytes/s.
    """

    def __init__(self, loops: int, *, now: float, lsn: float, clock: bool = True) -> None:
        """Start with both at 0.

        Args:
            loops: ``innodb_flushing_avg_loops``.
            now: simulated seconds.
            lsn: current LSN, bytes.
            clock: rates are for a second; for a loop without.
        """
        self._clock = clock
        self._loops = loops
        self._since = now
        self._lsn = lsn
        self._iterations = 0
        self._pages = 0
        self.page_rate = 0
        self.lsn_rate = 0

    def moved(self, lsn: float) -> bool:
        """Tell whether redo was written since they were renewed last."""
        return lsn != self._lsn

    def restart(self, now: float, lsn: float) -> None:
        """Begin the time over which both are meant again here, and keep what was counted (MariaDB)."""
        self._since = now
        self._lsn = lsn

    def loop(self, now: float, lsn: float, pages: int) -> None:
        """Take in one loop and the pages that the one before flushed."""
        self._iterations += 1
        self._pages += pages
        elapsed = max(1.0, now - self._since) if self._clock else float(self._iterations)
        if self._iterations < self._loops and elapsed < self._loops:
            return
        flushed = self._pages / elapsed if self._clock else self._pages // self._iterations
        self.page_rate = int((flushed + self.page_rate) / 2)
        self.lsn_rate = (self.lsn_rate + int((lsn - self._lsn) / elapsed)) // 2
        self._lsn = lsn
        self._since = now
        self._iterations = 0
        self._pages = 0


LOOP_SECONDS = 1.0
LSN_SCAN_FACTOR = 3
"""``buf_flush_lsn_scan_factor``: seconds of redo that the scan for age looks ahead."""

SPREAD_ABOVE_PCT = 30
"""LSN percentage above which the request is spread by age."""


def pct_io(io_capacity: int, percent: int) -> int:
    """Return a percentage of C, pages/s, as ``PCT_IO`` does: 29 % of 100 are 28."""
    return int(io_capacity * (percent / 100.0))


class Batch(IntEnum):
    """What a round of flushing is for; each has a counter of its own."""

    ADAPTIVE = 0
    SYNC = 1
    BACKGROUND = 2


class Cleaner:
    """The coordinator thread's state between two of its loops.

    ``now`` is in simulated seconds; ``activity`` is the server's activity counter, here the commits.

    Attributes:
        settings: in force.
        io_capacity: C in force, pages/s.
        io_capacity_max: M in force, pages/s.
        wake_at: when the thread looks again, simulated seconds; infinite while a batch runs.
        batch: what the running batch is for.
        left: pages that the running batch has still to write; 0 when none runs.
        holds_writers: writers wait for flushing, beyond the sync point of MySQL 5.
        pct_for_lsn: ``buffer_flush_pct_for_lsn``, percent of C.
        requested: ``buffer_flush_n_to_flush_requested``, pages.
        by_age: ``buffer_flush_n_to_flush_by_age``, pages.
        averages: page and redo rate as the law sees them.
        totals: pages flushed so far, one number per kind of batch.
    """

    waits_for_sync: ClassVar = False
    """Writers wait beyond the sync point."""

    def __init__(
        self, parameters: ServerParameters, redo: Redo, flush_list: FlushList, *, now: float
    ) -> None:
        """Start asleep, to wake within a second."""
        self._redo = redo
        self._flush_list = flush_list
        self._kind = parameters.kind
        self._pool_pages = parameters.buffer_pool_pages
        self.settings = parameters.in_force
        self.io_capacity_max = self.settings.io_capacity_max
        self.io_capacity = min(self.settings.io_capacity, self.io_capacity_max)
        self._low_water = parameters.adaptive_flushing_lwm / 100.0
        self._loop_start = now
        self.wake_at = now + LOOP_SECONDS
        self.averages = Averages(parameters.flushing_avg_loops, now=now, lsn=redo.lsn)
        self._last_pages = 0
        self._active = True
        self._activity = 0.0
        self._size = 0.0
        self.batch = Batch.ADAPTIVE
        self.left = 0.0
        self.holds_writers = False
        self.pct_for_lsn = 0
        self.requested = 0
        self.by_age = 0
        self.totals = [0.0, 0.0, 0.0]

    def set_dirty_lwm(self, percent: float) -> None:
        """Set ``innodb_max_dirty_pages_pct_lwm``; the next loop goes by it."""
        bounded = max(0.0, min(percent, self.settings.max_dirty_pages_pct))
        self.settings = self.settings._replace(max_dirty_pages_pct_lwm=bounded)

    def wake(self, now: float, activity: float) -> None:
        """Run one loop of the coordinator: decide whether a batch starts, and which."""
        slept = now >= self._loop_start + LOOP_SECONDS
        active = self._active
        if slept:
            self._loop_start = now
            self._active = activity != self._activity
            self._activity = activity
        limit = self._rounds_to()
        size = 0.0
        if limit is not None:
            limit += self.averages.lsn_rate * LSN_SCAN_FACTOR
            wanted = self._recommend(now, sync_limit=limit)
            # the batch ends early where the limit is reached
            size = min(float(wanted), math.ceil(self._flush_list.reach(limit, wanted + 1.0)))
            self.batch = Batch.SYNC
        elif active:
            if slept:
                size = float(self._recommend(now))
                self.batch = Batch.ADAPTIVE
        elif slept:
            size = float(pct_io(self.io_capacity, self.settings.idle_flush_pct))
            self.batch = Batch.BACKGROUND
        self._begin(size)

    def out_of_room(self, now: float, activity: float) -> None:
        """Act on writers that find no room in the log."""
        if self.wake_at <= now:
            self.wake(now, activity)

    def hold_writers(self) -> None:
        """Do nothing: from 8.0 on nobody waits for sync flushing."""

    def wakes_for_sync(self) -> bool:
        """Tell whether a checkpoint that finds the age too high wakes the thread."""
        return self.left <= 0.0 and self._kind.sync is Sync.ROUNDS

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

    def _begin(self, size: float) -> None:
        """Begin a batch of so many pages, or sleep where there are none."""
        self._size = min(size, self._flush_list.dirty)
        self.left = self._size
        self.wake_at = math.inf if self.left > 0.0 else self._loop_start + LOOP_SECONDS

    def _oldest(self) -> float:
        return self._flush_list.oldest(self._redo.lsn)

    def _rounds_to(self) -> float | None:
        """Return the LSN up to which rounds without sleep go; None where they are not called for."""
        if self._kind.sync is not Sync.ROUNDS or not self.settings.flush_sync:
            return None
        return self._redo.sync_flush_lsn(self._oldest())

    def _recommend(self, now: float, *, sync_limit: float | None = None) -> int:
        """Return the pages to flush in this round, after ``page_recommendation``."""
        averages, redo = self.averages, self._redo
        moved = averages.moved(redo.lsn)
        averages.loop(now, redo.lsn, self._last_pages)
        self._last_pages = 0
        if not moved and sync_limit is None:
            self.requested = 0
            return 0
        age = redo.lsn - self._oldest()
        self.pct_for_lsn = self._pct_for_lsn(age)
        most = 2 * self.io_capacity_max
        found, factor = self._needed(age, most, sync_limit)
        by_age = min(self.by_age, most)
        if sync_limit is not None:
            pages = max(by_age, self.io_capacity)
        else:
            share = pct_io(self.io_capacity, max(self._pct_for_dirty(), self.pct_for_lsn))
            if self._kind.law.ignores_averages_at_limit and age >= redo.flush_limit:
                pages = share
            else:
                pages = (share + averages.page_rate + by_age) // 3
            pages = min(pages, self.io_capacity_max)
        self.requested = pages
        if self.pct_for_lsn > SPREAD_ABOVE_PCT:
            return (found // factor + 1) * pages // self.by_age + 1
        return pages + 1

    def _needed(self, age: float, most: int, sync_limit: float | None) -> tuple[int, int]:
        """Count the pages that the redo rate needs; return those found, and over how many seconds."""
        if sync_limit is None:
            target = self._redo.lsn - age + self.averages.lsn_rate * LSN_SCAN_FACTOR
            factor = LSN_SCAN_FACTOR
        else:
            target = sync_limit
            factor = 1
        found = int(self._flush_list.count_to(target, 2.0 * most * factor))
        self.by_age = max(1, found // factor)
        return found, factor

    def _pct_for_lsn(self, age: float) -> int:
        if age < self._low_water * self._redo.low_water_base:
            return 0
        return self._kind.law.percentage(age, self._redo.flush_limit, self.io_capacity, self.io_capacity_max)

    def _pct_for_dirty(self) -> int:
        percent = 100.0 * self._flush_list.dirty / self._pool_pages
        low, high = self.settings.max_dirty_pages_pct_lwm, self.settings.max_dirty_pages_pct
        if low == 0.0:
            return 100 if percent >= high and percent > 0.0 else 0
        if percent < low:
            return 0
        return int(percent * 100.0 / (high + 1.0))
