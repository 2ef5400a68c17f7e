"""The ledger of dirty pages by redo position: what the tail will cost, one residence time ahead.

Between two readings, newly dirtied pages = growth of the dirty list + pages flushed. Each of
them enters the flush list at the LSN of that moment and leaves it in the same order, so the
pages between two LSNs are known before the tail gets there.
"""

from __future__ import annotations

from bisect import bisect_left

from msgspec import Struct

KNOTS = 160
"""Knots that one flush limit is cut into; bounds memory and work."""


class Ledger(Struct, frozen=True):
    """Cumulated newly dirtied pages at rising LSNs.

    Attributes:
        lsns: knots, bytes, rising.
        pages: cumulated pages at each knot.
    """

    lsns: tuple[float, ...] = ()
    pages: tuple[float, ...] = ()

    def add(self, *, lsn: float, new_pages: float, oldest: float, flush_limit: float) -> Ledger:
        """Return the ledger with the pages dirtied up to ``lsn``; what lies before ``oldest`` is dropped."""
        if not self.lsns:
            return Ledger((lsn,), (0.0,))
        total = self.pages[-1] + max(0.0, new_pages)
        lsns, pages = self.lsns, self.pages
        if len(lsns) > 1 and lsn - lsns[-2] < flush_limit / KNOTS:
            lsns, pages = (*lsns[:-1], lsn), (*pages[:-1], total)
        else:
            lsns, pages = (*lsns, lsn), (*pages, total)
        first = max(0, bisect_left(lsns, oldest) - 1)
        first = max(first, len(lsns) - 2 * KNOTS)
        if first > KNOTS // 4 or len(lsns) - first >= 2 * KNOTS:
            lsns, pages = lsns[first:], pages[first:]
        return Ledger(lsns, pages)

    def without(self, pages: float) -> Ledger:
        """Return the ledger without so many of its newest pages, all of them at most."""
        if not self.lsns or pages <= 0.0:
            return self
        total = max(self.pages[0], self.pages[-1] - pages)
        kept = bisect_left(self.pages, total)
        return Ledger(self.lsns, self.pages[:kept] + (total,) * (len(self.pages) - kept))

    def covers(self, lsn: float) -> bool:
        """Tell whether the ledger reaches back to this LSN."""
        return bool(self.lsns) and self.lsns[0] <= lsn

    def between(self, start: float, end: float) -> float:
        """Return the pages that were dirtied between two LSNs."""
        return max(0.0, self._at(end) - self._at(start))

    def after(self, start: float, pages: float) -> float:
        """Return the LSN that the tail reaches from ``start`` by flushing so many pages."""
        if not self.lsns:
            return start
        goal = self._at(start) + pages
        index = bisect_left(self.pages, goal)
        if index >= len(self.pages):
            return self.lsns[-1]
        if index == 0:
            return max(start, self.lsns[0])
        low, high = self.pages[index - 1], self.pages[index]
        share = (goal - low) / (high - low) if high > low else 1.0
        return max(start, self.lsns[index - 1] + share * (self.lsns[index] - self.lsns[index - 1]))

    def _at(self, lsn: float) -> float:
        if not self.lsns:
            return 0.0
        index = bisect_left(self.lsns, lsn)
        if index == 0:
            return self.pages[0]
        if index == len(self.lsns):
            return self.pages[-1]
        left, right = self.lsns[index - 1], self.lsns[index]
        share = (lsn - left) / (right - left)
        return self.pages[index - 1] + share * (self.pages[index] - self.pages[index - 1])
