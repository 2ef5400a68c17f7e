"""Emergencies: how far M is raised, and what is left behind: budget, way back, an M that was too low."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from policies.registry import LAWS
from tests.bench import Bench, FakeServer
from tests.core.loops import HIGH
from tests.factory import ACTIVE, DEFAULT, A, estimate, sample
from tuner.core.decide.emergency import LEAST_FACTOR, LEAST_RAISE, MOST_HURRY, called_for
from tuner.core.estimate.window import extend, point_of
from tuner.core.state import State
from tuner.core.writes import guards
from tuner.core.writes.lowest import TOO_LOW_SECONDS
from tuner.records import Capacity, DecisionKind, Estimate
from tuner.settings import Settings

UNSTEERED = sorted(name for name, law in LAWS.items() if not law.m_moves_age)
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
        ((float(M),) * 14, 100.0, LEAST_RAISE * M),
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


# What an emergency leaves behind.

RATE = 1e6
SURGE = 4.0


STARVED = 5_000.0
"""Bytes/s of redo that a load writes which gets next to nothing of the device."""


def surged(settings: Settings = HIGH) -> Bench:
    """Return a loop whose load surged for so long that an emergency raised M, and went away again."""
    bench = Bench(settings, FakeServer(redo_rate=RATE), originals=DEFAULT).in_control()
    bench.turns(300)
    bench.server.redo_rate = SURGE * RATE
    bench.until("emergency", limit=120)
    bench.turns(10)
    bench.server.redo_rate = RATE
    return bench


def test_an_emergency_uses_up_no_change_of_the_hour() -> None:
    """Raises that nobody chose do not keep the policy from changing M afterwards."""
    bench = surged()
    sets = [one for one in bench.records if one.decision.kind is DecisionKind.SET and one.decision.steps]

    assert DecisionKind.EMERGENCY in bench.wrote()
    assert list(bench.state.writes.counted) == [
        one.tick.now for one in sets if one.decision.reason != "way_back"
    ]


def test_the_way_back_is_open_where_the_budget_is_spent() -> None:
    """A surge at the end of the hour's changes leaves no M behind that is far too high for the load.

    While an emergency's M is in force nothing is learned of the load by it.
    """
    bench = surged()
    counted = (bench.record.tick.now,) * bench.state.settings.max_changes_per_hour
    bench.state = replace(bench.state, writes=replace(bench.state.writes, counted=counted))
    high, begun = bench.m, len(bench.records)
    assert bench.state.writes.raised_from > 0
    bench.turns(300)

    wrote = [one.decision.reason for one in bench.records[begun:] if one.decision.steps]
    assert set(wrote) == {"way_back"}
    assert bench.m < high
    assert bench.state.writes.raised_from == 0


def test_an_emergency_that_starves_the_load_ends_at_the_set_point() -> None:
    """Where its flushing takes the device from the load, little redo is no reason to go on with it."""
    bench = surged()
    high, begun = bench.m, len(bench.records)
    bench.server.redo_rate = STARVED
    bench.turns(60)

    back = next(one for one in bench.records[begun:] if one.decision.steps)
    assert back.decision.reason == "way_back"
    assert back.estimate is not None
    assert back.estimate.age_ratio > bench.set_point - 0.2
    assert bench.m < high


def test_the_way_back_ends_a_little_above_the_m_that_was_too_low() -> None:
    """For five minutes the policy goes no lower than where the surge began; it was not too low for good."""
    bench = surged()
    too_low, until = bench.state.writes.too_low, bench.state.writes.too_low_until
    raised = next(one for one in bench.records if one.decision.kind is DecisionKind.EMERGENCY)
    seen = []
    while bench.record.tick.now < until - 1.0:
        bench.turn()
        seen.append(bench.m)

    assert until == raised.tick.now + TOO_LOW_SECONDS
    assert (
        round(guards.RETURN_MARGIN * too_low)
        <= min(seen)
        <= guards.RETURN_MARGIN * too_low * (1.0 + guards.ROUNDING)
    )
    bench.turns(900)
    assert bench.m < guards.RETURN_MARGIN * too_low


def test_fixed_goes_back_to_the_m_that_a_person_named() -> None:
    """After an emergency the policy fixed holds the M that it was told, and none a little above it."""
    bench = surged(replace(HIGH, policy="fixed", fixed_io_capacity_max=400))
    bench.turns(120)

    assert bench.m == pytest.approx(400, rel=0.02)
