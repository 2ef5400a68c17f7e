"""Whether a server has come to rest; pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lab.bench.sampler import Reading

WINDOW = 45.0
"""Seconds looked at."""

RESET_RATIO = 0.25
"""The age ratio below which every contender begins."""

DRIFT = 0.015
FEWEST = 5


def settled(readings: Sequence[Reading], drift: float = DRIFT) -> bool:
    """Return whether the mean age ratios of three successive thirds differ by no more than ``drift``."""
    third = len(readings) // 3
    if third < FEWEST:
        return False
    means = [sum(one.age_ratio for one in readings[at : at + third]) / third for at in (0, third, 2 * third)]
    return max(means) - min(means) <= drift


def quiet(readings: Sequence[Reading], share: float = 0.1) -> bool:
    """Return whether M moved by no more than a share of itself: a policy that still walks is not at rest."""
    values = [one.io_capacity_max for one in readings]
    return bool(values) and max(values) <= (1.0 + share) * min(values)


def moved(readings: Sequence[Reading]) -> bool:
    """Return whether M was ever another value."""
    return len({one.io_capacity_max for one in readings}) > 1
