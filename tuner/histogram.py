"""How often something took how long, over all ticks: a scrape alone would see the last one of many."""

from __future__ import annotations

from bisect import bisect_left

from msgspec import Struct

BOUNDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
"""From a reading over a socket to the slowest tick that the time-outs allow, seconds."""


class Histogram(Struct, frozen=True):
    """Durations by size.

    Attributes:
        counts: how many were at most as long as each of ``BOUNDS`` and longer than the one before; last,
            how many were longer than all of them.
        total: sum of all, seconds.
    """

    counts: tuple[int, ...] = (0,) * (len(BOUNDS) + 1)
    total: float = 0.0

    def after(self, seconds: float) -> Histogram:
        """Return it with one duration more."""
        counts = list(self.counts)
        counts[bisect_left(BOUNDS, seconds)] += 1
        return Histogram(tuple(counts), self.total + seconds)
