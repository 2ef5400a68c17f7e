"""The page cleaner of MariaDB 10.5, 10.11 and 11.8, and its redo log as far as that is not MySQL's.

Source: storage/innobase of 11.8.6: mtr/mtr0mtr.cc ``log_close``; buf/buf0flu.cc ``buf_flush_ahead``,
``buf_flush_page_cleaner``, ``buf_flush_sync_for_checkpoint``, ``page_cleaner_flush_pages_recommendation``,
``af_needed_for_redo``, ``write_checkpoint``; log/log0log.cc ``log_checkpoint_margin``,
``resize_start``. ``docs/simulate.md`` says what is left out.

Departures from it: a thread that waits without a time limit is looked at once a second, so that it finds the
age beyond the flush limit up to a second late. Older releases, 10.5 and 10.11 among them, ask for all pages
up to the current LSN, in both ways; 11.8.6 for those up to the LSN that lies the flush limit back, in both.
Neighbours of a page are flushed with it as ``lab.plant.neighbours`` says.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from lab.plant.cleaner import LOOP_SECONDS, LSN_SCAN_FACTOR, Batch, Cleaner
from lab.plant.redo import Redo

if TYPE_CHECKING:
    from lab.plant.flavour import ServerParameters
    from lab.plant.flush_list import FlushList


class MariaDBCleaner(Cleaner):
    """One thread that sleeps until it is needed, and writes a checkpoint after each of its loops.

    A commit that finds the checkpoint age above the flush limit asks for all pages to be flushed whose oldest
    modification is that far back. The thread does so, up to M pages in a loop of a second; from the stall
    point on writers wait, and it does so in rounds of M pages without sleep.

    Where nothing of that is asked for, it flushes at its own pace. With so many pages dirty as
    ``innodb_max_dirty_pages_pct_lwm`` says the age decides as in MySQL. With fewer, or with 0 there, the pace
    does not heed the age, and below the low water mark the thread is idle: with 0 until the flush limit.
    Before MDEV-26827 the age decides whatever that variable says, and dirty pages next to nothing (10.5.23).
    """

    __slots__ = ("_began", "_furious", "_idle", "_soft")

    def __init__(self, parameters: ServerParameters, redo: Redo, *, now: float) -> None:
        """Start asleep."""
        super().__init__(parameters, redo, now=now)
        self._began = False
        self._idle = True
        self._soft = 0.0  # buf_flush_async_lsn
        self._furious = 0.0  # buf_flush_sync_lsn

    def wake(self, now: float, redo: Redo, flush_list: FlushList, activity: float) -> None:
        """Run one loop; see ``Cleaner.wake``."""
        self._targets(redo)
        oldest = flush_list.oldest(redo.lsn)
        if self._furious > oldest and self._in_force.flush_sync:
            self.batch = Batch.SYNC
            self._last_pages = 0
            self._loop_start = now
            self._begin(self._pages_to(self._furious, flush_list), flush_list)
            return
        if self._furious <= oldest:
            self._furious = 0.0
        if now < self._loop_start + LOOP_SECONDS:
            self.wake_at = self._loop_start + LOOP_SECONDS
            return
        self._loop_start = now
        busy = activity != self._activity
        self._activity = activity
        self._checkpoint(now, redo, flush_list)
        self._begin(self._paced(now, redo, flush_list, busy=busy), flush_list)

    def out_of_room(self, now: float, redo: Redo, flush_list: FlushList, activity: float) -> None:
        """Become furious, for writers wait."""
        self._furious = max(self._furious, self._target(redo))
        if self.left <= 0.0:
            self.wake_at = now
            self.wake(now, redo, flush_list, activity)

    def finish(self, now: float, redo: Redo, flush_list: FlushList) -> None:
        """End the running batch with a checkpoint; what is furious goes on at once."""
        self._targets(redo)
        oldest = flush_list.oldest(redo.lsn)
        if self.batch is Batch.ADAPTIVE:
            self._last_pages = int(self._size)
        elif self.batch is Batch.SYNC:
            self._loop_start = now
            if self._furious <= oldest:
                self._furious = 0.0
        if self._soft <= oldest:
            self._soft = 0.0
        self.left = 0.0
        self._checkpoint(now, redo, flush_list)
        goes_on = self._furious > 0.0 and self._in_force.flush_sync
        self.wake_at = now if goes_on else max(now, self._loop_start + LOOP_SECONDS)

    def _pages_to(self, lsn: float, flush_list: FlushList) -> float:
        """Return the pages of a batch that goes to an LSN, whole ones, M at most."""
        return float(math.ceil(flush_list.reach(lsn, float(self.io_capacity_max))))

    def _checkpoint(self, now: float, redo: Redo, flush_list: FlushList) -> None:
        redo.make_available(flush_list.oldest(redo.lsn))
        redo.write_checkpoint(now)

    def _targets(self, redo: Redo) -> None:
        """Take in what the commits so far have asked for (``log_close``), and a log that is resized."""
        age = redo.lsn - redo.checkpoint
        if age >= redo.stall_point:
            self._furious = max(self._furious, self._target(redo))
        elif age > redo.flush_limit:
            self._soft = max(self._soft, self._target(redo))
        self._soft = max(self._soft, redo.flush_first)

    def _target(self, redo: Redo) -> float:
        """Return the LSN up to which a commit asks for pages that finds the age too high."""
        return redo.lsn if self._parameters.kind.asks_all else redo.lsn - redo.flush_limit

    def _paced(self, now: float, redo: Redo, flush_list: FlushList, *, busy: bool) -> float:
        """Return the pages of a loop that is not furious; 0 where the thread sleeps on."""
        oldest = flush_list.oldest(redo.lsn)
        if self._soft <= oldest:
            self._soft = 0.0
        soft = max(self._soft, self._furious)  # furious only without innodb_flush_sync
        dirty = 100.0 * flush_list.listed / self._parameters.buffer_pool_pages
        low, high = self._in_force.max_dirty_pages_pct_lwm, self._in_force.max_dirty_pages_pct
        self.batch = Batch.BACKGROUND
        if low > 0.0 and not busy and self._idle:
            return float(self.io_capacity)
        if low == 0.0 and dirty < high and soft == 0.0 and self._idle:
            return 0.0  # waits without a time limit
        heeds_age = low > 0.0 and dirty >= low
        young = redo.lsn - oldest <= self._low_water * redo.low_water_base
        self._idle = not heeds_age and (low > 0.0 or dirty < high) and soft == 0.0 and young
        if self._idle:
            return 0.0
        if soft > 0.0:
            return self._pages_to(soft, flush_list)
        self.batch = Batch.ADAPTIVE
        by_dirty = dirty / high if heeds_age and high > 0.0 else None
        if self._parameters.kind.heeds_age:
            by_dirty = float(dirty >= high) if low == 0.0 else int(dirty / max(1.0, high)) / 100.0
        return float(self._asked(now, redo, flush_list, by_dirty=by_dirty))

    def _asked(self, now: float, redo: Redo, flush_list: FlushList, *, by_dirty: float | None) -> int:
        """Return the pages of an adaptive loop, after ``page_cleaner_flush_pages_recommendation``.

        Args:
            now: simulated seconds.
            redo: the log.
            flush_list: the flush list.
            by_dirty: share of C that the dirty pages ask for; None where neither they nor the age count.
        """
        averages = self.averages
        most = self.io_capacity_max
        age = redo.lsn - flush_list.oldest(redo.lsn)
        self.pct_for_lsn = self._pct_for_lsn(age, redo)
        if self.pct_for_lsn == 0 or not self._began:
            self._began = True
            averages.restart(now, redo.lsn)
            self.requested = self._below_low_water(math.ceil(flush_list.listed))
            return self.requested
        averages.loop(now, redo.lsn, self._last_pages)
        self._last_pages = 0
        ratio = 1.0 if by_dirty is None else max(self.pct_for_lsn / 100.0, by_dirty)
        target = redo.lsn - age + averages.lsn_rate * LSN_SCAN_FACTOR
        self.by_age = max(1, int(flush_list.count_to(target, float(most))) // LSN_SCAN_FACTOR)
        self.requested = min((int(self.io_capacity * ratio) + averages.page_rate + self.by_age) // 3, most)
        return self.requested

    def _below_low_water(self, dirty: int) -> int:
        """Return the pages of an adaptive loop below the low water mark: C, or all where they are few."""
        if dirty <= self.io_capacity:
            return dirty
        percent = 100.0 * dirty / self._parameters.buffer_pool_pages
        asked = int(percent / max(1.0, self._in_force.max_dirty_pages_pct) * self.io_capacity)
        return self.io_capacity if asked < dirty else min(self.io_capacity_max, dirty)


class MariaDBRedo(Redo):
    """A redo log that is written to two files, until all that is older than the second one is on disk.

    Larger or smaller, all limits stay as they are until the first checkpoint at or behind the LSN where the
    new file begins; until then the page cleaner is asked to flush what is older than that, at most M pages a
    second. Where more is written meanwhile than the new file holds, it begins again.
    """

    __slots__ = ("_begin",)

    def resize(self, capacity: int) -> None:
        """Begin a file of another size at the current LSN; refused while one is being changed."""
        if not self.resizing:
            self.wanted = capacity
            self._begin = self.lsn

    @property
    def flush_first(self) -> float:
        """Return the LSN up to which pages are to be flushed for another size; 0 for none."""
        if not self.resizing:
            return 0.0
        if self.lsn - self._begin >= self.wanted:
            self._begin = self.lsn
        return self._begin

    def write_checkpoint(self, now: float) -> bool:
        """Write a checkpoint; see ``Redo.write_checkpoint``. It may be the one that ends a change of size."""
        written = super().write_checkpoint(now)
        if self.resizing and self.checkpoint >= self.flush_first:
            self._hold(self.wanted)
        return written
