"""The flush list: which pages are dirty, ordered by the LSN that dirtied them first."""

from __future__ import annotations

import math
from collections import deque

CRUMB = 1e-9
"""Less than this of a page is rounding, not a page."""


class Ledger:
    """Dirty pages in buckets of LSN, oldest first, and the clean hot pages beside them.

    A page is in the flush list once, under its oldest modification
    (``buf_flush_insert_into_flush_list``), however often it is changed after that: that is
    what write combining is. Within a bucket the pages lie evenly. Fractions of a page are
    allowed; the sums are exact to rounding.

    Attributes:
        dirty: pages in the flush list.
        dirtied: pages ever put into it.
        flushed: pages ever taken out of it.
    """

    __slots__ = ("_buckets", "_end", "_hot", "_start", "dirtied", "dirty", "flushed")

    def __init__(self, *, hot_pages: float, lsn: float) -> None:
        """Start with every one of the hot pages clean at an LSN."""
        self._hot = hot_pages
        self._buckets: deque[tuple[float, float]] = deque()  # end LSN, pages
        self._start = lsn  # LSN where the oldest bucket begins
        self._end = lsn
        self.dirty = 0.0
        self.dirtied = 0.0
        self.flushed = 0.0

    def oldest(self, lsn: float) -> float:
        """Return the oldest modification; ``lsn`` when nothing is dirty."""
        return self._start if self._buckets else lsn

    def update(self, *, updates: float, lsn: float, flushed_meanwhile: float = 0.0) -> None:
        """Spread updates evenly over the hot pages while the log grows to ``lsn``.

        The share that hits a clean page makes it dirty: with u updates over N pages of which
        c are clean, c * (1 - exp(-u / N)). ``flushed_meanwhile`` pages become clean evenly
        during the same time.
        """
        clean = self._hot - self.dirty - 0.5 * flushed_meanwhile
        pages = clean * -math.expm1(-updates / self._hot) if clean > 0.0 else 0.0
        if not self._buckets:
            self._start = self._end
        self._end = lsn
        if pages > 0.0 or self._buckets:
            self._buckets.append((lsn, pages))
            self.dirty += pages
            self.dirtied += pages

    def take(self, pages: float) -> float:
        """Flush that many of the oldest pages; return how many there were."""
        left = pages
        buckets = self._buckets
        while buckets:
            end, held = buckets[0]
            if held > left + CRUMB:
                self._start += (end - self._start) * left / held
                buckets[0] = (end, held - left)
                left = 0.0
                break
            left = max(0.0, left - held)  # an empty bucket goes as well: it is nobody's oldest modification
            self._start = end
            buckets.popleft()
        taken = pages - left
        self.dirty = self.dirty - taken if buckets else 0.0
        self.flushed += taken
        return taken

    def count_to(self, lsn: float, most: float) -> float:
        """Return how many pages have their oldest modification at or before ``lsn``, at most ``most``."""
        total = 0.0
        start = self._start
        for end, held in self._buckets:
            if end > lsn:
                if lsn > start:
                    total += held * (lsn - start) / (end - start)
                break
            total += held
            if total >= most:
                break
            start = end
        return min(total, most)
