"""The page cleaner of MariaDB 10.5, 10.11 and 11.8, and its redo log as far as that is not MySQL's.

Source: storage/innobase of 11.8.6: mtr/mtr0mtr.cc ``log_close``; buf/buf0flu.cc ``buf_flush_ahead``,
``buf_flush_page_cleaner``, ``buf_flush_sync_for_checkpoint``, ``page_cleaner_flush_pages_recommendation``,
``af_needed_for_redo``, ``write_checkpoint``; log/log0log.cc ``log_checkpoint_margin``,
``resize_start``. ``docs/lab/simulate.md`` says what is left out.

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
    from lab.plant.flush_list import FlushList
    from lab.plant.parameters import ServerParameters


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

    def __init__(
        self, parameters: ServerParameters, redo: Redo, flush_list: FlushList, *, now: float
    ) -> None:
        super().__init__(parameters, redo, flush_list, now=now)
        self._began = False
        self._idle = True
        self._soft = 0.0  # buf_flush_async_lsn
        self._furious = 0.0  # buf_flush_sync_lsn

    def wake(self, now: float, activity: float) -> None:
        self._targets()
        oldest = self._oldest()
        if self._furious > oldest and self.settings.flush_sync:
            self.batch = Batch.SYNC
            self._last_pages = 0
            self._loop_start = now
            self._begin(self._pages_to(self._furious))
            return
        if self._furious <= oldest:
            self._furious = 0.0
        if now < self._loop_start + LOOP_SECONDS:
            self.wake_at = self._loop_start + LOOP_SECONDS
            return
        self._loop_start = now
        busy = activity != self._activity
        self._activity = activity
        self._checkpoint(now)
        self._begin(self._paced(now, busy=busy))

    def out_of_room(self, now: float, activity: float) -> None:
        """Become furious, for writers wait."""
        self._furious = max(self._furious, self._target())
        if self.left <= 0.0:
            self.wake_at = now
            self.wake(now, activity)

    def finish(self, now: float) -> None:
        """End the running batch with a checkpoint; what is furious goes on at once."""
        self._targets()
        oldest = self._oldest()
        if self.batch is Batch.ADAPTIVE:
            self._last_pages = int(self._size)
        elif self.batch is Batch.SYNC:
            self._loop_start = now
            if self._furious <= oldest:
                self._furious = 0.0
        if self._soft <= oldest:
            self._soft = 0.0
        self.left = 0.0
        self._checkpoint(now)
        goes_on = self._furious > 0.0 and self.settings.flush_sync
        self.wake_at = now if goes_on else max(now, self._loop_start + LOOP_SECONDS)

    def _pages_to(self, lsn: float) -> float:
        """Return the pages of a batch that goes to an LSN, whole ones, M at most."""
        return float(math.ceil(self._flush_list.reach(lsn, float(self.io_capacity_max))))

    def _checkpoint(self, now: float) -> None:
        self._redo.make_available(self._oldest())
        self._redo.write_checkpoint(now)

    def _targets(self) -> None:
        """Take in what the commits so far have asked for (``log_close``), and a log that is resized."""
        redo = self._redo
        age = redo.lsn - redo.checkpoint
        if age >= redo.stall_point:
            self._furious = max(self._furious, self._target())
        elif age > redo.flush_limit:
            self._soft = max(self._soft, self._target())
        self._soft = max(self._soft, redo.flush_first)

    def _target(self) -> float:
        """Return the LSN up to which a commit asks for pages that finds the age too high."""
        return self._redo.lsn - (0.0 if self._kind.asks_all else self._redo.flush_limit)

    def _paced(self, now: float, *, busy: bool) -> float:
        """Return the pages of a loop that is not furious; 0 where the thread sleeps on."""
        oldest = self._oldest()
        if self._soft <= oldest:
            self._soft = 0.0
        soft = max(self._soft, self._furious)  # furious only without innodb_flush_sync
        dirty = 100.0 * self._flush_list.listed / self._pool_pages
        low, high = self.settings.max_dirty_pages_pct_lwm, self.settings.max_dirty_pages_pct
        self.batch = Batch.BACKGROUND
        if low > 0.0 and not busy and self._idle:
            return float(self.io_capacity)
        if low == 0.0 and dirty < high and soft == 0.0 and self._idle:
            return 0.0  # waits without a time limit
        heeds_age = low > 0.0 and dirty >= low
        young = self._redo.lsn - oldest <= self._low_water * self._redo.low_water_base
        self._idle = not heeds_age and (low > 0.0 or dirty < high) and soft == 0.0 and young
        if self._idle:
            return 0.0
        if soft > 0.0:
            return self._pages_to(soft)
        self.batch = Batch.ADAPTIVE
        by_dirty = dirty / high if heeds_age and high > 0.0 else None
        if self._kind.heeds_age:
            by_dirty = float(dirty >= high) if low == 0.0 else int(dirty / max(1.0, high)) / 100.0
        return float(self._asked(now, by_dirty=by_dirty))

    def _asked(self, now: float, *, by_dirty: float | None) -> int:
        """Return the pages of an adaptive loop, after ``page_cleaner_flush_pages_recommendation``.

        ``by_dirty``: share of C that the dirty pages ask for; None where neither they nor the age count.
        """
        averages, redo = self.averages, self._redo
        most = self.io_capacity_max
        age = redo.lsn - self._oldest()
        self.pct_for_lsn = self._pct_for_lsn(age)
        if self.pct_for_lsn == 0 or not self._began:
            self._began = True
            averages.restart(now, redo.lsn)
            self.requested = self._below_low_water(math.ceil(self._flush_list.listed))
            return self.requested
        averages.loop(now, redo.lsn, self._last_pages)
        self._last_pages = 0
        ratio = 1.0 if by_dirty is None else max(self.pct_for_lsn / 100.0, by_dirty)
        target = redo.lsn - age + averages.lsn_rate * LSN_SCAN_FACTOR
        self.by_age = max(1, int(self._flush_list.count_to(target, float(most))) // LSN_SCAN_FACTOR)
        self.requested = min((int(self.io_capacity * ratio) + averages.page_rate + self.by_age) // 3, most)
        return self.requested

    def _below_low_water(self, dirty: int) -> int:
        """Return the pages of an adaptive loop below the low water mark: C, or all where they are few."""
        if dirty <= self.io_capacity:
            return dirty
        percent = 100.0 * dirty / self._pool_pages
        asked = int(percent / max(1.0, self.settings.max_dirty_pages_pct) * self.io_capacity)
        return self.io_capacity if asked < dirty else min(self.io_capacity_max, dirty)


class MariaDBRedo(Redo):
    """A redo log that is written to two files, until all that is older than the second one is on disk.

    Larger or smaller, all limits stay as they are until the first checkpoint at or behind the LSN where the
    new file begins; until then the page cleaner is asked to flush what is older than that, at most M pages a
    second. Where more is written meanwhile than the new file holds, it begins again.
    """

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
