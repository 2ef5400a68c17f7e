"""What recovery and shutdown may take: how each budget stands, and the ages at which they take too long."""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import MappingProxyType

from msgspec import Struct

from policies.setpoint import LOWEST, NOISE, Headroom
from tuner.core.recovery import Recovery
from tuner.records import Sample
from tuner.settings import Settings

WHAT = {"recovery": "a crash recovery", "shutdown": "a shutdown"}
KEYS = {"recovery": "max_recovery_seconds", "shutdown": "max_shutdown_seconds"}
"""What a budget is for, and its key."""


class Budget(Struct, frozen=True):
    """How one budget stands; seconds.

    Attributes:
        ratio: age ratio at which it is used up.
        predicted: what recovery or shutdown would take now.
        allowed: what it may take.
        least: the smallest budget that the lowest set-point keeps, at the pages per byte of now.
        start: what it takes without any redo and dirty page.
        whose: the window of the schedule that allows so much; empty where the settings do.
    """

    ratio: float
    predicted: float
    allowed: float
    least: float
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
    whose: Mapping[str, str] = MappingProxyType({}),
) -> dict[str, Budget]:
    """Return how each budget stands, by name; the shutdown's only where dirty pages were seen.

    Args:
        recovery: what is known about the server.
        headroom: flush limit and lag of the checkpoint.
        settings: the budgets.
        sample: the newest reading.
        whose: the windows of the schedule that some of them come from, by name.
    """
    allowed = ratios(recovery, headroom, settings)
    lowest = (LOWEST + NOISE) * headroom.flush_limit
    found = {
        "recovery": Budget(
            ratio=allowed["recovery"],
            predicted=recovery.recovery_seconds(sample),
            allowed=settings.max_recovery_seconds,
            least=recovery.recovery_at(lowest + headroom.highest_lag),
            start=recovery.start_seconds,
            whose=whose.get("recovery", ""),
        )
    }
    if "shutdown" in allowed:
        found["shutdown"] = Budget(
            ratio=allowed["shutdown"],
            predicted=recovery.shutdown_seconds(sample),
            allowed=settings.max_shutdown_seconds,
            least=recovery.pages_per_byte * lowest / recovery.flush_rate,
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

    Both take the pages per byte of age as they are: write combining makes them fewer as the age
    grows, so upwards this errs on the safe side, and the ratio rises while the age follows.

    Args:
        recovery: what is known about the server.
        headroom: flush limit and lag of the checkpoint.
        settings: the budgets.
    """
    density = recovery.pages_per_byte
    checkpoint_age = recovery.age_recovered_in(settings.max_recovery_seconds)
    found = {"recovery": (checkpoint_age - headroom.highest_lag) / headroom.flush_limit - NOISE}
    if density > 0.0:
        pages = settings.max_shutdown_seconds * recovery.flush_rate
        found["shutdown"] = pages / (density * headroom.flush_limit) - NOISE
    return found
