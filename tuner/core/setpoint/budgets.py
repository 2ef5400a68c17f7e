"""What recovery and shutdown may take, where a person says so: how each budget stands, and what it bounds.

A budget bounds the set-point where that can keep it. It never asks for less than the age at which the
settings that the server was found with come to rest: those kept it no better. And where not even the lowest
set-point keeps it, holding the age low would cost page writes for nothing: it is said what would keep it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from policies.setpoint import LOWEST, NOISE, Headroom, highest_ratio
from tuner.core.estimate.recovery import Recovery
from tuner.records import Estimate, Sample
from tuner.settings import Settings
from tuner.system.amounts import share

Name = Literal["recovery", "shutdown"]

WHAT = {"recovery": "a crash recovery", "shutdown": "a shutdown"}
SHORT = {"recovery": "crash recovery", "shutdown": "shutdown"}
KEYS = {"recovery": "max_recovery_seconds", "shutdown": "max_shutdown_seconds"}
"""What a budget is for, in a sentence and in a list, and its key."""

WARN_SECONDS = 300.0
"""What a prediction is called long from where nobody set a budget, seconds. It warns and moves nothing."""

FARTHEST = 16.0  # Highest age ratio that is looked at

HALVINGS = 40

FAR, NEAR = 2.0, 0.8
"""What the lowest set-point keeps, over the budget: from where it is dropped at once, and may count again.

A prediction for the lowest set-point is another one from a high age than from there: a budget between the two
would take turns."""

WORTH_SAYING = 1.05  # So many times the page writes are told
LEAST_SHARE = 0.01  # A smaller share of the redo capacity is nobody's advice


class Budget(Struct, frozen=True):
    """How one budget stands; seconds."""

    ratio: float  # age ratio at which it is used up
    predicted: float  # what recovery or shutdown would take now
    allowed: float  # what it may take
    least: float  # the smallest budget that the lowest set-point keeps
    # age ratio at which the settings that the server was found with come to rest; 0 for unknown
    baseline: float = 0.0
    there: float = 0.0  # what it takes at that age
    exponent: float = 0.5  # b, by which a lower age costs page writes
    m_moves_age: bool = True
    whose: str = ""  # the window of the schedule that allows so much; empty where the settings do

    @property
    def exceeded(self) -> bool:
        """Tell whether it would take longer now than it may."""
        return self.predicted > self.allowed

    @property
    def in_reach(self) -> bool:
        """Tell whether the lowest set-point keeps it."""
        return self.ratio >= LOWEST

    @property
    def far(self) -> bool:
        """Tell whether it is so far from what the lowest set-point keeps that no look twice is needed."""
        return not self.in_reach and self.least > FAR * self.allowed

    @property
    def near(self) -> bool:
        """Tell whether it is in reach by so much that what was dropped may count again."""
        return self.least <= NEAR * self.allowed

    @property
    def kept(self) -> bool:
        """Tell whether the set-point that it bounds keeps it."""
        return self.in_reach and self.ratio >= self.baseline

    @property
    def bound(self) -> float:
        """Return the age ratio that it bounds the set-point to as long as it is not dropped."""
        return max(self.ratio, self.baseline)

    def figures(self, name: str) -> str:
        """Return what would take how long, and how long it may, in words."""
        by = f" ({self.whose})" if self.whose else ""
        return f"{WHAT[name]} would take {self.predicted:.0f} s now, and {KEYS[name]} is {self.allowed:g}{by}"

    def right(self, name: str, *, set_point: float) -> str:
        """Return what would keep a budget that is not kept, and what that costs, in words.

        Args:
            name: recovery or shutdown.
            set_point: the age ratio that is held in its place, whose page writes the costs are told in.
        """
        if not self.m_moves_age:
            needs = f"no innodb_io_capacity_max moves the age here; {KEYS[name]} = {math.ceil(self.there)}"
            return f"{needs} or more is kept{self._less_redo(set_point, set_point)}"
        if not self.in_reach:
            needs = (
                f"the lowest set-point, {share(LOWEST)}, keeps {KEYS[name]} = {math.ceil(self.least)} or more"
            )
            return f"{needs}{self._cost(LOWEST, set_point)}{self._less_redo(LOWEST, set_point)}"
        needs = (
            f"the originals hold the age at {share(self.baseline)} of the flush limit, and no budget lowers "
            f"it further: {KEYS[name]} = {math.ceil(self.there)} or more is kept there"
        )
        held = math.floor(100.0 * self.ratio) / 100.0
        return f"{needs}, and set_point = {max(LOWEST, held):g} keeps this one{self._cost(held, set_point)}"

    def _less_redo(self, held: float, set_point: float) -> str:
        """Return how much less redo capacity keeps it where an age ratio is held; empty where none does."""
        less = (self.ratio + NOISE) / (held + NOISE)
        if less < LEAST_SHARE:
            return ""
        cost = self._cost(self.ratio + NOISE, set_point)
        return f"; a redo log of at most {share(less)} of this size keeps this one{cost}"

    def _cost(self, ratio: float, set_point: float) -> str:
        """Return what an age as low as this ratio of today's flush limit costs; empty for next to nothing."""
        times = (set_point / max(LEAST_SHARE, ratio)) ** self.exponent
        told = f", at about {times:.1f} times the page writes of the set-point {share(set_point)}"
        return told if times >= WORTH_SAYING else ""


def standing_of(
    recovery: Recovery,
    headroom: Headroom,
    settings: Settings,
    sample: Sample,
    *,
    baseline: float = 0.0,
    m_moves_age: bool = True,
    whose: Mapping[str, str] = MappingProxyType({}),
) -> dict[str, Budget]:
    """Return how each budget that is set stands, by name; the shutdown's only where dirty pages were seen.

    Args:
        baseline: age ratio at which the settings that the server was found with come to rest; 0 for unknown.
        m_moves_age: on this server.
        whose: the windows of the schedule that some of them come from, by name.
    """
    now = (recovery.recovery_seconds(sample), recovery.shutdown_seconds(sample))
    least, there = (recovery_and_shutdown(recovery, headroom, ratio) for ratio in (LOWEST, baseline))
    allowed, used_up = _allowed(settings), ratios(recovery, headroom, settings)
    return {
        name: Budget(
            ratio=used_up[name],
            predicted=now[place],
            allowed=allowed[name],
            least=least[place],
            baseline=baseline,
            there=there[place],
            exponent=headroom.combining_exponent,
            m_moves_age=m_moves_age,
            whose=whose.get(name, ""),
        )
        for place, name in enumerate(KEYS)
        if name in used_up
    }


def _allowed(settings: Settings) -> dict[str, float]:
    both = {"recovery": settings.max_recovery_seconds, "shutdown": settings.max_shutdown_seconds}
    return {name: seconds for name, seconds in both.items() if seconds is not None}


def at_first_sight(sample: Sample, settings: Settings) -> dict[str, Budget]:
    """Return how each budget that is set stands by one reading and the priors alone."""
    recovery, headroom = by_priors(sample, settings)
    return standing_of(recovery, headroom, settings, sample)


def by_priors(sample: Sample, settings: Settings) -> tuple[Recovery, Headroom]:
    """Return what one reading says of recovery and headroom."""
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
    return recovery, headroom


def ratios(recovery: Recovery, headroom: Headroom, settings: Settings) -> dict[str, float]:
    """Return the age ratios at which recovery and shutdown take as long as they may, by name.

    Args:
        settings: the budgets; those that are not set are left out.
    """
    seconds_at: dict[str, Callable[[float, float], float]] = {"recovery": recovery.recovery_at}
    if recovery.pages_per_byte > 0.0:
        seconds_at["shutdown"] = recovery.shutdown_at
    lag = {"recovery": headroom.highest_lag, "shutdown": 0.0}
    exponent, most = headroom.combining_exponent, FARTHEST * headroom.flush_limit
    ages = {
        name: _highest(seconds_at[name], allowed, exponent=exponent, most=most)
        for name, allowed in _allowed(settings).items()
        if name in seconds_at
    }
    return {name: (age - lag[name]) / headroom.flush_limit - NOISE for name, age in ages.items()}


def _highest(
    seconds_at: Callable[[float, float], float], allowed: float, *, exponent: float, most: float
) -> float:
    """Return the highest age, bytes, from which something takes no longer than allowed."""
    if seconds_at(most, exponent) <= allowed:
        return most
    low, high = 0.0, most
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if seconds_at(middle, exponent) <= allowed else (low, middle)
    return low


class Durations(Struct, frozen=True):
    """One of the two from three ages, seconds; None where the age is not known."""

    now: float  # from where the age is
    set_point: float | None = None  # from the set-point, at its longest
    # from where the settings that the server was found with hold the age, at its longest
    baseline: float | None = None
    likely: float | None = None  # from the set-point, where that was reckoned; ``beside`` sets it

    def beside(self, *, likely: float | None, seen: float | None) -> Durations:
        """Return these beside two other figures, which what it takes at most is then no lower than.

        Args:
            likely: what it takes from the set-point by another reckoning; None where there is none.
            seen: the longest seen with the settings found; None where others were in force.
        """
        most, rests = self.set_point, self.baseline
        return replace(
            self,
            likely=likely,
            set_point=most if likely is None or most is None else max(most, likely),
            baseline=rests if seen is None or rests is None else max(rests, seen),
        )

    @property
    def longest(self) -> float:
        """Return the longest of those that are known."""
        return max(self.now, self.set_point or 0.0, self.baseline or 0.0)

    def long(self, allowed: float | None) -> bool:
        """Tell whether one of them is worth a warning: nobody set a budget, and it takes long."""
        return allowed is None and self.longest > WARN_SECONDS

    def describe(self, duration: Callable[[float], str] = "{:.0f} s".format) -> str:
        """Return all that are known in words.

        Args:
            duration: how seconds are written.
        """
        parts = [f"{duration(self.now)} now"]
        if self.set_point is not None:
            likely = "" if self.likely is None else f"likely {duration(self.likely)} and "
            parts.append(f"{likely}at most {duration(self.set_point)} at the set-point")
        if self.baseline is not None:
            parts.append(f"at most {duration(self.baseline)} with the originals")
        return ", ".join(parts)


def durations_of(estimate: Estimate) -> dict[Name, Durations]:
    """Return what an estimate says of both, by name."""
    return {
        "recovery": Durations(
            estimate.recovery_seconds, estimate.recovery_at_set_point, estimate.recovery_at_baseline
        ),
        "shutdown": Durations(
            estimate.shutdown_seconds, estimate.shutdown_at_set_point, estimate.shutdown_at_baseline
        ),
    }


def foreseen(estimate: Estimate, recovery: Recovery, headroom: Headroom, *, set_point: float) -> Estimate:
    """Return the estimate with both as they will be at the set-point, and as they would be without a daemon.

    Past the sync point the server flushes whatever M.
    """
    held = recovery_and_shutdown(recovery, headroom, set_point)
    rests: tuple[float | None, float | None] = (None, None)
    if estimate.baseline_ratio:
        highest = headroom.sync_point / headroom.flush_limit
        rests = recovery_and_shutdown(recovery, headroom, min(estimate.baseline_ratio, highest))
    return replace(
        estimate,
        recovery_at_set_point=held[0],
        shutdown_at_set_point=held[1],
        recovery_at_baseline=rests[0],
        shutdown_at_baseline=rests[1],
    )


def durations_at_first_sight(sample: Sample, settings: Settings) -> dict[Name, Durations]:
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
    """Return how long both take at most where a ratio is held: the age wanders, and its checkpoint lags."""
    age = (ratio + NOISE) * headroom.flush_limit
    exponent = headroom.combining_exponent
    return (
        recovery.recovery_at(age + headroom.highest_lag, exponent),
        recovery.shutdown_at(age, exponent),
    )
