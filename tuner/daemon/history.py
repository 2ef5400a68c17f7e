"""The last hours of numbers in memory, columnar, so that a query never wakes the disk."""

from __future__ import annotations

import math
import threading
from array import array
from collections.abc import Iterable, Iterator, Sequence

from tuner.records import Sample, TickRecord
from tuner.records.fields import BY_NAME

COLUMNS = (
    "age_ratio",
    "modified_age",
    "checkpoint_age",
    "stall_point",
    "sync_point",
    "flush_limit",
    "redo_capacity",
    "io_capacity",
    "io_capacity_max",
    "redo_rate",
    "demand",
    "flush_rate",
    "sync_rate",
    "lru_rate",
    "row_rate",
    "authority",
)
"""Fields kept, besides ``time`` and ``set_point``."""

KEEP_SECONDS = 6 * 3600
MAX_POINTS = 2000


class History:
    """A ring of one row a tick, as large from the start as it ever gets: 76 bytes a row. Thread-safe."""

    def __init__(self, keep: int = KEEP_SECONDS) -> None:
        self._keep = keep
        self._lock = threading.Lock()
        self._first = 0  # below zero: rows that were put before the first one
        self._rows = 0
        self._time = array("d", [math.nan]) * keep
        self._columns = {name: array("f", [math.nan]) * keep for name in (*COLUMNS, "set_point")}

    def add(self, record: TickRecord) -> None:
        """Keep one tick in place of the oldest; a missed reading becomes a row of gaps."""
        reading = record.tick.reading
        sample = reading if isinstance(reading, Sample) else None
        with self._lock:
            place = self._rows % self._keep
            self._rows += 1
            self._time[place] = record.tick.wall
            for name in COLUMNS:
                value = BY_NAME[name].value(sample=sample, estimate=record.estimate if sample else None)
                self._columns[name][place] = math.nan if value is None else value
            set_point = record.decision.set_point
            self._columns["set_point"][place] = math.nan if set_point is None else set_point

    def precede(self, earlier: History) -> None:
        """Put another's newest rows before the first of this one, as many as there is room for.

        Args:
            earlier: rows of before, kept for the same number of seconds; nobody adds to it any more.
        """
        with self._lock:  # slices alone: the loop's thread waits for this lock
            room = max(0, self._keep - self._rows) if self._first == 0 else 0
            count = min(room, earlier._rows, earlier._keep)
            if not count:
                return
            for mine, before in zip(self._rings(), earlier._rings(), strict=True):
                mine[self._keep - count :] = earlier._copy(before, earlier._rows - count, earlier._rows)
            self._first = -count

    def oldest(self) -> float | None:
        """Return when the oldest row that is kept was made, Unix time; None before the first."""
        with self._lock:
            return self._time[self._oldest() % self._keep] if self._rows > self._first else None

    def query(
        self, *, start: float, end: float, step: float, names: Iterable[str]
    ) -> Iterator[tuple[str, list[float | None]]]:
        """Yield ``time`` and each column: one value per step, the mean over it, None where nothing was read.

        One column is made at a time, so that an answer takes little memory while it is put together.

        Args:
            start: Unix time of the first step.
            end: Unix time after the last.
            step: seconds per point; widened so that no answer has more than ``MAX_POINTS`` points.
            names: columns wanted.

        Raises:
            KeyError: a column that is not kept.
        """
        step = max(step, (end - start) / MAX_POINTS, 1.0)
        points = min(MAX_POINTS, max(0, math.ceil((end - start) / step)))
        with self._lock:  # copies only, here and below: the loop's thread waits for this lock
            oldest = self._oldest()
            times = self._copy(self._time, oldest, self._rows)
        runs = _runs(times, start=start, end=end, step=step, points=points)
        del times
        yield "time", [start + index * step for index in range(points)]
        low = min((first for _, first, _ in runs), default=0)
        high = max((last for _, _, last in runs), default=0)
        for name in names:
            with self._lock:
                column = self._copy(self._columns[name], oldest + low, oldest + high)
            yield name, _means(column, runs, low, points)

    def _rings(self) -> Iterator[array[float]]:
        """Yield the times, then each column."""
        yield self._time
        yield from self._columns.values()

    def _oldest(self) -> int:
        """Return the number of the oldest row that is kept."""
        return max(self._first, self._rows - self._keep)

    def _copy(self, ring: array[float], first: int, last: int) -> array[float]:
        """Return rows by number, those before the start below zero; what is overwritten by now is a gap."""
        begin, end = first % self._keep, last % self._keep
        found = ring[begin:end] if begin < end or first == last else ring[begin:] + ring[:end]
        for row in range(min(len(found), self._rows - self._keep - first)):
            found[row] = math.nan
        return found


def _means(
    column: array[float], runs: Sequence[tuple[int, int, int]], low: int, points: int
) -> list[float | None]:
    """Return the mean of each point's rows, None without any; the column begins with row ``low``."""
    sums = [0.0] * points
    counts = [0] * points
    for point, first, last in runs:
        values = column[first - low : last - low]
        total = math.fsum(values) if len(values) > 1 else values[0]
        if math.isnan(total):
            kept = [value for value in values if not math.isnan(value)]
            sums[point] += math.fsum(kept)
            counts[point] += len(kept)
        else:
            sums[point] += total
            counts[point] += len(values)
    return [total / count if count else None for total, count in zip(sums, counts, strict=True)]


def _runs(
    times: array[float], *, start: float, end: float, step: float, points: int
) -> list[tuple[int, int, int]]:
    """Return point, first row and row after the last, for each stretch of rows of one point."""
    runs: list[tuple[int, int, int]] = []
    current, first = -1, 0
    for index, at in enumerate(times):
        point = min(int((at - start) / step), points - 1) if start <= at < end else -1
        if point != current:
            if current >= 0:
                runs.append((current, first, index))
            current, first = point, index
    if current >= 0:
        runs.append((current, first, len(times)))
    return runs
