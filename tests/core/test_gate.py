"""The model gate: no write before the server's own percentage has matched, a hold when it stops to."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from policies.flushlaw import LEGACY
from policies.registry import LAWS
from tests.factory import LIMITS, A, estimate, percentage, sample
from tuner.core.gate import GateState, forget, update
from tuner.records import Capacity, Sample

LOW_WATER = 0.1 * LIMITS.stall_point
QUIET = {"age": 0.5 * LOW_WATER}
WRONG = {"flush_percentage": 9}
NEEDED, NEEDED_QUIET, MISMATCHES, REMEMBERED = 3, 60, 9, 12


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
            last, now = read(sample(self._second, **shown)), sample(self._second + 1.0, **shown)
            self.state = update(self.state, LEGACY, last, now, estimate())
            self._second += 10.0
        return self.state


def read(made: Sample) -> Sample:
    """Return a reading that shares no object with another one, as those of a server do."""
    return msgspec.json.decode(msgspec.json.encode(made), type=Sample)


def matches(said: int, *, age: float, low_water: float, before: float = 1.0, rate: float = 1e6) -> bool:
    """Return whether a percentage matches a reading of this age, at this redo rate."""
    last, now = (
        sample(second, age=age, flush_percentage=said, low_water=low_water) for second in (1.0 - before, 1.0)
    )
    (match,) = update(GateState(), LEGACY, last, now, estimate(redo_rate=rate)).recent
    return match


def test_three_telling_matches_in_a_row_let_the_first_write_through() -> None:
    """Two readings that match are not enough, three are; a mismatch starts the count again."""
    gate = Compared(NEEDED - 1)
    assert not gate.go_on(1, **WRONG).verified
    assert not gate.go_on(NEEDED - 1).verified
    assert gate.go_on(1).verified
    assert forget(gate.state) == GateState(said=9, expected=gate.state.expected)


def test_zero_tells_little() -> None:
    """Below the low-water mark the server says zero whatever its law: only a minute of it begins a loop."""
    gate = Compared(NEEDED_QUIET - 1, **QUIET)

    assert (gate.state.verified, gate.state.mismatched) == (False, False)
    assert gate.state.recent.count(True) == REMEMBERED
    assert gate.go_on(1, **QUIET).verified
    assert gate.go_on(MISMATCHES, **WRONG).mismatched


def test_zeros_between_do_not_add_up_over_a_mismatch() -> None:
    """The quiet minute is one without a reading that was wrong, or that told."""
    for between in (WRONG, {}):
        gate = Compared(NEEDED_QUIET - 1, **QUIET)
        gate.go_on(1, **between)

        assert not gate.go_on(NEEDED_QUIET - 1, **QUIET).verified
        assert gate.go_on(1, **QUIET).verified


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


@pytest.mark.parametrize(
    ("age", "low_water", "youngest", "oldest"),
    [
        (40e6, 8e6, 38.5e6, 41.5e6),
        (9e6, 8e6, 8e6, 10.5e6),
        (9.5e6, 8e6, 8e6, 11e6),
        (6.5e6, 8e6, 8e6, 8e6),
        (6.4e6, 8e6, None, None),
        (1e6, 0.0, 0.0, 2.5e6),
        (1.5e6, 0.0, 0.0, 3e6),
    ],
    ids=["far above", "around", "just above", "just reached", "below", "without one", "just beyond none"],
)
def test_a_match_lies_within_a_second_and_a_half(
    age: float, low_water: float, youngest: float | None, oldest: float | None
) -> None:
    """A percentage of any age that far from ours matches, one more or less with it, and no other does.

    Zero matches where an age below the low-water mark is among them, or none is asked for.
    """
    pair = sample().capacity
    matching = {0} if youngest is None or age - 1.5e6 < low_water else set()
    if youngest is not None and oldest is not None:
        low, high = (percentage(pair, end, A, 0.0) for end in (youngest, oldest))
        matching |= set(range(max(0, low - 1), high + 2))

    assert {said for said in range(400) if matches(said, age=age, low_water=low_water)} == matching


@pytest.mark.parametrize(("before", "rate"), [(1.0, 0.0), (1.0, 2e6), (2.0, 0.0)])
def test_the_faster_of_redo_and_tail_says_how_far_apart(before: float, rate: float) -> None:
    """An age that moves faster may have been another one when the server looked."""
    moved = 1.5 * max(1e6 * before, rate)
    high = percentage(sample().capacity, 40e6 + moved, A, 0.0) + 1

    assert matches(high, age=40e6, low_water=8e6, before=before, rate=rate)
    assert not matches(high + 1, age=40e6, low_water=8e6, before=before, rate=rate)


@pytest.mark.parametrize("age", [0.5 * LOW_WATER, 40e6])
def test_what_was_predicted_is_said(age: float) -> None:
    """The state names what the server said and what the law predicts then, also when a later one matches."""
    gate = Compared(1, age=age, flush_percentage=5_000)
    gate.go_on(1, age=2.0 * age)
    low, high = gate.state.expected
    ends = (percentage(sample().capacity, age + end, A, LOW_WATER) for end in (-1.5e6, 1.5e6))
    lowest, highest = ends

    assert gate.state.said == 5_000
    assert low == max(0, lowest - 1)
    assert high == (highest or percentage(sample().capacity, age + 1.5e6, A, 0.0)) + 1
    assert GateState().expected == (0, 0)


@pytest.mark.parametrize(
    ("law", "age", "opens"),
    [
        ("mariadb-wakes", A, True),
        ("mariadb-wakes", 1.1 * A, True),
        ("mariadb-wakes", 0.99 * A, False),
        ("legacy", A, False),
    ],
)
def test_a_page_cleaner_that_sleeps_until_the_limit_is_let_be_there(
    law: str,
    age: float,
    opens: bool,  # noqa: FBT001 - a case
) -> None:
    """At the flush limit it flushes by no percentage, which the gate cannot wait for."""
    now = sample(1.0, age=age, degraded=True)

    assert update(GateState(), LAWS[law], sample(0.0), now, estimate()).verified is opens


def test_a_server_without_its_low_water_flushing_mismatches() -> None:
    """Zero far above the low-water mark is no match: this server's law is another one."""
    assert Compared(REMEMBERED, flush_percentage=0).state.mismatched


EITHER = [
    {"degraded": True},
    {"io_capacity_max": 900},
    {"redo_capacity": 2 * 104_857_600},
    {"flush_law": "another"},
    {"pages_sync": 5},
]
NOW = [
    {"resizing": True},
    {"redo_enabled": False},
    {"adaptive_flushing": False},
    *({"pages_adaptive": pages} for pages in (900, 1_000)),
]


@pytest.mark.parametrize(
    ("before", "change"), [({}, one) for one in EITHER + NOW] + [(one, {}) for one in EITHER], ids=str
)
def test_readings_that_cannot_be_compared_say_nothing(before: dict[str, Any], change: dict[str, Any]) -> None:
    """While values change, sync flushing runs or nothing is flushed, the counter is from another moment."""
    last, now = (sample(at, flush_percentage=5_000, **it) for at, it in ((0.0, before), (1.0, change)))

    assert update(GateState(), LEGACY, last, now, estimate()) == GateState()


def test_the_gate_asks_nothing_of_a_law_by_which_m_moves_no_age() -> None:
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
