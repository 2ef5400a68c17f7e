"""Fewer points for the same picture: no dip, no peak and no gap is lost."""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Mapping, Sequence

Values = list[float | None]
GAP_FACTOR = 2.5
"""A step longer than so many usual ones is a gap in the record."""


def with_gaps(at: Sequence[float], columns: Mapping[str, Values]) -> tuple[list[float], dict[str, Values]]:
    """Return the same with a point of Nones wherever seconds are missing, so that no line crosses them."""
    if len(at) < 3:  # noqa: PLR2004 - a usual step needs two of them
        return list(at), {name: list(values) for name, values in columns.items()}
    usual = statistics.median(late - early for early, late in itertools.pairwise(at))
    times: list[float] = []
    found: dict[str, Values] = {name: [] for name in columns}
    for index, moment in enumerate(at):
        if times and moment - at[index - 1] > GAP_FACTOR * usual:
            times.append(at[index - 1] + usual)
            for values in found.values():
                values.append(None)
        times.append(moment)
        for name, values in found.items():
            values.append(columns[name][index])
    return times, found


def thin(
    at: Sequence[float], columns: Mapping[str, Values], points: int
) -> tuple[list[float], dict[str, Values]]:
    """Return at most about so many points.

    Every stretch of seconds becomes two points: the lowest and the highest value in the order in which they
    came, for each column by itself, and a third one, a gap, where the stretch has one.

    Args:
        at: seconds.
        columns: values by name, as long as ``at``.
        points: how many to aim at; a series that has no more stays as it is.
    """
    if len(at) <= points:
        return list(at), {name: list(values) for name, values in columns.items()}
    size = max(3, -(-2 * len(at) // points))
    times: list[float] = []
    found: dict[str, Values] = {name: [] for name in columns}
    for first in range(0, len(at), size):
        last = min(first + size, len(at))
        parts = {name: values[first:last] for name, values in columns.items()}
        gap = any(value is None for values in parts.values() for value in values)
        times += [at[first], at[(first + last - 1) // 2], at[last - 1]] if gap else [at[first], at[last - 1]]
        for name, values in parts.items():
            found[name] += _extremes(values, 3 if gap else 2)
    return _apart(times), found


def _extremes(values: Values, count: int) -> Values:
    """Return lowest and highest in their order; of three points the last is a gap where there is one."""
    known = [value for value in values if value is not None]
    if not known:
        return [None] * count
    low, high = min(known), max(known)
    pair: Values = [low, high] if values.index(low) <= values.index(high) else [high, low]
    if count == 2:  # noqa: PLR2004 - nothing more to say
        return pair
    return [*pair, None if len(known) < len(values) else pair[1]]


def _apart(times: list[float]) -> list[float]:
    """Return times of which each is later than the one before; a last stretch of one second has two."""
    for index in range(1, len(times)):
        if times[index] <= times[index - 1]:
            times[index] = times[index - 1] + 0.001
    return times


def rounded(value: float | None, digits: int = 4) -> float | int | None:
    """Return a value with so many digits that count, as short as JSON can have it."""
    if value is None:
        return None
    short = float(f"{value:.{digits}g}")
    return int(short) if short == int(short) else short
