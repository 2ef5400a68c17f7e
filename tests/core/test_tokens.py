"""What the policy's own changes are paid from."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.bench import Bench
from tuner.core.writes.tokens import HOUR, TokenBucket, depth

BUDGET = 60


def spent(times: list[float], budget: int = BUDGET) -> TokenBucket:
    """Return a bucket after changes at these times."""
    tokens = TokenBucket()
    for now in times:
        tokens = tokens.take(now=now, budget=budget)
    return tokens


def test_changes_in_quick_succession_lead_to_saving() -> None:
    """A third of the hour's changes may come at once; who has spent them saves until they are back."""
    tokens = spent([10.0 * one for one in range(25)])
    full = 240.0 + depth(BUDGET) * HOUR / BUDGET

    assert not spent([10.0 * one for one in range(15)]).is_exhausted(now=150.0, budget=BUDGET)
    assert [tokens.is_exhausted(now=at, budget=BUDGET) for at in (241.0, full - 1.0, full + 1.0)] == [1, 1, 0]


@given(st.integers(2, 3600), st.integers(10, 100))
def test_an_even_pace_never_leads_to_saving(budget: int, count: int) -> None:
    """As many changes an hour as are allowed, one after the other, never empty a bucket that holds two."""
    tokens = spent([one * HOUR / budget for one in range(count)], budget)

    assert depth(budget) < 2.0 or not tokens.exhausted


@given(st.integers(1, 3600), st.lists(st.floats(0.0, 7200.0), max_size=100))
def test_it_is_never_overdrawn_nor_overfull(budget: int, times: list[float]) -> None:
    """There are between no changes in it and as many as it holds, whatever was spent."""
    tokens = spent(sorted(times), budget)

    assert 0 <= tokens.tokens(now=max([0.0, *times]), budget=budget) <= depth(budget)


def test_a_reader_is_told_that_changes_are_saved(bench: Bench) -> None:
    """While the policy saves, the reason of a decision says so."""
    tokens = spent([bench.record.tick.now] * 20)
    bench.state = replace(bench.state, writes=replace(bench.state.writes, tokens=tokens))

    assert "saving" in {bench.turn().decision.reason for _ in range(60)}
