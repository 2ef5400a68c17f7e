"""The last hours of numbers in memory, columnar, so that a query never wakes the disk."""

from __future__ import annotations

import math
import threading
from array import array
from collections.abc import Sequence

from tuner.fields import BY_NAME
from tuner.records import Sample, TickRecord

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
    """A ring of one row a tick. Thread-safe."""

    def __init__(self, keep: int = KEEP_SECONDS) -> None:
        self._keep = keep
        self._lock = threading.Lock()
        self._time = array("d")
        self._columns: dict[str, array[float]] = {name: array("f") for name in (*COLUMNS, "set_point")}

    def add(self, record: TickRecord) -> None:
        """Append one tick; a missed reading becomes a row of gaps."""
        reading = record.tick.reading
        sample = reading if isinstance(reading, Sample) else None
        with self._lock:
            self._time.append(record.tick.wall)
            for name in COLUMNS:
                value = BY_NAME[name].value(sample=sample, estimate=record.estimate if sample else None)
                self._columns[name].append(math.nan if value is None else value)
            set_point = record.decision.set_point
            self._columns["set_point"].append(math.nan if set_point is None else set_point)
            if len(self._time) > self._keep + 600:
                surplus = len(self._time) - self._keep
                del self._time[:surplus]
                for column in self._columns.values():
                    del column[:surplus]

    def query(
        self, *, start: float, end: float, step: float, names: Sequence[str]
    ) -> dict[str, list[float | None]]:
        """Return one value per step and column, the mean over the step, None where nothing was read.

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
        with self._lock:  # copies only: the loop's thread waits for this lock
            times = self._time[:]
            columns = {name: self._columns[name][:] for name in names}
        runs = _runs(times, start=start, end=end, step=step, points=points)
        answer: dict[str, list[float | None]] = {"time": [start + index * step for index in range(points)]}
        for name, column in columns.items():
            sums = [0.0] * points
            counts = [0] * points
            for point, first, last in runs:
                values = column[first:last]
                total = math.fsum(values) if len(values) > 1 else values[0]
                if math.isnan(total):
                    kept = [value for value in values if not math.isnan(value)]
                    sums[point] += math.fsum(kept)
                    counts[point] += len(kept)
                else:
                    sums[point] += total
                    counts[point] += len(values)
            answer[name] = [
                total / count if count else None for total, count in zip(sums, counts, strict=True)
            ]
        return answer


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
