"""The disk: what it can do, and what commits and page writes get of it.

The data files and the redo log share one device, or have one each; a cloud disk has credits.
"""

from __future__ import annotations

import math
from typing import Annotated, NamedTuple

from msgspec import Meta, Struct

Rate = Annotated[float, Meta(ge=1, le=10_000_000)]
"""Operations or pages per second; no device takes more."""

Moment = Annotated[float, Meta(ge=0, le=2_678_400)]
Period = Annotated[float, Meta(ge=1, le=2_678_400)]
"""Seconds, up to the length of the longest run."""


class DiskChange(Struct, frozen=True, forbid_unknown_fields=True):
    """The disk's limit from a moment on.

    Attributes:
        at: seconds after the start, or after the start of the repetition.
        write_iops: write operations per second that the disk takes.
    """

    at: Moment
    write_iops: Rate


class Credits(Struct, frozen=True, forbid_unknown_fields=True):
    """A disk that is faster for a while, as cloud disks are.

    Attributes:
        burst_iops: operations per second while there are credits; the timeline's limit is the baseline.
        most: operations above the baseline that can be saved up; what there is at the start as well.
    """

    burst_iops: Rate
    most: Annotated[float, Meta(ge=1, le=1_000_000_000_000)]


class DiskParameters(Struct, frozen=True, forbid_unknown_fields=True):
    """The device under data files and redo.

    Attributes:
        timeline: the limit over time; the first entry is at 0.
        repeat: seconds after which the timeline begins anew; None: never.
        operations_per_page: write operations for one flushed page, its share of a large doublewrite included.
        batch_operations: further ones for a doublewrite batch, whatever its pages.
        queued_pages: page writes that a flush batch keeps in flight, which is what commits
            have to share the device with; ``innodb_doublewrite_pages`` and the queue.
        pages_per_second: most pages that the server can write, whatever the device takes.
        megabytes_per_second: bandwidth; None: no limit. A page costs 32 KiB of it, for the doublewrite.
        latency: seconds that one write takes.
        fsync_seconds: seconds that the sync at the end of a group of commits takes beyond that.
        read_iops: pages that can be read a second; None: no limit.
        redo_apart: the redo log is on a device of its own, as fast as this one.
        credits: what a disk with burst credits has; None: no such disk.
    """

    timeline: Annotated[tuple[DiskChange, ...], Meta(min_length=1)] = (DiskChange(0.0, 1200.0),)
    repeat: Period | None = None
    operations_per_page: Annotated[float, Meta(gt=0, le=1000)] = 1.0625
    batch_operations: Annotated[float, Meta(ge=0, le=10_000)] = 6.848
    queued_pages: Annotated[float, Meta(ge=1, le=1_000_000)] = 120.0
    pages_per_second: Rate = 60_000.0
    megabytes_per_second: Annotated[float, Meta(ge=0.1, le=1_000_000)] | None = None
    latency: Annotated[float, Meta(ge=0, le=1)] = 0.0
    fsync_seconds: Annotated[float, Meta(ge=0, le=1)] = 0.0
    read_iops: Rate | None = None
    redo_apart: bool = False
    credits: Credits | None = None

    def page_operations(self, doublewrite_pages: int) -> float:
        """Return write operations for one flushed page with so many in a doublewrite batch."""
        return self.operations_per_page + self.batch_operations / doublewrite_pages


MEGABYTE = 1e6


class Device:
    """A limit on write operations and on bytes per second, with credits of its own.

    Attributes:
        baseline: operations per second that it takes now, credits aside.
        rate: operations per second that it takes now, credits included.
        saved: operations above the baseline that are saved up; 0 on a device without credits.
    """

    def __init__(self, parameters: DiskParameters) -> None:
        bandwidth = parameters.megabytes_per_second
        self._bytes = 0.0 if bandwidth is None else 1.0 / (bandwidth * MEGABYTE)
        self._credits = parameters.credits
        self._bursts = self._credits is not None
        self.saved = 0.0 if self._credits is None else self._credits.most
        self.baseline = 0.0
        self.rate = 0.0
        self.limit(parameters.timeline[0].write_iops)

    def limit(self, write_iops: float) -> None:
        """Take another number of write operations per second from now on; with credits, the baseline."""
        self.baseline = write_iops
        self.rate = write_iops
        if self._credits is not None and self._bursts:
            self.rate = max(write_iops, self._credits.burst_iops)

    def seconds(self, operations: float, size: float) -> float:
        """Return the time that so many operations with so many bytes in all take."""
        return max(operations / self.rate, size * self._bytes)

    def until_spent(self) -> float:
        """Return the seconds for which the credits last at least; infinite where none are being spent."""
        if not self._bursts or self.rate <= self.baseline:
            return math.inf
        return self.saved / (self.rate - self.baseline)

    def used(self, operations: float, seconds: float) -> None:
        """Book operations against the credits; below the baseline they are saved up again.

        Once they are spent the device stays at its baseline until a second's burst is saved up.
        """
        if self._credits is None:
            return
        saved = self.saved + self.baseline * seconds - operations
        self.saved = min(self._credits.most, max(0.0, saved))
        bursts = self.saved > 1.0 if self._bursts else self.saved >= self._credits.burst_iops
        if bursts != self._bursts:
            self._bursts = bursts
            self.limit(self.baseline)


PAGE_BYTES = 2.0 * 16_384.0
"""Bytes that one flushed page costs: itself and its copy in the doublewrite file."""

CHECKPOINT_OPERATIONS = 1.0
"""Write operations of one checkpoint: a block in the header of the log."""

LRU_TURN = 0.5
"""Share of the data files' device that page writes for free pages get at most while a flush batch runs: the
page cleaner does the one after the other.
"""


class Commits(NamedTuple):
    """What commits ask of the disk.

    Attributes:
        seconds: the redo log's device's time for one.
        most: per second, that there could be on a free device.
        waiting: the device's time for those in flight, seconds.
        evicted: pages that one makes the server write for free pages.
        behind: pages per second that it writes for earlier ones.
    """

    seconds: float
    most: float
    waiting: float = 0.0
    evicted: float = 0.0
    behind: float = 0.0


class Disk:
    """The device of the data files, and that of the redo log, which may be the same one.

    On one device a flush batch and the commits are served in turn: the time of the commits in flight
    against that of ``queued_pages`` page writes. Between batches commits have it for themselves. With the
    redo log on a device of its own commits and page writes do not meet.

    Attributes:
        data: where pages are written.
        redo: where commits and checkpoints are written.
        commit_latency: seconds that a group of commits waits for the device beyond its share of it.
    """

    def __init__(self, parameters: DiskParameters, *, doublewrite_pages: int = 128) -> None:
        self._operations = parameters.page_operations(doublewrite_pages)
        self._queued = parameters.queued_pages * self._operations
        self._queued_pages = parameters.queued_pages
        self.commit_latency = parameters.latency + parameters.fsync_seconds
        latency = parameters.latency
        at_once = parameters.queued_pages / latency if latency > 0.0 else math.inf
        self._most_pages = min(parameters.pages_per_second, at_once)
        self._apart = parameters.redo_apart
        self.data = Device(parameters)
        self.redo = Device(parameters) if self._apart else self.data

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
        return self.commit_latency + (ahead + CHECKPOINT_OPERATIONS) / self.redo.rate

    @property
    def page_seconds(self) -> float:
        """Return the data files' device's time for one page."""
        return self.data.seconds(self._operations, PAGE_BYTES)

    def alone(self, asked: Commits) -> float:
        """Return commits per second while no flush batch runs."""
        page = self.page_seconds
        lru, free = asked.evicted * page, 1.0 - asked.behind * page
        if self._apart:
            return min(asked.most, 1.0 / asked.seconds, free / lru if lru > 0.0 else math.inf)
        return min(asked.most, free / (asked.seconds + lru))

    def shared(self, asked: Commits) -> tuple[float, float]:
        """Return commits and pages of the batch per second while a flush batch runs."""
        page = self.page_seconds
        lru, free = asked.evicted * page, 1.0 - asked.behind * page
        if self._apart:
            turn = LRU_TURN * free / lru if lru > 0.0 else math.inf
            commits = min(asked.most, 1.0 / asked.seconds, turn)
            return commits, min(self._most_pages, (free - commits * lru) / page)
        cost = asked.seconds + lru
        share = asked.waiting / (asked.waiting + self._queued_pages * page)
        commits = min(asked.most, share * free / cost)
        pages = min(self._most_pages, (free - commits * cost) / page)
        if pages == self._most_pages:
            left = max(0.0, free - pages * page)
            commits = min(asked.most, left / cost)
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
