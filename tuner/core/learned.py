"""What lasts: the part of the estimates that a restart of the daemon must not cost."""

from __future__ import annotations

import math

from msgspec import Struct
from msgspec.structs import astuple

from tuner.core.estimator import EstimatorState
from tuner.core.load import Load
from tuner.core.regression import Regression


class Learned(Struct, frozen=True):
    """What was learned of the load."""

    load: Load


def learn(state: EstimatorState) -> Learned:
    """Return what is worth keeping."""
    return Learned(load=state.load)


def recall(learned: Learned | None) -> EstimatorState:
    """Return a fresh state that knows what was learned; nonsense is forgotten."""
    if learned is None:
        return EstimatorState()
    load = learned.load
    return EstimatorState(
        load=Load(
            combining=load.combining if _sound(load.combining) else Regression(),
            response=load.response if _sound(load.response) else Regression(),
        )
    )


def _sound(fit: Regression) -> bool:
    return all(math.isfinite(value) for value in astuple(fit)) and fit.variance >= 0.0 and fit.weight >= 0.0
