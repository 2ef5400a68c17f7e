"""What commits and page writes get of the one device that they share, or of one each."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from lab.plant.device import Device

if TYPE_CHECKING:
    from lab.plant.parameters import DiskParameters

PAGE_BYTES = 2.0 * 16_384.0
"""Bytes that one flushed page costs: itself and its copy in the doublewrite file."""

CHECKPOINT_OPERATIONS = 1.0
"""Write operations of one checkpoint: a block in the header of the log."""

LRU_TURN = 0.5
"""Share of the data files' device that page writes for free pages get at most while a flush batch runs: the
page cleaner does the one after the other.
"""


class Disk:
    """The device of the data files, and that of the redo log, which may be the same one.

    On one device a flush batch and the commits are served in turn: the time of the commits in flight
    against that of ``queued_pages`` page writes. Between batches commits have it for themselves. With the
    redo log on a device of its own commits and page writes do not meet.

    Attributes:
        data: where pages are written.
        redo: where commits and checkpoints are written.
    """

    __slots__ = (
        "_apart",
        "_latency",
        "_most_pages",
        "_operations",
        "_queued",
        "_queued_pages",
        "data",
        "redo",
    )

    def __init__(self, parameters: DiskParameters, *, doublewrite_pages: int = 128) -> None:
        """Start with the timeline's first limit and all credits, on each device."""
        self._operations = parameters.page_operations(doublewrite_pages)
        self._queued = parameters.queued_pages * self._operations
        self._queued_pages = parameters.queued_pages
        self._latency = parameters.latency + parameters.fsync_seconds
        latency = parameters.latency
        at_once = parameters.queued_pages / latency if latency > 0.0 else math.inf
        self._most_pages = min(parameters.pages_per_second, at_once)
        self._apart = parameters.redo_apart
        self.data = Device(parameters)
        self.redo = Device(parameters) if self._apart else self.data

    @property
    def commit_latency(self) -> float:
        """Return the seconds that a group of commits waits for the device beyond its share of it."""
        return self._latency

    @property
    def saved(self) -> float:
        """Return the operations that the device of the data files has saved up."""
        return self.data.saved

    @property
    def write_iops(self) -> float:
        """Return the operations per second that each device takes now, credits aside."""
        return self.data.baseline

    def limit(self, write_iops: float) -> None:
        """Take another number of write operations per second from now on, on each device."""
        self.data.limit(write_iops)
        if self._apart:
            self.redo.limit(write_iops)

    def commit_seconds(self, operations: float, size: float) -> float:
        """Return the redo log's device's time for one commit of so many operations and bytes."""
        return self.redo.seconds(operations, size)

    def checkpoint_seconds(self, *, flushing: bool) -> float:
        """Return how long a checkpoint takes, behind page writes in flight where they share its device."""
        ahead = self._queued if flushing and not self._apart else 0.0
        return self._latency + (ahead + CHECKPOINT_OPERATIONS) / self.redo.rate

    @property
    def page_seconds(self) -> float:
        """Return the data files' device's time for one page."""
        return self.data.seconds(self._operations, PAGE_BYTES)

    def alone(
        self, *, commit_seconds: float, most_commits: float, evicted: float = 0.0, behind: float = 0.0
    ) -> float:
        """Return commits per second while no flush batch runs.

        Args:
            commit_seconds: the device's time for one commit.
            most_commits: commits per second that there could be on a free device.
            evicted: pages that one commit makes the server write for free pages.
            behind: pages per second that it writes for earlier ones.
        """
        page = self.page_seconds
        lru, free = evicted * page, 1.0 - behind * page
        if self._apart:
            return min(most_commits, 1.0 / commit_seconds, free / lru if lru > 0.0 else math.inf)
        return min(most_commits, free / (commit_seconds + lru))

    def shared(
        self,
        *,
        commit_seconds: float,
        most_commits: float,
        waiting: float,
        evicted: float = 0.0,
        behind: float = 0.0,
    ) -> tuple[float, float]:
        """Return commits and pages of the batch per second while a flush batch runs.

        Args:
            commit_seconds: the device's time for one commit.
            most_commits: commits per second that there could be on a free device.
            evicted: pages that one commit makes the server write for free pages.
            behind: pages per second that it writes for earlier ones.
            waiting: the device's time for the commits in flight, seconds.
        """
        page = self.page_seconds
        lru, free = evicted * page, 1.0 - behind * page
        if self._apart:
            turn = LRU_TURN * free / lru if lru > 0.0 else math.inf
            commits = min(most_commits, 1.0 / commit_seconds, turn)
            return commits, min(self._most_pages, (free - commits * lru) / page)
        cost = commit_seconds + lru
        share = waiting / (waiting + self._queued_pages * page)
        commits = min(most_commits, share * free / cost)
        pages = min(self._most_pages, (free - commits * cost) / page)
        if pages == self._most_pages:
            left = max(0.0, free - pages * page)
            commits = min(most_commits, left / cost)
        return commits, pages

    def replaced(self, *, commit_seconds: float, dirtied: float, most_pages: float) -> float:
        """Return commits per second where each page that becomes dirty waits for one to be written.

        Args:
            commit_seconds: the device's time for one commit.
            dirtied: pages that one commit makes dirty.
            most_pages: pages per second that the server writes at most.
        """
        if dirtied <= 0.0:
            return math.inf
        most = min(most_pages, self._most_pages) / dirtied
        pages = dirtied * self.page_seconds
        return min(most, 1.0 / (pages if self._apart else commit_seconds + pages))

    def until_spent(self) -> float:
        """Return the seconds for which the credits last at least; infinite where none are being spent."""
        spent = self.data.until_spent()
        return min(spent, self.redo.until_spent()) if self._apart else spent

    def used(self, *, commits: float, pages: float, seconds: float) -> None:
        """Book what was written in some seconds against the credits.

        Args:
            commits: operations of commits.
            pages: pages, those for free pages included.
            seconds: in which this was.
        """
        written = pages * self._operations
        if self._apart:
            self.redo.used(commits, seconds)
            self.data.used(written, seconds)
        else:
            self.data.used(commits + written, seconds)
