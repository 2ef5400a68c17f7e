"""One tick after the other beside a small server: what happens when, and what does not."""

from __future__ import annotations

import itertools

import pytest
from msgspec.structs import replace

from tests.bench import Bench, FakeServer
from tests.core.loops import at_rest
from tests.factory import ACTIVE, DEFAULT, SAVED
from tuner.core.estimate.sawtooth import SPAN_SECONDS
from tuner.records import DecisionKind, Lifecycle, Sample

SELDOM = replace(ACTIVE, stale_seconds=25.0, emergency_seconds=20.0)
JITTER = (0.0, 0.03, -0.02, 0.01, -0.03)
"""How late a tick comes, seconds."""


def test_the_first_readings_decide_nothing() -> None:
    """One reading gives no rates, and rates need ten seconds; a daemon that just started is quiet."""
    bench = Bench(originals=DEFAULT)
    assert bench.state.lifecycle is Lifecycle.STARTING
    bench.turns(8)

    assert {record.decision.kind for record in bench.records} == {DecisionKind.KEEP}
    assert bench.record.decision.reason == "warming_up"
    assert [record.lifecycle for record in bench.records[:2]] == [Lifecycle.STARTING, Lifecycle.RUNNING]


def test_an_idle_server_is_left_alone() -> None:
    """Next to no redo is no reason for a write."""
    bench = Bench(server=FakeServer(redo_rate=100.0), originals=DEFAULT)
    bench.turns(60)

    assert bench.server.applied == []


@pytest.mark.parametrize("rate", [2e6, 4e6, 1e7])
def test_a_small_redo_log_under_a_high_rate_is_filled_too(rate: float) -> None:
    """From the default, where all that is dirty is flushed within seconds, the age gets to its place."""
    bench = Bench(server=FakeServer(redo_rate=rate)).ready()
    bench.turns(900)

    assert bench.record.estimate is not None
    assert bench.record.estimate.age_ratio == pytest.approx(bench.set_point, abs=0.1)


def test_the_budget_is_counted_and_shown() -> None:
    """The record shows how many changes of the last hour count, and there are never more than allowed."""
    bench = Bench(replace(ACTIVE, max_changes_per_hour=2), originals=DEFAULT)

    assert bench.turns(300).changes_last_hour == len(bench.server.applied) == 2
    assert bench.turn(seconds=3_600.0).changes_last_hour == 0


def test_a_load_that_goes_away_and_returns_causes_no_sync_flushing() -> None:
    """After half a minute without load its return is answered in time, as if it had never been away.

    What the law asked for last and the pace of an idle server say nothing of the device meanwhile.
    """
    bench = at_rest("cascade", 0.8)
    before, rate, begun = bench.m, bench.server.redo_rate, len(bench.records)
    bench.server.redo_rate = 0.0
    bench.turns(40)
    found = [record.estimate for record in bench.records[begun:]]
    assert bench.wrote(since=begun) == []
    assert all(one is not None and one.authority > 0.9 for one in found)
    assert bench.record.estimate is not None
    assert bench.record.estimate.sustained_capacity is None
    bench.server.redo_rate = 2.0 * rate
    bench.turns(120)

    readings = [record.tick.reading for record in bench.records[begun:]]
    assert all(isinstance(one, Sample) and one.modified_age < one.sync_point for one in readings)
    assert bench.m > before


# Ticks that come seldom, and none for a while.


@pytest.mark.parametrize("interval", [0.2, 1.0, 5.0, 7.5, 8.0, 8.5, 9.0, 10.0])
def test_the_loop_tunes_at_every_interval(interval: float) -> None:
    """Half a minute after the first reading the rates are known, and the loop has written.

    A calm of the checkpoint age is as long as the readings that saw it, also where a tick is late.
    """
    bench = Bench(SELDOM)
    late = itertools.cycle(JITTER)
    bench.turn(seconds=interval)
    bench.turn(SAVED, seconds=interval)
    while bench.server.now < 30.0:
        bench.turn(seconds=interval + next(late))
    assert "warming_up" not in {bench.turn(seconds=interval + next(late)).decision.reason for _ in range(60)}
    assert bench.server.applied
    while interval >= 1.0 and bench.server.now < 2.0 * SPAN_SECONDS:
        bench.turn(seconds=interval + next(late))

    assert interval < 1.0 or bench.state.sawtooth.calm_seconds > SPAN_SECONDS


@pytest.mark.parametrize("away", [15, 18, 20])
def test_an_outage_is_no_interval(bench: Bench, away: int) -> None:
    """No rate spans the seconds without a reading, and no calm: the park that is owed goes by the load."""
    bench.turns(400)
    bench.server.redo_rate = 3e4
    bench.silent(away)
    bench.server.redo_rate = 2e6
    back, parked = bench.turn(), bench.turn()

    assert back.estimate is None
    assert parked.estimate is not None
    assert parked.estimate.redo_rate == pytest.approx(2e6, rel=0.05)
    assert parked.decision.kind is DecisionKind.PARK
    assert bench.state.sawtooth.calm_seconds <= 1.0
