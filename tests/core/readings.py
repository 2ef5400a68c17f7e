"""Readings of a load, and the estimate that the estimator makes of them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tests.factory import A, sample
from tuner.core.estimate.estimator import EstimatorState, update
from tuner.records import Estimate, Sample

RATE = 1e6
"""Redo of the factory's load, bytes/s."""

PAGES = 400.0
"""Pages that it dirties and flushes, 1/s."""


def follow(
    readings: Iterable[Sample],
    state: EstimatorState | None = None,
    **how: Any,  # noqa: ANN401 - what update takes
) -> tuple[EstimatorState, Estimate]:
    """Take readings in; return the state and the estimate after the last."""
    state = EstimatorState() if state is None else state
    found = None
    for reading in readings:
        state, found, _ = update(state, reading, **how)
    assert found is not None
    return state, found


def steady(seconds: int, **changes: Any) -> list[Sample]:  # noqa: ANN401 - any field
    """Return a reading a second of the factory's load."""
    return [sample(float(second), **changes) for second in range(seconds)]


def limited(seconds: int, *, asked: int = 1_000) -> list[Sample]:
    """Return readings of a device that gives 400 pages/s of what is asked for."""
    return steady(seconds, flush_requested=asked)


def taught() -> EstimatorState:
    """Return the state after a load whose pages per byte fall with age."""
    state, flushed = EstimatorState(), 0.0
    for second in range(600):
        ratio = 0.3 + second / 1_000.0
        flushed += 300.0 / ratio
        state, _, _ = update(state, sample(float(second), age=ratio * A, pages_adaptive=round(flushed)))
    return state
