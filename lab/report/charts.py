"""What the page's charts are drawn from: series thinned and rounded, and the tables beside them; pure."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from lab.report.figures import UNKNOWN, plain
from lab.report.rows import COLUMNS, Row
from lab.report.summary import Group
from lab.report.thin import Values, rounded, thin, with_gaps

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
    """Return what the charts of a group are drawn from.

    Args:
        group: the rows.
        points: that each series may have.
    """
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


ROW_COLUMNS = (
    ("commits", "commits/s", 1.0),
    ("latency_p99", "latency p99, ms", 1000.0),
    ("checkpoint_age", "checkpoint age, MiB", 1 / MEBIBYTE),
    ("modified_age", "modified age, MiB", 1 / MEBIBYTE),
    ("io_capacity_max", "M", 1.0),
    ("pages_flushed", "pages flushed/s", 1.0),
    ("sync_pages", "of them sync-flushed", 1.0),
    ("device_writes", "device writes/s", 1.0),
)


def row_table(row: Row) -> Table | None:
    """Return a row's series as a table; None where it has none."""
    if not row.series.at:
        return None
    at = [moment - row.series.counted_from for moment in row.series.at]
    columns = [
        (title, _scaled(values, factor))
        for name, title, factor in ROW_COLUMNS
        if _known(values := row.series.column(name))
    ]
    return sliced(f"{row.contender}, block {row.block}", at, columns)


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
