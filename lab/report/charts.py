"""What the page's charts are drawn from: series thinned and rounded, and the tables beside them; pure."""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from lab.report.figures import UNKNOWN, plain
from lab.report.rows import COLUMNS, Row
from lab.report.summary import Group

Values = list[float | None]
Columns = dict[str, Values]
GAP_FACTOR = 2.5
"""A step longer than so many usual ones is a gap in the record."""

MEBIBYTE = 1_048_576.0
VALUES = 250_000
"""Values that all series of a page may have together, about six bytes each."""

FEWEST_POINTS, MOST_POINTS = 240, 1500
SLICES = 12
"""Lines of a table beside a chart."""

FACTORS = {"modified_age": 1 / MEBIBYTE, "checkpoint_age": 1 / MEBIBYTE, "latency_p99": 1000.0}
"""Of a bench's columns that are charted in MiB and in milliseconds."""


def with_gaps(at: Sequence[float], columns: Mapping[str, Values]) -> tuple[list[float], Columns]:
    """Return the same with a point of Nones wherever seconds are missing, so that no line crosses them."""
    times, found = list(at), {name: list(values) for name, values in columns.items()}
    steps = [late - early for early, late in itertools.pairwise(at)]
    if len(steps) < 2:  # noqa: PLR2004 - a usual step needs two of them
        return times, found
    usual = statistics.median(steps)
    for place in range(len(steps), 0, -1):
        if steps[place - 1] > GAP_FACTOR * usual:
            times.insert(place, at[place - 1] + usual)
            for values in found.values():
                values.insert(place, None)
    return times, found


def thin(at: Sequence[float], columns: Mapping[str, Values], points: int) -> tuple[list[float], Columns]:
    """Return at most about so many points.

    Every stretch of seconds becomes two points: the lowest and the highest value in the order in which they
    came, for each column by itself, and a third one, a gap, where the stretch has one.

    Args:
        at: seconds.
        columns: values by name, as long as ``at``.
        points: how many to aim at; a series that has no more stays as it is.
    """
    if len(at) <= points:
        return list(at), dict(columns)
    size = max(3, -(-2 * len(at) // points))
    times: list[float] = []
    found: Columns = {name: [] for name in columns}
    for first in range(0, len(at), size):
        moments = at[first : first + size]
        parts = {name: values[first : first + size] for name, values in columns.items()}
        gap = any(None in values for values in parts.values())
        times += [moments[0], *([moments[(len(moments) - 1) // 2]] if gap else []), moments[-1]]
        for name, values in parts.items():
            found[name] += _extremes(values, gap=gap)
    for index in range(1, len(times)):  # a last stretch of one second has two points
        if times[index] <= times[index - 1]:
            times[index] = times[index - 1] + 0.001
    return times, found


def _extremes(values: Values, *, gap: bool) -> Values:
    """Return lowest and highest in their order; beside a gap in any column also this one's, or the last."""
    known = [value for value in values if value is not None]
    pair: Values = [None, None]
    if known:
        pair = sorted((min(known), max(known)), key=values.index)
    if not gap:
        return pair
    return [*pair, None if len(known) < len(values) else pair[1]]


def rounded(value: float | None, digits: int = 4) -> float | int | None:
    """Return a value with so many digits that count, as short as JSON can have it."""
    if value is None:
        return None
    short = float(f"{value:.{digits}g}")
    return int(short) if short == int(short) else short


def scaled(columns: Mapping[str, Values], factors: Mapping[str, float]) -> Columns:
    """Return the columns of which anything is known, each multiplied by its factor, or by 1."""
    return {
        name: [None if value is None else value * factors.get(name, 1.0) for value in values]
        for name, values in columns.items()
        if any(value is not None for value in values)
    }


def drawn(
    at: Sequence[float], columns: Mapping[str, Values], points: int
) -> tuple[list[float], dict[str, list[float | int | None]]]:
    """Return moments, and columns with gaps, thinned and rounded."""
    times, found = thin(*with_gaps(at, columns), points)
    return times, {name: [rounded(value) for value in values] for name, values in found.items()}


def points_each(series: int) -> int:
    """Return how many points one of so many rows' series may have."""
    return max(FEWEST_POINTS, min(MOST_POINTS, VALUES // max(1, series * len(COLUMNS))))


def group_payload(group: Group, points: int) -> dict[str, Any]:
    """Return what the charts of a group are drawn from, each series with so many points."""
    names = group.coloured()
    return {
        "contenders": names,
        "ours": [one.name for one in group.contenders if one.ours],
        "blocks": group.blocks,
        "rows": [
            _row_payload(row, names.index(row.contender), points) for row in group.rows if row.series.at
        ],
    }


def _row_payload(row: Row, place: int, points: int) -> dict[str, Any]:
    series = row.series
    columns = scaled({name: getattr(series, name) for name in COLUMNS}, FACTORS)
    at, found = drawn(series.at, columns, points)
    limits = {
        name: rounded(value / MEBIBYTE, 5)
        for name in ("flush_limit", "max_checkpoint_age", "redo_capacity")
        if (value := getattr(series, name)) is not None
    }
    return {
        "contender": place,
        "block": row.block,
        "at": [rounded(moment - series.counted_from, 6) for moment in at],
        "series": found,
        "limits": limits,
        "events": [[rounded(moment - series.counted_from, 6), words] for moment, words in row.events],
    }


class Table(NamedTuple):
    """What a chart shows, as a table: a line for each stretch, with its seconds and a cell for each head."""

    title: str
    heads: tuple[str, ...]
    slices: list[tuple[str, list[str]]]


def sliced(title: str, at: Sequence[float], columns: Mapping[str, Values]) -> Table:
    """Return series cut into stretches of equal length: mean, and lowest to highest, of each."""
    first, last = at[0], at[-1]
    width = max(1.0, (last - first) / SLICES)
    places: dict[int, list[int]] = {}
    for place, moment in enumerate(at):
        places.setdefault(min(SLICES - 1, int((moment - first) / width)), []).append(place)
    slices = []
    for index, inside in places.items():
        low = first + index * width
        span = f"{plain(round(low))} to {plain(round(min(low + width, last)))} s"
        slices.append((span, [_cell([values[place] for place in inside]) for values in columns.values()]))
    return Table(title, tuple(columns), slices)


def _cell(values: Values) -> str:
    known = [value for value in values if value is not None]
    if not known:
        return f"{UNKNOWN} (gap)"
    mean, low, high = statistics.fmean(known), min(known), max(known)
    gap = ", with a gap" if len(known) < len(values) else ""
    if plain(low) == plain(high):
        return plain(mean) + gap
    return f"{plain(mean)} ({plain(low)} to {plain(high)}){gap}"
