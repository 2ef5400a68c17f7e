"""The ledger of dirty pages by redo position."""

from __future__ import annotations

from itertools import accumulate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.factory import A, sample
from tuner.core.estimate.tail import KNOTS, Ledger, Tail

LIMIT = 1e8
"""Flush limit of these tests, bytes: a knot lies at least 625,000 bytes from the last but one."""

STEPS = st.lists(st.tuples(st.integers(1, 3_000_000), st.integers(0, 5_000)), min_size=1, max_size=120)
GROWING = st.lists(st.tuples(st.integers(1_000, 3_000_000), st.integers(1, 5_000)), min_size=2, max_size=60)


def filled(steps: list[tuple[int, int]], *, residence: float = 1e18) -> Ledger:
    """Return a ledger after these pairs of redo bytes and new pages, from LSN 0."""
    ledger = Ledger().add(lsn=0.0, new_pages=0.0, oldest=0.0, flush_limit=LIMIT)
    lsn = 0.0
    for redo, pages in steps:
        lsn += redo
        ledger = ledger.add(lsn=lsn, new_pages=pages, oldest=max(0.0, lsn - residence), flush_limit=LIMIT)
    return ledger


@given(STEPS)
def test_no_page_is_lost_or_invented(steps: list[tuple[int, int]]) -> None:
    """At every knot that is kept, the cumulated pages are those really dirtied up to there."""
    ledger = filled(steps)
    redo, pages = (list(accumulate((one[part] for one in steps), initial=0)) for part in (0, 1))
    truth = dict(zip(redo, pages, strict=True))

    assert all(pages == truth[round(lsn)] for lsn, pages in zip(ledger.lsns, ledger.pages, strict=True))
    assert ledger.between(ledger.lsns[0], redo[-1]) == truth[redo[-1]] - truth[round(ledger.lsns[0])]


@given(steps=STEPS, cut=st.floats(0.0, 1.0), other=st.floats(0.0, 1.0))
def test_parts_add_up(steps: list[tuple[int, int]], cut: float, other: float) -> None:
    """Cutting a stretch of redo anywhere, the parts' pages are the whole's."""
    ledger = filled(steps)
    end = ledger.lsns[-1]
    low, high = sorted((cut * end, other * end))
    parts = ledger.between(0.0, low) + ledger.between(low, high) + ledger.between(high, end)

    assert parts == pytest.approx(ledger.between(0.0, end), abs=1e-6)
    assert ledger.between(high, low) == 0.0 or high == low


@given(steps=GROWING, start=st.floats(0.0, 1.0), share=st.floats(0.0, 1.0))
def test_pages_and_positions_are_each_others_inverse(
    steps: list[tuple[int, int]], start: float, share: float
) -> None:
    """Flushing the pages between two positions brings the tail from the one to the other."""
    ledger = filled(steps)
    end = ledger.lsns[-1]
    tail = start * end
    target = tail + share * (end - tail)
    some = share * ledger.between(tail, end)

    assert ledger.after(tail, ledger.between(tail, target)) == pytest.approx(target, rel=1e-6, abs=1.0)
    assert ledger.between(tail, ledger.after(tail, some)) == pytest.approx(some, rel=1e-6, abs=1e-3)


@given(steps=STEPS, pages=st.floats(0.0, 1e9), start=st.floats(-1.0, 2.0))
def test_the_tail_never_goes_back_or_past_the_end(
    steps: list[tuple[int, int]], pages: float, start: float
) -> None:
    """However many pages are flushed, the tail stays between where it was and the newest position."""
    ledger = filled(steps)
    end = ledger.lsns[-1]
    tail = min(end, start * end)

    assert tail <= ledger.after(tail, pages) <= end


@given(st.lists(st.sampled_from([0, 1, 1_000, 400_000, 700_000, 40_000_000]), max_size=30))
def test_size_is_bounded(pattern: list[int]) -> None:
    """Neither an idle server nor one whose tail never moves makes the ledger grow without end."""
    for residence in (0.0, 1e8, 1e18):
        ledger = filled([(redo, 1) for redo in pattern] * 40, residence=residence)

        assert len(ledger.lsns) == len(ledger.pages) <= 2 * KNOTS + KNOTS // 4 + 1


def test_a_long_run_keeps_the_whole_age() -> None:
    """After a long time the ledger still reaches back to a tail that is a whole flush limit old."""
    ledger = filled([(100_000, 40)] * 5_000, residence=LIMIT)
    end = ledger.lsns[-1]

    assert ledger.covers(end - LIMIT)
    assert ledger.between(end - LIMIT, end) == pytest.approx(LIMIT / 100_000 * 40, rel=0.01)


def test_what_is_not_covered_is_known() -> None:
    """A fresh ledger says that it does not reach back, and an empty one answers nothing."""
    fresh, empty = Ledger().add(lsn=1e9, new_pages=0.0, oldest=5e8, flush_limit=LIMIT), Ledger()

    assert (fresh.covers(5e8), fresh.covers(1e9), empty.covers(0.0)) == (False, True, False)
    assert (empty.between(0.0, 1e9), empty.after(7.0, 100.0)) == (0.0, 7.0)


def test_pages_that_vanish_undo_no_earlier_ones() -> None:
    """A dirty list that shrank by a dropped table takes no pages out of the ledger."""
    ledger = filled([(1_000_000, 500)]).add(lsn=2e6, new_pages=-9_999.0, oldest=0.0, flush_limit=LIMIT)

    assert ledger.between(0.0, 2e6) == 500.0


@given(steps=STEPS, share=st.floats(-0.5, 1.5))
def test_what_is_taken_back_is_the_newest(steps: list[tuple[int, int]], share: float) -> None:
    """The older pages stay where they were; no more are taken back than there are, and none are added."""
    ledger = filled(steps)
    known = ledger.between(0.0, ledger.lsns[-1])
    left = ledger.without(share * known)
    kept = (1.0 - min(1.0, max(0.0, share))) * known

    for lsn in ledger.lsns:
        assert left.between(0.0, lsn) == pytest.approx(min(ledger.between(0.0, lsn), kept), abs=1e-6)
    assert Ledger().without(10.0) == Ledger()


def test_a_tail_that_one_page_held_has_no_more_pages_than_are_dirty() -> None:
    """Pages flushed from elsewhere while the oldest one stayed make no tail of many times what is dirty."""
    held = sample(age=0.6 * A, pages_dirty=4_500)

    found = Tail().reckon_density(held, pages=4_000, passed=round(A / 100))

    assert found.density * 0.1 * A <= 2 * held.pages_dirty
