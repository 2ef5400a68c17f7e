"""Courses of a load over time: one level after another, over and over.

The load as given is a course's highest level, so that a course never asks for more than what was chosen.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from lab.workloads.load import Load

LOW = 0.5
BURST_SHARE = 0.2
NIGHT = 0.3
HOURS = 24
PERIOD = 240.0
SHORTEST = 2.0
"""Seconds. A phase's first report comes a second after its start."""


@dataclass(frozen=True, slots=True)
class Phase:
    """A while at one level.

    Attributes:
        seconds: how long.
        threads: connections at work.
        rate: offered transactions per second; 0 is a closed load.

    Raises:
        ValueError: it is too short.
    """

    seconds: float
    threads: int
    rate: int

    def __post_init__(self) -> None:
        if self.seconds < SHORTEST:
            raise ValueError(
                f"a phase of {self.seconds:g} s is too short to be reported: at least {SHORTEST:g} s"
            )

    def of(self, load: Load) -> Load:
        """Return the load at this level."""
        return replace(load, threads=self.threads, rate=self.rate)

    def __str__(self) -> str:
        """Return the level in words."""
        threads = "1 thread" if self.threads == 1 else f"{self.threads} threads"
        return f"{self.rate} transactions/s offered" if self.rate else f"{threads}, as much as goes through"


def steady(load: Load, period: float = PERIOD) -> tuple[Phase, ...]:
    """Return the load as it is, all the time."""
    return (Phase(period, load.threads, load.rate),)


def step(load: Load, period: float = PERIOD, low: float = LOW) -> tuple[Phase, ...]:
    """Return half a period at ``low`` times the load, half a period at the load.

    Raises:
        ValueError: the period is too short, or the load has no lower level.
    """
    return (_level(load, period / 2, low), _level(load, period / 2, 1.0))


def burst(
    load: Load, period: float = PERIOD, low: float = LOW, share: float = BURST_SHARE
) -> tuple[Phase, ...]:
    """Return a long while at ``low`` times the load, then for ``share`` of the period the load itself.

    Raises:
        ValueError: the period is too short, or the load has no lower level.
    """
    return (_level(load, period * (1.0 - share), low), _level(load, period * share, 1.0))


def daily(load: Load, period: float = PERIOD, low: float = NIGHT) -> tuple[Phase, ...]:
    """Return a day in 24 steps, from a night at ``low`` times the load to the load at noon and back.

    Args:
        load: the load at noon.
        period: how long the day lasts, seconds.
        low: the night's share.

    Raises:
        ValueError: the period is too short, or the load has no lower level.
    """
    depth = (1.0 - low) / 2.0
    shares = (1.0 - depth * (1.0 + math.cos(2.0 * math.pi * hour / HOURS)) for hour in range(HOURS))
    return tuple(_level(load, period / HOURS, share) for share in shares)


COURSES: Mapping[str, Callable[[Load, float], tuple[Phase, ...]]] = {
    "steady": steady,
    "step": step,
    "burst": burst,
    "daily": daily,
}
"""By name: what makes the phases of a load and a period in seconds."""


def course(name: str, load: Load, period: float = PERIOD) -> tuple[Phase, ...]:
    """Return the phases of a course by its name.

    Args:
        name: one of ``COURSES``.
        load: the load at its highest level.
        period: until the course begins again, seconds.

    Raises:
        ValueError: there is no such course, the period is too short, or the load has no lower level.
    """
    if name not in COURSES:
        raise ValueError(f"course {name!r} is unknown: one of {', '.join(COURSES)}")
    return COURSES[name](load, period)


def _level(load: Load, seconds: float, share: float) -> Phase:
    if not 0.0 < share <= 1.0:
        raise ValueError(f"a level of {share:g} times the load is out of range: above 0 and at most 1")
    if load.rate:
        return Phase(seconds, load.threads, max(1, round(load.rate * share)))
    if load.threads == 1 and share < 1.0:
        raise ValueError(
            f"a closed load of one thread ({load.kind}) has no lower level: give it a rate or more threads"
        )
    return Phase(seconds, max(1, round(load.threads * share)), 0)
