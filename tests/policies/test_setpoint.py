"""The set-point: as high as headroom and alarm allow, and steady."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policies.setpoint import (
    CLEAR,
    HIGHEST,
    LOWEST,
    NOISE,
    STEADY_NOISE,
    STEADY_SECONDS,
    STEP,
    WANDER_SECONDS,
    Headroom,
    bounds_of,
    highest_ratio,
    with_hysteresis,
)

MEBIBYTE = 1_048_576.0
CALM = Headroom(
    flush_limit=75_805_696.0,
    sync_point=79_514_532.0,
    redo_capacity=100 * MEBIBYTE,
    checkpoint_lag=2 * MEBIBYTE,
    redo_rate=200_000.0,
    burst_bytes=0.0,
    max_checkpoint_age_ratio=0.84,
)


def with_(**changes: float) -> Headroom:
    """Return the calm load's headroom with some figures changed."""
    return CALM._replace(**changes)


def test_bursts_and_reaction_time_are_kept_free() -> None:
    """The redo of the worst burst and of a few seconds' reaction fits between set-point and sync point."""
    headroom = with_(burst_bytes=20 * MEBIBYTE, redo_rate=2e6)

    ratio, why = highest_ratio(headroom, {})

    assert why == "headroom"
    room = headroom.sync_point - ratio * headroom.flush_limit
    assert room >= headroom.burst_bytes + 4.0 * headroom.redo_rate


@given(
    burst=st.floats(0.0, 60 * MEBIBYTE), full=st.floats(0.5, 1.2), noise=st.sampled_from([None, 0.01, 0.03])
)
def test_headroom_ends_well_below_the_age_that_asks_for_all_of_m_or_at_it(
    burst: float, full: float, noise: float | None
) -> None:
    """No load with bursts is held where its age wanders into the region in which all of M is asked for."""
    free = bounds_of(with_(burst_bytes=burst), {}, noise=noise)["headroom"]
    clear = bounds_of(with_(burst_bytes=burst, full_rate_ratio=full), {}, noise=noise)["headroom"]

    assert clear == free if free <= CLEAR * full or free >= full else clear == CLEAR * full


def test_alarm_and_highest_give_way_to_where_the_baseline_holds_a_steady_load() -> None:
    """What rests beyond them with the settings found rests there with ours: only the headroom is kept."""
    large = with_(max_checkpoint_age_ratio=0.6, redo_rate=100_000.0)
    beyond = large._replace(baseline=1.2, steady=True)
    room = (CALM.sync_point - 4.0 * 100_000.0) / CALM.flush_limit - STEADY_NOISE

    assert highest_ratio(beyond, {}) == (pytest.approx(room), "headroom")
    assert highest_ratio(beyond._replace(baseline=0.9), {})[0] == pytest.approx(0.9)
    assert highest_ratio(beyond, {"recovery": 0.5}) == (0.5, "recovery")
    assert highest_ratio(beyond._replace(steady=False), {}) == highest_ratio(large, {})
    assert highest_ratio(beyond._replace(sync_stalls=True), {})[0] < 0.93


def test_no_load_pushes_it_below_the_lowest() -> None:
    """However bursty the load, the set-point stays where the flush law still has something to say."""
    assert highest_ratio(with_(burst_bytes=1e12), {})[0] == LOWEST


def test_a_budget_bounds_it_like_load_and_alarm() -> None:
    """The lowest bound wins and is named; a budget that asks for less than the lowest does not get it."""
    assert highest_ratio(CALM, {"recovery": 0.7, "shutdown": 0.8}) == (0.7, "recovery")
    assert highest_ratio(CALM, {"recovery": -3.0}) == (LOWEST, "recovery")


@given(
    burst=st.floats(0.0, 1e9),
    rate=st.floats(0.0, 1e9),
    lag=st.floats(0.0, 1e9),
    cap=st.floats(0.11, 0.84),
    more=st.floats(0.0, 1e8),
)
def test_more_danger_never_raises_it(burst: float, rate: float, lag: float, cap: float, more: float) -> None:
    """More burst, more redo or more lag each lead to the same set-point or a lower one."""
    base = {"burst_bytes": burst, "redo_rate": rate, "checkpoint_lag": lag, "max_checkpoint_age_ratio": cap}
    ratio, _ = highest_ratio(with_(**base), {})

    assert LOWEST <= ratio <= HIGHEST
    for name in ("burst_bytes", "redo_rate", "checkpoint_lag"):
        assert highest_ratio(with_(**(base | {name: base[name] + more})), {})[0] <= ratio


@pytest.mark.parametrize("exponent", [0.0, 0.01, 0.5, 1.0])
def test_what_a_high_age_saves_lowers_no_set_point(exponent: float) -> None:
    """Rows appended to new pages are held as high as the bounds allow, like all others."""
    assert highest_ratio(with_(combining_exponent=exponent), {}) == (HIGHEST, "highest")


def test_a_load_that_has_been_steady_for_long_is_held_higher() -> None:
    """Where the load hardly moves, next to nothing has to be kept free for the age to wander."""
    moving = with_(burst_bytes=10 * MEBIBYTE)
    steady = moving._replace(steady=True)

    assert highest_ratio(moving, {})[1] == highest_ratio(steady, {})[1] == "headroom"
    gained = highest_ratio(steady, {})[0] - highest_ratio(moving, {})[0]
    assert gained == pytest.approx(NOISE - STEADY_NOISE)


@given(
    rate=st.floats(0.0, 1e8),
    emergency=st.floats(1.0, 120.0),
    beyond=st.floats(0.5, 1.2),
    stalls=st.booleans(),
)
def test_a_steady_load_stays_seconds_away_from_an_emergency(
    rate: float, emergency: float, beyond: float, *, stalls: bool
) -> None:
    """Above 0.93 only where the sync point stays eight seconds farther away than what makes an emergency."""
    headroom = with_(
        redo_rate=rate,
        emergency_seconds=emergency,
        sync_point=beyond * CALM.flush_limit,
        sync_stalls=stalls,
        steady=True,
    )
    ratio, _ = highest_ratio(headroom, {})
    left = headroom.sync_point - ratio * headroom.flush_limit

    assert ratio <= HIGHEST or (not stalls and left >= (emergency + STEADY_SECONDS) * rate - 1.0)


@given(rate=st.floats(0.0, 1e8), baseline=st.floats(0.3, 1.2), alarm=st.floats(0.3, 0.9))
def test_nor_is_it_led_into_emergencies_where_the_baseline_holds_it_by_sync_flushing(
    rate: float, baseline: float, alarm: float
) -> None:
    """Where the settings found rest near the sync point, ours stay out of reach of an emergency."""
    headroom = with_(redo_rate=rate, baseline=baseline, max_checkpoint_age_ratio=alarm, steady=True)
    ratio, why = highest_ratio(headroom, {})
    left = headroom.sync_point - ratio * headroom.flush_limit

    if why == "alarm" and ratio > highest_ratio(headroom._replace(baseline=0.0), {})[0]:
        assert left >= headroom.emergency_seconds * rate


def test_where_writers_wait_at_the_sync_point_twice_the_room_is_kept() -> None:
    """On a server that stalls its writers there, seconds of reaction count twice."""
    bursty = with_(redo_rate=1e6, burst_bytes=20 * MEBIBYTE)
    soft, _ = highest_ratio(bursty, {})
    hard, why = highest_ratio(bursty._replace(sync_stalls=True), {})

    assert why == "headroom"
    assert soft - hard == pytest.approx(4.0 * 1e6 / CALM.flush_limit)


@pytest.mark.parametrize(("steady", "noise"), [(False, NOISE), (True, 0.0)])
def test_the_alarm_caps_the_checkpoint_age(*, steady: bool, noise: float) -> None:
    """At its highest the checkpoint age stays below the operator's share of S, and what it wanders by."""
    headroom = with_(max_checkpoint_age_ratio=0.60, checkpoint_lag=8 * MEBIBYTE, steady=steady)
    ratio, why = highest_ratio(headroom, {})
    wanders = WANDER_SECONDS * headroom.redo_rate if steady else 0.0

    assert why == "alarm"
    peak = (ratio + noise) * headroom.flush_limit + headroom.checkpoint_lag + wanders
    assert peak == pytest.approx(0.60 * headroom.redo_capacity)


@pytest.mark.parametrize(
    ("held", "wanted", "steady", "moves"),
    [
        (None, 0.8, False, True),
        (0.8, 0.8 - STEP - 0.001, False, True),
        (0.8, 0.8 - STEP + 0.001, False, False),
        (0.8, 0.8 + STEP + 0.001, False, True),
        (0.8, 0.8 + STEP - 0.001, False, False),
        (0.8, 0.81, True, True),
        (0.8, 0.79, True, False),
    ],
    ids=["none yet", "down", "hardly down", "up", "hardly up", "hardly up, steady", "hardly down, steady"],
)
def test_it_moves_only_by_what_is_worth_a_write(
    held: float | None, wanted: float, *, steady: bool, moves: bool
) -> None:
    """Bounds that waver by less move nothing; under a load that is steady for long a smaller rise counts."""
    assert with_hysteresis(held, wanted, steady=steady) == (wanted if moves else held)
