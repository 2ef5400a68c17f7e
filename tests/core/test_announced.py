"""What is said about the set-point's bounds: once, while it lasts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tuner.core.announced import OVER_SECONDS, SAID, Announced, update
from tuner.core.budgets import Budget


def follow(
    sources: list[str], budgets: list[float] | None = None, *, age_ratio: float = 0.6, predicted: float = 14.0
) -> list[str]:
    """Return the codes said over so many seconds, one deciding source a second."""
    state, said = Announced(), []
    for second, source in enumerate(sources):
        bound = budgets[second] if budgets else 0.9
        state, events = update(
            state,
            {"recovery": Budget(bound, predicted=predicted, allowed=1.0, least=15.0)},
            age_ratio=age_ratio,
            set_point=0.6,
            source=source,
            wished=None,
            now=float(second),
            wall=0.0,
        )
        said += [event.code for event in events]
    return said


def test_a_bound_that_comes_and_goes_is_said_once() -> None:
    """Two bounds that take turns every second begin once and end once."""
    turns = ["lru", "alarm"] * 60 + ["alarm"] * 60

    assert follow(turns) == ["bound_lru", "unbound_lru"]


def test_everyday_bounds_are_no_news() -> None:
    """Headroom, alarm and a person's word decide without an event."""
    assert follow(["headroom", "alarm", "highest", "person"] * 20) == []


def test_a_budget_at_the_edge_is_out_of_reach_once() -> None:
    """A budget that wavers around the lowest set-point is said once, not at every crossing."""
    wavering = [0.2] * 310 + [0.295, 0.305] * 100

    assert follow(["recovery"] * len(wavering), wavering).count("budget_out_of_reach") == 1


def test_a_budget_is_not_called_out_of_reach_at_once() -> None:
    """What five minutes do not confirm is not said: the first readings after a start exaggerate."""
    assert "budget_out_of_reach" not in follow(["recovery"] * 400, [0.1] * 290 + [0.5] * 110)


@pytest.mark.parametrize("age_ratio", [0.05, 0.2, 0.31])
def test_a_budget_that_the_lowest_age_breaks_is_out_of_reach_within_seconds(age_ratio: float) -> None:
    """At the floor or below it, a prediction beyond the budget does not wait for five minutes to be said."""
    assert "budget_out_of_reach" in follow(["recovery"] * 15, [-0.5] * 15, age_ratio=age_ratio)
    assert "budget_out_of_reach" not in follow(
        ["recovery"] * 400, [-0.5] * 400, age_ratio=0.05, predicted=0.5
    )


def test_less_redo_is_advised_only_where_it_helps() -> None:
    """No redo log is so small that a recovery takes less than its start."""
    for allowed in (1.9, 10.0):
        budget = Budget(-0.5, predicted=14.0, allowed=allowed, least=15.0, start=2.0)

        assert ("less redo capacity" in budget.right("recovery")) is (allowed > budget.start)


@given(st.lists(st.sampled_from(sorted(SAID | {"alarm", "headroom"})), max_size=200))
def test_every_end_follows_a_beginning(sources: list[str]) -> None:
    """Whatever decides in whatever order, beginnings and ends of each bound take turns."""
    said = follow([*sources, *["alarm"] * (int(OVER_SECONDS) + 1)])

    for name in SAID:
        own = [code for code in said if code.endswith(f"bound_{name}")]
        assert own == [f"bound_{name}", f"unbound_{name}"] * (len(own) // 2)
