"""One device: operations and bytes per second, and the credits of a cloud disk."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lab.plant.parameters import DiskParameters

MEGABYTE = 1e6


class Device:
    """A limit on write operations and on bytes per second, with credits of its own.

    Attributes:
        baseline: operations per second that it takes now, credits aside.
        rate: operations per second that it takes now, credits included.
        saved: operations above the baseline that are saved up; 0 on a device without credits.
    """

    __slots__ = ("_bursts", "_bytes", "_credits", "baseline", "rate", "saved")

    def __init__(self, parameters: DiskParameters) -> None:
        """Start with the timeline's first limit and all credits."""
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
