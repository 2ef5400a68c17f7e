"""Which values of M a search tries: coarse steps up while they may help, then halves beside winners; pure."""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

LOWEST = 100
HIGHEST = 20_000
COARSE_FACTOR = 1.25
FINEST_STEP = 0.005
"""Relative distance of two values of M below which looking closer is not worth a run."""

STEPS = math.ceil(math.log(HIGHEST / LOWEST) / math.log(COARSE_FACTOR))

FALLS = 3
"""So many coarse steps in a row that each lower the throughput are no accident: M has doubled by then."""

PLAINLY = 0.05
"""Share of every winner's throughput that is lost where a higher M is plainly none of them."""


def coarse(ratio: int) -> list[int]:
    """Return values of M from lowest to highest, pages/s, each by a factor above the one before."""
    return [_rounded(LOWEST * (HIGHEST / LOWEST) ** (i / STEPS), ratio) for i in range(STEPS + 1)]


def past_the_best(throughputs: Sequence[float], winners: Collection[float | None]) -> bool:
    """Tell whether a still higher M is not worth a run.

    Above the best M a higher one writes pages more often and leaves the disk less for commits: throughput
    falls on and on.

    Args:
        throughputs: commits/s of the coarse values of M so far, from the lowest up.
        winners: highest of them by each rule; None for a rule that no value keeps so far.
    """
    last = throughputs[-FALLS - 1 :]
    if len(last) <= FALLS or any(later >= earlier for earlier, later in itertools.pairwise(last)):
        return False
    return all(one is not None and last[-1] < (1.0 - PLAINLY) * one for one in winners)


def halfway(tried: Collection[int], winners: Collection[int | None], ratio: int) -> set[int]:
    """Return values halfway between winners and their neighbours, pages/s; none where these are close enough.

    Args:
        tried: values that have been tried.
        winners: of these, one for each rule; None for a rule that none keeps.
        ratio: k, M = k * C.
    """
    found: set[int] = set()
    for winner in _known(winners):
        for neighbour in _beside(tried, winner):
            if abs(math.log(neighbour / winner)) > FINEST_STEP:
                found.add(_rounded(math.sqrt(winner * neighbour), ratio))
    return found - set(tried)


def most_left(tried: Collection[int], winners: Collection[int | None]) -> int:
    """Return how many values a search still tries at most beside its winners.

    The next winner is one of the values halfway; where it is one that another rule asked for instead, there
    may be a few more.

    Args:
        tried: values that have been tried.
        winners: of these, one for each rule; None for a rule that none keeps.
    """
    return sum(_halvings([winner, *_beside(tried, winner)], winner) for winner in _known(winners))


def most_between(ladder: Sequence[int]) -> int:
    """Return how many values are tried at most beside one winner among evenly spaced ones."""
    return max(_halvings(ladder[max(0, i - 1) : i + 2], one) for i, one in enumerate(ladder))


def _halvings(values: Sequence[int], winner: int) -> int:
    """Return how many values are tried at most at both ends of a winner, itself among the values."""
    gap = max((abs(math.log(one / winner)) for one in values), default=0.0)
    return 2 * max(0, math.ceil(math.log2(gap / FINEST_STEP))) if gap > 0.0 else 0


def _known(winners: Collection[int | None]) -> set[int]:
    return {winner for winner in winners if winner is not None}


def _beside(tried: Collection[int], winner: int) -> list[int]:
    """Return the neighbours of a value, one at either end."""
    ordered = sorted(tried)
    place = ordered.index(winner)
    return [one for one in ordered[max(0, place - 1) : place + 2] if one != winner]


def _rounded(value: float, ratio: int) -> int:
    """Return the next M that is a whole multiple of the ratio, where C leaves room for one."""
    whole = round(value / ratio) * ratio
    return max(LOWEST, whole)
