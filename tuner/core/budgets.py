"""What recovery and shutdown may take, where a person says so: how each budget stands, and what it bounds.

A budget bounds the set-point where that can keep it. It never asks for less than the age at which the
settings that the server was found with come to rest: those kept it no better. And where not even the lowest
set-point keeps it, holding the age low would cost page writes for nothing: then it is said what would keep
it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from types import MappingProxyType

from msgspec import Struct

from policies.setpoint import LOWEST, NOISE, Headroom
from tuner.core.recovery import Recovery
from tuner.records import Sample
from tuner.settings import Settings

WHAT = {"recovery": "a crash recovery", "shutdown": "a shutdown"}
KEYS = {"recovery": "max_recovery_seconds", "shutdown": "max_shutdown_seconds"}
"""What a budget is for, and its key."""

WARN_SECONDS = 300.0
"""What a prediction is called long by where nobody set a budget, seconds."""

FARTHEST = 16.0
"""Highest age ratio that is looked at."""

HALVINGS = 40


class Budget(Struct, frozen=True):
    """How one budget stands; seconds.

    Attributes:
        ratio: age ratio at which it is used up.
        predicted: what recovery or shutdown would take now.
        allowed: what it may take.
        least: the smallest budget that the lowest set-point keeps.
        baseline: age ratio at which the settings that the server was found with come to rest.
        start: what it takes without any redo and dirty page.
        whose: the window of the schedule that allows so much; empty where the settings do.
    """

    ratio: float
    predicted: float
    allowed: float
    least: float
    baseline: float = 0.0
    start: float = 0.0
    whose: str = ""

    @property
    def exceeded(self) -> bool:
        """Tell whether it would take longer now than it may."""
        return self.predicted > self.allowed

    @property
    def in_reach(self) -> bool:
        """Tell whether the lowest set-point keeps it."""
        return self.ratio >= LOWEST

    @property
    def bound(self) -> float | None:
        """Return the age ratio that it bounds the set-point to; None where no set-point keeps it."""
        return max(self.ratio, self.baseline) if self.in_reach else None

    def figures(self, name: str) -> str:
        """Return what would take how long, and how long it may, in words."""
        by = f" ({self.whose})" if self.whose else ""
        return f"{WHAT[name]} would take {self.predicted:.0f} s now, and {KEYS[name]} is {self.allowed:g}{by}"

    def right(self, name: str) -> str:
        """Return what would let the lowest set-point keep the budget, in words."""
        needs = f"the lowest set-point, {LOWEST:.2f}, needs {KEYS[name]} = {math.ceil(self.least)} or more"
        return f"{needs}, or less redo capacity" if self.allowed > self.start else needs


def look(
    recovery: Recovery,
    headroom: Headroom,
    settings: Settings,
    sample: Sample,
    *,
    baseline: float = 0.0,
    whose: Mapping[str, str] = MappingProxyType({}),
) -> dict[str, Budget]:
    """Return how each budget that is set stands, by name; the shutdown's only where dirty pages were seen.

    Args:
        recovery: what is known about the server.
        headroom: flush limit, lag of the checkpoint, write combining.
        settings: the budgets.
        sample: the newest reading.
        baseline: age ratio at which the settings that the server was found with come to rest.
        whose: the windows of the schedule that some of them come from, by name.
    """
    allowed = ratios(recovery, headroom, settings)
    lowest = (LOWEST + NOISE) * headroom.flush_limit
    exponent = headroom.combining_exponent
    found = {}
    if "recovery" in allowed and settings.max_recovery_seconds is not None:
        found["recovery"] = Budget(
            ratio=allowed["recovery"],
            predicted=recovery.recovery_seconds(sample),
            allowed=settings.max_recovery_seconds,
            least=recovery.recovery_at(lowest + headroom.highest_lag, exponent),
            baseline=baseline,
            start=recovery.start_seconds,
            whose=whose.get("recovery", ""),
        )
    if "shutdown" in allowed and settings.max_shutdown_seconds is not None:
        found["shutdown"] = Budget(
            ratio=allowed["shutdown"],
            predicted=recovery.shutdown_seconds(sample),
            allowed=settings.max_shutdown_seconds,
            least=recovery.shutdown_at(lowest, exponent),
            baseline=baseline,
            whose=whose.get("shutdown", ""),
        )
    return found


def at_first_sight(sample: Sample, settings: Settings) -> dict[str, Budget]:
    """Return how each budget stands by one reading and the priors alone."""
    recovery = Recovery().see(sample, flush_rate=0.0, limited=0.0, elapsed=0.0)
    headroom = Headroom(
        flush_limit=sample.flush_limit,
        sync_point=sample.sync_point,
        redo_capacity=sample.redo_capacity,
        checkpoint_lag=sample.checkpoint_age - sample.modified_age,
        redo_rate=0.0,
        burst_bytes=0.0,
        max_checkpoint_age_ratio=settings.max_checkpoint_age_ratio,
    )
    return look(recovery, headroom, settings, sample)


def ratios(recovery: Recovery, headroom: Headroom, settings: Settings) -> dict[str, float]:
    """Return the age ratios at which recovery and shutdown take as long as they may, by name.

    Args:
        recovery: what is known about the server.
        headroom: flush limit, lag of the checkpoint, write combining.
        settings: the budgets; those that are not set are left out.
    """
    exponent = headroom.combining_exponent
    most = FARTHEST * headroom.flush_limit
    found = {}
    if settings.max_recovery_seconds is not None:
        age = _highest(
            lambda age: recovery.recovery_at(age, exponent), settings.max_recovery_seconds, most=most
        )
        found["recovery"] = (age - headroom.highest_lag) / headroom.flush_limit - NOISE
    if settings.max_shutdown_seconds is not None and recovery.pages_per_byte > 0.0:
        age = _highest(
            lambda age: recovery.shutdown_at(age, exponent), settings.max_shutdown_seconds, most=most
        )
        found["shutdown"] = age / headroom.flush_limit - NOISE
    return found


def _highest(seconds_at: Callable[[float], float], allowed: float, *, most: float) -> float:
    """Return the highest age, bytes, from which something takes no longer than allowed."""
    if seconds_at(most) <= allowed:
        return most
    low, high = 0.0, most
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if seconds_at(middle) <= allowed else (low, middle)
    return low
