"""From counters to rates: exact where the load is constant, honest where a counter goes back."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from policies.setpoint import FLUSH_ORDER_LAG
from tests.core.readings import PAGES, RATE, follow, limited, steady
from tests.factory import LIMITS, OTHER_IDENTITY, A, sample
from tuner.core.estimate.estimator import EstimatorState, Quality, update
from tuner.core.estimate.tail import KNOTS


def test_rates_of_a_constant_load_are_exact() -> None:
    """Redo, rows, flushing and demand of a constant load come out as they are, after two readings already."""
    for seconds in (2, 5, 60):
        _, found = follow(steady(seconds))

        assert found.redo_rate == RATE
        assert found.row_rate == 3_000.0
        assert found.flush_rate == PAGES
        assert (found.sync_rate, found.lru_rate) == (0.0, 0.0)
        assert found.age_slope == pytest.approx(0.0, abs=1e-6)
        assert found.modified_age == pytest.approx(0.7 * A, abs=1.0)


def test_demand_of_a_constant_load_is_its_flush_rate() -> None:
    """Where the age stands still, the pages that hold it still are those that are flushed."""
    _, found = follow(steady(120))

    assert found.ledger
    assert found.demand == pytest.approx(PAGES, rel=0.01)
    assert found.demand_ahead == pytest.approx(PAGES, rel=0.01)
    assert found.demand_density == pytest.approx(PAGES / RATE, rel=0.01)
    assert found.authority == 1.0
    assert found.sustained_capacity is None
    assert found.burst_bytes == 0.0


@given(st.lists(st.floats(0.3, 3.0), min_size=20, max_size=60))
def test_rates_do_not_depend_on_when_readings_come(gaps: list[float]) -> None:
    """Late and early readings of a constant load give the same rates: counters over the true time."""
    at = [sum(gaps[:count]) for count in range(len(gaps))]
    _, found = follow(sample(second) for second in at)

    assert found.redo_rate == pytest.approx(RATE, rel=1e-5)
    assert found.flush_rate == pytest.approx(PAGES, rel=0.01)


def test_without_a_ledger_the_slope_is_drawn_out() -> None:
    """Before the ledger reaches the tail, the age ahead follows from how it grows now."""
    readings = [sample(float(s), age=0.5 * A + 2e5 * s, pages_adaptive=1_000 + 320 * s) for s in range(10)]
    state, found = follow(readings)

    assert not found.ledger
    assert found.age_slope == pytest.approx(2e5, rel=1e-3)
    assert state.tail.age_ahead(readings[-1], found, 30.0) == pytest.approx(0.5 * A + 2e5 * 39.0, rel=1e-3)


def test_time_to_the_limits_follows_the_slope() -> None:
    """An age that grows reaches sync and stall point when distance and slope say; one that falls, never."""
    _, rising = follow(sample(float(s), age=0.9 * A + 5e5 * s) for s in range(6))
    _, falling = follow(sample(float(s), age=0.9 * A - 5e5 * s) for s in range(6))
    age = 0.9 * A + 5e5 * 5

    assert rising.seconds_to_sync == pytest.approx((LIMITS.sync_point - age) / 5e5, rel=1e-3)
    assert rising.seconds_to_stall == pytest.approx(
        (LIMITS.stall_point - FLUSH_ORDER_LAG - age) / 5e5, rel=1e-3
    )
    assert falling.seconds_to_sync is None
    assert falling.seconds_to_stall is None


def test_past_the_sync_point_no_time_is_left() -> None:
    """Beyond a limit the time to it is zero, whatever the slope."""
    _, found = follow(steady(5, age=1.1 * A))

    assert found.seconds_to_sync == 0.0


REVERSALS: list[dict[str, Any]] = [
    {"lsn_current": 10_000_000_000, "lsn_oldest": 9_950_000_000},
    {"uptime": 5.0},
    {"row_changes": 3},
    {"pages_adaptive": 0},
]


@pytest.mark.parametrize("reversal", REVERSALS, ids=lambda one: next(iter(one)))
def test_a_counter_that_goes_back_starts_estimates_afresh(reversal: dict[str, Any]) -> None:
    """A reversed counter gives no estimate; rates begin anew, and what was learned of combining stays."""
    before, _ = follow(steady(100))
    after, found, quality = update(before, sample(100.0, **reversal))

    assert (found, quality) == (None, Quality.REVERSED)
    assert len(after.window) == 1
    assert after.trends.sustained is None
    assert after.load == before.load
    _, again, quality = update(after, replace(sample(101.0), **{k: v + 10**10 for k, v in reversal.items()}))
    assert quality is Quality.GOOD
    assert again is not None


def test_a_clock_that_stands_still_is_no_reading() -> None:
    """Two readings at one moment give no rate."""
    state, _, _ = update(EstimatorState(), sample(5.0))
    _, found, quality = update(state, sample(5.0))

    assert (found, quality) == (None, Quality.REVERSED)


def test_another_server_starts_afresh() -> None:
    """Rates are never taken across two servers."""
    state, _ = follow(steady(20))
    state, found, quality = update(state, sample(20.0, identity=OTHER_IDENTITY))

    assert (found, quality) == (None, Quality.FIRST)
    assert len(state.window) == 1


def test_write_combining_is_learned() -> None:
    """From a load whose pages per byte fall with age to the power of -0.8, about that power is learned."""
    state = EstimatorState()
    flushed = 0.0
    exponents = []
    for second in range(1_800):
        ratio = 0.55 + 0.3 * math.sin(second / 150.0)
        flushed += 300.0 * ratio**-0.8
        state, found, _ = update(
            state, sample(float(second), age=ratio * A, pages_adaptive=round(flushed), pages_dirty=20_000)
        )
        if found is not None:
            exponents.append(found.combining_exponent)

    assert exponents[0] == pytest.approx(0.5, abs=0.05)
    assert exponents[-1] == pytest.approx(0.8, abs=0.1)
    assert all(0.0 <= one <= 1.0 for one in exponents)


def test_burstiness_is_the_spread_of_the_redo_rate() -> None:
    """A constant load has none, one that comes in waves has some."""
    _, calm = follow(steady(200))
    lsn, wavy = 10_000_000_000, []
    for second in range(600):
        lsn += 1_600_000 if second // 30 % 2 else 400_000
        wavy.append(sample(float(second), lsn_current=lsn, lsn_oldest=lsn - round(0.7 * A)))
    _, restless = follow(wavy)

    assert calm.burstiness == pytest.approx(0.0, abs=1e-6)
    assert 0.2 < restless.burstiness < 0.8


def test_the_checkpoint_lags_behind_the_age() -> None:
    """The time between two checkpoints is what the lag is made of: at most so much redo lies in between."""
    readings = []
    for second in range(60):
        one = sample(float(second))
        last = sample(float(second - second % 7))
        readings.append(replace(one, lsn_checkpoint=last.lsn_oldest - FLUSH_ORDER_LAG))
    _, found = follow(readings)

    assert found.checkpoint_lag == pytest.approx(FLUSH_ORDER_LAG + 7 * RATE, rel=0.02)


@pytest.mark.parametrize("away", [60.0, 86_400.0, 30 * 86_400.0, 3_650 * 86_400.0])
def test_any_gap_is_survived(away: float) -> None:
    """After a minute or ten years without a reading, estimates go on, finite and without a failure."""
    state, _ = follow(limited(60))
    _, found = follow([sample(60.0 + away), sample(61.0 + away)], state)

    assert all(
        value is None or math.isfinite(value)
        for name in found.__struct_fields__
        if isinstance(value := getattr(found, name), float | None)
    )


def test_memory_is_bounded() -> None:
    """A long run keeps no more than the window and the ledger's knots."""
    state, _ = follow(sample(s / 10.0) for s in range(5_000))

    assert len(state.window) <= 162
    assert len(state.tail.ledger.lsns) <= 2 * KNOTS + KNOTS // 4 + 1
