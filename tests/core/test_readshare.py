"""The share of reads in the load: what is counted for it, and what makes it unknown."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from policies.suggestions import NEAR, distance
from tests.core.course import GOOD, Course
from tests.factory import sample
from tuner.core.estimate.readshare import Statements, counted
from tuner.core.trials.engine import CONTEXT_SECONDS
from tuner.records import Sample

COUNTS = st.none() | st.integers(0, 2**64)


def reading(second: float, selects: int | None, changes: int | None) -> Sample:
    """Return a reading with these counts."""
    return sample(second, select_statements=selects, change_statements=changes)


def after(*readings: Sample, state: Statements | None = None) -> Statements:
    """Return what is known after these readings."""
    found = Statements() if state is None else state
    for one in readings:
        found = counted(found, one, weight=0.1)
    return found


KNOWN = after(reading(0.0, 1000, 500), reading(1.0, 1900, 600))
"""Nine reads to a change; the counters at 1900 and 600."""


def test_the_share_is_that_of_the_selects_in_all_that_read_or_change_rows() -> None:
    """Nine SELECT to one change is 0.9; none at all is 0; one reading tells nothing."""
    assert KNOWN.read_share == pytest.approx(0.9)
    assert after(reading(0.0, 1000, 500), reading(1.0, 1000, 900)).read_share == 0.0
    assert after(reading(0.0, 1000, 500)).read_share is None


@pytest.mark.parametrize(
    "odd",
    [
        {"select_statements": 10},
        {"change_statements": 10},
        {"uptime": 1.0},
        {"identity": "another"},
        {"monotonic": 0.0},
        {"monotonic": math.nan},
        {"monotonic": math.inf},
    ],
    ids=str,
)
def test_what_another_start_or_server_counted_is_not_taken_for_the_load(odd: dict[str, object]) -> None:
    """After counters that went back, a restart, or another server's answer, the share is what it was."""
    jumped = replace(reading(2.0, 5_000_000, 601), **odd)
    again = after(jumped, state=KNOWN)
    assert again.read_share == pytest.approx(0.9)

    selects, changes = jumped.select_statements or 0, jumped.change_statements or 0
    later = [
        replace(jumped, monotonic=1100.0 + s, select_statements=selects + n, change_statements=changes + n)
        for s, n in enumerate((0, 1000, 2000))
    ]
    found = after(*later, state=again).read_share
    assert found is not None
    assert 0.5 < found < 0.7


def test_a_server_that_shows_no_counts_any_more_has_no_share() -> None:
    """It is unknown, not what it was at last, and is found anew when the counts are back."""
    gone = after(reading(2.0, None, 700), state=KNOWN)
    back = after(reading(3.0, 3000, 800), state=gone)

    assert gone.read_share is back.read_share is None
    assert after(reading(4.0, 3100, 900), state=back).read_share == pytest.approx(0.5)


@given(
    st.lists(
        st.tuples(COUNTS, COUNTS, st.floats(0.0, 1e4), st.floats(allow_nan=True, allow_infinity=True)),
        min_size=1,
        max_size=30,
    )
)
def test_whatever_is_counted_the_share_is_a_share(
    counts: list[tuple[int | None, int | None, float, float]],
) -> None:
    """No reading makes it anything but unknown, or a number from 0 to 1."""
    state = Statements()
    for selects, changes, uptime, at in counts:
        state = after(replace(reading(0.0, selects, changes), uptime=uptime, monotonic=at), state=state)
        assert state.read_share is None or 0.0 <= state.read_share <= 1.0


@pytest.mark.parametrize("share", [0.0, 0.95, None])
def test_the_context_has_the_share_of_reads(share: float | None) -> None:
    """An optimiser sees it as it sees redo rate and concurrency; where it is unknown, as unknown."""
    context = Course(share=share).step(100).state.context

    assert context is not None
    assert context.read_share == (None if share is None else pytest.approx(share, abs=1e-3))


def test_it_follows_the_load_but_not_a_backup() -> None:
    """A load that turns to reading is half way there after a time constant; a backup's do not count."""
    course = Course(share=0.1).step(100)
    course.share = 0.999
    course.step(20, learns=False, bars="going on: backup")
    course.share = 0.1
    course.step(3)
    assert course.state.averages.statements.read_share == pytest.approx(0.1, abs=1e-3)

    course.share = 0.6
    course.step(round(CONTEXT_SECONDS / 10.0))
    half_way = course.state.averages.statements.read_share
    assert half_way is not None
    assert 0.3 < half_way < 0.55
    assert course.step(200).state.averages.statements.read_share == pytest.approx(0.6, abs=0.01)


def test_what_won_under_many_writes_is_not_in_use_under_many_reads() -> None:
    """Another share of reads is another load; with the first one the suggestion is back."""
    course = Course(rows=1.02, wave=0.003, share=0.2).ended()
    assert course.state.in_force == GOOD
    won = course.state.evidence.wins[0].context
    course.share = 0.9
    course.step(200)

    assert course.state.in_force is None
    assert course.codes()[-1] == "suggestion_dropped"
    assert course.state.context is not None
    assert distance(course.state.context, won) > NEAR
    course.share = 0.2
    assert course.step(200).codes()[-1] == "suggestion_used"
