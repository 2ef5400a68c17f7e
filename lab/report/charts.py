"""What the page's charts are drawn from: series thinned and rounded, and the tables beside them; pure."""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

from lab.report.figures import UNKNOWN, plain
from lab.report.rows import COLUMNS, Row
from lab.report.summary import Group

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


MEBIBYTE = 1_048_576.0
VALUES = 250_000
"""Values that all series of a page may have together, about six bytes each."""

FEWEST_POINTS, MOST_POINTS = 240, 1500
SLICES = 12
"""Lines of a table beside a chart."""

SCALES = {"modified_age": 1 / MEBIBYTE, "checkpoint_age": 1 / MEBIBYTE, "latency_p99": 1000.0}
"""Factors of what is charted in MiB and in milliseconds."""


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
    columns = {
        name: _scaled(values, SCALES.get(name, 1.0))
        for name in COLUMNS
        if _known(values := series.column(name))
    }
    at, columns = thin(*with_gaps(series.at, columns), points)
    limits = {
        name: rounded(value / MEBIBYTE, 5)
        for name in ("flush_limit", "max_checkpoint_age", "redo_capacity")
        if (value := getattr(series, name)) is not None
    }
    return {
        "contender": place,
        "block": row.block,
        "at": [rounded(moment - series.counted_from, 6) for moment in at],
        "series": {name: [rounded(value) for value in values] for name, values in columns.items()},
        "limits": limits,
        "events": [[rounded(moment - series.counted_from, 6), said] for moment, said in row.events],
    }


def _known(values: Values) -> bool:
    return any(value is not None for value in values)


def _scaled(values: Values, factor: float) -> Values:
    return [None if value is None else value * factor for value in values]


class Slice(Struct, frozen=True):
    """A stretch of a series in one line of a table."""

    span: str
    cells: tuple[str, ...]


class Table(Struct, frozen=True):
    """What a chart shows, as a table."""

    title: str
    heads: tuple[str, ...]
    slices: tuple[Slice, ...]


def sliced(title: str, at: Sequence[float], columns: Sequence[tuple[str, Values]]) -> Table:
    """Return series cut into stretches of equal length: mean, and lowest to highest, of each."""
    first, last = at[0], at[-1]
    width = max(1.0, (last - first) / SLICES)
    found = []
    for index in range(SLICES):
        low, high = first + index * width, first + (index + 1) * width
        end = index == SLICES - 1 or high > last
        inside = [place for place, moment in enumerate(at) if low <= moment and (end or moment < high)]
        if not inside:
            continue
        cells = tuple(_cell([values[place] for place in inside]) for _, values in columns)
        found.append(Slice(f"{plain(round(low))} to {plain(round(min(high, last)))} s", cells))
        if end:
            break
    return Table(title, tuple(head for head, _ in columns), tuple(found))


def _cell(values: Values) -> str:
    known = [value for value in values if value is not None]
    if not known:
        return f"{UNKNOWN} (gap)"
    mean, low, high = statistics.fmean(known), min(known), max(known)
    gap = ", with a gap" if len(known) < len(values) else ""
    if plain(low) == plain(high):
        return plain(mean) + gap
    return f"{plain(mean)} ({plain(low)} to {plain(high)}){gap}"
