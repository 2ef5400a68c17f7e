"""An age that does not answer to M: noticed, left alone at the best M, and tried again ever more seldom."""

from __future__ import annotations

import itertools

import pytest
from msgspec.structs import replace

from tests.bench import Bench
from tests.factory import A, estimate, sample
from tuner.core.unanswered import (
    FIRST_REST_SECONDS,
    LONGEST_REST_SECONDS,
    SHOWN_SECONDS,
    Circumstances,
    Seen,
    Unanswered,
    follow,
)
from tuner.records import DecisionKind, Estimate

SET_POINT = 0.8
BESIDE = Circumstances(set_point=SET_POINT, lru_share=0.0, lru_rules=False, counts=True)
FORETELLS: Estimate = estimate(age_ratio=0.3, modified_age=0.3 * A, demand=400.0, flush_rate=200.0)
"""Half of the demand is flushed: by the flush law the age grows by half of R, which is 1 MB/s."""


def live(
    state: Unanswered,
    seconds: int,
    *,
    begin: int = 0,
    grows: float = 0.0,
    beside: Circumstances = BESIDE,
    found: Estimate = FORETELLS,
) -> Unanswered:
    """Live so many seconds in which the age grows by so many bytes a second; return what is remembered."""
    for second in range(begin, begin + seconds):
        age = found.modified_age + grows * (second - begin)
        shown = replace(found, modified_age=age)
        state = follow(state, sample(float(second), age=age), shown, beside, now=1000.0 + second)
    return state


def test_an_age_that_twice_does_not_grow_as_foretold_lets_m_rest() -> None:
    """Once may be chance; after the second time M is moved for nothing no more."""
    telling = round(0.1 * A / 5e5) + 1

    fresh = live(Unanswered(), 1, beside=BESIDE._replace(counts=False))

    assert live(fresh, telling + 2, begin=1).until is None
    assert live(fresh, 2 * telling + 4, begin=1).until is not None


@pytest.mark.parametrize(
    ("found", "grows"),
    [
        (FORETELLS, 5e5),
        (replace(FORETELLS, flush_rate=390.0), 0.0),
        (replace(FORETELLS, age_ratio=SET_POINT - 0.1), 0.0),
        (replace(FORETELLS, redo_rate=0.0), 0.0),
    ],
    ids=["it grows", "nothing is foretold", "it has arrived", "no load"],
)
def test_an_age_that_answers_is_never_left_alone(found: Estimate, grows: float) -> None:
    """Where the age does what the law foretells, or the law foretells nothing, there is no rest."""
    assert live(Unanswered(), 1200, found=found, grows=grows).until is None


def test_what_is_not_the_policys_own_m_proves_nothing() -> None:
    """An override, a hold or an emergency's M says nothing of how the age answers to the policy."""
    elsewhere = BESIDE._replace(counts=False)

    assert live(Unanswered(), 1200, beside=elsewhere).until is None


def test_lru_flushing_that_does_the_writing_is_known_at_once() -> None:
    """Where the pool is short of free pages nobody has to be shown twice, and the reason is said."""
    rests = live(Unanswered(), 2, beside=BESIDE._replace(lru_rules=True, lru_share=0.7))

    assert rests.until is not None
    assert "short of free pages" in rests.why


def test_each_rest_is_twice_as_long_as_the_last_until_four_hours() -> None:
    """What did not answer for hours is not asked every few minutes: 20 min, 40, 80, and so on."""
    state, rests, second = Unanswered(), [], 0
    for _ in range(6):
        while state.until is None:
            state = live(state, 1, begin=second)
            second += 1
        rests.append(state.rest)
        second = round(state.until - 1000.0) + 1
        state = live(state, 1, begin=second)
        second += 1

    assert rests[0] == FIRST_REST_SECONDS
    assert rests[-1] == LONGEST_REST_SECONDS
    assert all(later == min(LONGEST_REST_SECONDS, 2 * one) for one, later in itertools.pairwise(rests))


def test_an_age_that_answers_after_a_rest_is_followed_again() -> None:
    """A load that changed is taken up: the next rest would be as short as the first."""
    state = live(Unanswered(), 200)
    assert state.until is not None
    begin = round(state.until - 1000.0) + 1
    state = live(state, 300, begin=begin, grows=5e5)

    assert (state.until, state.rest) == (None, 0.0)


@pytest.mark.parametrize(
    ("seen", "best"),
    [
        ((Seen(500, 100.0, 900.0), Seen(2_000, 100.0, 1_000.0)), 2_000),
        ((Seen(500, 100.0, 980.0, 0.1), Seen(2_000, 100.0, 1_000.0, 0.4)), 500),
        ((Seen(500, 100.0, 1_000.0, 0.1, 40.0), Seen(2_000, 100.0, 1_000.0, 0.1, 2.0)), 2_000),
        ((Seen(500, 5.0, 9_000.0), Seen(2_000, 100.0, 1_000.0)), 2_000),
    ],
    ids=["more rows", "more even", "fewer waits", "seen too shortly"],
)
def test_m_rests_where_it_was_best(seen: tuple[Seen, ...], best: int) -> None:
    """Row changes come first; where they are as many, how even they come, and then the waits."""
    assert Unanswered(seen=seen).best == best


def test_settings_are_told_apart_by_what_they_came_to() -> None:
    """What was seen under one M is put down to that M alone, once the server has had time to show it."""
    state = live(Unanswered(), 120, beside=BESIDE, found=replace(FORETELLS, row_rate=3_000.0))
    second = 120
    for _ in range(round(SHOWN_SECONDS) + 100):
        age = 0.3 * A
        shown = replace(FORETELLS, row_rate=1_000.0)
        read = sample(float(second), age=age, io_capacity=500, io_capacity_max=1_000)
        state = follow(state, read, shown, BESIDE, now=1000.0 + second)
        second += 1
    known = {one.io_capacity_max: one.rows for one in state.seen}

    assert known == {450: pytest.approx(3_000.0), 1_000: pytest.approx(1_000.0)}
    assert state.best == 450


def test_lru_flushing_holds_nothing(bench: Bench) -> None:
    """In a pool short of free pages the loop stays in control: no hold, and no park."""
    bench.server.lru_rate = 9e4
    bench.server.oldest = bench.server.lsn - 0.2 * A
    records = [bench.turn() for _ in range(300)]

    assert bench.state.caution.lru_share > 0.5
    assert not any(one.holds for one in records)
    assert not any(one.decision.kind is DecisionKind.PARK for one in records)
