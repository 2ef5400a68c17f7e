"""Which values of M a search tries: coarse ones first, then closer and closer beside each winner; pure."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection

LOWEST = 100
HIGHEST = 20_000
COARSE_FACTOR = 1.25
FINEST_STEP = 0.01
"""Relative distance of two values of M below which looking closer is not worth a run."""

PARTS = 4
"""Into so many the way from a winner to its neighbour is divided."""

STEPS = math.ceil(math.log(HIGHEST / LOWEST) / math.log(COARSE_FACTOR))


def coarse(ratio: int) -> list[int]:
    """Return values of M from lowest to highest, pages/s, each by a factor above the one before."""
    return [_rounded(LOWEST * (HIGHEST / LOWEST) ** (i / STEPS), ratio) for i in range(STEPS + 1)]


def between(tried: Collection[int], winner: int, ratio: int) -> list[int]:
    """Return values between the winner and its neighbours, pages/s; none when these are close enough.

    Args:
        tried: values that have been tried.
        winner: one of them.
        ratio: k, M = k * C.
    """
    found: list[int] = []
    for neighbour in _beside(tried, winner):
        if abs(math.log(neighbour / winner)) > FINEST_STEP:
            shares = [part / PARTS for part in range(1, PARTS)]
            found += [_rounded(winner * (neighbour / winner) ** share, ratio) for share in shares]
    return [value for value in found if value not in tried]


def most_left(tried: Collection[int], winners: Collection[int | None], *, rules: int) -> int:
    """Return how many values a search still tries at most.

    Each round divides the ways from a winner to its neighbours, and the next winner is one of these values;
    where it is one that another rule asked for instead, there may be a few more.

    Args:
        tried: values that have been tried; none yet where it begins.
        winners: of these, one for each rule; None for a rule that none keeps.
        rules: how many there are.
    """
    if not tried:
        return STEPS + 1 + rules * _values_in(math.log(HIGHEST / LOWEST) / STEPS)
    left = 0
    for winner in winners:
        if winner is not None:
            left += _values_in(max(abs(math.log(one / winner)) for one in _beside(tried, winner)))
    return left


def _values_in(gap: float) -> int:
    """Return how many values are tried beside a winner whose neighbours are so far away, as logarithms."""
    rounds = 0
    while gap > FINEST_STEP:
        gap, rounds = gap / PARTS, rounds + 1
    return 2 * (PARTS - 1) * rounds


def _beside(tried: Collection[int], winner: int) -> list[int]:
    """Return the neighbours of a value, one at either end."""
    ordered = sorted(tried)
    place = ordered.index(winner)
    return [one for one in ordered[max(0, place - 1) : place + 2] if one != winner]


def _rounded(value: float, ratio: int) -> int:
    """Return the next M that is a whole multiple of the ratio, where C leaves room for one."""
    whole = round(value / ratio) * ratio
    return max(LOWEST, whole)
