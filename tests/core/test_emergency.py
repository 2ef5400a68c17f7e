"""Emergencies: how far M is raised, and soon, large enough and again where no M moves the age."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from policies.registry import LAWS
from tests.bench import Bench, FakeServer
from tests.factory import ACTIVE, A, estimate, sample
from tuner.core.decide.emergency import AGAIN, LEAST_FACTOR, MOST_HURRY, called_for
from tuner.core.estimate.window import extend, point_of
from tuner.core.state import State
from tuner.records import Capacity, Estimate

UNSTEERED = sorted(name for name, law in LAWS.items() if not law.authority)
M = 400
RUNNING: Estimate = estimate(age_ratio=1.05, age_slope=1e6, seconds_to_sync=6.0, seconds_to_stall=6.0)
"""An age that is seconds away from where writers wait, at a demand of 400 pages/s."""

SLEPT = (0.0,) * 12


def flushing(law: str, *rates: float) -> State:
    """Return a loop's state after so many seconds at these rates, pages/s."""
    server = FakeServer(Capacity(M // 2, M))
    server.told, server.rests_at = {"flush_law": law}, 0.98
    bench = Bench(ACTIVE, server).ready()
    flushed, window = 1_000.0, (point_of(sample(age=1.05 * A, pages_adaptive=1_000), dirtied=0.0),)
    for second, rate in enumerate(rates, 1):
        flushed += rate
        made = sample(float(second), age=1.05 * A, pages_adaptive=round(flushed))
        window = extend(window, made, newly_dirtied=0.0)
    return replace(bench.state, estimator=replace(bench.state.estimator, window=window))


def raised(state: State, **found: float) -> float | None:
    """Return the M that an emergency asks for; None where there is none."""
    reading = sample(20.0, age=1.05 * A, io_capacity=M // 2, io_capacity_max=M)
    asked = called_for(state, reading, replace(RUNNING, **found))
    return None if asked is None else asked.io_capacity_max


@pytest.mark.parametrize("law", UNSTEERED)
@pytest.mark.parametrize(
    ("rates", "demand", "asked"),
    [
        (SLEPT, 400.0, None),
        ((*SLEPT, M, M), 400.0, LEAST_FACTOR * 400.0),
        ((*SLEPT, 0.7 * M, 0.7 * M), 4_000.0, LEAST_FACTOR * 4_000.0),
        ((*SLEPT, 0.7 * M, 0.7 * M), 400.0, LEAST_FACTOR * 400.0),
        ((float(M),) * 14, 100.0, AGAIN * M),
        ((float(M),) * 14, 4_000.0, LEAST_FACTOR * 4_000.0),
        ((0.8 * M,) * 14, 100.0, None),
    ],
    ids=[
        "asleep",
        "just woken",
        "far below",
        "woken",
        "it does not help",
        "it keeps up",
        "the device's limit",
    ],
)
def test_where_no_m_moves_the_age_it_is_raised_soon_to_what_keeps_up_and_again(
    law: str, rates: tuple[float, ...], demand: float, asked: float | None
) -> None:
    """What is flushed in two seconds tells whether the server is awake; where all of M is, it is doubled."""
    found = raised(flushing(law, *rates), demand=demand)

    assert found == pytest.approx(asked) if rates != (*SLEPT, M, M) else found is not None


def test_where_m_moves_the_age_nothing_is_doubled() -> None:
    """There the pages on the way to the set-point decide."""
    assert raised(flushing("legacy", *(float(M),) * 14), demand=100.0) is None


@pytest.mark.parametrize(
    ("mean", "now", "hurry"),
    [(1e6, 0.5e6, 1.0), (1e6, 1e6, 1.0), (1e6, 1.6e6, 1.6), (1e6, 9e6, MOST_HURRY), (0.0, 1e6, 1.0)],
)
def test_a_surge_is_met_as_it_is_by_now(mean: float, now: float, hurry: float) -> None:
    """A load that has just grown asks for what it needs now, not for a mean of ten seconds; in bounds."""
    state = flushing("legacy", *(float(M),) * 14)
    asked = raised(state, demand=1_000.0, redo_rate=mean, redo_rate_now=now)

    assert asked == pytest.approx(LEAST_FACTOR * 1_000.0 * hurry)
