"""The flush list: which pages are dirty, ordered by the LSN that dirtied them first."""

from __future__ import annotations

import math
from collections import deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lab.plant.load import Stream

CRUMB = 1e-9
"""Less than this of a page is rounding, not a page."""

REST = 0.01
"""Where the LRU has left less than this of the oldest pages, it has taken all of them."""


class FlushList:
    """Dirty pages in buckets of LSN, oldest first, and the clean pages of each stream beside them.

    A page is in the flush list once, under its oldest modification
    (``buf_flush_insert_into_flush_list``), however often it is changed after that: that is
    what write combining is. Within a bucket the pages lie evenly. Fractions of a page are
    allowed; the sums are exact to rounding.

    Attributes:
        dirty: pages in the flush list.
        dirtied: pages ever put into it.
        flushed: pages ever taken out of it in order.
        evicted: pages ever taken out of it by the LRU.
        neighbours: pages ever flushed for one beside them.
    """

    def __init__(self, streams: Sequence[Stream], *, lsn: float) -> None:
        self._streams = tuple((stream.pages, stream.touches) for stream in streams)
        self._single = len(self._streams) == 1
        # end LSN, pages, and of which stream they are; no third where there is one stream
        self._buckets: deque[tuple[float, float, tuple[float, ...]]] = deque()
        self._dirty = [0.0] * len(self._streams)
        self._taken = [0.0] * len(self._streams)
        self._start = lsn  # LSN where the oldest bucket begins
        self._end = lsn
        self.dirty = 0.0
        self.dirtied = 0.0
        self.flushed = 0.0
        self.evicted = 0.0
        self.neighbours = 0.0

    def oldest(self, lsn: float) -> float:
        """Return the oldest modification; ``lsn`` when nothing is dirty."""
        return self._start if self._buckets else lsn

    @property
    def listed(self) -> float:
        """Return the pages in the server's list, as it counts them."""
        return self.dirty

    def change(self, streams: Sequence[Stream]) -> None:
        """Let commits touch as many pages as these streams say from now on; the pages stay the same."""
        self._streams = tuple((stream.pages, stream.touches) for stream in streams)

    def update(self, *, commits: float, lsn: float, flushing: bool = False) -> None:
        """Spread the changes of so many commits over their pages while the log grows to ``lsn``.

        The share that hits a clean page makes it dirty: with u touches over N pages of which
        c are clean, c * (1 - exp(-u / N)). With ``flushing`` what was taken last became clean
        evenly during the same time.
        """
        fresh = []
        dirty, taken = self._dirty, self._taken
        for stream, (pages, touches) in enumerate(self._streams):
            u = commits * touches
            if pages == math.inf:
                found = u
            else:
                clean = pages - dirty[stream] - (0.5 * taken[stream] if flushing else 0.0)
                found = clean * -math.expm1(-u / pages) if clean > 0.0 else 0.0
            dirty[stream] += found
            fresh.append(found)
        pages = fresh[0] if self._single else sum(fresh)
        if not self._buckets:
            self._start = self._end
        self._end = lsn
        if pages > 0.0 or self._buckets:
            self._buckets.append((lsn, pages, () if self._single else tuple(fresh)))
            self.dirty += pages
            self.dirtied += pages

    def take(self, pages: float) -> float:
        """Flush that many of the oldest pages; return how many there were."""
        left = pages
        buckets, taken = self._buckets, self._taken
        for stream in range(len(taken)):
            taken[stream] = 0.0
        while buckets:
            end, held, parts = buckets[0]
            if held > left + CRUMB:
                share = left / held
                self._start += (end - self._start) * share
                buckets[0] = (end, held - left, tuple([part * (1.0 - share) for part in parts]))
                for stream, part in enumerate(parts):
                    taken[stream] += part * share
                left = 0.0
                break
            left = max(0.0, left - held)  # an empty bucket goes as well: it is nobody's oldest modification
            self._start = end
            for stream, part in enumerate(parts):
                taken[stream] += part
            buckets.popleft()
        found = pages - left
        if self._single:
            taken[0] = found
        for stream, part in enumerate(taken):
            self._dirty[stream] = max(0.0, self._dirty[stream] - part) if buckets else 0.0
        self.dirty = self.dirty - found if buckets else 0.0
        self.flushed += found
        return found

    def evict(self, wanted: Sequence[float], *, before: float) -> float:
        """Take pages of each stream out that were dirtied before an LSN; return how many.

        That is what flushing at the end of the LRU list does: it heeds no order of the flush list.
        """
        held = [0.0] * len(wanted)
        for end, pages, parts in self._buckets:
            if end > before:
                break
            for stream, part in enumerate(parts or (pages,)):
                held[stream] += part
        shares = [
            min(1.0, want / have) if have > 0.0 else 0.0 for want, have in zip(wanted, held, strict=True)
        ]
        gone = [have * share for have, share in zip(held, shares, strict=True)]
        if sum(gone) <= CRUMB:
            return 0.0
        for index, (end, pages, parts) in enumerate(self._buckets):
            if end > before:
                break
            if self._single:
                self._buckets[index] = (end, pages * (1.0 - shares[0]), ())
            else:
                left = tuple([part * (1.0 - share) for part, share in zip(parts, shares, strict=True)])
                self._buckets[index] = (end, sum(left), left)
        for stream, lost in enumerate(gone):
            self._dirty[stream] = max(0.0, self._dirty[stream] - lost)
        self.dirty = max(0.0, self.dirty - sum(gone))
        self.evicted += sum(gone)
        return sum(gone) + self._drop_rest(before)

    def _drop_rest(self, before: float) -> float:
        """Evict what is left of the oldest pages where that is next to nothing; return how much it was."""
        rest, number = 0.0, 0
        for end, pages, _ in self._buckets:
            if end > before or pages > REST:
                break
            rest += pages
            number += 1
        return self.evict_oldest(rest) if number else 0.0

    def evict_oldest(self, pages: float) -> float:
        """Take that many of the oldest pages out as the LRU does; return how many there were."""
        found = self.take(pages)
        self.flushed -= found
        self.evicted += found
        return found

    def dirtied_by_commit(self) -> float:
        """Return the pages that one commit more makes dirty."""
        return sum(
            touches if pages == math.inf else touches * max(0.0, 1.0 - dirty / pages)
            for (pages, touches), dirty in zip(self._streams, self._dirty, strict=True)
        )

    def count_to(self, lsn: float, most: float) -> float:
        """Return how many pages have their oldest modification at or before ``lsn``, at most ``most``."""
        total = 0.0
        start = self._start
        for end, held, _ in self._buckets:
            if end > lsn:
                if lsn > start:
                    total += held * (lsn - start) / (end - start)
                break
            total += held
            if total >= most:
                break
            start = end
        return min(total, most)

    def share_out(self, pages: float, lsn: float) -> float:
        """Return how many pages a batch gets that asks for so many, and stops at an LSN."""
        return min(pages, math.ceil(self.reach(lsn, pages)))

    def reach(self, lsn: float, most: float) -> float:
        """Return how many pages a batch writes that flushes all older than ``lsn``, at most ``most``."""
        return self.count_to(lsn, most)
