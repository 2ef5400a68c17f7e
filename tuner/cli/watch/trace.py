"""The numbers of the last minutes: rows by time, and what falls into each column of a chart."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence

from msgspec import Struct

from api.models import HistoryAnswer, Status

COLUMNS = (
    "checkpoint_age",
    "stall_point",
    "sync_point",
    "flush_limit",
    "set_point",
    "io_capacity",
    "io_capacity_max",
    "redo_rate",
    "flush_rate",
    "sync_rate",
    "lru_rate",
    "row_rate",
)
"""Columns of the history that are drawn."""

LATE = 2.5
"""A row stands for so many times the usual distance between two; what comes after that is a gap."""

MAX_ROWS = 8192

Row = tuple[float, tuple[float | None, ...]]
"""Unix time and one value a column; None where nothing was read."""


class Trace(Struct, frozen=True):
    """Rows by time, oldest first.

    Attributes:
        rows: one a tick, or one a step of the history.
        spacing: usual distance between two rows, seconds.
    """

    rows: tuple[Row, ...] = ()
    spacing: float = 1.0

    def with_status(self, status: Status, *, span: float) -> Trace:
        """Return the trace with one tick more, of the last ``span`` seconds."""
        row = _row_of(status)
        if self.rows and row[0] <= self.rows[-1][0]:
            return self
        first = bisect_left(self.rows, row[0] - span, key=_time)
        return Trace((*self.rows[first:], row)[-MAX_ROWS:], self.spacing)

    def before(self, newer: Trace) -> Trace:
        """Return a newer trace with what this one knows of the time before it."""
        kept = self.rows[: bisect_left(self.rows, newer.rows[0][0], key=_time)] if newer.rows else self.rows
        return Trace((*kept, *newer.rows)[-MAX_ROWS:], max(self.spacing, newer.spacing))

    def columns(
        self, names: Sequence[str], *, end: float, span: float, count: int
    ) -> list[list[float | None]]:
        """Return the mean of each name over each of so many even parts of a time; None in a gap.

        Parts begin at whole multiples of their length, so that a number stays in its part as time goes by.

        Args:
            names: which columns.
            end: Unix time of the newest part.
            span: of all parts together, seconds.
            count: of parts.
        """
        step = span / count
        last = math.floor(end / step)
        places = [COLUMNS.index(name) for name in names]
        found: list[list[float | None]] = [[] for _ in names]
        for part in range(last - count + 1, last + 1):
            rows = self._within(part * step, (part + 1) * step)
            for values, place in zip(found, places, strict=True):
                seen = [value for _, row in rows if (value := row[place]) is not None]
                values.append(math.fsum(seen) / len(seen) if seen else None)
        return found

    def _within(self, start: float, end: float) -> tuple[Row, ...]:
        """Return the rows of a part; where it lies between two, the one that still stands for it."""
        low = bisect_left(self.rows, start, key=_time)
        high = bisect_left(self.rows, end, lo=low, key=_time)
        if low == high > 0 and start - self.rows[low - 1][0] < LATE * self.spacing:
            return self.rows[low - 1 : low]
        return self.rows[low:high]


def trace_of(history: HistoryAnswer, *, interval: float) -> Trace:
    """Return a history as a trace; a step in which nothing was read is left out.

    Args:
        history: with at least ``COLUMNS``.
        interval: between two ticks, seconds.
    """
    columns = [history.columns[name] for name in COLUMNS]
    rows = [
        (at + history.step / 2.0, tuple(values))
        for at, *values in zip(history.columns["time"], *columns, strict=True)
        if at is not None and any(value is not None for value in values)
    ]
    return Trace(tuple(rows), max(interval, history.step))


def _time(row: Row) -> float:
    return row[0]


def _row_of(status: Status) -> Row:
    """Return one tick's values; none where its reading failed."""
    found, limits, pair = status.estimate, status.limits, status.in_force
    if found is None or limits is None or pair is None or status.missed is not None:
        return status.at, (None,) * len(COLUMNS)
    return status.at, (
        found.checkpoint_age,
        limits.stall_point,
        limits.sync_point,
        limits.flush_limit,
        status.set_point,
        pair.io_capacity,
        pair.io_capacity_max,
        found.redo_rate,
        found.flush_rate,
        found.sync_rate,
        found.lru_rate,
        found.row_rate,
    )
