"""Coordinate search: one number of a setting after the other, up and down, in ever smaller steps; pure."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from lab.scenarios.grid import HIGHEST, LOWEST

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

Levels = tuple[int, ...]
Score = tuple[int, float]
"""On how many seeds a setting keeps the rules, and how much it gives; the first counts before the second."""

WORTH = 0.0002
"""Relative gain that is worth another number."""

FACTORS = (1.41, 1.19, 1.09, 1.04, 1.02)
"""By how much a number is moved, coarse to fine."""

ROUNDS = 3
"""So often all numbers are gone through with one factor at most."""


def best_levels(start: Levels, rate: Callable[[Sequence[Levels]], list[Score]], *, ratio: int) -> Levels:
    """Return the best setting found from a start; not proven to be the best there is.

    Args:
        start: numbers to start with, pages/s.
        rate: scores of some settings, higher is better.
        ratio: k, every number is a multiple of it.
    """
    best = start
    (score,) = rate([start])
    for factor in FACTORS:
        for _ in range(ROUNDS):
            before = best
            for place in range(len(start)):
                while beside := [
                    moved
                    for by in (factor, 1.0 / factor)
                    if (moved := _moved(best, place, by, ratio)) != best
                ]:
                    higher, value = max(zip(rate(beside), beside, strict=True))
                    if not _better(higher, score):
                        break
                    best, score = value, higher
            if best == before:
                break
    return best


def _better(score: Score, than: Score) -> bool:
    """Tell whether a score is higher by more than chance."""
    if score[0] != than[0] or math.inf in (abs(score[1]), abs(than[1])):
        return score > than
    return score[1] > than[1] + WORTH * abs(than[1])


def _moved(levels: Levels, place: int, factor: float, ratio: int) -> Levels:
    """Return the levels with one of them moved by a factor, inside what a search tries."""
    bounded = min(float(HIGHEST), max(float(LOWEST), levels[place] * factor))
    value = max(LOWEST, round(bounded / ratio) * ratio)
    return (*levels[:place], value, *levels[place + 1 :])
