"""Which loads and courses there are, and which are refused."""

from __future__ import annotations

from typing import Any

import pytest

from lab.workloads.load import COURSES, Load, Phase, burst, daily, steady, step


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"kind": "oltp_write_only"}, r"kind 'oltp_write_only' is unknown: one of write_only, "),
        ({"distribution": "pareto"}, r"distribution 'pareto' is unknown: one of uniform, zipf, special"),
        ({"kind": "tpcc", "distribution": "zipf"}, "tpcc draws its keys by its own rules"),
        ({"threads": 0}, "threads is 0: at least 1"),
        ({"rate": -1}, "rate is -1: at least 0"),
        ({"rows": 0}, "rows is 0: at least 1"),
    ],
)
def test_an_impossible_load_is_refused(given: dict[str, Any], said: str) -> None:
    """A load that cannot be run is refused at once, with the value and what would be right."""
    with pytest.raises(ValueError, match=said):
        Load(**given)


def test_the_load_on_many_indexes_has_one_thread() -> None:
    """Inserts into many indexes come from one thread, whatever the number for other loads."""
    assert Load(kind="many_indexes", threads=16).threads == 1


def test_a_load_in_words() -> None:
    """A load is described by its script, keys, threads and rate."""
    assert str(Load()) == "oltp_update_non_index, uniform, 16 threads, as many transactions as go through"
    assert str(Load(kind="tpcc", threads=1, rate=50)) == "tpcc, uniform, 1 thread, 50 transactions/s offered"


OPEN = Load(rate=1000)


@pytest.mark.parametrize("name", COURSES)
@pytest.mark.parametrize("load", [OPEN, Load(threads=16)])
def test_a_course_never_asks_for_more_than_the_load(name: str, load: Load) -> None:
    """Every course lasts its period, reaches the load as given, and stays below it otherwise."""
    phases = COURSES[name](load, 240.0)
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
