"""How low a drain can bring the checkpoint age, and where it aims."""

from __future__ import annotations

import math
from collections.abc import Callable

from policies.equilibrium import FARTHEST_AGE, rate_at_rest
from policies.flushlaw import FlushLaw
from tuner.core.laws import law_of
from tuner.core.limits import bounds
from tuner.core.state import Drain, State
from tuner.records import Estimate, Sample

AIM = 0.9
"""Share of the target that the age is brought to, so that what it wanders stays below the target."""

LOOP_SECONDS = 2.0
"""Redo of this time lies between the age where flushing by age stops and the lowest one it can hold."""

LEAST_AGE = 1.0
"""Bytes; below it a law would have to divide by nothing."""

HALVINGS = 50


def lowest_target(state: State, sample: Sample, found: Estimate) -> tuple[float, str]:
    """Return the lowest checkpoint age that can be held at the present load, bytes, and what bounds it."""
    law, (_, highest) = law_of(state), bounds(state)
    lowest, low_water = floor_of(sample, found), sample.adaptive_flushing_lwm
    by_law = _least(lowest, sample, lambda age: _needed(law, sample, found, age) <= highest)
    not_by_age = f"below innodb_adaptive_flushing_lwm ({low_water:g} %) the server does not flush by age"
    limits = (
        (lowest, not_by_age),
        (by_law, f"it would take more than the max_io_capacity_max of {highest} pages/s"),
    )
    age, why = max(limits, key=lambda limit: limit[0])
    return age / AIM + lag_of(state), why


def lag_of(state: State) -> float:
    """Return what the checkpoint age may exceed the modified age by, bytes."""
    trends = state.estimator.trends
    rate = trends.rate_mean if state.drain is None else state.drain.redo_rate
    return state.facts.flush_order_lag + max(state.facts.sawtooth_seconds, trends.checkpoint_seconds) * rate


def aim_of(state: State, drain: Drain, sample: Sample, found: Estimate) -> float:
    """Return the modified age to rest at, bytes: the target's, above where flushing by age stops."""
    wanted = max(floor_of(sample, found), AIM * (drain.target - lag_of(state)))
    return wanted if state.set_point is None else min(wanted, state.set_point * sample.flush_limit)


def floor_of(sample: Sample, found: Estimate) -> float:
    """Return the lowest modified age that the server's flushing by age can hold, bytes; never none at all.

    With ``innodb_adaptive_flushing_lwm`` at 0 and no load there is nothing else above 0.
    """
    return max(LEAST_AGE, sample.low_water_age + LOOP_SECONDS * found.redo_rate)


def _resting(found: Estimate, age: float) -> float:
    """Return the pages/s that hold an age, from write combining and from how the load answers flushing."""
    ratio = max(found.modified_age, 1.0) / age
    ratio = min(FARTHEST_AGE, max(1.0 / FARTHEST_AGE, ratio))
    density = found.new_density * math.pow(ratio, found.combining_exponent)
    return density * rate_at_rest(
        redo_rate=found.redo_rate,
        flush_rate=found.flush_rate,
        density=density,
        response=found.flush_response,
    )


def _needed(law: FlushLaw, sample: Sample, found: Estimate, age: float) -> float:
    return law.resting_gain(age / sample.flush_limit) * _resting(found, age)


def _least(lowest: float, sample: Sample, fits: Callable[[float], bool]) -> float:
    """Return the lowest age that fits; the flush limit where none does. Fits are monotonic in the age."""
    low, high = lowest, float(sample.flush_limit)
    if fits(low):
        return low
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if fits(middle) else (middle, high)
    return high
