"""One device that page writes and commits share."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lab.plant.parameters import DiskParameters

PAGE_BYTES = 2.0 * 16_384.0
"""Bytes that one flushed page costs: itself and its copy in the doublewrite file."""

MEGABYTE = 1e6


class Disk:
    """A limit on write operations and bytes per second, and a time for each.

    While a flush batch runs, the device serves what waits for it in turn: the operations of
    the commits in flight against ``queued_pages`` page writes. Between batches commits have
    the device for themselves.

    Attributes:
        write_iops: operations per second that the device takes now, credits aside.
        page_seconds: the device's time for one page.
        saved: operations above the baseline that are saved up; 0 on a disk without credits.
    """

    __slots__ = (
        "_apart",
        "_bursts",
        "_bytes",
        "_credits",
        "_most_pages",
        "_operations",
        "_parameters",
        "_queued",
        "_rate",
        "page_seconds",
        "saved",
        "write_iops",
    )

    def __init__(self, parameters: DiskParameters, *, doublewrite_pages: int = 128) -> None:
        """Start with the timeline's first limit and all credits."""
        self._parameters = parameters
        self._operations = parameters.page_operations(doublewrite_pages)
        self._queued = parameters.queued_pages * self._operations
        bandwidth = parameters.megabytes_per_second
        self._bytes = 0.0 if bandwidth is None else 1.0 / (bandwidth * MEGABYTE)
        latency = parameters.latency
        at_once = parameters.queued_pages / latency if latency > 0.0 else math.inf
        self._most_pages = min(parameters.pages_per_second, at_once)
        self._credits = parameters.credits
        self._apart = parameters.redo_apart
        self.saved = 0.0 if self._credits is None else self._credits.most
        self._bursts = self._credits is not None
        self.write_iops = 0.0
        self.limit(parameters.timeline[0].write_iops)

    @property
    def commit_latency(self) -> float:
        """Return the seconds that a group of commits waits for the device beyond its share of it."""
        return self._parameters.latency + self._parameters.fsync_seconds

    def limit(self, write_iops: float) -> None:
        """Take another number of write operations per second from now on."""
        self.write_iops = write_iops
        self._rate_now()

    def _rate_now(self) -> None:
        """Work out what one page costs at the rate that credits allow."""
        self._rate = self.write_iops
        if self._credits is not None and self._bursts:
            self._rate = max(self.write_iops, self._credits.burst_iops)
        self.page_seconds = max(self._operations / self._rate, PAGE_BYTES * self._bytes)

    def commit_seconds(self, operations: float, size: float) -> float:
        """Return the device's time for one commit of so many operations and bytes."""
        return max(operations / self._rate, size * self._bytes)

    def alone(self, *, commit_seconds: float, most_commits: float) -> float:
        """Return commits per second while no page is written.

        Args:
            commit_seconds: the device's time for one commit.
            most_commits: commits per second that there could be on a free device.
        """
        return min(most_commits, 1.0 / commit_seconds)

    def shared(self, *, commit_seconds: float, most_commits: float, waiting: float) -> tuple[float, float]:
        """Return commits and pages per second while a flush batch runs.

        Args:
            commit_seconds: the device's time for one commit.
            most_commits: commits per second that there could be on a free device.
            waiting: device operations of the commits in flight.
        """
        if self._apart:
            return min(most_commits, 1.0 / commit_seconds), min(self._most_pages, 1.0 / self.page_seconds)
        share = waiting / (waiting + self._queued)
        commits = min(most_commits, share / commit_seconds)
        pages = min(self._most_pages, (1.0 - commits * commit_seconds) / self.page_seconds)
        if pages == self._most_pages:
            left = max(0.0, 1.0 - pages * self.page_seconds)
            commits = min(most_commits, left / commit_seconds)
        return commits, pages

    def until_spent(self) -> float:
        """Return the seconds for which the credits last at least; infinite where none are being spent."""
        if not self._bursts or self._rate <= self.write_iops:
            return math.inf
        return self.saved / (self._rate - self.write_iops)

    def used(self, operations: float, seconds: float) -> None:
        """Book operations against the credits; below the baseline they are saved up again.

        Once they are spent the disk stays at its baseline until a second's burst is saved up.
        """
        if self._credits is None:
            return
        saved = self.saved + self.write_iops * seconds - operations
        self.saved = min(self._credits.most, max(0.0, saved))
        bursts = self.saved > 1.0 if self._bursts else self.saved >= self._credits.burst_iops
        if bursts != self._bursts:
            self._bursts = bursts
            self._rate_now()

    def page_operations(self) -> float:
        """Return write operations for one flushed page."""
        return self._operations
