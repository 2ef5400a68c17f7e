"""What lasts: the part of the estimates that a restart of the daemon must not cost."""

from __future__ import annotations

import math

from msgspec import Struct
from msgspec.structs import replace

from tuner.core.estimator import EstimatorState


class Learned(Struct, frozen=True):
    """The fit of write combining, as ``EstimatorState`` has it."""

    mean_x: float
    mean_y: float
    covariance: float
    variance: float
    weight: float


def learn(state: EstimatorState) -> Learned:
    """Return what is worth keeping."""
    return Learned(
        mean_x=state.combining_mean_x,
        mean_y=state.combining_mean_y,
        covariance=state.combining_covariance,
        variance=state.combining_variance,
        weight=state.combining_weight,
    )


def recall(learned: Learned | None) -> EstimatorState:
    """Return a fresh state that knows what was learned; nonsense is forgotten."""
    fresh = EstimatorState()
    if learned is None or learned.variance <= 0 or learned.weight < 0:
        return fresh
    values = (learned.mean_x, learned.mean_y, learned.covariance, learned.variance, learned.weight)
    if not all(math.isfinite(value) for value in values):
        return fresh
    return replace(
        fresh,
        combining_mean_x=learned.mean_x,
        combining_mean_y=learned.mean_y,
        combining_covariance=learned.covariance,
        combining_variance=learned.variance,
        combining_weight=learned.weight,
    )
