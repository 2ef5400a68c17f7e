"""Thinned series show what the whole ones show."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from lab.report.thin import rounded, thin, with_gaps

VALUES = st.lists(st.none() | st.floats(-1e9, 1e9), min_size=1, max_size=400)


@given(VALUES, st.integers(10, 100))
def test_no_dip_no_peak_and_no_gap_is_lost(values: list[float | None], points: int) -> None:
    """Lowest, highest and whether there is a gap survive, in every tenth of the time; nothing is invented."""
    at = [float(second) for second in range(len(values))]

    times, found = thin(at, {"commits": values}, points)

    kept = found["commits"]
    known = [value for value in values if value is not None]
    assert {min(known, default=None), max(known, default=None)} <= {*kept, None}
    assert (None in kept) == (None in values)
    assert {one for one in kept if one is not None} <= set(known)
    assert times == sorted(set(times))
    assert len(times) <= max(points, 1.5 * points + 3, 9)


def test_a_dip_of_one_second_stays_where_it_was() -> None:
    """An hour thinned to a few hundred points still falls to the value of its worst second."""
    values: list[float | None] = [2600.0] * 3600
    values[1234] = 40.0

    times, found = thin([float(second) for second in range(3600)], {"commits": values}, 240)

    place = found["commits"].index(40.0)
    assert abs(times[place] - 1234.0) <= 30.0
    assert len(times) <= 243


def test_every_column_keeps_its_own_extremes() -> None:
    """Columns share their seconds, not their turning points."""
    ramp: list[float | None] = [float(second) for second in range(1000)]
    peak: list[float | None] = [0.0] * 1000
    peak[500] = 9.0

    _, found = thin([float(second) for second in range(1000)], {"ramp": ramp, "peak": peak}, 50)

    assert found["peak"].count(9.0) == 1
    assert (min(v for v in found["ramp"] if v is not None), found["ramp"][-1]) == (0.0, 999.0)


def test_seconds_that_are_missing_become_a_gap() -> None:
    """Where the record jumps there is a point without a value, so that no line crosses it."""
    at = [0.0, 1.0, 2.0, 3.0, 60.0, 61.0, 62.0]

    times, found = with_gaps(at, {"commits": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]})

    assert times == [0.0, 1.0, 2.0, 3.0, 4.0, 60.0, 61.0, 62.0]
    assert found["commits"] == [1.0, 2.0, 3.0, 4.0, None, 5.0, 6.0, 7.0]


def test_rounding_keeps_four_digits_and_no_more() -> None:
    """Numbers get short, and stay within a thousandth."""
    assert [rounded(one) for one in (2641.37, 0.158812, 73_000_123.0, 0.0, None)] == [
        2641,
        0.1588,
        73_000_000,
        0,
        None,
    ]
