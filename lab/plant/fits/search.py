"""The lowest point of a function of a few positive parameters; pure."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

FIRST_STEP = 0.2
LAST_STEP = 0.005
"""Relative steps: the parameters are known to about the last one."""

GAIN = 1e-3
"""A smaller relative gain is none: a parameter that the rows do not tell of stays where it was."""

Point = dict[str, float]


def lowest(
    cost: Callable[[Point], float],
    start: Mapping[str, float],
    *,
    progress: Callable[[float], None] = lambda _: None,
) -> tuple[Point, float]:
    """Return the point where a cost is lowest, and that cost, from a start on.

    Pattern search on logarithms (Hooke and Jeeves, "Direct search solution of numerical and statistical
    problems", 1961): a step up or down in each parameter, then on in the direction that all of them took
    together, and half the step where none gained.

    Args:
        cost: at least 0.
        start: by name, each above 0.
        progress: told every cost that is the lowest so far.
    """
    point, best = dict(start), cost(dict(start))
    step = FIRST_STEP
    while step >= LAST_STEP:
        found, value = _around(cost, point, best, step)
        if value == best:
            step /= 2.0
            continue
        while value < best:
            progress(value)
            ahead = {name: found[name] * found[name] / point[name] for name in point}
            point, best = found, value
            found, value = _around(cost, ahead, cost(ahead), step)
            if value >= best * (1.0 - GAIN):
                break
    return point, best


def _around(cost: Callable[[Point], float], point: Point, best: float, step: float) -> tuple[Point, float]:
    """Return the best of the steps from a point, one parameter after the other, or the point itself."""
    found = dict(point)
    for name in point:
        for factor in (math.exp(step), math.exp(-step)):
            tried = {**found, name: found[name] * factor}
            value = cost(tried)
            if value < best * (1.0 - GAIN):
                found, best = tried, value
                break
    return found, best
