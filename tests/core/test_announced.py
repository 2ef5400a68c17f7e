"""What is said about the set-point's bounds: once, while it lasts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tuner.core.setpoint.announced import OVER_SECONDS, SAID, Announced, drop, update
from tuner.core.setpoint.budgets import Budget


def follow(
    sources: list[str],
    budgets: list[float] | None = None,
    *,
    age_ratio: float = 0.6,
    predicted: float = 14.0,
    baseline: float = 0.0,
) -> list[str]:
    """Return the codes said over so many seconds, one deciding source a second."""
    state, said = Announced(), []
    for second, source in enumerate(sources):
        bound = budgets[second] if budgets else 0.9
        state, events = update(
            state,
            {"recovery": Budget(bound, predicted=predicted, allowed=1.0, least=1.5, baseline=baseline)},
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
    turns = ["role", "alarm"] * 60 + ["alarm"] * 60

    assert follow(turns) == ["bound_role", "unbound_role"]


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


@pytest.mark.parametrize("ratio", [-0.5, 0.1])
def test_less_redo_is_advised_only_where_it_helps(ratio: float) -> None:
    """A budget that no age keeps, as a recovery's start takes longer, no redo log keeps either."""
    budget = Budget(ratio, predicted=14.0, allowed=10.0, least=15.0)

    assert ("of this redo capacity" in budget.right("recovery", set_point=0.9)) is (ratio > 0.0)


def test_what_would_keep_a_budget_is_said_with_its_cost() -> None:
    """With b = 0.5 the lowest set-point writes the square root of the ratio of ages as many pages."""
    budget = Budget(0.1, predicted=14.0, allowed=10.0, least=14.2, exponent=0.5)
    said = budget.right("recovery", set_point=0.9)

    assert (
        "max_recovery_seconds = 15 or more, at about 1.7 times the page writes of the set-point 0.90" in said
    )
    assert "at most 39 % of this redo capacity keeps this one, at about 2.6 times" in said


def test_a_budget_below_the_baseline_is_said_not_to_be_kept_once() -> None:
    """It bounds the set-point no lower than the settings found hold the age, and says so; not while kept."""
    lasting = ["recovery"] * 400

    assert follow(lasting, [0.5] * 400, baseline=0.7).count("budget_not_kept") == 1
    assert "budget_not_kept" not in follow(lasting, [0.5] * 400, baseline=0.4)
    budget = Budget(0.5, predicted=14.0, allowed=10.0, least=9.0, baseline=0.7, there=12.5, exponent=0.5)
    said = budget.right("recovery", set_point=0.7)
    assert "max_recovery_seconds = 13 or more is kept there" in said
    assert "set_point = 0.5 keeps this one, at about 1.2 times the page writes" in said


def test_a_budget_at_the_edge_of_reach_does_not_take_turns() -> None:
    """One that wavers around what the lowest set-point keeps bounds on; dropped, it stays so until far in."""

    def dropped(leasts: list[float]) -> list[bool]:
        state, seen = Announced(), []
        for second, least in enumerate(leasts):
            ratio = 0.4 if least <= 10.0 else 0.2
            one = Budget(ratio, predicted=14.0, allowed=10.0, least=least)
            state = drop(state, {"recovery": one}, now=float(second))
            seen.append(dict(state.dropped)["recovery"].on)
        return seen

    assert not any(dropped([10.5, 9.5] * 500))
    assert dropped([10.5] * 400)[-1]
    assert dropped([25.0])[0], "far out of reach is dropped at once"
    assert all(dropped([25.0, *([9.5] * 1000)]))
    assert not dropped([25.0, *([7.5] * 400)])[-1]


def test_where_no_m_moves_the_age_no_set_point_is_advised() -> None:
    """A budget's way out there is a longer one or less redo."""
    budget = Budget(0.5, predicted=14.0, allowed=10.0, least=9.0, baseline=1.0, there=20.1, authority=False)
    said = budget.right("recovery", set_point=1.0)

    assert "keeps max_recovery_seconds = 21 or more; at most 51 % of this redo capacity" in said
    assert "set_point =" not in said


@given(st.lists(st.sampled_from(sorted(SAID | {"alarm", "headroom"})), max_size=200))
def test_every_end_follows_a_beginning(sources: list[str]) -> None:
    """Whatever decides in whatever order, beginnings and ends of each bound take turns."""
    said = follow([*sources, *["alarm"] * (int(OVER_SECONDS) + 1)])

    for name in SAID:
        own = [code for code in said if code.endswith(f"bound_{name}")]
        assert own == [f"bound_{name}", f"unbound_{name}"] * (len(own) // 2)
