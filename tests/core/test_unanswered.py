"""An age that does not answer to M: noticed, left alone at the best M, and tried again ever more seldom."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from tests.bench import Bench
from tests.factory import A, estimate, sample
from tuner.core.estimate.unanswered import (
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
USUAL = Circumstances(set_point=SET_POINT, lru_share=0.0, lru_rules=False, counts=True)
FORETELLS: Estimate = estimate(age_ratio=0.3, modified_age=0.3 * A, demand=400.0, flush_rate=200.0)
"""Half of the demand is flushed: by the flush law the age grows by half of R, which is 1 MB/s."""

TELLING = round(0.1 * A / 5e5) + 1
"""Seconds in which the law foretells a tenth of the flush limit."""


class Lived:
    """What is remembered of a server whose age grows as it is told to, second by second.

    Attributes:
        state: after the last.
    """

    def __init__(self, seconds: int = 0, **how: object) -> None:
        self.state, self._second = Unanswered(), 0
        self.go_on(seconds, **how)  # type: ignore[arg-type] # what follows

    def go_on(
        self,
        seconds: int,
        *,
        grows: float = 0.0,
        beside: Circumstances = USUAL,
        found: Estimate = FORETELLS,
        m: int = 450,
    ) -> Unanswered:
        """Live so many seconds in which the age grows by so many bytes a second."""
        for second in range(seconds):
            age = found.modified_age + grows * second
            read = sample(float(self._second), age=age, io_capacity=m // 2, io_capacity_max=m)
            shown, now = replace(found, modified_age=age), 1000.0 + self._second
            self.state = follow(self.state, read, shown, beside, now=now)
            self._second += 1
        return self.state

    def sleep(self) -> None:
        """Go to where the rest is over."""
        assert self.state.until is not None
        self._second = round(self.state.until - 1000.0) + 1


def test_an_age_that_twice_does_not_grow_as_foretold_lets_m_rest() -> None:
    """Once may be chance; after the second time M is moved for nothing no more."""
    lived = Lived(1, beside=USUAL._replace(counts=False))

    assert lived.go_on(TELLING + 2).until is None
    assert lived.go_on(TELLING + 2).until is not None


@pytest.mark.parametrize(
    ("found", "grows", "counts"),
    [
        (FORETELLS, 5e5, True),
        (replace(FORETELLS, flush_rate=390.0), 0.0, True),
        (replace(FORETELLS, age_ratio=SET_POINT - 0.1), 0.0, True),
        (replace(FORETELLS, redo_rate=0.0), 0.0, True),
        (FORETELLS, 0.0, False),
    ],
    ids=["it grows", "nothing is foretold", "it has arrived", "no load", "not the policy's own M"],
)
def test_an_age_that_answers_is_never_left_alone(found: Estimate, grows: float, *, counts: bool) -> None:
    """Where the age does what the law foretells, or nothing of the policy's is foretold, there is no rest."""
    lived = Lived(1200, found=found, grows=grows, beside=USUAL._replace(counts=counts))

    assert lived.state.until is None


def test_lru_flushing_that_does_the_writing_is_known_at_once() -> None:
    """Where the pool is short of free pages nobody has to be shown twice, and the reason is said."""
    rests = Lived(2, beside=USUAL._replace(lru_rules=True, lru_share=0.7)).state

    assert rests.until is not None
    assert "short of free pages" in rests.why


def test_each_rest_is_twice_as_long_as_the_last_until_four_hours() -> None:
    """What did not answer for hours is not asked every few minutes: 20 min, 40, 80, and so on.

    An age that answers after a rest is followed again: the next rest would be as short as the first.
    """
    lived, rests = Lived(), []
    for _ in range(6):
        while lived.state.until is None:
            lived.go_on(1)
        rests.append(lived.state.rest)
        lived.sleep()
        lived.go_on(1)
    doubled = [min(LONGEST_REST_SECONDS, FIRST_REST_SECONDS * 2**number) for number in range(6)]

    assert rests == doubled
    assert doubled[-1] == LONGEST_REST_SECONDS
    after = lived.go_on(300, grows=5e5)
    assert (after.until, after.rest) == (None, 0.0)


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
    lived = Lived(120, found=replace(FORETELLS, row_rate=3_000.0))
    state = lived.go_on(round(SHOWN_SECONDS) + 100, found=replace(FORETELLS, row_rate=1_000.0), m=1_000)

    rows = {one.io_capacity_max: one.rows for one in state.seen}
    assert rows == {450: pytest.approx(3_000.0), 1_000: pytest.approx(1_000.0)}
    assert state.best == 450


def test_lru_flushing_holds_nothing(bench: Bench) -> None:
    """In a pool short of free pages the loop stays in control: no hold, and no park."""
    bench.server.lru_rate = 9e4
    bench.server.oldest = bench.server.lsn - 0.2 * A
    seen = len(bench.records)
    bench.turns(300)

    assert bench.state.caution.lru_share > 0.5
    assert not any(one.holds for one in bench.records[seen:])
    assert DecisionKind.PARK not in bench.wrote(since=seen)
