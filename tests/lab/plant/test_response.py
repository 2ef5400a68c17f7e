"""The seconds that an age takes for 63 % of its way."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest

from lab.plant.compare.response import seconds_to_63
from lab.report.rows import Series

LIMIT = 70_000_000.0


def series(age: Callable[[float], float | None], seconds: int = 200) -> Series:
    """Return a row's series whose age ratio is a function of the seconds; the last 80 are counted."""
    at = [float(one) for one in range(seconds)]
    values = [None if (ratio := age(one)) is None else ratio * LIMIT for one in at]
    return Series(at=at, counted_from=seconds - 80.0, modified_age=values, flush_limit=LIMIT)


@pytest.mark.parametrize("seconds", [8.0, 15.0, 25.0])
@pytest.mark.parametrize(("begin", "end"), [(0.2, 0.9), (0.8, 0.3)])
def test_a_lag_of_the_first_order_takes_its_time_constant(seconds: float, begin: float, end: float) -> None:
    """Up and down alike, to within a second."""
    found = seconds_to_63(series(lambda at: end + (begin - end) * math.exp(-at / seconds)))

    assert found == pytest.approx(seconds, abs=1.0)


def test_an_age_that_climbs_evenly_takes_63_percent_of_the_climb() -> None:
    """A redo log that just fills up is a ramp."""
    assert seconds_to_63(series(lambda at: min(0.9, 0.1 + at * 0.8 / 50.0))) == pytest.approx(31.5, abs=1.0)


def test_seconds_without_a_reading_are_passed_over() -> None:
    """A gap where the age crosses the level costs no more than the gap."""
    found = seconds_to_63(series(lambda at: None if 9 <= at <= 11 else 0.9 - 0.7 * math.exp(-at / 10.0)))

    assert found == pytest.approx(10.0, abs=2.0)


def test_an_age_that_stays_has_no_answer_to_time() -> None:
    """Noise around one place is no step."""
    assert seconds_to_63(series(lambda at: 0.5 + 0.05 * math.sin(at))) is None


def test_a_row_without_ages_has_none() -> None:
    """Rows of old benches have figures only."""
    assert seconds_to_63(Series()) is None
