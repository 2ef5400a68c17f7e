"""What the device gives, and what is no fault of its own."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from tests.core.readings import PAGES, follow, limited, steady
from tests.factory import MEBIBYTE, A, sample
from tuner.core.estimate.estimator import EstimatorState, update
from tuner.core.estimate.trends import Seen
from tuner.core.estimate.window import flushed_share


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
    denser = replace(state, tail=replace(state.tail, density=4.0 * state.tail.density))
    state, found, _ = update(denser, sample(60.0), stops_early=True)

    assert found is not None
    assert found.authority >= 0.98


@pytest.mark.parametrize(("asked", "device"), [(700, False), (1_600, True)])
def test_batches_that_end_early_are_told_from_a_slow_device(asked: int, *, device: bool) -> None:
    """MySQL 5.6 that flushes 400 of 700 pages has ended early; with 400 of 1600 it can do no more."""
    state, found = EstimatorState(), None
    for reading in limited(60, asked=asked):
        denser = replace(state, tail=replace(state.tail, density=10.0 * state.tail.density))
        state, found, _ = update(denser, reading, stops_early=True)

    assert found is not None
    assert (found.sustained_capacity is not None) is device


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


def test_the_share_that_batches_flush_is_seen() -> None:
    """Asked for 1000 pages/s and flushing 400 is a share of 0.4, and 1 where hardly any are asked for."""
    state, _ = follow(limited(60))
    resting, _ = follow([replace(one, flush_requested=10) for one in limited(60)])

    assert flushed_share(state.window) == pytest.approx(0.4)
    assert flushed_share(resting.window) == 1.0


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


def test_what_the_device_kept_up_is_forgotten_in_time() -> None:
    """Hours after the device was the limit nothing is believed of it any more, and nothing overflows."""
    state, found = follow(limited(60))
    assert found.sustained_capacity is not None
    state, found = follow((sample(60.0 + 10.0 * n) for n in range(1_000)), state)

    assert found.sustained_capacity is None
    assert state.trends.sustained is None


@pytest.mark.parametrize(("seconds", "shown"), [(1, False), (10, True)])
def test_a_moment_in_which_less_is_flushed_than_asked_for_shows_no_slow_device(
    seconds: int, *, shown: bool
) -> None:
    """The second in which the server answers a large raise bounds no M afterwards."""
    state, _ = follow(steady(60))
    seen = Seen(redo_rate=1e6, flush_rate=400.0, demand=400.0, authority=0.4, age=1e8, elapsed=1.0, wall=0.0)
    trends = state.trends
    for _ in range(seconds):
        trends = trends.follow(seen, state.window)

    assert trends.shown is shown
