"""From counters to rates: exact where the load is constant, honest where a counter goes back."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from policies.setpoint import FLUSH_ORDER_LAG
from tests.factory import LIMITS, MEBIBYTE, OTHER_IDENTITY, A, sample
from tuner.core.estimator import (
    EstimatorState,
    Quality,
    age_ahead,
    pages_ahead,
    update,
)
from tuner.core.ledger import KNOTS
from tuner.records import Estimate, Sample

RATE = 1e6
"""Redo of the factory's load, bytes/s."""

PAGES = 400.0
"""Pages that it dirties and flushes, 1/s."""


def follow(
    readings: Iterable[Sample], state: EstimatorState | None = None
) -> tuple[EstimatorState, Estimate]:
    """Take readings in; return the state and the estimate after the last."""
    state = EstimatorState() if state is None else state
    found = None
    for reading in readings:
        state, found, _ = update(state, reading)
    assert found is not None
    return state, found


def steady(seconds: int, **changes: Any) -> list[Sample]:  # noqa: ANN401 - any field
    """Return a reading a second of the factory's load."""
    return [sample(float(second), **changes) for second in range(seconds)]


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


class Fifo:
    """A flush list: pages enter at the current LSN and leave in that order; density may change.

    Attributes:
        readings: one a second.
    """

    def __init__(self, seconds: int, *, density_at: dict[int, float], residence: int) -> None:
        lsn = oldest = 1e10
        entered: list[float] = []
        flushed, density = 0.0, 0.0
        self.densities: list[float] = []
        self.readings: list[Sample] = []
        for second in range(seconds):
            density = density_at.get(second, density)
            entered.append(density * RATE)
            self.densities.append(density)
            lsn += RATE
            if second >= residence:
                flushed += entered[second - residence]
                oldest += RATE
            self.readings.append(
                sample(
                    float(second),
                    lsn_current=round(lsn),
                    lsn_oldest=round(oldest),
                    lsn_checkpoint=round(oldest) - FLUSH_ORDER_LAG,
                    pages_adaptive=round(flushed),
                    pages_dirty=round(sum(entered) - flushed),
                )
            )


def test_demand_is_the_tails_own_and_known_ahead() -> None:
    """When a load gets denser, the demand rises when the dense pages reach the tail, and is seen coming."""
    fifo = Fifo(200, density_at={0: 0.0002, 100: 0.0006}, residence=50)
    state = EstimatorState()
    demand, ahead = {}, {}
    for second, reading in enumerate(fifo.readings):
        state, found, _ = update(state, reading)
        if found is not None and second >= 60:
            demand[second], ahead[second] = found.demand, found.demand_ahead

    assert all(demand[second] == pytest.approx(200.0, rel=0.05) for second in range(60, 140))
    assert all(demand[second] == pytest.approx(600.0, rel=0.05) for second in range(160, 200))
    assert ahead[124] == pytest.approx(200.0, rel=0.05)
    assert ahead[140] > 350.0


def test_pages_in_the_oldest_bytes_are_counted() -> None:
    """The ledger says how many pages the next bytes of the tail cost, and where flushing them leads."""
    fifo = Fifo(120, density_at={0: 0.0002, 100: 0.0006}, residence=60)
    state, found = follow(fifo.readings)
    last = fifo.readings[-1]

    assert pages_ahead(state, last, 30e6) == pytest.approx(30 * 200.0, rel=0.03)
    assert pages_ahead(state, last, 60e6) == pytest.approx(40 * 200.0 + 20 * 600.0, rel=0.03)
    assert pages_ahead(state, last, -1.0) == 0.0
    flushing = replace(found, flush_rate=400.0, authority=1.0)
    assert age_ahead(state, last, flushing, 10.0) == pytest.approx(60e6 + 10e6 - 20e6, rel=0.03)


def test_pages_that_went_before_their_turn_cost_nothing() -> None:
    """Where three quarters of the ledger's pages are flushed already, the tail costs a quarter of them."""
    fifo = Fifo(120, density_at={0: 0.0008}, residence=60)
    readings = [replace(one, pages_dirty=one.pages_dirty // 4) for one in fifo.readings]
    bulk = [*fifo.readings[:100], *readings[100:]]
    state, found = follow(bulk)

    assert found.demand == pytest.approx(200.0, rel=0.03)
    assert pages_ahead(state, bulk[-1], 30e6) == pytest.approx(30 * 200.0, rel=0.03)
    flushing = replace(found, flush_rate=400.0, authority=1.0)
    assert age_ahead(state, bulk[-1], flushing, 10.0) == pytest.approx(60e6 + 10e6 - 20e6, rel=0.03)


def test_neighbours_that_go_with_every_page_save_nothing() -> None:
    """Where each page takes another one with it all the time, the demand is still all pages dirtied."""
    fifo = Fifo(120, density_at={0: 0.0008}, residence=60)
    readings = [
        replace(one, pages_dirty=one.pages_dirty * 3 // 4, pages_neighbour=one.pages_adaptive // 2)
        for one in fifo.readings
    ]
    _, found = follow(readings)

    assert found.demand == pytest.approx(800.0, rel=0.03)


def wave(*, dirty_at_the_end: int) -> list[Sample]:
    """Return a minute of 10 new pages a second, and 20 s of 1,000 flushed ones that stay in the list.

    All but one in 100 are neighbours. In the second after that the list is as long as given.
    """
    readings = [
        sample(float(second), age=RATE * (second + 1), pages_dirty=20_000 + 10 * second, pages_adaptive=0)
        for second in range(60)
    ]
    for second in range(20):
        written = 1_000 * (second + 1)
        readings.append(
            replace(
                sample(60.0 + second, age=RATE * (second + 61), pages_dirty=20_600, pages_adaptive=written),
                pages_neighbour=written * 99 // 100,
            )
        )
    last = replace(readings[-1], pages_dirty=dirty_at_the_end)
    one = sample(80.0, age=RATE * 81, pages_dirty=dirty_at_the_end, pages_adaptive=last.pages_adaptive)
    return [*readings, replace(one, pages_neighbour=last.pages_neighbour)]


@pytest.mark.parametrize(("lists", "known"), [(True, 1_600.0), (False, 20_600.0)], ids=["MariaDB", "others"])
def test_pages_that_were_written_in_the_list_are_not_dirtied_twice(*, lists: bool, known: float) -> None:
    """What looked new while it was written is taken back when the server takes it off its list."""
    readings = wave(dirty_at_the_end=1_600)
    state = EstimatorState()
    for reading in readings:
        state, _, _ = update(state, reading, lists_written=lists)
    end = float(readings[-1].lsn_current)

    assert state.ledger.between(state.ledger.lsns[0], end) == pytest.approx(known, rel=0.02)


def test_a_dropped_table_takes_back_no_more_than_neighbours() -> None:
    """A list that shrinks by more than was written in it is short of other pages, which the ledger keeps."""
    state = EstimatorState()
    for reading in wave(dirty_at_the_end=0):
        state, _, _ = update(state, reading, lists_written=True)
    end = float(wave(dirty_at_the_end=0)[-1].lsn_current)

    assert state.ledger.between(state.ledger.lsns[0], end) == pytest.approx(800.0, rel=0.02)


def test_without_a_ledger_the_slope_is_drawn_out() -> None:
    """Before the ledger reaches the tail, the age ahead follows from how it grows now."""
    readings = [sample(float(s), age=0.5 * A + 2e5 * s, pages_adaptive=1_000 + 320 * s) for s in range(10)]
    state, found = follow(readings)

    assert not found.ledger
    assert found.age_slope == pytest.approx(2e5, rel=1e-3)
    assert age_ahead(state, readings[-1], found, 30.0) == pytest.approx(0.5 * A + 2e5 * 39.0, rel=1e-3)


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


def limited(seconds: int, *, asked: int = 1_000) -> list[Sample]:
    """Return readings of a device that gives 400 pages/s of what is asked for."""
    return steady(seconds, flush_requested=asked)


def test_what_a_batch_does_not_get_to_is_not_the_devices_fault() -> None:
    """MySQL 5.6, asked for 1000 pages/s where a second has 400, flushes those: the device is no limit."""
    state, found = EstimatorState(), None
    for reading in limited(60):
        state, found, _ = update(state, reading, stops_early=True)

    assert found is not None
    assert found.authority == pytest.approx(1.0, abs=0.02)
    assert found.sustained_capacity is None


def test_a_batch_is_held_against_what_it_could_get_to_at_its_time() -> None:
    """MySQL 5.6: a tail four times as dense as before does not blame the device for the seconds before."""
    state = EstimatorState()
    for reading in limited(60):
        state, _, _ = update(state, reading, stops_early=True)
    state, found, _ = update(replace(state, density=4.0 * state.density), sample(60.0), stops_early=True)

    assert found is not None
    assert found.authority == pytest.approx(1.0, abs=0.02)


def test_an_empty_flush_list_says_nothing_of_the_device() -> None:
    """A server that idles with nothing dirty, and what it asked for last still shown, has no slow device."""
    idle = [
        sample(float(second), lsn_current=10_000_000_000, lsn_oldest=10_000_000_000, pages_dirty=0)
        for second in range(30)
    ]
    readings = [replace(one, flush_requested=1_000, pages_adaptive=50_000) for one in idle]
    _, found = follow(readings)

    assert found.authority == 1.0
    assert found.sustained_capacity is None


def test_authority_is_what_the_device_gives() -> None:
    """Asked for 1000 pages/s and flushing 400, authority is 0.4, and 400 is what the device sustains."""
    _, found = follow(limited(60))

    assert found.authority == pytest.approx(0.4)
    assert found.sustained_capacity == pytest.approx(PAGES)


def test_next_to_no_flushing_says_nothing_of_the_device() -> None:
    """Where hardly a page is asked for, authority is taken to be full."""
    _, found = follow(steady(30, flush_requested=2, pages_adaptive=1_000))

    assert found.authority == 1.0


def test_a_burst_beyond_the_device_is_remembered() -> None:
    """Redo that came in faster than the device could follow counts as a burst, and fades over hours."""
    state, _ = follow(limited(30))
    readings = [
        sample(30.0 + s, lsn_current=10_030_000_000 + 2_000_000 * s, flush_requested=1_000)
        for s in range(1, 30)
    ]
    readings = [
        replace(one, lsn_oldest=one.lsn_current - round(0.7 * A) - 1_000_000 * (second + 1))
        for second, one in enumerate(readings)
    ]
    state, burst = follow(readings, state)

    assert burst.burst_bytes > 10 * MEBIBYTE
    last = readings[-1]
    quiet = [
        replace(
            last,
            monotonic=last.monotonic + s,
            uptime=last.uptime + s,
            lsn_current=last.lsn_current + 200_000 * s,
            lsn_oldest=last.lsn_oldest + 200_000 * s,
            pages_adaptive=last.pages_adaptive + 80 * s,
            flush_requested=80,
        )
        for s in range(1, 600)
    ]
    state, burst = follow(quiet[:30], state)
    _, later = follow(quiet[30:], state)
    assert 0.0 < later.burst_bytes < burst.burst_bytes


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


def test_what_the_device_kept_up_is_forgotten_in_time() -> None:
    """Hours after the device was the limit nothing is believed of it any more, and nothing overflows."""
    state, found = follow(limited(60))
    assert found.sustained_capacity is not None
    state, found = follow((sample(60.0 + 10.0 * n) for n in range(1_000)), state)

    assert found.sustained_capacity is None
    assert state.trends.sustained is None


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
    assert len(state.ledger.lsns) <= 2 * KNOTS + KNOTS // 4 + 1
