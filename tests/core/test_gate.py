"""The model gate: no write before the server's own percentage has matched, a hold when it stops to."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from policies.flushlaw import LEGACY
from tests.factory import LIMITS, A, estimate, percentage, sample
from tuner.core.gate import MISMATCHES, NEEDED, NEEDED_QUIET, REMEMBERED, GateState, forget, update
from tuner.records import Capacity, Sample

LOW_WATER = 0.1 * LIMITS.stall_point


def compare(count: int, state: GateState | None = None, *, first: int = 0, **changes: Any) -> GateState:  # noqa: ANN401 - any field
    """Compare so many readings, one a second."""
    state = GateState() if state is None else state
    for second in range(first, first + count):
        last, now = sample(float(second), **changes), sample(second + 1.0, **changes)
        state = update(state, LEGACY, last, now, estimate())
    return state


def test_three_telling_matches_let_the_first_write_through() -> None:
    """Two readings that match are not enough, three are."""
    assert not compare(NEEDED - 1).verified
    assert compare(NEEDED).verified


def test_zero_tells_little() -> None:
    """Below the low-water mark the server says zero whatever its law: only a minute of it begins a loop."""
    state = compare(NEEDED_QUIET - 1, age=0.5 * LOW_WATER)

    assert not state.verified
    assert not state.mismatched
    assert state.recent.count(True) == REMEMBERED
    assert compare(1, state, first=200, age=0.5 * LOW_WATER).verified


def test_a_wrong_law_is_found_out_once_the_age_tells() -> None:
    """A loop that began on zeros holds as soon as percentages above zero are not the predicted ones."""
    state = compare(NEEDED_QUIET, age=0.5 * LOW_WATER)

    assert compare(MISMATCHES, state, first=200, flush_percentage=9).mismatched


def test_zeros_between_do_not_add_up_over_a_mismatch() -> None:
    """The quiet minute is one without a reading that was wrong."""
    state = compare(NEEDED_QUIET - 1, age=0.5 * LOW_WATER)
    state = compare(1, state, first=100, flush_percentage=9)

    assert not compare(NEEDED_QUIET - 1, state, first=200, age=0.5 * LOW_WATER).verified


def test_a_mismatch_starts_the_count_again() -> None:
    """Matches that verify come in a row."""
    state = compare(NEEDED - 1)
    state = compare(1, state, first=10, flush_percentage=9)
    state = compare(NEEDED - 1, state, first=20)

    assert not state.verified
    assert compare(1, state, first=30).verified


def test_one_odd_reading_is_forgiven_and_a_row_of_them_is_not() -> None:
    """A verified gate mismatches after most of the last readings were wrong, and not before."""
    state = compare(REMEMBERED)
    state = compare(MISMATCHES - 1, state, first=100, flush_percentage=9)

    assert not state.mismatched
    assert compare(1, state, first=200, flush_percentage=9).mismatched


def test_nine_of_twelve_wrong_readings_hold_and_eight_do_not() -> None:
    """A law that fits a quarter of the readings is not this server's, whatever order they came in."""
    state = compare(REMEMBERED)
    wrong = (True, False, False, False) * 3
    for at, matches in enumerate(wrong[:-1]):
        state = compare(1, state, first=100 * (at + 1), **({} if matches else {"flush_percentage": 9}))

    assert state.recent.count(False) == 8
    assert not state.mismatched
    assert compare(1, state, first=2000, flush_percentage=9).mismatched


def test_a_mismatch_ends_when_most_readings_match_again() -> None:
    """The hold goes by itself, but not at the first good reading: it has some hysteresis."""
    state = compare(REMEMBERED, flush_percentage=9)
    assert state.mismatched
    few = compare(MISMATCHES - 1, state, first=100)
    assert few.mismatched

    assert not compare(1, few, first=200).mismatched


def test_what_was_predicted_is_said() -> None:
    """The state names the percentages that the law predicts, around what the server said."""
    state = compare(1)
    said = sample(1.0).flush_percentage

    low, high = state.expected
    assert 0 <= low <= said <= high
    assert high - low < said


def test_a_server_without_its_low_water_flushing_mismatches() -> None:
    """Zero far above the low-water mark is no match: this server's law is another one."""
    assert compare(REMEMBERED, flush_percentage=0).mismatched


@pytest.mark.parametrize(
    "change",
    [
        {"io_capacity_max": 900},
        {"redo_capacity": 2 * 104_857_600},
        {"resizing": True},
        {"redo_enabled": False},
        {"adaptive_flushing": False},
        {"pages_sync": 5},
        {"pages_adaptive": 1_000},
    ],
    ids=lambda change: next(iter(change)),
)
def test_readings_that_cannot_be_compared_say_nothing(change: dict[str, Any]) -> None:
    """While values change, sync flushing runs or nothing is flushed, the counter is from another moment."""
    last = sample(0.0)
    now = replace(sample(1.0, flush_percentage=5_000), **change)

    assert update(GateState(), LEGACY, last, now, estimate()) == GateState()


def test_forgetting_asks_for_proof_again() -> None:
    """After a restart of the server the gate has to be passed again."""
    assert forget(compare(NEEDED)) == GateState(expected=compare(NEEDED).expected)


@given(
    ratio=st.floats(0.0, 1.1),
    pair=st.builds(lambda c, more: Capacity(c, c + more), st.integers(100, 10_000), st.integers(0, 40_000)),
    apart=st.floats(-1.4, 1.4),
)
def test_a_server_with_this_law_always_matches(ratio: float, pair: Capacity, apart: float) -> None:
    """Whatever age and settings, a percentage computed within a second and a half of our reading matches."""
    age = ratio * A
    said = percentage(pair, max(0.0, age + apart * 1e6), A, LOW_WATER)

    def at(second: float) -> Sample:
        return sample(
            second,
            age=age,
            io_capacity=pair.io_capacity,
            io_capacity_max=pair.io_capacity_max,
            flush_percentage=said,
        )

    assert update(GateState(), LEGACY, at(0.0), at(1.0), estimate()).recent == (True,)
