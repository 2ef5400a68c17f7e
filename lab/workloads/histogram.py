"""Latencies counted by size: merged from any number of seconds, and asked for percentiles."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

WHOLE = 100.0


@dataclass(frozen=True, slots=True)
class Histogram:
    """How many transactions took how long.

    sysbench counts in 1024 steps of equal ratio between 1 µs and 100 s, so every latency is right within
    1 %, and one above 100 s counts as 100 s (``sb_histogram_update`` in its ``src/sb_histogram.c``).

    Attributes:
        counts: transactions by latency, seconds.
    """

    counts: Mapping[float, int]

    @property
    def transactions(self) -> int:
        """How many were counted."""
        return sum(self.counts.values())

    def merge(self, *others: Histogram) -> Histogram:
        """Return one histogram of all their transactions."""
        return merged((self, *others))

    def percentile(self, percent: float) -> float:
        """Return the least latency that so many percent of the transactions did not exceed, seconds.

        The nearest-rank definition: no interpolation, so it is always a latency that occurred.

        Raises:
            ValueError: nothing was counted, or ``percent`` is not above 0 and at most 100.
        """
        if not 0.0 < percent <= WHOLE:
            raise ValueError(f"percentile {percent} is out of range: above 0 and at most 100")
        rank = max(1, math.ceil(self.transactions * percent / WHOLE - 1e-9))
        seen = 0
        for latency in sorted(self.counts):
            seen += self.counts[latency]
            if seen >= rank:
                return latency
        raise ValueError("a histogram without transactions has no percentiles")


def merged(histograms: Iterable[Histogram]) -> Histogram:
    """Return one histogram of the transactions of all of them."""
    total: Counter[float] = Counter()
    for one in histograms:
        total.update(one.counts)
    return Histogram(dict(total))
