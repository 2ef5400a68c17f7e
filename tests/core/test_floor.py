"""How low the policy may take M: the floor, and what lets M go below it."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from tests.bench import Bench
from tests.factory import command
from tuner.core.estimate.sawtooth import SURGE_SECONDS, Sawtooth
from tuner.core.limits import CALM_SECONDS, FLOOR, HIGHEST, floor
from tuner.core.state import State

CALM = Sawtooth(at=10_000.0, since=9_000.0 - CALM_SECONDS)


def watched(bench: Bench, sawtooth: Sawtooth, **settings: object) -> State:
    """Return the loop's state after it has seen so much of the checkpoint age."""
    state = bench.state
    return replace(state, sawtooth=sawtooth, settings=replace(state.settings, **settings))


def dirtying(state: State, rate: float, *, ratio: float = 0.6) -> State:
    """Return the state with so many pages newly dirtied a second at an age ratio; b is a half."""
    assert state.estimate is not None
    made = replace(state.estimate, redo_rate=1e6, new_density=rate / 1e6, age_ratio=ratio)
    return replace(state, estimate=replace(made, combining_exponent=0.5))


def test_a_calm_load_may_have_a_low_m(bench: Bench) -> None:
    """Watched for a quarter of an hour without a surge, M may go to what holds the age below the brim."""
    light, busy = dirtying(watched(bench, CALM), 150.0), dirtying(watched(bench, CALM), 900.0)
    forgotten = dirtying(watched(bench, replace(CALM, surged=10_000.0 - SURGE_SECONDS)), 150.0)

    assert floor(light, 400) == floor(forgotten, 400) == round(150.0 * (0.6 / HIGHEST) ** 0.5)
    assert floor(busy, 400) == FLOOR


def test_below_the_floor_the_age_ends_below_the_brim(bench: Bench) -> None:
    """However far the age has come, the lowest M is the one with which it rests at the same place."""
    low, high = watched(bench, CALM), watched(bench, CALM)

    assert floor(dirtying(low, 150.0), 400) == floor(dirtying(high, 150.0 * 0.75**0.5, ratio=0.8), 400)


def test_m_does_not_creep_after_the_floor(bench: Bench) -> None:
    """An M that is little above what it may be stays: each step of a creeping floor would be a write."""
    light = dirtying(watched(bench, CALM), 150.0)
    lowest = floor(light, 400)

    assert floor(light, lowest + 3) == lowest + 3
    assert floor(light, round(1.1 * lowest)) == lowest
    assert floor(light, lowest - 3) == lowest


@pytest.mark.parametrize(
    "seen", [Sawtooth(), replace(CALM, since=9_500.0), replace(CALM, surged=9_000.0)], ids=str
)
def test_a_load_that_may_surge_keeps_the_floor(bench: Bench, seen: Sawtooth) -> None:
    """Not watched for long enough, or a surge within hours: M stays where the way up is short."""
    assert floor(watched(bench, seen), 400) == FLOOR


def test_an_expected_burst_keeps_the_floor(bench: Bench) -> None:
    """A burst that other weeks had at this hour is reason enough."""
    state = watched(bench, CALM)
    assert state.estimate is not None

    assert floor(replace(state, estimate=replace(state.estimate, burst_bytes=1e9)), 400) == FLOOR


def test_a_person_and_a_fixed_m_know_no_floor(bench: Bench) -> None:
    """Who names an M gets it, whatever the load is like."""
    assert floor(watched(bench, Sawtooth(), policy="fixed"), 400) == 0
    bench.turn(command("override", value=120, ttl=60.0))

    assert bench.server.capacity.io_capacity_max == 120
