"""How long the age takes to answer a step of M; pure."""

from __future__ import annotations

import statistics
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lab.report.rows import Series

SHARE = 0.63
"""Part of the way that is timed: one time constant of a first-order lag is 1 - 1/e."""

LEAST_WAY = 0.15
"""A shorter way of the age ratio drowns in its noise."""

SMOOTHED = 2
"""Seconds to both sides over which the age is a mean."""


def seconds_to_63(series: Series) -> float | None:
    """Return the seconds until the age has gone 63 % of its way, None where it goes hardly any.

    The way is from the first reading, when C and M were set, to the mean of the counted seconds.

    Args:
        series: of a row whose C and M stay as they are.
    """
    limit = series.flush_limit
    points = [
        (at, age / limit)
        for at, age in zip(series.at, series.modified_age, strict=False)
        if age is not None and limit
    ]
    counted = [age for at, age in points if at >= series.counted_from]
    if not counted:
        return None
    start, end = points[0][1], statistics.fmean(counted)
    if abs(end - start) < LEAST_WAY:
        return None
    return _crossing(points, start + SHARE * (end - start), rising=end > start)


def _crossing(points: list[tuple[float, float]], level: float, *, rising: bool) -> float | None:
    """Return when a smoothed line first reaches a level, between seconds too."""
    before: tuple[float, float] | None = None
    for place, (at, _) in enumerate(points):
        near = points[max(0, place - SMOOTHED) : place + SMOOTHED + 1]
        value = statistics.fmean(one for _, one in near)
        if (value >= level) is rising or value == level:
            if before is None or value == before[1]:
                return at
            return before[0] + (at - before[0]) * (level - before[1]) / (value - before[1])
        before = (at, value)
    return None
