"""What a buffer pool that is too small costs: reads, and page writes that no C or M limits."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lab.plant.pages import Ledger
    from lab.plant.pool import Pool


class Lru:
    """The page cleaner's pass over the end of the LRU list, once a second.

    Attributes:
        flushed: pages flushed from there so far.
        waits: times that a writer found no free page.
        pages_per_commit: pages that one commit makes it flush, as of the last second.
        most_commits: commits per second that reads allow; infinite where these cost nothing.
    """

    __slots__ = (
        "_commits",
        "_depth",
        "_lsn",
        "_pool",
        "flushed",
        "most_commits",
        "pages_per_commit",
        "waits",
    )

    def __init__(self, pool: Pool, scan_depth: int, read_iops: float | None, *, lsn: float) -> None:
        """Start with nothing flushed.

        Args:
            pool: what the pool does with the load's pages.
            scan_depth: pages that one pass frees at most.
            read_iops: pages that can be read a second; None: as many as one likes.
            lsn: current LSN, bytes.
        """
        self._pool = pool
        self._depth = scan_depth
        self._commits = 0.0
        self._lsn = lsn
        self.flushed = 0.0
        self.waits = 0
        self.pages_per_commit = 0.0
        self.most_commits = math.inf if read_iops is None else read_iops / pool.misses

    def next_second(self, ledger: Ledger, commits: float, lsn: float) -> None:
        """Take the dirty pages that the last second drove out from the flush list.

        Args:
            ledger: the flush list.
            commits: commits so far.
            lsn: current LSN, bytes.
        """
        done, written = commits - self._commits, lsn - self._lsn
        self._commits, self._lsn = commits, lsn
        self.pages_per_commit = 0.0
        if done <= 0.0 or written <= 0.0:
            return
        pool = self._pool
        freed = done * pool.misses
        if freed > self._depth:
            self.waits += math.ceil(freed - self._depth)
        residence = (lsn - ledger.oldest(lsn)) / written
        share = pool.dirty_share(commit_rate=done, residence=residence)
        if share <= 0.0:
            return
        wanted = [done * evicted * share for evicted in pool.evictions]
        gone = ledger.evict(wanted, before=lsn - written * min(residence, pool.held / done))
        self.flushed += gone
        self.pages_per_commit = gone / done
