"""How long crash recovery and shutdown would take: now, at the set-point, and with the settings found."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct
from msgspec.structs import replace

from policies.setpoint import NOISE, Headroom, highest_ratio
from tuner.core.budgets import WARN_SECONDS, Name, by_priors
from tuner.core.recovery import Recovery
from tuner.records import Estimate, Sample
from tuner.settings import Settings


class Durations(Struct, frozen=True):
    """One of the two from three ages, seconds; None where the age is not known.

    Attributes:
        now: from where the age is.
        set_point: from the set-point, at its longest.
        baseline: from where the settings that the server was found with hold the age, at its longest.
    """

    now: float
    set_point: float | None = None
    baseline: float | None = None

    @property
    def longest(self) -> float:
        """Return the longest of those that are known."""
        return max(self.now, self.set_point or 0.0, self.baseline or 0.0)

    def long(self, allowed: float | None) -> bool:
        """Tell whether one of them is worth a warning: nobody set a budget, and it takes long."""
        return allowed is None and self.longest > WARN_SECONDS

    def said(self, duration: Callable[[float], str] = "{:.0f} s".format) -> str:
        """Return all that are known in words.

        Args:
            duration: how seconds are written.
        """
        parts = [f"{duration(self.now)} now"]
        if self.set_point is not None:
            parts.append(f"{duration(self.set_point)} at the set-point")
        if self.baseline is not None:
            parts.append(f"{duration(self.baseline)} with the baseline settings")
        return ", ".join(parts)


def durations_of(found: Estimate) -> dict[Name, Durations]:
    """Return what an estimate says of both, by name."""
    return {
        "recovery": Durations(
            found.recovery_seconds, found.recovery_at_set_point, found.recovery_at_baseline
        ),
        "shutdown": Durations(
            found.shutdown_seconds, found.shutdown_at_set_point, found.shutdown_at_baseline
        ),
    }


def foreseen(
    found: Estimate, recovery: Recovery, headroom: Headroom, *, set_point: float, baseline: float
) -> Estimate:
    """Return the estimate with both as they will be at the set-point, and as they would be without a daemon.

    Args:
        found: the estimate.
        recovery: what is known about the server.
        headroom: flush limit, sync point, lag of the checkpoint, write combining.
        set_point: f in force.
        baseline: age ratio at which the settings that the server was found with come to rest; 0 for unknown.
            Past the sync point the server flushes whatever M.
    """
    held = recovery_and_shutdown(recovery, headroom, set_point)
    rests: tuple[float | None, float | None] = (None, None)
    if baseline > 0.0:
        rests = recovery_and_shutdown(
            recovery, headroom, min(baseline, headroom.sync_point / headroom.flush_limit)
        )
    return replace(
        found,
        recovery_at_set_point=held[0],
        shutdown_at_set_point=held[1],
        recovery_at_baseline=rests[0],
        shutdown_at_baseline=rests[1],
    )


def at_first_sight(sample: Sample, settings: Settings) -> dict[Name, Durations]:
    """Return both by one reading and the priors alone; where the baseline settings rest is not known yet."""
    recovery, headroom = by_priors(sample, settings)
    held = recovery_and_shutdown(recovery, headroom, set_point_at_first_sight(sample, settings))
    return {
        "recovery": Durations(recovery.recovery_seconds(sample), held[0]),
        "shutdown": Durations(recovery.shutdown_seconds(sample), held[1]),
    }


def set_point_at_first_sight(sample: Sample, settings: Settings) -> float:
    """Return the set-point that one reading lets expect, budgets aside."""
    if settings.set_point is not None:
        return settings.set_point
    return highest_ratio(by_priors(sample, settings)[1], {})[0]


def recovery_and_shutdown(recovery: Recovery, headroom: Headroom, ratio: float) -> tuple[float, float]:
    """Return how long both take at most where an age ratio is held: the age wanders, and its checkpoint lags.

    Args:
        recovery: what is known about the server.
        headroom: flush limit, lag of the checkpoint, write combining.
        ratio: the age ratio that is held.
    """
    age = (ratio + NOISE) * headroom.flush_limit
    exponent = headroom.combining_exponent
    return (
        recovery.recovery_at(age + headroom.highest_lag, exponent),
        recovery.shutdown_at(age, exponent),
    )
