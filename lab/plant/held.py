"""What the page cleaners of MySQL 5 have in common: beyond the sync point all writers wait.

Source: log/log0log.cc of 5.6.41 and 5.7.37, ``log_checkpoint_margin``.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from lab.plant.cleaner import Batch, Cleaner

if TYPE_CHECKING:
    from lab.plant.pages import Ledger
    from lab.plant.redo import Redo

OVERSHOOT = 131_072
"""Redo that mini-transactions have added when the first writer finds the sync point passed, bytes."""


class HeldCleaner(Cleaner):
    """A page cleaner whose writers wait beyond the sync point, until the age is back below it."""

    __slots__ = ()

    def waits_for_sync(self) -> bool:
        """Tell whether writers wait beyond the sync point."""
        return True

    def _beyond(self, redo: Redo, ledger: Ledger) -> tuple[float, float]:
        """Return the oldest modification, and the bytes by which it must move on before writers do."""
        oldest = ledger.oldest(redo.lsn)
        return oldest, max(float(OVERSHOOT), redo.lsn - oldest - redo.sync_trigger)

    def _sync_to(self, lsn: float, ledger: Ledger) -> None:
        """Begin a batch of all pages with modifications at or before an LSN."""
        self.batch = Batch.SYNC
        self._begin(math.ceil(ledger.reach(lsn, math.inf)), ledger)
