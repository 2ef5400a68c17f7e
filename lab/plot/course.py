"""What a plot needs of a run, thinned while it is noted, so that a month takes no more room than an hour."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from lab.report.thin import thin
from tuner.records import Missed

if TYPE_CHECKING:
    from lab.report.thin import Values
    from tuner.records import Sample

POINTS = 1500
"""Points of a line, about."""

MEANS = 200
"""Means of the throughput in a run, about."""

SPANS = (10, 20, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10_800, 21_600, 43_200, 86_400)
"""Seconds over which a mean may go."""

GAUGES = (
    "modified_age",
    "checkpoint_age",
    "flush_limit",
    "sync_point",
    "stall_point",
    "set_point",
    "io_capacity",
    "io_capacity_max",
)
RATES = {
    "commits": "commits",
    "adaptive": "pages_adaptive",
    "sync": "pages_sync",
    "background": "pages_background",
    "lru": "pages_lru",
}
"""Columns that are a counter's rise per second, and the counter's name in a reading."""


class Series(Struct, frozen=True):
    """A run, thinned.

    Attributes:
        at: seconds after the first reading.
        columns: values at these moments, None where there is none. Ages, limits and set-point in bytes,
            the rest per second.
        stretch: seconds that have become two points, the lowest and the highest value; 1 where none was.
        means: middle of a span in seconds, and the mean of the commits/s in it.
        span: seconds of such a span.
    """

    at: tuple[float, ...]
    columns: dict[str, Values]
    stretch: int
    means: tuple[tuple[float, float], ...]
    span: int


class Course:
    """Takes every reading of a run of known length and keeps a bounded number of points."""

    def __init__(self, seconds: int, *, points: int = POINTS) -> None:
        """Start without a reading.

        Args:
            seconds: length of the run, one reading a second.
            points: of each line, about.
        """
        readings = seconds + 1
        self._stretch = 1 if readings <= points else max(3, -(-2 * readings // points))
        self._span = next((span for span in SPANS if span * MEANS >= seconds), SPANS[-1])
        self._at: list[float] = []
        self._columns: dict[str, Values] = {name: [] for name in (*GAUGES, *RATES)}
        self._open_at: list[float] = []
        self._open: dict[str, Values] = {name: [] for name in (*GAUGES, *RATES)}
        self._first: Sample | None = None
        self._before: Sample | None = None
        self._means: list[tuple[float, float]] = []
        self._mark: Sample | None = None

    def add(self, reading: Sample | Missed, set_point: float | None) -> None:
        """Note one reading.

        Args:
            reading: of the server; a missed one is a gap.
            set_point: age ratio that the policy holds; None before it has one.
        """
        if isinstance(reading, Missed):
            if self._first is not None:
                gap: dict[str, float | None] = dict.fromkeys(self._open)
                self._note(reading.monotonic - self._first.monotonic, gap)
            self._before = None
            return
        values = _gauges(reading, set_point)
        if self._before is None:
            values |= dict.fromkeys(RATES)
        else:
            seconds = reading.monotonic - self._before.monotonic
            for name, counter in RATES.items():
                values[name] = (getattr(reading, counter) - getattr(self._before, counter)) / seconds
        if self._first is None:
            self._first = self._mark = reading  # rates begin with the second one, and so does the plot
        else:
            self._note(reading.monotonic - self._first.monotonic, values)
            self._mean(reading)
        self._before = reading

    def series(self) -> Series:
        """Return what has been noted so far."""
        at, columns = thin(self._open_at, self._open, 2)
        return Series(
            at=(*self._at, *at),
            columns={name: [*values, *columns[name]] for name, values in self._columns.items()},
            stretch=self._stretch,
            means=tuple(self._means),
            span=self._span,
        )

    def _note(self, at: float, values: dict[str, float | None]) -> None:
        self._open_at.append(at)
        for name, value in values.items():
            self._open[name].append(value)
        if len(self._open_at) < self._stretch:
            return
        times, columns = thin(self._open_at, self._open, 2)
        self._at += times
        for name, found in columns.items():
            self._columns[name] += found
            self._open[name].clear()
        self._open_at.clear()

    def _mean(self, reading: Sample) -> None:
        """Note the mean of the commits/s where a span is full."""
        if self._mark is None or self._first is None:
            return
        seconds = reading.monotonic - self._mark.monotonic
        if seconds >= self._span:
            middle = self._mark.monotonic + 0.5 * seconds - self._first.monotonic
            self._means.append((middle, (reading.commits - self._mark.commits) / seconds))
            self._mark = reading


def _gauges(reading: Sample, set_point: float | None) -> dict[str, float | None]:
    """Return what a reading says by itself; ages and limits in bytes, C and M in pages/s."""
    return {
        "modified_age": float(reading.modified_age),
        "checkpoint_age": float(reading.checkpoint_age),
        "flush_limit": float(reading.flush_limit),
        "sync_point": float(reading.sync_point),
        "stall_point": float(reading.stall_point),
        "set_point": None if set_point is None else set_point * reading.flush_limit,
        "io_capacity": float(reading.io_capacity),
        "io_capacity_max": float(reading.io_capacity_max),
    }
