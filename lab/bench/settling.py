"""Whether a server has come to rest; pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tuner.records import DecisionKind
from tuner.settings import Mode

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lab.bench.sampler import Reading
    from tuner.records import TickRecord

WINDOW = 45.0
"""Seconds looked at."""

RESET_RATIO = 0.25
"""The age ratio below which every contender begins."""

DRIFT = 0.015
FEWEST = 5

ON_COURSE = "within_band"
"""The daemon's reason for leaving M where it is: its law looked and has nothing to correct."""

BAND = 0.05
"""So far from the set-point an age ratio is held, and not on its way."""


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


def holding(record: TickRecord | None) -> bool:
    """Return whether a daemon says in its newest tick that M is right as it stands, at its set-point.

    For one whose first M was right already, and which therefore never moves it.
    """
    if record is None or record.mode is not Mode.ACTIVE or record.holds or record.estimate is None:
        return False
    decision = record.decision
    return (
        decision.kind is DecisionKind.KEEP
        and decision.reason == ON_COURSE
        and decision.set_point is not None
        and abs(record.estimate.age_ratio - decision.set_point) <= BAND
    )
