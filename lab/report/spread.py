"""Means and ratios with their 95 % bounds, from a handful of blocks; pure."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence

from msgspec import Struct

from lab.bench.statistics import FEWEST, t95


class Bounds(Struct, frozen=True):
    """A mean with its 95 % bounds, which are None for a single block.

    Attributes:
        mean: of the blocks; of ratios the geometric one.
        low: lower bound.
        high: upper bound.
        blocks: how many it is from.
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
    if found is None or found.low is None or found.high is None:
        return None if found is None else Bounds(math.exp(found.mean), None, None, found.blocks)
    return Bounds(math.exp(found.mean), math.exp(found.low), math.exp(found.high), found.blocks)
