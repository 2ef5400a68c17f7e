"""The line through pairs of figures, and how sure its slope is."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from typing import NamedTuple


class Line(NamedTuple):
    """A line by least squares: ``y = start + slope * x``."""

    slope: float
    start: float
    error: float  # standard error of the slope


def line(xs: Sequence[float], ys: Sequence[float]) -> Line | None:
    """Return the line through three or more pairs; None where all x are the same."""
    variance = statistics.pvariance(xs)
    if variance <= 0.0:
        return None
    slope, start = statistics.linear_regression(xs, ys)
    rest = math.fsum((y - start - slope * x) ** 2 for x, y in zip(xs, ys, strict=True))
    return Line(slope, start, math.sqrt(rest / (len(xs) - 2) / (len(xs) * variance)))
