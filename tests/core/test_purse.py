"""What the policy's own changes are paid from."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.bench import Bench
from tuner.core.purse import HOUR, Purse, holds

BUDGET = 60


def spent(times: list[float], budget: int = BUDGET) -> Purse:
    """Return a purse after changes at these times."""
    purse = Purse()
    for now in times:
        purse = purse.pay(now=now, budget=budget)
    return purse


def test_changes_in_quick_succession_lead_to_saving() -> None:
    """A third of the hour's changes may come at once; who has spent them saves until they are back."""
    purse = spent([10.0 * one for one in range(25)])
    full = 240.0 + holds(BUDGET) * HOUR / BUDGET

    assert not spent([10.0 * one for one in range(15)]).saves(now=150.0, budget=BUDGET)
    assert purse.saves(now=241.0, budget=BUDGET)
    assert purse.saves(now=full - 1.0, budget=BUDGET)
    assert not purse.saves(now=full + 1.0, budget=BUDGET)


@given(st.integers(2, 3600), st.integers(10, 100))
def test_an_even_pace_never_leads_to_saving(budget: int, count: int) -> None:
    """As many changes an hour as are allowed, one after the other, never empty a purse that holds two."""
    purse = spent([one * HOUR / budget for one in range(count)], budget)

    assert holds(budget) < 2.0 or not purse.saving


@given(st.integers(1, 3600), st.lists(st.floats(0.0, 7200.0), max_size=100))
def test_it_is_never_overdrawn_nor_overfull(budget: int, times: list[float]) -> None:
    """There are between no changes in it and as many as it holds, whatever was spent."""
    purse = spent(sorted(times), budget)

    assert 0 <= purse.left(now=max([0.0, *times]), budget=budget) <= holds(budget)


def test_a_reader_is_told_that_changes_are_saved(bench: Bench) -> None:
    """While the policy saves, the reason of a decision and its words say so, with what is left."""
    purse = spent([bench.record.tick.now] * 20)
    bench.state = replace(bench.state, writes=replace(bench.state.writes, purse=purse))
    decisions = [bench.turn().decision for _ in range(60)]

    assert "saving" in {one.reason for one in decisions}
    assert all("saves its changes, 0 at hand" in one.detail for one in decisions[:50])
