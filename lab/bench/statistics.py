"""Percentiles, window summaries and paired bounds; pure."""

from __future__ import annotations

import math
import statistics
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


# Student's t, two-sided 95 %, by degrees of freedom.
_T95 = {1: 12.706, 2: 4.303, 3: 3.182, 4: 2.776, 5: 2.571, 6: 2.447, 7: 2.365, 8: 2.306, 9: 2.262}
_T95 |= {10: 2.228, 11: 2.201, 12: 2.179}

FEWEST = 2


def t95(freedom: int) -> float:
    """Return t for so many degrees of freedom; beyond the table 1.96 + 2.5 / n, within 0.01 of it."""
    return _T95.get(freedom, 1.96 + 2.5 / freedom)


def percentile(values: Sequence[float], percent: float) -> float:
    """Return a percentile with linear interpolation between ranks.

    Raises:
        ValueError: no values.
    """
    if not values:
        raise ValueError("a percentile of no values was asked for")
    ordered = sorted(values)
    rank = (len(ordered) - 1) * percent / 100.0
    low = math.floor(rank)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (rank - low)


@dataclass(frozen=True, slots=True)
class Bounds:
    """A mean with its 95 % confidence bounds; the bounds are None for a single value."""

    mean: float
    low: float | None
    high: float | None


def paired_ratio(ours: Sequence[float], theirs: Sequence[float]) -> Bounds:
    """Return the mean of block-wise ratios with 95 % t bounds, computed on logarithms.

    Raises:
        ValueError: different numbers of blocks, or none.
    """
    if len(ours) != len(theirs) or not ours:
        raise ValueError(f"{len(ours)} blocks cannot be paired with {len(theirs)}")
    logs = [math.log(a / b) for a, b in zip(ours, theirs, strict=True)]
    mean = statistics.fmean(logs)
    if len(logs) == 1:
        return Bounds(math.exp(mean), None, None)
    half = t95(len(logs) - 1) * statistics.stdev(logs) / math.sqrt(len(logs))
    return Bounds(math.exp(mean), math.exp(mean - half), math.exp(mean + half))


def slope(times: Sequence[float], values: Sequence[float]) -> Bounds:
    """Return the least-squares slope with 95 % t bounds, in units of ``values`` per unit of ``times``.

    Raises:
        ValueError: fewer than three points, or all at one time.
    """
    count = len(times)
    middle, mean = statistics.fmean(times), statistics.fmean(values)
    spread = sum((at - middle) ** 2 for at in times)
    if count != len(values) or count <= FEWEST or spread == 0.0:
        raise ValueError(f"no slope through {count} points with {len(values)} values")
    found = sum((at - middle) * (value - mean) for at, value in zip(times, values, strict=True)) / spread
    rest = sum(
        (value - mean - found * (at - middle)) ** 2 for at, value in zip(times, values, strict=True)
    ) / (count - 2)
    half = t95(count - 2) * math.sqrt(rest / spread)
    return Bounds(found, found - half, found + half)
