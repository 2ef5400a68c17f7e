"""The model gate: no write before the server's own percentage has matched, a hold when it stops to."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from policies.flushlaw import LEGACY
from policies.registry import LAWS
from tests.factory import LIMITS, A, estimate, percentage, sample
from tuner.core.gate import MISMATCHES, NEEDED, NEEDED_QUIET, REMEMBERED, GateState, forget, update
from tuner.records import Capacity

LOW_WATER = 0.1 * LIMITS.stall_point
QUIET = {"age": 0.5 * LOW_WATER}
WRONG = {"flush_percentage": 9}


class Compared:
    """A gate that was shown readings, one a second.

    Attributes:
        state: after the last.
    """

    def __init__(self, count: int = 0, **shown: Any) -> None:  # noqa: ANN401 - any field
        self.state = GateState()
        self._second = 0.0
        self.go_on(count, **shown)

    def go_on(self, count: int, **shown: Any) -> GateState:  # noqa: ANN401 - any field
        """Compare so many more readings."""
        for _ in range(count):
            last, now = sample(self._second, **shown), sample(self._second + 1.0, **shown)
            self.state = update(self.state, LEGACY, last, now, estimate())
            self._second += 10.0
        return self.state


def test_three_telling_matches_in_a_row_let_the_first_write_through() -> None:
    """Two readings that match are not enough, three are; a mismatch starts the count again."""
    gate = Compared(NEEDED - 1)
    assert not gate.go_on(1, **WRONG).verified
    assert not gate.go_on(NEEDED - 1).verified
    assert gate.go_on(1).verified
    assert forget(gate.state) == GateState(expected=gate.state.expected)


def test_zero_tells_little() -> None:
    """Below the low-water mark the server says zero whatever its law: only a minute of it begins a loop."""
    gate = Compared(NEEDED_QUIET - 1, **QUIET)

    assert (gate.state.verified, gate.state.mismatched) == (False, False)
    assert gate.state.recent.count(True) == REMEMBERED
    assert gate.go_on(1, **QUIET).verified
    assert gate.go_on(MISMATCHES, **WRONG).mismatched


def test_zeros_between_do_not_add_up_over_a_mismatch() -> None:
    """The quiet minute is one without a reading that was wrong."""
    gate = Compared(NEEDED_QUIET - 1, **QUIET)
    gate.go_on(1, **WRONG)

    assert not gate.go_on(NEEDED_QUIET - 1, **QUIET).verified


@pytest.mark.parametrize("matching", [(), (0, 4, 8)], ids=["in a row", "a match after each three"])
def test_nine_of_twelve_wrong_readings_hold_and_eight_do_not(matching: tuple[int, ...]) -> None:
    """A law that fits a quarter of the readings is not this server's; it ends when most match again."""
    gate, wrong = Compared(REMEMBERED), 0
    for at in range(REMEMBERED):
        assert not gate.state.mismatched
        gate.go_on(1, **({} if at in matching else WRONG))
        wrong += at not in matching
        if wrong == MISMATCHES:
            break
    assert gate.state.mismatched
    gate.go_on(REMEMBERED, **WRONG)
    assert gate.go_on(MISMATCHES - 1).mismatched
    assert not gate.go_on(1).mismatched


def test_what_was_predicted_is_said() -> None:
    """The state names the percentages that the law predicts, around what the server said."""
    low, high = Compared(1).state.expected
    said = sample(1.0).flush_percentage

    assert 0 <= low <= said <= high
    assert high - low < said


def test_a_server_without_its_low_water_flushing_mismatches() -> None:
    """Zero far above the low-water mark is no match: this server's law is another one."""
    assert Compared(REMEMBERED, flush_percentage=0).state.mismatched


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
    now = replace(sample(1.0, flush_percentage=5_000), **change)

    assert update(GateState(), LEGACY, sample(0.0), now, estimate()) == GateState()


def test_the_gate_asks_nothing_of_a_law_without_authority() -> None:
    """The percentage of a server that does not flush by it proves and disproves nothing."""
    state = GateState()
    for second in range(2 * NEEDED):
        last, now = (sample(second + one, flush_percentage=288) for one in (0.0, 1.0))
        state = update(state, LAWS["soft-limit"], last, now, estimate())

    assert (state.verified, state.mismatched) == (True, False)


@given(
    ratio=st.floats(0.0, 1.1),
    pair=st.builds(lambda c, more: Capacity(c, c + more), st.integers(100, 10_000), st.integers(0, 40_000)),
    apart=st.floats(-1.4, 1.4),
)
def test_a_server_with_this_law_always_matches(ratio: float, pair: Capacity, apart: float) -> None:
    """Whatever age and settings, a percentage computed within a second and a half of our reading matches."""
    age = ratio * A
    said = percentage(pair, max(0.0, age + apart * 1e6), A, LOW_WATER)
    shown = {"io_capacity": pair.io_capacity, "io_capacity_max": pair.io_capacity_max}
    last, now = (sample(second, age=age, flush_percentage=said, **shown) for second in (0.0, 1.0))

    assert update(GateState(), LEGACY, last, now, estimate()).recent == (True,)
