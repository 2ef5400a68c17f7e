"""The page cleaner of MariaDB 10.11 and 11.8.

Source: storage/innobase of 11.8.6: mtr/mtr0mtr.cc ``log_close``; buf/buf0flu.cc ``buf_flush_ahead``,
``buf_flush_page_cleaner``, ``buf_flush_sync_for_checkpoint``, ``page_cleaner_flush_pages_recommendation``,
``af_needed_for_redo``; log/log0log.cc ``log_checkpoint_margin``.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from lab.plant.cleaner import LOOP_SECONDS, LSN_SCAN_FACTOR, Batch, Cleaner

if TYPE_CHECKING:
    from lab.plant.pages import Ledger
    from lab.plant.parameters import ServerParameters
    from lab.plant.redo import Redo


class MariaDBCleaner(Cleaner):
    """One thread that sleeps until it is needed, and writes a checkpoint after each of its loops.

    With ``innodb_max_dirty_pages_pct_lwm`` = 0 it sleeps until the checkpoint age is at the flush limit,
    flushes up to M pages there, and goes on at its own pace, whatever the age, until that is below the low
    water mark. With more than 0, and so many dirty pages, the age decides as in MySQL. From the stall point
    on writers wait, and it flushes rounds of M pages without sleep, until nothing is left of what was
    dirty then.
    """

    __slots__ = ("_asleep", "_furious")

    def __init__(self, parameters: ServerParameters, redo: Redo, *, now: float) -> None:
        """Start asleep."""
        super().__init__(parameters, redo, now=now)
        self._asleep = True
        self._furious = 0.0

    def wake(self, now: float, redo: Redo, ledger: Ledger, activity: float) -> None:
        """Run one loop; see ``Cleaner.wake``."""
        if self._furious > ledger.oldest(redo.lsn) and self._in_force.flush_sync:
            self.batch = Batch.SYNC
            self._last_pages = 0
            self._begin(ledger.count_to(self._furious, float(self.io_capacity_max)), ledger)
            return
        self._furious = 0.0
        slept = now >= self._loop_start + LOOP_SECONDS
        if not slept:
            self.wake_at = self._loop_start + LOOP_SECONDS
            return
        self._loop_start = now
        busy = activity != self._activity
        self._activity = activity
        self._checkpoint(now, redo, ledger)
        size = self._paced(now, redo, ledger, busy=busy)
        self._begin(size, ledger)

    def out_of_room(self, now: float, redo: Redo, ledger: Ledger, activity: float) -> None:
        """Become furious: writers wait, and all that was dirty when they began to is flushed."""
        self._furious = redo.lsn
        if self.left <= 0.0:
            self.wake_at = now
            self.wake(now, redo, ledger, activity)

    def finish(self, now: float, redo: Redo, ledger: Ledger) -> None:
        """End the running batch with a checkpoint; only a furious round is followed by the next at once."""
        if self.batch is Batch.ADAPTIVE:
            self._last_pages = int(self._size)
        self.left = 0.0
        self._checkpoint(now, redo, ledger)
        self.wake_at = now if self.batch is Batch.SYNC else max(now, self._loop_start + LOOP_SECONDS)

    def _checkpoint(self, now: float, redo: Redo, ledger: Ledger) -> None:
        redo.make_available(ledger.oldest(redo.lsn))
        redo.write_checkpoint(now)

    def _paced(self, now: float, redo: Redo, ledger: Ledger, *, busy: bool) -> float:
        """Return the pages of a loop that is not furious; 0 where the thread sleeps on."""
        dirty = 100.0 * ledger.dirty / self._parameters.buffer_pool_pages
        low, high = self._in_force.max_dirty_pages_pct_lwm, self._in_force.max_dirty_pages_pct
        target = redo.lsn - redo.flush_limit
        if redo.checkpoint < target:
            self._asleep = False
            self.batch = Batch.BACKGROUND
            size = ledger.count_to(target, float(self.io_capacity_max))
            if size > 0.0:
                return size
        age = redo.lsn - ledger.oldest(redo.lsn)
        if dirty >= high or (low > 0.0 and dirty >= low):
            self._asleep = False
        elif age < self._low_water * redo.low_water_base or low > 0.0:
            self._asleep = True
        if not self._asleep:
            self.batch = Batch.ADAPTIVE
            ratio = None if low == 0.0 or dirty < low else dirty / high
            return float(self._asked(now, redo, ledger, floods=dirty > high, by_dirty=ratio))
        self.batch = Batch.BACKGROUND
        return 0.0 if busy or low == 0.0 else float(self.io_capacity)

    def _asked(self, now: float, redo: Redo, ledger: Ledger, *, floods: bool, by_dirty: float | None) -> int:
        """Return the pages of an adaptive loop, after ``page_cleaner_flush_pages_recommendation``.

        Args:
            now: simulated seconds.
            redo: the log.
            ledger: the flush list.
            floods: more pages are dirty than ``innodb_max_dirty_pages_pct`` says.
            by_dirty: share of C that the dirty pages ask for; None where neither they nor the age count.
        """
        averages = self.averages
        moved = averages.moved(redo.lsn)
        averages.loop(now, redo.lsn, self._last_pages)
        self._last_pages = 0
        most = self.io_capacity_max
        if not moved:
            self.requested = 0
            return 0
        age = redo.lsn - ledger.oldest(redo.lsn)
        self.pct_for_lsn = self._pct_for_lsn(age, redo)
        if self.pct_for_lsn == 0:
            self.requested = min(math.ceil(ledger.dirty), most if floods else self.io_capacity)
            return self.requested
        ratio = 1.0 if by_dirty is None else max(self.pct_for_lsn / 100.0, by_dirty)
        target = redo.lsn - age + averages.lsn_rate * LSN_SCAN_FACTOR
        self.by_age = max(1, int(ledger.count_to(target, float(most))) // LSN_SCAN_FACTOR)
        self.requested = min((int(self.io_capacity * ratio) + averages.page_rate + self.by_age) // 3, most)
        return self.requested
