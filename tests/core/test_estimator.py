"""From counters to rates: exact where the load is constant, honest where a counter goes back."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from policies.flushlaw import LEGACY, LEGACY_56, MARIADB
from policies.setpoint import FLUSH_ORDER_LAG
from tests.core.readings import PAGES, RATE, follow, limited, steady
from tests.factory import LIMITS, MEBIBYTE, OTHER_IDENTITY, A, sample
from tuner.core.estimate.estimator import EstimatorState, update
from tuner.core.estimate.trends import Rates
from tuner.records import Sample


@pytest.mark.parametrize("seconds", [2, 5, 120])
def test_rates_of_a_constant_load_are_exact(seconds: int) -> None:
    """Redo, rows and flushing come out as they are, after two readings already; so do demand and device."""
    _, found = follow(steady(seconds))

    assert (found.redo_rate, found.row_rate, found.flush_rate) == (RATE, 3_000.0, PAGES)
    assert (found.sync_rate, found.lru_rate, found.burst_bytes) == (0.0, 0.0, 0.0)
    assert (found.authority, found.sustained_capacity) == (1.0, None)
    assert found.age_slope == pytest.approx(0.0, abs=1e-6)
    assert found.modified_age == pytest.approx(0.7 * A, abs=1.0)
    if found.ledger:
        assert (found.demand, found.demand_ahead) == pytest.approx((PAGES, PAGES), rel=0.01)
        assert found.demand_density == pytest.approx(PAGES / RATE, rel=0.01)
        assert found.burstiness == pytest.approx(0.0, abs=1e-6)


@given(st.lists(st.floats(0.3, 3.0), min_size=20, max_size=60))
def test_rates_do_not_depend_on_when_readings_come(gaps: list[float]) -> None:
    """Late and early readings of a constant load give the same rates: counters over the true time."""
    _, found = follow(sample(sum(gaps[:count])) for count in range(len(gaps)))

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
    _, beyond = follow(steady(5, age=1.1 * A))
    age = 0.9 * A + 5e5 * 5
    stall = LIMITS.stall_point - FLUSH_ORDER_LAG

    assert rising.seconds_to_sync == pytest.approx((LIMITS.sync_point - age) / 5e5, rel=1e-3)
    assert rising.seconds_to_stall == pytest.approx((stall - age) / 5e5, rel=1e-3)
    assert (falling.seconds_to_sync, falling.seconds_to_stall) == (None, None)
    assert beyond.seconds_to_sync == 0.0


@pytest.mark.parametrize(
    "reversal",
    [
        {"lsn_current": 10_000_000_000, "lsn_oldest": 9_950_000_000},
        {"uptime": 5.0},
        {"row_changes": 3},
        {"pages_adaptive": 0},
    ],
    ids=lambda one: next(iter(one)),
)
def test_a_counter_that_goes_back_starts_estimates_afresh(reversal: dict[str, Any]) -> None:
    """A reversed counter gives no estimate; rates begin anew, and what was learned of combining stays."""
    before, _ = follow(steady(100))
    after, found, went_back = update(before, sample(100.0, **reversal))

    assert (found, went_back) == (None, True)
    assert len(after.window) == 1
    assert (after.trends.sustained, after.load) == (None, before.load)
    onward = {name: value + 10**10 for name, value in reversal.items()}
    _, again, went_back = update(after, replace(sample(101.0), **onward))
    assert again is not None
    assert not went_back


@pytest.mark.parametrize(
    ("at", "shown", "went_back"),
    [(20.0, {"identity": OTHER_IDENTITY}, False), (19.0, {}, True)],
    ids=["another server", "the same moment"],
)
def test_no_rate_is_taken_across_two_servers_or_in_no_time(
    at: float, shown: dict[str, str], *, went_back: bool
) -> None:
    """Another server starts afresh, and two readings at one moment give no rate."""
    state, found, told = update(follow(steady(20))[0], sample(at, **shown))

    assert (found, told) == (None, went_back)
    assert len(state.window) == 1


def test_burstiness_is_the_spread_of_the_redo_rate() -> None:
    """A load that comes in waves has some; a constant one has none."""
    lsn, wavy = 10_000_000_000, []
    for second in range(600):
        lsn += 1_600_000 if second // 30 % 2 else 400_000
        wavy.append(sample(float(second), lsn_current=lsn, lsn_oldest=lsn - round(0.7 * A)))

    assert 0.2 < follow(wavy)[1].burstiness < 0.8


@pytest.mark.parametrize("lag", [0, 2 * MEBIBYTE])
def test_the_checkpoint_lags_behind_the_age(lag: int) -> None:
    """The time between two checkpoints, and what the server keeps for the order of its flush lists."""
    readings = [
        sample(float(second), lsn_checkpoint=sample(float(second - second % 7)).lsn_oldest - lag)
        for second in range(60)
    ]
    _, found = follow(readings, flush_order_lag=lag)

    assert found.checkpoint_lag == pytest.approx(lag + 7 * RATE, rel=0.02)


@pytest.mark.parametrize("away", [60.0, 86_400.0, 3_650 * 86_400.0])
def test_any_gap_is_survived(away: float) -> None:
    """After a minute or ten years without a reading, estimates go on, finite and without a failure."""
    state, _ = follow(limited(60))
    _, found = follow([sample(60.0 + away), sample(61.0 + away)], state)

    values = [getattr(found, name) for name in found.__struct_fields__]
    assert all(math.isfinite(value) for value in values if isinstance(value, float))


# What the pages in the log's tail cost, and which of them are dirty still.


class Fifo:
    """A flush list: pages enter at the current LSN and leave in that order; density may change.

    Attributes:
        readings: one a second.
    """

    def __init__(self, seconds: int, *, density_at: dict[int, float], residence: int) -> None:
        lsn = oldest = 1e10
        entered: list[float] = []
        flushed, density = 0.0, 0.0
        self.readings: list[Sample] = []
        for second in range(seconds):
            density = density_at.get(second, density)
            entered.append(density * RATE)
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


@pytest.mark.parametrize(
    ("density_at", "left", "oldest_30_mb", "flushed"),
    [
        ({0: 0.0002, 100: 0.0006}, 1.0, 30 * 200.0, 20e6),
        ({0: 0.0008}, 0.25, 30 * 200.0, 20e6),
        ({0: 0.0002}, 1.0, 30 * 200.0, 20e6),
    ],
    ids=["dense pages behind", "three quarters flushed already", "even"],
)
def test_the_ledger_says_what_the_tail_costs_and_where_flushing_leads(
    density_at: dict[int, float], left: float, oldest_30_mb: float, flushed: float
) -> None:
    """Pages of the oldest bytes that are dirty still, and the age in ten seconds at 400 pages a second."""
    readings = Fifo(120, density_at=density_at, residence=60).readings
    readings[100:] = [replace(one, pages_dirty=round(left * one.pages_dirty)) for one in readings[100:]]
    state, found = follow(readings)
    last, tail = readings[-1], state.tail
    flushing = replace(found, flush_rate=400.0, authority=1.0)

    assert tail.pages_ahead(last, 30e6) == pytest.approx(oldest_30_mb, rel=0.03)
    assert tail.pages_ahead(last, -1.0) == 0.0
    assert tail.age_ahead(last, flushing, 10.0) == pytest.approx(60e6 + 10e6 - flushed, rel=0.03)
    full = replace(last, io_capacity_max=600, flush_requested=600)
    ages = [tail.age_ahead(full, flushing, 10.0, flushed_share=share) for share in (1.0, 2.0 / 3.0)]
    assert 1.5 * (70e6 - ages[1]) == pytest.approx(70e6 - ages[0], rel=0.03), "batches that end early do less"


def test_neighbours_that_go_with_every_page_save_nothing() -> None:
    """Where each page takes another one with it all the time, the demand is still all pages dirtied."""
    readings = [
        replace(one, pages_dirty=one.pages_dirty * 3 // 4, pages_neighbour=one.pages_adaptive // 2)
        for one in Fifo(120, density_at={0: 0.0008}, residence=60).readings
    ]

    assert follow(readings)[1].demand == pytest.approx(800.0, rel=0.03)


@pytest.mark.parametrize(
    ("neighbours", "by_age", "share"), [(0.9, 160, 0.2), (0.9, 0, 1.0), (0.02, 160, 1.0), (0.9, 1600, 1.0)]
)
def test_what_the_server_needs_is_told_from_what_neighbours_add(
    neighbours: float, by_age: int, share: float
) -> None:
    """The need is a share of the flushing only where neighbours go, and where the server says what it is."""
    readings = [
        replace(one, pages_neighbour=round(neighbours * one.pages_adaptive), flush_by_age=by_age)
        for one in Fifo(800, density_at={0: 0.0008}, residence=60).readings
    ]

    assert follow(readings)[0].trends.need_share == pytest.approx(share, abs=0.02)


def wave(*, dirty_at_the_end: int) -> list[Sample]:
    """Return a minute of 10 new pages a second, and 20 s of 1,000 flushed ones that stay in the list.

    All but one in 100 are neighbours. In the second after that the list is as long as given.
    """

    def at(second: int, dirty: int, written: int) -> Sample:
        neighbours = written * 99 // 100
        return sample(
            float(second),
            age=RATE * (second + 1),
            pages_dirty=dirty,
            pages_adaptive=written,
            pages_neighbour=neighbours,
        )

    return [
        *(at(second, 20_000 + 10 * second, 0) for second in range(60)),
        *(at(60 + second, 20_600, 1_000 * (second + 1)) for second in range(20)),
        at(80, dirty_at_the_end, 20_000),
    ]


@pytest.mark.parametrize(
    ("lists", "dirty", "known"),
    [(True, 1_600, 1_600.0), (False, 1_600, 20_600.0), (True, 0, 800.0)],
    ids=["MariaDB", "others", "a dropped table"],
)
def test_pages_that_were_written_in_the_list_are_not_dirtied_twice(
    *, lists: bool, dirty: int, known: float
) -> None:
    """What looked new while it was written is taken back when the server takes it off its list, no more."""
    readings = wave(dirty_at_the_end=dirty)
    state = EstimatorState()
    for reading in readings:
        state, _, _ = update(state, reading, law=MARIADB if lists else LEGACY)
    ledger = state.tail.ledger

    assert ledger.between(ledger.lsns[0], float(readings[-1].lsn_current)) == pytest.approx(known, rel=0.02)


# What the device gives, and what is no fault of its own.

NOTHING_DIRTY = {"lsn_current": 10_000_000_000, "lsn_oldest": 10_000_000_000, "pages_dirty": 0}


@pytest.mark.parametrize(
    ("shown", "authority", "sustained"),
    [
        ({"flush_requested": 1_000}, 0.4, PAGES),
        ({"flush_requested": 2, "pages_adaptive": 1_000}, 1.0, None),
        ({"flush_requested": 10}, 1.5, None),
        ({**NOTHING_DIRTY, "flush_requested": 1_000, "pages_adaptive": 50_000}, 1.0, None),
    ],
    ids=["less than asked for", "hardly a page asked for", "more than asked for", "nothing dirty"],
)
def test_authority_is_what_the_device_gives(
    shown: dict[str, int], authority: float, sustained: float | None
) -> None:
    """Asked for 1000 pages/s and flushing 400 it is 0.4, and 400 is what the device sustains.

    Where hardly a page is asked for, or none is dirty, no device is slow.
    """
    _, found = follow(steady(30, **shown))

    assert found.authority == pytest.approx(authority)
    assert found.sustained_capacity == (None if sustained is None else pytest.approx(sustained))


@pytest.mark.parametrize(
    ("asked", "denser", "device"), [(1_000, 1.0, False), (700, 10.0, False), (1_600, 10.0, True)]
)
def test_batches_that_end_early_are_told_from_a_slow_device(
    asked: int, denser: float, *, device: bool
) -> None:
    """MySQL 5.6 that flushes 400 of 700 pages has ended early; with 400 of 1600 it can do no more."""
    state, found = EstimatorState(), None
    for reading in limited(60, asked=asked):
        tail = replace(state.tail, density=denser * state.tail.density)
        state, found, _ = update(replace(state, tail=tail), reading, law=LEGACY_56)

    assert found is not None
    assert (found.sustained_capacity is not None) is device


def test_a_burst_beyond_the_device_is_remembered() -> None:
    """Redo that came in faster than the device could follow counts as a burst, and fades over hours."""
    state, _ = follow(limited(30))
    readings = []
    for s in range(1, 30):
        lsn = 10_030_000_000 + 2_000_000 * s
        oldest = lsn - round(0.7 * A) - 1_000_000 * s
        readings.append(sample(30.0 + s, lsn_current=lsn, lsn_oldest=oldest, flush_requested=1_000))
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
    assert 0.0 < follow(quiet[30:], state)[1].burst_bytes < burst.burst_bytes


def test_what_the_device_kept_up_is_forgotten_in_time() -> None:
    """Hours after the device was the limit nothing is believed of it any more, and nothing overflows."""
    state, _ = follow(limited(60))
    state, found = follow((sample(60.0 + 10.0 * n) for n in range(1_000)), state)

    assert (found.sustained_capacity, state.trends.sustained) == (None, None)


@pytest.mark.parametrize(("seconds", "shown"), [(1, False), (10, True)])
def test_a_moment_in_which_less_is_flushed_than_asked_for_shows_no_slow_device(
    seconds: int, *, shown: bool
) -> None:
    """The second in which the server answers a large raise bounds no M afterwards."""
    state, _ = follow(steady(60))
    seen = Rates(redo_rate=1e6, flush_rate=400.0, demand=400.0, authority=0.4, age=1e8, elapsed=1.0, wall=0.0)
    trends = state.trends
    for _ in range(seconds):
        trends = trends.updated(seen, state.window)

    assert trends.shown is shown


@pytest.mark.parametrize("began", [False, True])
def test_no_rate_spans_counters_that_changed_their_meaning(*, began: bool) -> None:
    """Neither when the counters go off nor when they come back is anything estimated across that moment."""
    state, _ = follow(steady(20, degraded=began))
    state, found, went_back = update(state, sample(20.0, degraded=not began))
    assert (found, went_back) == (None, False)
    _, found, _ = update(state, sample(21.0, degraded=not began))

    assert len(state.window) == 1
    assert found is not None
