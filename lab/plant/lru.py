"""What a buffer pool that is too small costs: reads, page writes that no C or M limits, and waits.

Source: storage/innobase of MySQL 8.0.44: buf/buf0lru.cc ``buf_LRU_get_free_block``, buf/buf0flu.cc
``buf_flush_LRU_list_batch``. A writer frees a clean page at the end of the LRU list by itself. Where there is
none it wakes the page cleaner, whose pass flushes ``innodb_lru_scan_depth`` pages at most, and looks again
10 ms later. What it flushes by itself meanwhile, one page at a time, is left out.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from lab.plant.pool import kept, pool

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lab.plant.access import Stream
    from lab.plant.pages import Ledger

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

    __slots__ = (
        "_appended",
        "_commits",
        "_depth",
        "_frames",
        "_full",
        "_kept",
        "_lsn",
        "_new",
        "_owed",
        "_pool",
        "_read_iops",
        "_replaced",
        "_swept",
        "flushed",
        "most_commits",
        "most_pages",
        "pages_per_commit",
        "sweeps_at",
        "waits",
    )

    def __init__(
        self, streams: Sequence[Stream], *, frames: int, scan_depth: int, read_iops: float | None, lsn: float
    ) -> None:
        """Start with nothing flushed, and with the pages that are touched again and again in the pool.

        Args:
            streams: what the load touches.
            frames: pages in the buffer pool.
            scan_depth: pages that one pass frees at most.
            read_iops: pages that can be read a second; None: as many as one likes.
            lsn: current LSN, bytes.
        """
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

    def held_up(self, commits: float) -> float:
        """Return the commits per second that are left of some, by waits for free pages.

        One pass a second needs nobody who waits. For each further one all writers wait once, and a second
        holds the fewer commits the more passes there are.
        """
        passes = self.pages_per_commit / self._depth
        if commits * passes <= 1.0:
            return commits
        return commits * (1.0 + WAIT_SECONDS) / (1.0 + WAIT_SECONDS * commits * passes)

    def room(self, ledger: Ledger) -> float:
        """Return how many pages more may become dirty; 0 where there is no room for one."""
        room = MOST_DIRTY * self._frames - ledger.dirty
        return room if room >= PAGE else 0.0

    def behind(self, most: float) -> float:
        """Return the pages per second, at most so many, that are still to be written of the last sweeps."""
        return min(most, max(0.0, self._owed))

    def full(self, ledger: Ledger, threads: int) -> bool:
        """Tell whether nothing but dirty pages is left, so that each further one waits for a page write.

        Args:
            ledger: the flush list.
            threads: writers, who wait from then on; within one second they wait but once.
        """
        if self.room(ledger) > 0.0:
            return False
        if not self._full:
            self._full = True
            self.waits += threads
        return True

    def wrote(self, ledger: Ledger, *, replaced: float, evicted: float) -> None:
        """Note what was written.

        In a pool of nothing but dirty pages the end of the LRU list are the oldest. Those that a long phase
        has made dirty beyond the pool go as well.

        Args:
            ledger: the flush list.
            replaced: pages of a full pool, which leave the flush list only now.
            evicted: pages that the last sweeps have taken from it.
        """
        self._owed -= evicted
        more = max(replaced, ledger.dirty - self._frames)
        if more > 0.0:
            gone = ledger.evict_oldest(more)
            self.flushed += gone
            self._replaced += gone

    def next_second(self, now: float, ledger: Ledger, commits: float, lsn: float, threads: int) -> None:
        """Do the pass of a whole second; see ``sweep``."""
        self.sweep(now, ledger, commits, lsn, threads)
        self._full = self._full and self.room(ledger) <= 0.0

    def sweep(self, now: float, ledger: Ledger, commits: float, lsn: float, threads: int) -> None:
        """Take the dirty pages that commits have driven out since the last sweep from the flush list.

        Args:
            now: simulated seconds.
            ledger: the flush list.
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
        pool = self._pool
        if done <= 0.0 or written <= 0.0:
            return
        self.pages_per_commit *= RENEWED
        if pool is None or not self._crowded():
            return
        residence = (lsn - ledger.oldest(lsn)) / written * seconds
        share = pool.dirty_share(commit_rate=done / seconds, residence=residence)
        crowd = (ledger.dirty / self._frames - NEARLY_ALL) / (MOST_DIRTY - NEARLY_ALL)
        share = max(share, min(1.0, crowd))
        wanted = min(done * sum(pool.evictions) * share, seconds * (self.most_pages + self._depth)) - replaced
        gone = 0.0
        if wanted > 0.0:
            each = wanted / sum(pool.evictions)
            before = lsn - written * min(residence / seconds, pool.held / done)
            gone = ledger.evict([evicted * each for evicted in pool.evictions], before=before)
            self.flushed += gone
        self._owed += gone
        self.pages_per_commit += (1.0 - RENEWED) * (gone + replaced) / done
        self.waits += threads * max(0, math.ceil(gone / self._depth) - 1)
