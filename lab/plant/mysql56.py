"""The page cleaner of MySQL 5.6.

Source: storage/innobase/buf/buf0flu.cc of 5.6.41, ``page_cleaner_flush_pages_if_needed`` and
``page_cleaner_do_flush_batch``.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from lab.plant.cleaner import Cleaner

if TYPE_CHECKING:
    from lab.plant.pages import Ledger
    from lab.plant.parameters import ServerParameters
    from lab.plant.redo import Redo


class OldCleaner(Cleaner):
    """One thread whose batches stop early.

    The request is the mean of what the age asks for and of the rate so far. But a batch goes no further than
    the pages of the next second of redo at the mean rate, and of as many seconds more as the last request was
    larger than what it flushed. So more than the demand is flushed in every other loop only, and the mean
    stays below the requests.
    """

    __slots__ = ("_asked", "_factor", "_seen")

    def __init__(self, parameters: ServerParameters, redo: Redo, *, now: float) -> None:
        """Start asleep."""
        super().__init__(parameters, redo, now=now)
        self._asked = 0
        self._factor = 0
        self._seen = redo.lsn

    def _recommend(self, now: float, redo: Redo, ledger: Ledger, *, sync_limit: float | None) -> int:  # noqa: ARG002 - it has no rounds
        """Return the pages to flush in this loop."""
        averages = self.averages
        averages.loop(now, redo.lsn, self._last_pages)
        flushed, self._last_pages = self._last_pages, 0
        if redo.lsn == self._seen:
            self.requested = 0
            return 0
        oldest = ledger.oldest(redo.lsn)
        self.pct_for_lsn = self._pct_for_lsn(redo.lsn - oldest, redo)
        share = int(self.io_capacity * max(self._pct_for_dirty(ledger.dirty), self.pct_for_lsn) / 100.0)
        self.requested = min((share + averages.page_rate) // 2, self.io_capacity_max)
        if redo.lsn - self._seen > averages.lsn_rate / 2:
            self._factor = self._asked // (flushed + 1)
        self._seen = redo.lsn
        self._asked = self.requested
        return min(self.requested, self._within(ledger, oldest))

    def _within(self, ledger: Ledger, oldest: float) -> int:
        """Return the pages that one batch reaches."""
        limit = oldest + self.averages.lsn_rate * (self._factor + 1)
        return math.ceil(ledger.count_to(limit, float(self.io_capacity_max)))
