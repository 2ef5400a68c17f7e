"""Courses: which level when."""

from __future__ import annotations

import pytest

from lab.workloads.course import COURSES, Phase, burst, course, daily, steady, step
from lab.workloads.load import Load

OPEN = Load(rate=1000)


@pytest.mark.parametrize("name", COURSES)
@pytest.mark.parametrize("load", [OPEN, Load(threads=16)])
def test_a_course_never_asks_for_more_than_the_load(name: str, load: Load) -> None:
    """Every course lasts its period, reaches the load as given, and stays below it otherwise."""
    phases = course(name, load, 240.0)
    assert sum(phase.seconds for phase in phases) == pytest.approx(240.0)
    assert max(phase.rate for phase in phases) == load.rate
    assert max(phase.threads for phase in phases) == load.threads
    assert all(phase.of(load).kind == load.kind for phase in phases)


def test_an_open_load_changes_its_rate_and_a_closed_one_its_threads() -> None:
    """A course of an open load keeps its connections; one of a closed load has fewer at its lower levels."""
    assert step(OPEN, 60.0) == (Phase(30.0, 16, 500), Phase(30.0, 16, 1000))
    assert step(Load(threads=16), 60.0) == (Phase(30.0, 8, 0), Phase(30.0, 16, 0))
    assert burst(OPEN, 100.0) == (Phase(80.0, 16, 500), Phase(20.0, 16, 1000))
    assert steady(OPEN, 60.0) == (Phase(60.0, 16, 1000),)


def test_a_day_has_its_night_and_its_noon() -> None:
    """A day rises from its night to its noon in the middle and falls again."""
    rates = [phase.rate for phase in daily(OPEN, 240.0)]
    assert (rates[0], rates[12]) == (300, 1000)
    assert rates[:13] == sorted(rates[:13])
    assert rates[13:] == rates[11:0:-1]


def test_one_thread_without_a_rate_has_no_lower_level() -> None:
    """A closed load of one thread cannot follow a course, and says what would let it."""
    with pytest.raises(ValueError, match="no lower level: give it a rate or more threads"):
        step(Load(kind="many_indexes"))
    assert [phase.rate for phase in step(Load(kind="many_indexes", rate=100))] == [50, 100]


@pytest.mark.parametrize(
    ("given", "said"),
    [({"period": 1.0}, "too short to be reported"), ({"low": 1.5}, "out of range: above 0")],
)
def test_an_impossible_course_is_refused(given: dict[str, float], said: str) -> None:
    """A phase too short to be reported, or a level above the load, is refused at once."""
    with pytest.raises(ValueError, match=said):
        step(OPEN, **given)


def test_an_unknown_course_is_refused_by_name() -> None:
    """Who misspells a course reads which ones there are."""
    with pytest.raises(ValueError, match="course 'weekly' is unknown: one of steady, step, burst, daily"):
        course("weekly", OPEN)
