"""Percentiles, window summaries and paired bounds; pure."""

from __future__ import annotations

import math
import statistics
from typing import TYPE_CHECKING

from msgspec import Struct

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


class Bounds(Struct, frozen=True):
    """A mean with its 95 % bounds, which are None for a single block.

    Attributes:
        mean: of the blocks; of ratios the geometric one.
        low: lower bound.
        high: upper bound.
        blocks: how many values it is from.
    """

    mean: float
    low: float | None
    high: float | None
    blocks: int


def mean_bounds(values: Sequence[float]) -> Bounds | None:
    """Return the mean of blocks with t bounds; None without a block."""
    if not values:
        return None
    mean = statistics.fmean(values)
    if len(values) < FEWEST:
        return Bounds(mean, None, None, len(values))
    half = t95(len(values) - 1) * statistics.stdev(values) / math.sqrt(len(values))
    return Bounds(mean, mean - half, mean + half, len(values))


def ratio_bounds(pairs: Sequence[tuple[float, float]]) -> Bounds | None:
    """Return the mean ratio of the blocks' pairs with t bounds, worked out on logarithms.

    Args:
        pairs: ours and theirs, of the same block each.

    Returns:
        The bounds; None without a pair, or where one is zero or less, of which there is no ratio.
    """
    if not pairs or any(ours <= 0 or theirs <= 0 for ours, theirs in pairs):
        return None
    found = mean_bounds([math.log(ours / theirs) for ours, theirs in pairs])
    if found is None:
        return None
    mean, low, high = (None if one is None else math.exp(one) for one in (found.mean, found.low, found.high))
    return Bounds(mean or 0.0, low, high, found.blocks)


def slope(times: Sequence[float], values: Sequence[float]) -> Bounds:
    """Return the least-squares slope with 95 % t bounds, in units of ``values`` per unit of ``times``.

    Raises:
        ValueError: fewer than three points, or all at one time.
    """
    count, spread = len(times), statistics.pvariance(times) * len(times)
    if count != len(values) or count <= FEWEST or spread == 0.0:
        raise ValueError(f"no slope through {count} points with {len(values)} values")
    line = statistics.linear_regression(times, values)
    off = (value - line.slope * at - line.intercept for at, value in zip(times, values, strict=True))
    half = t95(count - 2) * math.sqrt(sum(one**2 for one in off) / (count - 2) / spread)
    return Bounds(line.slope, line.slope - half, line.slope + half, count)
