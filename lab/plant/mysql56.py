"""The page cleaner of MySQL 5.6.

Source: storage/innobase/buf/buf0flu.cc of 5.6.41, ``page_cleaner_flush_pages_if_needed``,
``af_get_pct_for_dirty``, ``page_cleaner_do_flush_batch`` and ``buf_flush_page_cleaner_thread``;
log/log0log.cc, ``log_checkpoint_margin`` and ``log_preflush_pool_modified_pages``.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from lab.plant.averages import Averages
from lab.plant.cleaner import Batch, pct_io
from lab.plant.held import HeldCleaner
from lab.plant.pages import CRUMB

if TYPE_CHECKING:
    from lab.plant.pages import Ledger
    from lab.plant.parameters import ServerParameters
    from lab.plant.redo import Redo


class OldCleaner(HeldCleaner):
    """One thread whose batches stop early.

    The request is the mean of what the age asks for and of the rate so far. But a batch goes no further than
    the pages of the next second of redo at the mean rate, and of as many seconds more as the last request was
    larger than what it flushed. So more than the demand is flushed in every other loop only, and the mean
    stays below the requests. On an idle server it flushes C pages again and again without a pause, until it
    finds none. Beyond the sync point one of the writers flushes twice what is too much, when the thread's
    batch has ended.
    """

    __slots__ = ("_asked", "_began", "_flushed", "_seen")

    def __init__(self, parameters: ServerParameters, redo: Redo, *, now: float) -> None:
        """Start asleep."""
        super().__init__(parameters, redo, now=now)
        self.averages = Averages(parameters.flushing_avg_loops, now=now, lsn=redo.lsn, clock=False)
        self._asked = 0
        self._flushed = 0
        self._seen = redo.lsn
        self._began = redo.lsn

    def wake(self, now: float, redo: Redo, ledger: Ledger, activity: float) -> None:
        """Run one loop: by the age on a server at work, C pages on an idle one."""
        self._loop_start = now
        self._began = redo.lsn
        if activity != self._activity:
            self._activity = activity
            self.batch = Batch.ADAPTIVE
            self._begin(float(self._recommend(now, redo, ledger, sync_limit=None)), ledger)
        else:
            self.batch = Batch.BACKGROUND
            self._begin(float(pct_io(self.io_capacity, 100)), ledger)

    def hold_writers(self, redo: Redo, ledger: Ledger) -> None:
        """Let one of the writers flush, or wait for the batch that runs."""
        self.holds_writers = True
        if self.left <= 0.0:
            oldest, beyond = self._beyond(redo, ledger)
            self._sync_to(oldest + 2.0 * beyond, ledger)

    def finish(self, now: float, redo: Redo, ledger: Ledger) -> None:  # noqa: ARG002 - only MariaDB ends a batch with a checkpoint
        """End the running batch, and let writers look again.

        The thread rests where writers were at work, and where it found no page to flush (``n_flushed == 0``).
        """
        found_none = self._size - self.left <= CRUMB
        rests = found_none or self.batch is Batch.SYNC or redo.lsn != self._began
        if self.batch is Batch.ADAPTIVE:
            self._last_pages = self._flushed = int(self._size)
        self.left = 0.0
        self.holds_writers = False
        self.wake_at = max(now, self._loop_start + 1.0) if rests else now

    def _recommend(self, now: float, redo: Redo, ledger: Ledger, *, sync_limit: float | None) -> int:  # noqa: ARG002 - it has no rounds
        """Return the pages to flush in this loop."""
        averages = self.averages
        if not averages.moved(redo.lsn):
            return 0
        averages.loop(now, redo.lsn, self._last_pages)
        self._last_pages = 0
        oldest = ledger.oldest(redo.lsn)
        self.pct_for_lsn = self._pct_for_lsn(redo.lsn - oldest, redo)
        share = pct_io(self.io_capacity, max(self._pct_for_dirty(ledger.dirty), self.pct_for_lsn))
        self.requested = min((share + averages.page_rate) // 2, self.io_capacity_max)
        hurries = redo.lsn - self._seen > averages.lsn_rate // 2
        factor = self._asked // (self._flushed + 1) if hurries else 0
        self._seen = redo.lsn
        self._asked = self.requested
        self._flushed = 0
        limit = oldest + averages.lsn_rate * (factor + 1)
        return math.ceil(ledger.share_out(float(self.requested), limit))

    def _pct_for_dirty(self, dirty: float) -> int:
        """Return the flush percentage that the share of dirty pages asks for, in whole percent."""
        percent = int(100.0 * dirty / self._parameters.buffer_pool_pages)
        low, high = int(self._in_force.max_dirty_pages_pct_lwm), int(self._in_force.max_dirty_pages_pct)
        if low == 0:
            return 100 if percent > high else 0
        return percent * 100 // (high + 1) if percent > low else 0
