"""What decides in place of M: when it is noticed, and what is said of it."""

from __future__ import annotations

import itertools
import math
from typing import Any

from tests.factory import REDO, estimate, sample
from tuner.core.setpoint.caution import Caution, update
from tuner.records import Estimate, Sample


def look(
    state: Caution,
    seconds: float,
    found: Estimate | None = None,
    **seen: Any,  # noqa: ANN401 - any field
) -> tuple[Caution, list[str]]:
    """Take one reading in; return what is remembered then, and the codes of what was said."""
    reading: Sample = sample(seconds, **seen)
    state, events = update(
        state, reading, found or estimate(), set_point=0.8, now=reading.monotonic, wall=reading.wall
    )
    return state, [event.code for event in events]


def lasting(
    minutes: float,
    found: Estimate | None = None,
    **seen: Any,  # noqa: ANN401 - any field
) -> list[str]:
    """Return the codes of what was said in so many minutes of the same."""
    state, said = Caution(), []
    for second in range(round(60 * minutes)):
        state, codes = look(state, float(second), found, **seen)
        said += codes
    return said


def test_of_a_healthy_server_nothing_is_said() -> None:
    """Few dirty pages, no LRU flushing, no other consumer: nothing decides in place of M."""
    assert lasting(10) == []


def busy(
    state: Caution, seconds: float, lru_rate: float, flush_rate: float, age_ratio: float = 0.2
) -> Caution:
    """Return what is remembered after one reading with these rates, pages/s."""
    found = estimate(lru_rate=lru_rate, flush_rate=flush_rate, age_ratio=age_ratio)
    return look(state, seconds, found)[0]


def test_the_lru_does_the_flushing_by_twice_the_pages_and_more_than_a_few() -> None:
    """Twice the flush list's pages and 50 a second say that M decides nothing; less of either does not."""
    assert busy(Caution(), 0.0, 900.0, 100.0).lru.on
    assert not busy(Caution(), 0.0, 150.0, 100.0).lru.on
    assert not busy(Caution(), 0.0, 40.0, 1.0).lru.on


def test_another_m_does_not_end_the_shortage() -> None:
    """A higher M has the flush list write as much as the LRU: the shortage goes on nevertheless."""
    state, seen = busy(Caution(), 0.0, 500.0, 200.0), []
    for second in range(1, 1200):
        state = busy(state, float(second), 380.0, 230.0 + 150.0 * (second % 2))
        seen.append(state.lru.on)

    assert all(seen)


def test_the_shortage_is_over_when_the_lru_has_been_quiet_for_a_minute() -> None:
    """Half a minute of few pages from the LRU is no end of it; a minute is."""
    state, seen = busy(Caution(), 0.0, 500.0, 200.0), []
    for second in range(1, 200):
        quiet = second < 31 or second > 60
        state = busy(state, float(second), 20.0 if quiet else 500.0, 200.0)
        seen.append(state.lru.on)

    assert seen[:120] == [True] * 120
    assert not any(seen[120:])


def test_a_high_age_makes_m_matter_whatever_the_lru_does() -> None:
    """From half of the flush limit on LRU flushing is not what decides, at once."""
    assert not busy(Caution(), 0.0, 900.0, 100.0, age_ratio=0.6).lru.on
    assert not busy(busy(Caution(), 0.0, 900.0, 100.0), 1.0, 900.0, 100.0, age_ratio=0.5).lru.on


def test_waits_for_a_free_page_press_while_they_last_and_fade() -> None:
    """A minute of waits presses the set-point far down; it comes back within minutes, not at once."""
    state, seen = Caution(), []
    for second in range(1200):
        state, _ = look(state, float(second), free_page_waits=min(second, 120) * 20)
        seen.append(min(1.0, state.bound(0.9)))

    assert seen[60] < 0.7
    assert seen[120] < 0.55
    assert seen[180] < 0.65
    assert seen[-1] > 0.95
    assert max(abs(a - b) for a, b in itertools.pairwise(seen)) < 0.015


def test_a_single_wait_bounds_nothing_and_many_fade_to_nothing_within_half_an_hour() -> None:
    """However high a set-point is wanted, what hardly presses does not bound it; on the way nothing steps."""
    wanted = 1.05
    single, _ = look(look(Caution(), 0.0)[0], 1.0, free_page_waits=1)
    pressed, seen = Caution(), []
    for second in range(1800):
        pressed, _ = look(pressed, float(second), free_page_waits=min(second, 120) * 200)
        seen.append(min(wanted, pressed.bound(wanted)))

    assert single.bound(wanted) == math.inf
    assert pressed.bound(wanted) == math.inf
    assert min(seen) < 0.55
    assert max(abs(a - b) for a, b in itertools.pairwise(seen)) < 0.015


def test_a_counter_that_went_back_is_no_wait() -> None:
    """After a restart the counter begins anew; that presses nothing."""
    state, _ = look(Caution(), 0.0, free_page_waits=1_000_000)
    state, _ = look(state, 1.0, free_page_waits=0)

    assert state.pressure == 0.0


def test_a_device_that_is_the_limit_is_said_once_and_taken_back() -> None:
    """Lost when the law asks for all of M and gets half for half a minute; back when that lasts as long."""
    state, said = Caution(), []
    for second in range(200):
        poor = second < 100 or 120 <= second < 125
        found = estimate(authority=0.5 if poor else 1.0)
        state, codes = look(state, float(second), found, flush_requested=450)
        said += [(second, code) for code in codes]

    assert [code for _, code in said] == ["authority_lost", "authority_back"]
    assert said[0][0] == 30
    assert said[1][0] == 155


def test_a_law_that_asks_for_little_loses_no_authority() -> None:
    """Below the set-point, few pages flushed of few asked for says nothing about the device."""
    said = lasting(2, estimate(authority=0.5), flush_requested=200)

    assert said == []


def test_redo_comes_free_again() -> None:
    """When the other consumer is done, that is said as well."""
    state, said = Caution(), []
    for second in range(60):
        size = REDO if second < 30 else sample().checkpoint_age
        state, codes = look(state, float(second), redo_logical_size=size)
        said += codes

    assert said == ["redo_held", "redo_released"]


def test_redo_that_wavers_where_it_is_held_is_said_once() -> None:
    """A tenth of the redo log that another consumer holds is held until clearly less than that is."""
    state, said = Caution(), []
    for second, share in enumerate([0.105] * 20 + ([0.095] * 20 + [0.105] * 20) * 5 + [0.095] * 60):
        beyond = sample().checkpoint_age + round(share * REDO)
        state, codes = look(state, float(second), redo_logical_size=beyond)
        said += codes
    assert said == ["redo_held"]

    for second in range(500, 520):
        beyond = sample().checkpoint_age + round(0.07 * REDO)
        state, codes = look(state, float(second), redo_logical_size=beyond)
        said += codes
    assert said == ["redo_held", "redo_released"]
