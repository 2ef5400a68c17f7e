"""What a plot keeps of a run."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from lab.plant.clock import SimClock
from lab.plant.server import SimulatedServer
from lab.plot import Course, Series
from lab.scenarios import load_scenario
from tuner.records import Missed, Sample

STARTED = SimulatedServer(load_scenario("steady-1200iops").plant, SimClock()).read()


def _reading(second: int, commits: int) -> Sample:
    return replace(STARTED, monotonic=STARTED.monotonic + second, commits=commits)


def _noted(seconds: int, *, points: int, stalled: int | None = None) -> Series:
    """Return a run of 10 commits a second, but for one second without any."""
    course = Course(seconds, points=points)
    commits = 0
    for second in range(seconds + 1):
        commits += 0 if second in {0, stalled} else 10
        course.add(_reading(second, commits), 0.8)
    return course.series()


def test_the_worst_second_of_a_long_run_is_kept_where_it_was() -> None:
    """A single second without a commit among ten thousand is still there, and at its time."""
    series = _noted(10_000, points=100, stalled=6789)
    at = series.at[series.columns["commits"].index(0.0)]
    assert abs(at - 6789) <= series.stretch


def test_a_longer_run_takes_no_more_room() -> None:
    """Ten times the length gives no more points, and each column has one for every moment."""
    for seconds in (1000, 10_000):
        series = _noted(seconds, points=100)
        assert len(series.at) <= 102
        assert list(series.at) == sorted(set(series.at))
        assert {len(values) for values in series.columns.values()} == {len(series.at)}
        assert series.at[-1] == seconds


def test_a_short_run_keeps_every_reading() -> None:
    """A run with fewer readings than points is not thinned, and begins with its first rate."""
    series = _noted(90, points=100, stalled=30)
    assert series.stretch == 1
    assert series.at == tuple(float(second) for second in range(1, 91))
    assert series.columns["commits"] == [0.0 if second == 30 else 10.0 for second in range(1, 91)]


def test_means_are_over_whole_spans() -> None:
    """Means of the throughput lie in the middle of their span, and count every commit in it once."""
    series = _noted(90, points=100, stalled=15)
    assert series.span == 10
    assert series.means[:3] == ((5.0, 10.0), (15.0, 9.0), (25.0, 10.0))
    assert len(series.means) == 9


def test_a_missed_reading_is_a_gap() -> None:
    """No line crosses a second of which nothing is known, nor the rate of the one after."""
    course = Course(10)
    for second in range(11):
        reading = _reading(second, 10 * second)
        missed = Missed(reading.monotonic, reading.wall, "no answer")
        course.add(missed if second == 5 else reading, None)
    columns = course.series().columns
    assert columns["commits"] == [10.0] * 4 + [None] * 2 + [10.0] * 4
    assert columns["io_capacity_max"].count(None) == 1
    assert columns["set_point"] == [None] * 10


def test_the_set_point_is_in_bytes_of_its_time() -> None:
    """The set-point is the age ratio times the flush limit of the same reading, which a resize may change."""
    course = Course(60)
    for second, limit in enumerate((1000, 1000, 3000)):
        course.add(replace(_reading(second, 0), flush_limit=limit), 0.5)
    assert course.series().columns["set_point"] == pytest.approx([500.0, 1500.0])
