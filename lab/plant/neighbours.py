"""The flush list of a server that writes with a page the dirty pages beside it.

Source: storage/innobase/buf/buf0flu.cc of MariaDB 11.8.6: ``buf_do_flush_list_batch``,
``buf_flush_check_neighbors``, ``buf_flush_try_neighbors``; ``innodb_flush_neighbors`` is 1 by default and in
force unless the server knows that its data files lie on a disk without moving parts. Of MySQL 5.6.41 and
5.7.37: ``buf_flush_page_and_try_neighbors``, ``buf_flush_try_neighbors``; 1 by default up to 5.7, and 0 from
8.0 on.

Of several buffer-pool instances (5.6.41): buf/buf0flu.cc ``buf_flush_list``; include/buf0buf.ic
``buf_pool_get``; buf/buf0buf.cc ``buf_pool_get_oldest_modification``.
"""

from __future__ import annotations

import math
import random
from bisect import insort
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from lab.plant.flush_list import CRUMB, FlushList

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lab.plant.load import Stream

AREA = 64
"""Pages that are looked at together (``buf_pool.read_ahead_area``)."""

LONG = 50.0
"""Touches of a page after which it is dirty without doubt."""


class Cohort(NamedTuple):
    """Areas that were flushed together.

    Attributes:
        first: LSN at which the first of them was clean.
        last: LSN at which the last of them was clean.
        touched: touches of each page up to the moment at which it was clean, in the mean.
        pages: pages, dirty or not.
        before: such touches up to the moment before at which it was clean; minus infinity where their pages
            were in no order of the list that a flush could have left.
    """

    first: float
    last: float
    touched: float
    pages: float
    before: float = -math.inf


class EvenlyTouched(FlushList):
    """Evenly touched pages of a buffer pool that holds all of them."""

    def __init__(self, stream: Stream, *, lsn: float) -> None:
        super().__init__((stream,), lsn=lsn)
        self._pages = stream.pages
        self._per_commit = stream.touches / stream.pages
        self._per_byte = 0.0  # touches of a page while the log grows by a byte
        self._touched = 0.0  # touches of a page so far
        self._clean = stream.pages

    def update(self, *, commits: float, lsn: float, flushing: bool = False) -> None:
        """Spread the changes of so many commits; see ``FlushList.update``."""
        more = commits * self._per_commit
        if lsn > self._end:
            self._per_byte = more / (lsn - self._end)
        left = self._still_clean(more, lsn) if flushing else self._clean * math.exp(-more)
        found = self._clean - left
        self._clean = left
        self._touched += more
        self._end = lsn
        self.dirty += found
        self.dirtied += found

    def _still_clean(self, more: float, lsn: float) -> float:  # noqa: ARG002 - areas of one instance are flushed by and by
        """Return the pages that are clean after so many touches of each, during which some became clean."""
        return self._clean * math.exp(-more)

    def evict(self, wanted: Sequence[float], *, before: float) -> float:  # noqa: ARG002 - a pool that holds all
        """Take nothing out: the pool holds all pages."""
        return 0.0


class Areas(EvenlyTouched):
    """Evenly touched pages in areas of 64, each of which is flushed as a whole when its oldest page is.

    So the pages of an area were clean at one moment, and have become dirty one by one since. The server takes
    only what lies between the page and the next clean one on either side; where most pages of an area are
    dirty, as in areas that have waited long, that is nearly all, and the rest is not much younger.

    In MySQL a page that is written leaves the list (``buf_flush_write_complete``). In MariaDB it stays at its
    place until it is changed again or the end of the list comes to it (``buf_page_t::write_complete``,
    ``buf_pool_t::get_oldest_modification``). So there pages that were written before their turn, for one
    beside them, are counted with the dirty ones where the server counts the list. Their place is that of
    their first touch since the flush before.
    """

    def __init__(self, stream: Stream, *, lsn: float, counts_written_neighbours: bool) -> None:
        super().__init__(stream, lsn=lsn)
        self._counts_written_neighbours = counts_written_neighbours
        self._cohorts: deque[Cohort] = deque([Cohort(lsn, lsn, 0.0, stream.pages)])

    def oldest(self, lsn: float) -> float:
        """Return the oldest modification; ``lsn`` when nothing is dirty."""
        if self.dirty <= CRUMB:
            return lsn
        return min(lsn, self._cohorts[0].first + self._first_touch())

    @property
    def listed(self) -> float:
        """Return the pages in the server's list, in MariaDB those that are written already among them."""
        return self.dirty + self._written(self._touched)

    def _still_clean(self, more: float, lsn: float) -> float:
        first, _, touched, pages, before = self._cohorts.pop()
        self._cohorts.append(Cohort(first, lsn, touched + 0.5 * more, pages, before))
        return max(0.0, self._clean - pages) * math.exp(-more) + pages * math.exp(-0.5 * more)

    def take(self, pages: float) -> float:
        """Flush the areas that were clean longest ago, up to that many dirty pages; return how many."""
        left, moved = pages, 0.0
        latest, weight = 0.0, 0.0
        cohorts = self._cohorts
        while cohorts and left > CRUMB:
            first, last, touched, held, before = cohorts[0]
            share = -math.expm1(touched - self._touched)
            there = held * share
            if share <= CRUMB:
                break  # just clean, as are all later ones
            part = left / there if there > left + CRUMB else 1.0  # what is left of a page is no page
            moved += held * part
            if touched >= 0.0:
                weight = weight * math.exp(latest - touched) + held * part
                latest = touched
            self.neighbours += there * part * max(0.0, 1.0 - 1.0 / (AREA * share))
            if part < 1.0:
                rest = held * (1.0 - part)
                cohorts[0] = Cohort(first + (last - first) * part, last, touched, rest, before)
                left = 0.0
                break
            left = max(0.0, left - there)
            cohorts.popleft()
        found = min(pages - left, self.dirty)
        if moved > 0.0:
            # where e**-x is left of each, first touches since several moments lie as if these were one
            before = latest + math.log(weight / moved) if weight > 0.0 else -math.inf
            cohorts.append(Cohort(self._end, self._end, self._touched, moved, before))
            self._clean += found
            self.dirty -= found
            self.flushed += found
        return found

    def count_to(self, lsn: float, most: float) -> float:
        """Return how many pages of the list are from before an LSN, at most ``most``.

        Those are the pages whose oldest modification is at or before it, and the written ones among them.
        """
        touched = self._touched - max(0.0, self._end - lsn) * self._per_byte
        return self._dirty_of(lsn, touched, most, written=self._written(touched))

    def reach(self, lsn: float, most: float) -> float:
        """Return how many pages a batch writes that flushes all older than ``lsn``, at most ``most``."""
        return self._dirty_of(lsn - self._first_touch(), self._touched, most)

    def _dirty_of(self, lsn: float, touched: float, most: float, *, written: float = 0.0) -> float:
        """Return the pages, at most so many, that were clean at an LSN and are dirty at so many touches."""
        total = written
        for first, last, then, held, _ in self._cohorts:
            if then >= touched or first >= lsn or total >= most:
                break
            share = 1.0 if last <= lsn else (lsn - first) / (last - first)
            total -= share * held * math.expm1(then - touched)
        return min(total, most)

    def _first_touch(self) -> float:
        """Return the bytes of redo until the first page of an area is dirty, in the mean."""
        return 1.0 / (AREA * self._per_byte) if self._per_byte > 0.0 else 0.0

    def _written(self, until: float) -> float:
        """Return the pages in the list that are written, up to the place of so many touches."""
        if not self._counts_written_neighbours or self.dirty <= CRUMB:
            return 0.0
        tail = self._cohorts[0].touched + 1.0 / AREA
        total = 0.0
        for _, _, then, held, before in reversed(self._cohorts):
            begin, end, since = max(tail, before), min(until, then), self._touched - then
            if since > LONG:
                break
            if end > begin:
                total += held * (math.exp(before - begin) - math.exp(before - end)) * math.exp(-since)
        return total


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


class Instances(EvenlyTouched):
    """Evenly touched pages in areas of 64, dealt out to the instances one after the other.

    A batch asks each instance for the same share of its pages, and takes only what is older than one LSN,
    which counts from the oldest page of all instances. Few areas are that old in a second, and seldom one in
    each instance: so some have none to flush and others more than their share, and one that lags behind holds
    the oldest modification back for all.
    """

    def __init__(self, stream: Stream, *, lsn: float, instances: int) -> None:
        super().__init__(stream, lsn=lsn)
        self._random = random.Random(SEED)  # noqa: S311 - a reproducible load, not a secret
        self._plan: list[tuple[int, float]] = []  # what the running batch has still to take of which instance
        number = max(instances, round(stream.pages / AREA))
        each = stream.pages / number
        dealt = [range(first, number, instances) for first in range(instances)]
        self._lists = [[Area(lsn, 0.0, each) for _ in areas] for areas in dealt]

    def oldest(self, lsn: float) -> float:
        """Return the oldest modification of all instances; ``lsn`` when nothing is dirty."""
        if self.dirty <= CRUMB:
            return lsn
        return min(lsn, *[areas[0].first for areas in self._lists])

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
            self.neighbours += part * max(0.0, 1.0 - 1.0 / there)
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


DENSE = 2.0
"""Changes of each page while the age goes to the flush limit, from which on areas are taken as a whole."""


def flush_list_for(
    touched: Sequence[Stream],
    *,
    neighbours: bool,
    counts_written_neighbours: bool,
    instances: int,
    until_limit: float,
    lsn: float,
) -> FlushList:
    """Return an empty flush list; one of single pages where the pages of an area have little in common.

    That is so where they are not touched evenly, where new pages are filled, or where fewer than ``DENSE``
    changes of each page fit into the log up to the flush limit.

    Args:
        touched: what the load touches.
        neighbours: the server flushes them, and its buffer pool holds all pages.
        counts_written_neighbours: a page stays in the list that was written for one beside it.
        instances: of the buffer pool, each of which is asked for the same share of a batch.
        until_limit: commits until the age is at the flush limit.
        lsn: current LSN, bytes.
    """
    if neighbours and len(touched) == 1 and touched[0].pages < math.inf:
        stream = touched[0]
        if until_limit * stream.touches >= DENSE * stream.pages:
            if instances > 1:
                return Instances(stream, lsn=lsn, instances=instances)
            return Areas(stream, lsn=lsn, counts_written_neighbours=counts_written_neighbours)
    return FlushList(touched, lsn=lsn)
