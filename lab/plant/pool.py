"""A buffer pool that does not hold all pages: misses, page writes that no C or M limits, and waits.

Which pages are in the pool follows from how often they are touched: a page is there where it was touched
within the last T touches of any page, T so that the pages there fill the pool (Che, Tung and Wang,
"Hierarchical Web Caching Systems", 2002, for LRU caches). A new page is touched once, so that it leaves
again after T.

Source of the LRU list's end: storage/innobase of MySQL 8.0.44: buf/buf0lru.cc ``buf_LRU_get_free_block``,
buf/buf0flu.cc ``buf_flush_LRU_list_batch``. A writer frees a clean page at the end of the LRU list by itself.
Where there is none it wakes the page cleaner, whose pass flushes ``innodb_lru_scan_depth`` pages at most, and
looks again 10 ms later. What it flushes by itself meanwhile, one page at a time, is left out.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct

from lab.plant.disk import LRU_TURN, Commits, Disk

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lab.plant.flush_list import FlushList
    from lab.plant.load import Stream

BLUR = 0.2
"""Relative width of the step between evicted pages that are still dirty and ones that are clean again."""


class Pool(Struct, frozen=True):
    """What a full pool of a size does with a load's pages.

    Attributes:
        held: commits for which a page stays after its last touch.
        evictions: pages of each stream that one commit drives out.
        misses: pages that one commit has to read.
    """

    held: float
    evictions: tuple[float, ...]
    misses: float

    def dirty_share(self, *, commit_rate: float, residence: float) -> float:
        """Return the share of the evicted pages that are dirty still.

        A page leaves ``held`` commits after its last touch. The page cleaner comes by before that where the
        flush list holds a page for less.

        Args:
            commit_rate: commits/s.
            residence: seconds that a page stays in the flush list.
        """
        if residence <= 0.0 or commit_rate <= 0.0:
            return 0.0
        ratio = self.held / commit_rate / residence
        return min(1.0, max(0.0, (1.0 - ratio) / BLUR + 0.5))


def pool(frames: float, streams: Sequence[Stream]) -> Pool | None:
    """Return the pool for a load; None where all of its pages fit and none are new."""
    finite = [stream for stream in streams if stream.pages != math.inf and stream.touches > 0.0]
    new = sum(stream.touches for stream in streams if stream.pages == math.inf)
    if new <= 0.0 and kept(streams) <= frames:
        return None
    low, high = 0.0, 1.0
    while _resident(finite, new, high) < frames:
        low, high = high, 2.0 * high
    for _ in range(60):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if _resident(finite, new, middle) < frames else (low, middle)
    evictions = tuple(
        stream.touches
        * (1.0 if stream.pages == math.inf else math.exp(-high * stream.touches / stream.pages))
        for stream in streams
    )
    return Pool(held=high, evictions=evictions, misses=max(0.0, sum(evictions) - new))


def kept(streams: Sequence[Stream]) -> float:
    """Return the pages that are touched again and again."""
    return sum(stream.pages for stream in streams if stream.pages != math.inf and stream.touches > 0.0)


def _resident(finite: Sequence[Stream], new: float, commits: float) -> float:
    """Return the pages touched within so many commits, of which each fills so many new ones."""
    again = sum(stream.pages * -math.expm1(-commits * stream.touches / stream.pages) for stream in finite)
    return again + commits * new


WAIT_SECONDS = 0.01
"""How long a writer sleeps that finds no free page."""

MOST_DIRTY = 0.99
"""Share of the pool that can be dirty: some pages are free, or are being read."""

NEARLY_ALL = 0.9
"""Share of the pool from which on, however recent, dirty pages are among those that have to leave."""

RENEWED = 0.5
"""Weight of what was before in the pages that a commit drives out."""

SWEEP_SECONDS = 0.25
"""Shortest time between two looks at what commits have driven out, where the pool is full of dirty pages."""

PAGE = 1.0
"""Room for less than this is none."""


class Flow(NamedTuple):
    """Rates between two events, per second.

    Attributes:
        commits: commits.
        pages: pages of the running flush batch.
        replaced: pages flushed because nothing else in the pool is left to be freed.
        evicted: pages written because commits drove them out of the pool; taken off the flush list later.
        lasts: seconds until the pool is full of dirty pages, or is looked through; infinite where never.
    """

    commits: float
    pages: float
    replaced: float = 0.0
    evicted: float = 0.0
    lasts: float = math.inf


class Lru:
    """The end of the LRU list: the page cleaner's pass once a second, and those that writers wait for.

    What commits drive out is taken from the flush list once a second, and more often where the pool is full
    of dirty pages. Commits wait for as many pages as those before them drove out; what turns out to be more
    is written as soon as the device allows.

    Attributes:
        flushed: pages flushed from there so far.
        waits: writers that waited for a free page so far, each once for a pass.
        pages_per_commit: pages that one commit makes it flush, renewed by half with each sweep.
        most_commits: commits per second that reads allow; infinite where these cost nothing.
        most_pages: pages per second that passes without a pause flush.
        sweeps_at: earliest time of the next sweep, simulated seconds.
    """

    def __init__(
        self,
        streams: Sequence[Stream],
        flush_list: FlushList,
        *,
        frames: int,
        scan_depth: int,
        read_iops: float | None,
        lsn: float,
    ) -> None:
        """Start with nothing flushed, and with the pages that are touched again and again in the pool.

        Args:
            streams: what the load touches.
            flush_list: the pool's.
            frames: pages in the buffer pool.
            scan_depth: pages that one pass frees at most.
            read_iops: pages that can be read a second; None: as many as one likes.
            lsn: current LSN, bytes.
        """
        self._flush_list = flush_list
        self._frames = frames
        self._depth = scan_depth
        self._read_iops = math.inf if read_iops is None else read_iops
        self._commits = 0.0
        self._appended = 0.0
        self._lsn = lsn
        self._swept = 0.0
        self._replaced = 0.0
        self._owed = 0.0
        self._full = False
        self.sweeps_at = 0.0
        self.flushed = 0.0
        self.waits = 0
        self.pages_per_commit = 0.0
        self.most_pages = scan_depth / WAIT_SECONDS
        self.change(streams)

    def change(self, streams: Sequence[Stream]) -> None:
        """Go on with another load."""
        self._kept = kept(streams)
        self._new = sum(stream.touches for stream in streams if stream.pages == math.inf)
        self._pool = pool(self._frames, streams)
        self._fill(0.0)

    def _fill(self, commits: float) -> None:
        """Let new pages take free frames; only a full pool drives pages out."""
        self._appended += commits * self._new
        misses = self._pool.misses if self._pool is not None and self._crowded() else 0.0
        self.most_commits = self._read_iops / misses if misses > 0.0 else math.inf

    def _crowded(self) -> bool:
        return self._kept + self._appended >= self._frames

    def _held_up(self, commits: float) -> float:
        """Return the commits per second that are left of some, by waits for free pages.

        One pass a second needs nobody who waits. For each further one all writers wait once, and a second
        holds the fewer commits the more passes there are.
        """
        passes = self.pages_per_commit / self._depth
        if commits * passes <= 1.0:
            return commits
        return commits * (1.0 + WAIT_SECONDS) / (1.0 + WAIT_SECONDS * commits * passes)

    def room(self) -> float:
        """Return how many pages more may become dirty; 0 where there is no room for one."""
        room = MOST_DIRTY * self._frames - self._flush_list.dirty
        return room if room >= PAGE else 0.0

    def _behind(self, most: float) -> float:
        """Return the pages per second, at most so many, that are still to be written of the last sweeps."""
        return min(most, max(0.0, self._owed))

    def _becomes_full(self, threads: int) -> bool:
        """Tell whether nothing but dirty pages is left, so that each further one waits for a page write.

        Args:
            threads: writers, who wait from then on; within one second they wait but once.
        """
        if self.room() > 0.0:
            return False
        if not self._full:
            self._full = True
            self.waits += threads
        return True

    def wrote(self, *, replaced: float, evicted: float) -> None:
        """Note what was written.

        In a pool of nothing but dirty pages the end of the LRU list are the oldest. Those that a long phase
        has made dirty beyond the pool go as well.

        Args:
            replaced: pages of a full pool, which leave the flush list only now.
            evicted: pages that the last sweeps have taken from it.
        """
        self._owed -= evicted
        more = max(replaced, self._flush_list.dirty - self._frames)
        if more > 0.0:
            gone = self._flush_list.evict_oldest(more)
            self.flushed += gone
            self._replaced += gone

    def next_second(self, now: float, commits: float, lsn: float, threads: int) -> None:
        """Do the pass of a whole second; see ``sweep``."""
        self.sweep(now, commits, lsn, threads)
        self._full = self._full and self.room() <= 0.0

    def sweep(self, now: float, commits: float, lsn: float, threads: int) -> None:
        """Take the dirty pages that commits have driven out since the last sweep from the flush list.

        Args:
            now: simulated seconds.
            commits: commits so far.
            lsn: current LSN, bytes.
            threads: writers.
        """
        seconds, self._swept = now - self._swept, now
        self.sweeps_at = now + SWEEP_SECONDS
        done, written = commits - self._commits, lsn - self._lsn
        self._commits, self._lsn = commits, lsn
        replaced, self._replaced = self._replaced, 0.0
        self._fill(done)
        pool, flush_list = self._pool, self._flush_list
        if done <= 0.0 or written <= 0.0:
            return
        self.pages_per_commit *= RENEWED
        if pool is None or not self._crowded():
            return
        residence = (lsn - flush_list.oldest(lsn)) / written * seconds
        share = pool.dirty_share(commit_rate=done / seconds, residence=residence)
        crowd = (flush_list.dirty / self._frames - NEARLY_ALL) / (MOST_DIRTY - NEARLY_ALL)
        share = max(share, min(1.0, crowd))
        wanted = min(done * sum(pool.evictions) * share, seconds * (self.most_pages + self._depth)) - replaced
        gone = 0.0
        if wanted > 0.0:
            each = wanted / sum(pool.evictions)
            before = lsn - written * min(residence / seconds, pool.held / done)
            gone = flush_list.evict([evicted * each for evicted in pool.evictions], before=before)
            self.flushed += gone
        self._owed += gone
        self.pages_per_commit += (1.0 - RENEWED) * (gone + replaced) / done
        self.waits += threads * max(0, math.ceil(gone / self._depth) - 1)

    def flow(self, disk: Disk, threads: int, asked: Commits, *, flushing: bool) -> Flow:
        """Return the rates of now: reads, page writes for free pages and waits for these are in them.

        Args:
            disk: what limits both.
            threads: clients.
            asked: of the disk, by commits whose pages are in the pool.
            flushing: a flush batch runs.
        """
        asked = asked._replace(most=min(asked.most, self.most_commits))
        dirtied = self._flush_list.dirtied_by_commit()
        if self._becomes_full(threads) and asked.most > 0.0:
            passes = math.inf if flushing else self.most_pages
            most = disk.replaced(commit_seconds=asked.seconds, dirtied=dirtied, most_pages=passes)
            commits, pages = disk.shared(asked._replace(most=min(asked.most, most)))
            replaced = 0.0 if flushing else dirtied * commits
            return Flow(commits, pages if flushing else 0.0, replaced=replaced, lasts=SWEEP_SECONDS)
        each, behind = self.pages_per_commit, self._behind(LRU_TURN / disk.page_seconds)
        asked = asked._replace(evicted=each, behind=behind)
        commits, pages = disk.shared(asked) if flushing else (disk.alone(asked), 0.0)
        commits = self._held_up(commits)
        more = dirtied * commits - pages
        return Flow(
            commits,
            pages,
            evicted=each * commits + behind,
            lasts=self.room() / more if more > 0.0 else math.inf,
        )
