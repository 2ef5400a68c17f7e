"""The page cleaner of MySQL 5.7, and of Percona Server 5.7.

Source: log/log0log.cc of 5.7.37, ``log_preflush_pool_modified_pages``; buf/buf0flu.cc of 5.7.29,
``buf_flush_request_force``, ``buf_flush_wait_flushed``, ``buf_flush_page_cleaner_coordinator``,
``page_cleaner_flush_pages_recommendation``.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from lab.plant.cleaner import LOOP_SECONDS, LSN_SCAN_FACTOR, Batch
from lab.plant.held import HeldCleaner

if TYPE_CHECKING:
    from lab.plant.pages import Ledger
    from lab.plant.parameters import ServerParameters
    from lab.plant.redo import Redo

CRUMB = 1e-6
"""Pages that count as none."""


class ForcedCleaner(HeldCleaner):
    """A coordinator that is woken for one batch of any size, with innodb_flush_sync.

    Writers wait until what was too much is flushed, and no longer: the batch goes on beside them, for three
    seconds' redo more. Without innodb_flush_sync they wait for the loops of every second. A request waits for
    the batch that runs, and for the loop after it where that batch took its second up. Writers look again
    every 10 ms, which is left out.
    """

    __slots__ = ("_awaited", "_forced", "_rest")

    def __init__(self, parameters: ServerParameters, redo: Redo, *, now: float) -> None:
        """Start asleep."""
        super().__init__(parameters, redo, now=now)
        self._awaited = 0.0
        """Pages that writers still wait for."""
        self._rest = 0.0
        """Pages of the running batch beyond those."""
        self._forced = 0.0
        """LSN that a forced batch has to reach; 0 where none is asked for."""

    def hold_writers(self, redo: Redo, ledger: Ledger) -> None:
        """Let writers wait for what is too much, and ask for a forced batch."""
        oldest, beyond = self._beyond(redo, ledger)
        target = oldest + beyond
        self._awaited = math.ceil(ledger.reach(target, math.inf))
        self.holds_writers = self._awaited > 0.0
        if self._in_force.flush_sync:
            self._forced = max(self._forced, target + self.averages.lsn_rate * LSN_SCAN_FACTOR)
        if self.left > 0.0:
            self._split()
        elif self._forced > 0.0:
            self._force(ledger)

    def wrote(self, pages: float) -> None:
        """Count pages that the running batch has written."""
        super().wrote(pages)
        self._awaited -= pages

    def finish(self, now: float, redo: Redo, ledger: Ledger) -> None:  # noqa: ARG002 - only MariaDB ends a batch with a checkpoint
        """Let writers go on where their pages are written, and the batch for its rest or the next."""
        if self._awaited <= CRUMB:
            self.holds_writers = False
        if self._rest > 0.0:
            self.left, self._rest = self._rest, 0.0
            return
        if self.batch is Batch.ADAPTIVE:
            self._last_pages = int(self._size)
        self.left = 0.0
        if self._forced > 0.0 and now < self._loop_start + LOOP_SECONDS:
            self._force(ledger)
        else:
            self.wake_at = max(now, self._loop_start + LOOP_SECONDS)

    def _force(self, ledger: Ledger) -> None:
        """Begin the batch that was asked for."""
        lsn, self._forced = self._forced, 0.0
        self._sync_to(lsn, ledger)

    def _begin(self, size: float, ledger: Ledger) -> None:
        """Begin a batch; its first part is what writers wait for."""
        super()._begin(size, ledger)
        if self.holds_writers:
            self._split()

    def _split(self) -> None:
        """Let the running batch pause where writers may go on."""
        if self._awaited < self.left:
            self._rest = self.left - self._awaited
            self.left = self._awaited

    def _recommend(self, now: float, redo: Redo, ledger: Ledger, *, sync_limit: float | None) -> int:
        """Return the pages to flush in this round; nothing is counted where no redo was written."""
        if not self.averages.moved(redo.lsn):
            self._last_pages = 0
            return 0
        return super()._recommend(now, redo, ledger, sync_limit=sync_limit)
