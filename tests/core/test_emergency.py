"""Emergencies on servers whose age rests at the flush limit whatever M: soon, large enough, and again."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from policies.registry import LAWS
from tests.bench import Bench, FakeServer
from tests.factory import ACTIVE, SAVED, A, estimate, sample
from tuner.core.decide.emergency import AGAIN, LEAST_FACTOR, MOST_HURRY, called_for
from tuner.core.estimate.window import extend, point_of
from tuner.core.state import State
from tuner.records import Capacity, Estimate

UNSTEERED = sorted(name for name, law in LAWS.items() if not law.authority)
M = 400
RUNNING: Estimate = estimate(age_ratio=1.05, age_slope=1e6, seconds_to_sync=6.0, seconds_to_stall=6.0)
"""An age that is seconds away from where writers wait, at a demand of 400 pages/s."""


def flushing(law: str, *rates: float) -> State:
    """Return a loop's state after so many seconds at these rates, pages/s."""
    server = FakeServer(Capacity(M // 2, M))
    server.told, server.rests_at = {"flush_law": law}, 0.98
    bench = Bench(ACTIVE, server)
    bench.turn()
    bench.turn(SAVED)
    flushed, window = 1_000.0, (point_of(sample(age=1.05 * A, pages_adaptive=1_000), dirtied=0.0),)
    for second, rate in enumerate(rates, 1):
        flushed += rate
        made = sample(float(second), age=1.05 * A, pages_adaptive=round(flushed))
        window = extend(window, made, newly_dirtied=0.0)
    return replace(bench.state, estimator=replace(bench.state.estimator, window=window))


def raised(state: State, found: Estimate = RUNNING) -> float | None:
    """Return the M that an emergency asks for; None where there is none."""
    found_raise = called_for(state, sample(20.0, age=1.05 * A, io_capacity=M // 2, io_capacity_max=M), found)
    return None if found_raise is None else found_raise.io_capacity_max


@pytest.mark.parametrize("law", UNSTEERED)
def test_a_server_that_has_just_woken_is_believed_within_two_seconds(law: str) -> None:
    """Seconds of sleep before do not count: what it flushes now says whether it is awake."""
    asleep, woken = [0.0] * 12, [float(M)] * 2

    assert raised(flushing(law, *asleep)) is None
    assert raised(flushing(law, *asleep, *woken)) is not None


@pytest.mark.parametrize("law", UNSTEERED)
def test_it_is_raised_to_what_keeps_up(law: str) -> None:
    """With some of M left unused, a raise is to somewhat above the demand, whatever that is."""
    state = flushing(law, *[0.0] * 12, *[0.7 * M] * 2)

    assert raised(state, replace(RUNNING, demand=4_000.0)) == LEAST_FACTOR * 4_000.0
    assert raised(state, replace(RUNNING, demand=400.0)) == LEAST_FACTOR * 400.0


@pytest.mark.parametrize("law", UNSTEERED)
def test_an_m_that_does_not_help_is_raised_again(law: str) -> None:
    """Where all of M is flushed and the age runs on, the demand was taken for too small: M is doubled."""
    state = flushing(law, *[float(M)] * 14)

    assert raised(state, replace(RUNNING, demand=100.0)) == AGAIN * M
    assert raised(state, replace(RUNNING, demand=4_000.0)) == LEAST_FACTOR * 4_000.0


@pytest.mark.parametrize("law", UNSTEERED)
def test_a_device_at_its_limit_is_asked_for_no_more(law: str) -> None:
    """Where less than M is flushed a higher one helps nobody, unless the demand asks for it."""
    state = flushing(law, *[0.8 * M] * 14)

    assert raised(state, replace(RUNNING, demand=100.0)) is None


def test_where_m_moves_the_age_it_is_as_it_was() -> None:
    """There the pages on the way to the set-point decide, and nothing is doubled."""
    state = flushing("legacy", *[float(M)] * 14)

    assert raised(state, replace(RUNNING, demand=100.0)) is None


@pytest.mark.parametrize(("now", "hurry"), [(0.5e6, 1.0), (1e6, 1.0), (1.6e6, 1.6), (9e6, MOST_HURRY)])
def test_a_surge_is_met_as_it_is_by_now(now: float, hurry: float) -> None:
    """A load that has just grown asks for what it needs now, and not for the mean of its last ten seconds."""
    state = flushing("legacy", *[float(M)] * 14)
    surging = replace(RUNNING, demand=1_000.0, redo_rate=1e6, redo_rate_now=now)

    assert raised(state, surging) == pytest.approx(LEAST_FACTOR * 1_000.0 * hurry)


def test_without_a_mean_there_is_no_hurry() -> None:
    """A load that was silent for ten seconds is no reason for a raise to any height."""
    state = flushing("legacy", *[float(M)] * 14)

    assert raised(state, replace(RUNNING, demand=1_000.0, redo_rate=0.0)) == LEAST_FACTOR * 1_000.0
