"""The flush list that the simulated server keeps."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lab.plant.flush_list import FlushList
from lab.plant.load import Stream

MOVES = st.lists(
    st.one_of(
        st.tuples(st.just("update"), st.floats(0.0, 5e4)),
        st.tuples(st.just("take"), st.floats(0.0, 5e4)),
    ),
    max_size=60,
)


@given(moves=MOVES, hot=st.floats(1.0, 1e5))
def test_pages_are_conserved(moves: list[tuple[str, float]], hot: float) -> None:
    """Every page that was dirtied is dirty still or was flushed once, and none is dirty twice."""
    flush_list = FlushList([Stream(hot, 1.0)], lsn=1000.0)
    lsn = 1000.0
    for kind, amount in moves:
        if kind == "update":
            lsn += amount * 500.0
            flush_list.update(commits=amount, lsn=lsn)
        else:
            assert flush_list.take(amount) <= amount + 1e-6
        assert flush_list.dirtied == pytest.approx(flush_list.flushed + flush_list.dirty, rel=1e-9, abs=1e-6)
        assert -1e-6 <= flush_list.dirty <= hot * (1 + 1e-9)
        assert flush_list.count_to(math.inf, math.inf) == pytest.approx(flush_list.dirty, rel=1e-9, abs=1e-6)


@given(moves=MOVES)
def test_the_oldest_modification_never_goes_back(moves: list[tuple[str, float]]) -> None:
    """The oldest modification only moves forward and never passes the current LSN."""
    flush_list = FlushList([Stream(1000.0, 1.0)], lsn=0.0)
    lsn = oldest = 0.0
    for kind, amount in moves:
        if kind == "update":
            lsn += amount * 500.0
            flush_list.update(commits=amount, lsn=lsn)
        else:
            flush_list.take(amount)
        assert oldest <= flush_list.oldest(lsn) <= lsn
        oldest = flush_list.oldest(lsn)


def test_flushing_everything_leaves_no_age() -> None:
    """A server whose pages are all flushed has its oldest modification at the current LSN."""
    flush_list = FlushList([Stream(100.0, 1.0)], lsn=0.0)
    flush_list.update(commits=300.0, lsn=150_000.0)
    taken = flush_list.take(1e9)
    assert taken == pytest.approx(flush_list.dirtied)
    assert flush_list.dirty == 0.0
    assert flush_list.oldest(150_000.0) == 150_000.0


@pytest.mark.parametrize("residence", [5.0, 20.0, 60.0])
def test_demand_falls_with_age_by_write_combining(residence: float) -> None:
    """Held at an age of T seconds, U updates/s over N hot pages cost U / (1 + U * T / N) pages/s."""
    updates, hot, step = 2000.0, 20_000.0, 0.05
    flush_list = FlushList([Stream(hot, 1.0)], lsn=0.0)
    lsn, flushed = 0.0, 0.0
    total, counted = round(20 * residence / step), round(5 * residence / step)
    for number in range(total):
        taken = flush_list.take(flush_list.count_to(lsn - residence * updates * 500.0, math.inf))
        if number >= total - counted:
            flushed += taken
        lsn += updates * step * 500.0
        flush_list.update(commits=updates * step, lsn=lsn, flushing=taken > 0.0)
    rate = flushed / (counted * step)
    assert rate == pytest.approx(updates / (1.0 + updates * residence / hot), rel=0.02)
