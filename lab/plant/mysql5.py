"""The page cleaners of MySQL 5.6 and 5.7, and of Percona Server 5.7: beyond the sync point all writers wait.

Source of 5.6.41: storage/innobase/buf/buf0flu.cc, ``page_cleaner_flush_pages_if_needed``,
``af_get_pct_for_dirty``, ``page_cleaner_do_flush_batch`` and ``buf_flush_page_cleaner_thread``;
log/log0log.cc, ``log_checkpoint_margin`` and ``log_preflush_pool_modified_pages``.

Source of 5.7.37 and 5.7.29: log/log0log.cc, ``log_checkpoint_margin`` and
``log_preflush_pool_modified_pages``; buf/buf0flu.cc, ``buf_flush_request_force``, ``buf_flush_wait_flushed``,
``buf_flush_page_cleaner_coordinator``, ``page_cleaner_flush_pages_recommendation``.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from lab.plant.cleaner import LOOP_SECONDS, LSN_SCAN_FACTOR, Averages, Batch, Cleaner, pct_io
from lab.plant.flush_list import CRUMB

if TYPE_CHECKING:
    from lab.plant.flush_list import FlushList
    from lab.plant.parameters import ServerParameters
    from lab.plant.redo import Redo

OVERSHOOT = 131_072
"""Redo that mini-transactions have added when the first writer finds the sync point passed, bytes."""


class MySQL5Cleaner(Cleaner):
    """A page cleaner whose writers wait beyond the sync point, until the age is back below it."""

    waits_for_sync = True

    def _beyond(self) -> tuple[float, float]:
        """Return the oldest modification, and the bytes by which it must move on before writers do."""
        oldest = self._oldest()
        return oldest, max(float(OVERSHOOT), self._redo.lsn - oldest - self._redo.sync_trigger)

    def _sync_to(self, lsn: float) -> None:
        """Begin a batch of all pages with modifications at or before an LSN."""
        self.batch = Batch.SYNC
        self._begin(math.ceil(self._flush_list.reach(lsn, math.inf)))


class MySQL56Cleaner(MySQL5Cleaner):
    """One thread whose batches stop early.

    The request is the mean of what the age asks for and of the rate so far. But a batch goes no further than
    the pages of the next second of redo at the mean rate, and of as many seconds more as the last request was
    larger than what it flushed. So more than the demand is flushed in every other loop only, and the mean
    stays below the requests. On an idle server it flushes C pages again and again without a pause, until it
    finds none. Beyond the sync point one of the writers flushes twice what is too much, when the thread's
    batch has ended.
    """

    def __init__(
        self, parameters: ServerParameters, redo: Redo, flush_list: FlushList, *, now: float
    ) -> None:
        super().__init__(parameters, redo, flush_list, now=now)
        self.averages = Averages(parameters.flushing_avg_loops, now=now, lsn=redo.lsn, clock=False)
        self._asked = 0
        self._flushed = 0
        self._seen = redo.lsn
        self._began = redo.lsn

    def wake(self, now: float, activity: float) -> None:
        """Run one loop: by the age on a server at work, C pages on an idle one."""
        self._loop_start = now
        self._began = self._redo.lsn
        if activity != self._activity:
            self._activity = activity
            self.batch = Batch.ADAPTIVE
            self._begin(float(self._recommend(now)))
        else:
            self.batch = Batch.BACKGROUND
            self._begin(float(pct_io(self.io_capacity, 100)))

    def hold_writers(self) -> None:
        """Let one of the writers flush, or wait for the batch that runs."""
        self.holds_writers = True
        if self.left <= 0.0:
            oldest, beyond = self._beyond()
            self._sync_to(oldest + 2.0 * beyond)

    def finish(self, now: float) -> None:
        """End the running batch, and let writers look again.

        The thread rests where writers were at work, and where it found no page to flush (``n_flushed == 0``).
        """
        found_none = self._size - self.left <= CRUMB
        rests = found_none or self.batch is Batch.SYNC or self._redo.lsn != self._began
        if self.batch is Batch.ADAPTIVE:
            self._last_pages = self._flushed = int(self._size)
        self.left = 0.0
        self.holds_writers = False
        self.wake_at = max(now, self._loop_start + 1.0) if rests else now

    def _recommend(self, now: float, *, sync_limit: float | None = None) -> int:  # noqa: ARG002 - it has no rounds
        averages, redo = self.averages, self._redo
        if not averages.moved(redo.lsn):
            return 0
        averages.loop(now, redo.lsn, self._last_pages)
        self._last_pages = 0
        oldest = self._oldest()
        self.pct_for_lsn = self._pct_for_lsn(redo.lsn - oldest)
        share = pct_io(self.io_capacity, max(self._pct_for_dirty(), self.pct_for_lsn))
        self.requested = min((share + averages.page_rate) // 2, self.io_capacity_max)
        hurries = redo.lsn - self._seen > averages.lsn_rate // 2
        factor = self._asked // (self._flushed + 1) if hurries else 0
        self._seen = redo.lsn
        self._asked = self.requested
        self._flushed = 0
        limit = oldest + averages.lsn_rate * (factor + 1)
        return math.ceil(self._flush_list.share_out(float(self.requested), limit))

    def _pct_for_dirty(self) -> int:
        percent = int(100.0 * self._flush_list.dirty / self._pool_pages)
        low, high = int(self.settings.max_dirty_pages_pct_lwm), int(self.settings.max_dirty_pages_pct)
        if low == 0:
            return 100 if percent > high else 0
        return percent * 100 // (high + 1) if percent > low else 0


WRITTEN = 1e-6
"""Awaited pages that count as none."""


class MySQL57Cleaner(MySQL5Cleaner):
    """A coordinator that is woken for one batch of any size, with innodb_flush_sync.

    Writers wait until what was too much is flushed, and no longer: the batch goes on beside them, for three
    seconds' redo more. Without innodb_flush_sync they wait for the loops of every second. A request waits for
    the batch that runs, and for the loop after it where that batch took its second up. Writers look again
    every 10 ms, which is left out.
    """

    def __init__(
        self, parameters: ServerParameters, redo: Redo, flush_list: FlushList, *, now: float
    ) -> None:
        super().__init__(parameters, redo, flush_list, now=now)
        self._awaited = 0.0
        """Pages that writers still wait for."""
        self._rest = 0.0
        """Pages of the running batch beyond those."""
        self._forced = 0.0
        """LSN that a forced batch has to reach; 0 where none is asked for."""

    def hold_writers(self) -> None:
        """Let writers wait for what is too much, and ask for a forced batch."""
        oldest, beyond = self._beyond()
        target = oldest + beyond
        self._awaited = math.ceil(self._flush_list.reach(target, math.inf))
        self.holds_writers = self._awaited > 0.0
        if self.settings.flush_sync:
            self._forced = max(self._forced, target + self.averages.lsn_rate * LSN_SCAN_FACTOR)
        if self.left > 0.0:
            self._split()
        elif self._forced > 0.0:
            self._force()

    def wrote(self, pages: float) -> None:
        super().wrote(pages)
        self._awaited -= pages

    def finish(self, now: float) -> None:
        """Let writers go on where their pages are written, and the batch for its rest or the next."""
        if self._awaited <= WRITTEN:
            self.holds_writers = False
        if self._rest > 0.0:
            self.left, self._rest = self._rest, 0.0
            return
        if self.batch is Batch.ADAPTIVE:
            self._last_pages = int(self._size)
        self.left = 0.0
        if self._forced > 0.0 and now < self._loop_start + LOOP_SECONDS:
            self._force()
        else:
            self.wake_at = max(now, self._loop_start + LOOP_SECONDS)

    def _force(self) -> None:
        lsn, self._forced = self._forced, 0.0
        self._sync_to(lsn)

    def _begin(self, size: float) -> None:
        """Begin a batch; its first part is what writers wait for."""
        super()._begin(size)
        if self.holds_writers:
            self._split()

    def _split(self) -> None:
        """Let the running batch pause where writers may go on."""
        if self._awaited < self.left:
            self._rest = self.left - self._awaited
            self.left = self._awaited

    def _recommend(self, now: float, *, sync_limit: float | None = None) -> int:
        """Return the pages to flush in this round; nothing is counted where no redo was written."""
        if not self.averages.moved(self._redo.lsn):
            self._last_pages = 0
            return 0
        return super()._recommend(now, sync_limit=sync_limit)
