"""Ticks that come seldom: the loop tunes at every interval that the configuration takes."""

from __future__ import annotations

import itertools

import pytest
from msgspec.structs import replace

from tests.bench import Bench
from tests.factory import ACTIVE, SAVED
from tuner.core.sawtooth import SPAN_SECONDS
from tuner.records import DecisionKind

SELDOM = replace(ACTIVE, stale_seconds=25.0, emergency_seconds=20.0)
JITTER = (0.0, 0.03, -0.02, 0.01, -0.03)
"""How late a tick comes, seconds."""


@pytest.mark.parametrize("interval", [0.2, 1.0, 5.0, 7.5, 8.0, 8.5, 9.0, 10.0])
def test_the_rates_are_known_at_every_interval(interval: float) -> None:
    """Half a minute after the first reading no tick waits for more of them, and the loop has written."""
    bench = Bench(SELDOM)
    late = itertools.cycle(JITTER)
    bench.turn(seconds=interval)
    bench.turn(SAVED, seconds=interval)
    while bench.server.now < 30.0:
        bench.turn(seconds=interval + next(late))
    said = [bench.turn(seconds=interval + next(late)).decision.reason for _ in range(60)]

    assert "warming_up" not in said
    assert bench.server.applied


@pytest.mark.parametrize("interval", [1.0, 9.0, 10.0])
def test_the_teeth_of_the_checkpoint_age_are_watched_at_every_interval(interval: float) -> None:
    """A calm is as long as the readings that saw it, also where a tick comes a little late."""
    bench = Bench(SELDOM)
    late = itertools.cycle(JITTER)
    while bench.server.now < 2.0 * SPAN_SECONDS:
        bench.turn(seconds=interval + next(late))

    assert bench.state.sawtooth.calm_seconds > SPAN_SECONDS


@pytest.mark.parametrize("away", [15, 18, 20])
def test_an_outage_is_no_interval(away: int) -> None:
    """No rate spans the seconds without a reading, and no calm: the park that is owed goes by the load."""
    bench = Bench(ACTIVE).in_control()
    bench.turns(400)
    bench.server.down, bench.server.redo_rate = "gone", 3e4
    bench.turns(away)
    bench.server.down, bench.server.redo_rate = "", 2e6
    back = bench.turn()
    parked = bench.turn()

    assert back.estimate is None
    assert parked.estimate is not None
    assert parked.estimate.redo_rate == pytest.approx(2e6, rel=0.05)
    assert parked.decision.kind is DecisionKind.PARK
    assert bench.state.sawtooth.calm_seconds <= 1.0
