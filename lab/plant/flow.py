"""How many commits and page writes there are per second while nothing changes."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from lab.plant.disk import LRU_TURN
from lab.plant.lru import SWEEP_SECONDS

if TYPE_CHECKING:
    from lab.plant.disk import Disk
    from lab.plant.lru import Lru
    from lab.plant.pages import Ledger


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


def crowded(
    disk: Disk,
    lru: Lru,
    ledger: Ledger,
    threads: int,
    *,
    cost: float,
    most: float,
    waiting: float,
    flushing: bool,
) -> Flow:
    """Return the rates where the buffer pool does not hold all pages.

    Reads, page writes for free pages and waits for these are in them.

    Args:
        disk: what limits both.
        lru: the end of the pool's LRU list.
        ledger: the flush list.
        threads: clients.
        cost: the device's time for one commit, seconds.
        most: commits per second that the clients ask for at most.
        waiting: the device's time for the commits in flight, seconds.
        flushing: a flush batch runs.
    """
    most = min(most, lru.most_commits)
    dirtied = ledger.dirtied_by_commit()
    if lru.full(ledger, threads) and most > 0.0:
        passes = math.inf if flushing else lru.most_pages
        most = min(most, disk.replaced(commit_seconds=cost, dirtied=dirtied, most_pages=passes))
        commits, pages = disk.shared(commit_seconds=cost, most_commits=most, waiting=waiting)
        replaced = 0.0 if flushing else dirtied * commits
        return Flow(commits, pages if flushing else 0.0, replaced=replaced, lasts=SWEEP_SECONDS)
    each, behind = lru.pages_per_commit, lru.behind(LRU_TURN / disk.page_seconds)
    if flushing:
        commits, pages = disk.shared(
            commit_seconds=cost, most_commits=most, waiting=waiting, evicted=each, behind=behind
        )
    else:
        commits = disk.alone(commit_seconds=cost, most_commits=most, evicted=each, behind=behind)
        pages = 0.0
    commits = lru.held_up(commits)
    more = dirtied * commits - pages
    return Flow(
        commits,
        pages,
        evicted=each * commits + behind,
        lasts=lru.room(ledger) / more if more > 0.0 else math.inf,
    )
