"""The two means that every page cleaner keeps: pages flushed and redo written a second."""

from __future__ import annotations


class Averages:
    """Renewed by half every ``innodb_flushing_avg_loops`` loops or seconds.

    Source: ``Adaptive_flush::set_average`` of MySQL 9.7, ``page_cleaner_flush_pages_recommendation`` of 5.7
    and MariaDB, ``page_cleaner_flush_pages_if_needed`` of 5.6 (storage/innobase/buf/buf0flu.cc). 5.6 looks at
    no clock: its rates are for a loop, however long that takes.

    Attributes:
        page_rate: ``buffer_flush_avg_page_rate``, pages/s.
        lsn_rate: ``buffer_flush_lsn_avg_rate``, bytes/s.
    """

    __slots__ = ("_clock", "_iterations", "_loops", "_lsn", "_pages", "_since", "lsn_rate", "page_rate")

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
