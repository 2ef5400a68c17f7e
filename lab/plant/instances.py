"""The flush lists of several buffer-pool instances, each with areas of its own.

Source: storage/innobase of MySQL 5.6.41: buf/buf0flu.cc ``buf_flush_list`` and
``buf_flush_page_and_try_neighbors``; include/buf0buf.ic ``buf_pool_get``; buf/buf0buf.cc
``buf_pool_get_oldest_modification``.
"""

from __future__ import annotations

import math
import random
from bisect import insort
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lab.plant.neighbours import AREA
from lab.plant.pages import CRUMB, Ledger

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lab.plant.access import Stream

SEED = 5_6
"""Of the moments at which an area's first page is changed; the same in every run."""


@dataclass(slots=True)
class Area:
    """Pages beside each other, all of one instance, that are flushed together.

    Attributes:
        first: LSN of its oldest modification, or where that is to be.
        touched: touches of each page up to the moment at which it was flushed last, in the mean.
        pages: all of them.
        left: those that stayed dirty then, as the batch had its share.
    """

    first: float
    touched: float
    pages: float
    left: float = 0.0

    def dirty(self, touched: float) -> float:
        """Return its dirty pages after so many touches."""
        return self.left - (self.pages - self.left) * math.expm1(self.touched - touched)


class Instances(Ledger):
    """Evenly touched pages in areas of 64, dealt out to the instances one after the other.

    A batch asks each instance for the same share of its pages, and takes only what is older than one LSN,
    which counts from the oldest page of all instances. Few areas are that old in a second, and seldom one in
    each instance: so some have none to flush and others more than their share, and one that lags behind holds
    the oldest modification back for all.
    """

    __slots__ = (
        "_beside",
        "_clean",
        "_lists",
        "_pages",
        "_per_byte",
        "_per_commit",
        "_plan",
        "_random",
        "_touched",
    )

    def __init__(self, stream: Stream, *, lsn: float, instances: int) -> None:
        """Start with every page clean at an LSN, in so many instances."""
        super().__init__((stream,), lsn=lsn)
        self._pages = stream.pages
        self._per_commit = stream.touches / stream.pages
        self._per_byte = 0.0  # touches of a page while the log grows by a byte
        self._touched = 0.0  # touches of a page so far
        self._clean = stream.pages
        self._beside = 0.0
        self._random = random.Random(SEED)  # noqa: S311 - a reproducible load, not a secret
        self._plan: list[tuple[int, float]] = []  # what the running batch has still to take of which instance
        number = max(instances, round(stream.pages / AREA))
        each = stream.pages / number
        dealt = [range(first, number, instances) for first in range(instances)]
        self._lists = [[Area(lsn, 0.0, each) for _ in areas] for areas in dealt]

    def spread(self, commits: float, lsn: float) -> None:
        """Begin as on a server long at work; see ``Areas.spread``."""
        begin, touches = self._end, commits * self._per_commit
        self._touched, self._per_byte, self._end = touches, touches / (lsn - begin), lsn
        for areas in self._lists:
            for area in areas:
                past = self._random.random()
                area.first, area.touched = begin + past * (lsn - begin), past * touches
            areas.sort(key=_first)
        self.dirty = self.dirtied = sum(area.dirty(touches) for areas in self._lists for area in areas)
        self._clean = self._pages - self.dirty

    def oldest(self, lsn: float) -> float:
        """Return the oldest modification of all instances; ``lsn`` when nothing is dirty."""
        if self.dirty <= CRUMB:
            return lsn
        return min(lsn, *[areas[0].first for areas in self._lists])

    @property
    def neighbours(self) -> float:
        """Return the pages ever flushed for one beside them."""
        return self._beside

    def update(self, *, commits: float, lsn: float, flushing: bool = False) -> None:  # noqa: ARG002 - areas are flushed at moments
        """Spread the changes of so many commits; see ``Ledger.update``."""
        more = commits * self._per_commit
        if lsn > self._end:
            self._per_byte = more / (lsn - self._end)
        left = self._clean * math.exp(-more)
        found = self._clean - left
        self._clean = left
        self._touched += more
        self._end = lsn
        self.dirty += found
        self.dirtied += found

    def share_out(self, pages: float, lsn: float) -> float:
        """Return how many pages a batch gets that asks all instances alike, and stops at an LSN; plan it."""
        share = math.ceil(pages / len(self._lists))
        self._plan = [(number, self._held(number, lsn, share)) for number in range(len(self._lists))]
        return sum(part for _, part in self._plan)

    def take(self, pages: float) -> float:
        """Flush that many pages: of the batch that was shared out, else the oldest; return how many."""
        left = min(pages, self.dirty)
        wanted = left
        while left > CRUMB:
            if self._plan:
                number, part = self._plan[0]
                got = self._flush(number, min(left, part))
                if part - got <= CRUMB or got <= CRUMB:
                    del self._plan[0]
                else:
                    self._plan[0] = (number, part - got)
            else:
                number = min(range(len(self._lists)), key=lambda one: self._lists[one][0].first)
                if (got := self._flush(number, left, areas=1)) <= CRUMB:
                    break
            left -= got
        found = wanted - max(0.0, left)
        self._clean += found
        self.dirty -= found
        self.flushed += found
        return found

    def evict(self, wanted: Sequence[float], *, before: float) -> float:  # noqa: ARG002 - a pool that holds all
        """Take nothing out: areas are those of a buffer pool that holds all pages."""
        return 0.0

    def count_to(self, lsn: float, most: float) -> float:
        """Return how many dirty pages there are in areas that begin before an LSN, at most ``most``."""
        return self.reach(lsn, most)

    def reach(self, lsn: float, most: float) -> float:
        """Return how many pages a batch writes that flushes all older than ``lsn``, at most ``most``."""
        return min(most, sum(self._held(number, lsn, math.inf) for number in range(len(self._lists))))

    def _held(self, number: int, lsn: float, most: float) -> float:
        """Return the dirty pages of an instance's areas that begin before an LSN, at most so many."""
        total = 0.0
        for area in self._lists[number]:
            if area.first >= lsn or total >= most:
                break
            total += area.dirty(self._touched)
        return min(total, most)

    def _flush(self, number: int, pages: float, *, areas: int | None = None) -> float:
        """Flush so many pages of an instance, in the order of its list, of so many areas at most."""
        held = self._lists[number]
        taken, seen = 0.0, 0
        while pages - taken > CRUMB and (areas is None or seen < areas):
            area = held[0]
            there = area.dirty(self._touched)
            if area.first > self._end or there <= CRUMB:
                break
            part = min(there, pages - taken)
            self._beside += part * max(0.0, 1.0 - 1.0 / there)
            taken += part
            seen += 1
            area.touched, area.left = self._touched, there - part
            if area.left <= CRUMB:
                area.left = 0.0
                area.first = self._end + self._until_first(area)
                insort(held, held.pop(0), key=_first)
        return taken

    def _until_first(self, area: Area) -> float:
        """Return the bytes of redo until the first page of a clean area is changed."""
        if self._per_byte <= 0.0:
            return 0.0
        return self._random.expovariate(1.0) / (area.pages * self._per_byte)


def _first(area: Area) -> float:
    return area.first
