"""What is said about the set-point's bounds: once, while it lasts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tuner.core.setpoint.announced import OVER_SECONDS, SAID, Announced, drop, update
from tuner.core.setpoint.budgets import Budget


def follow(sources: list[str], bounds: list[float] | None = None, **how: float) -> list[str]:
    """Return the codes said over so many seconds, one deciding source a second."""
    state, said = Announced(), []
    age_ratio = how.pop("age_ratio", 0.6)
    for second, source in enumerate(sources):
        given_ = {"predicted": 14.0, "allowed": 1.0, "least": 1.5, **how}
        state, events = update(
            state,
            {"recovery": Budget(bounds[second] if bounds else 0.9, **given_)},
            age_ratio=age_ratio,
            set_point=0.6,
            source=source,
            wished=None,
            now=float(second),
            wall=0.0,
        )
        said += [event.code for event in events]
    return said


def times(code: str, bounds: list[float], **how: float) -> int:
    """Return how often a code is said while the recovery budget decides and bounds like this."""
    return follow(["recovery"] * len(bounds), bounds, **how).count(code)


def test_a_bound_that_comes_and_goes_is_said_once_and_everyday_ones_never() -> None:
    """Two bounds that take turns begin once and end once; headroom, alarm and a person's word are no news."""
    assert follow(["role", "alarm"] * 60 + ["alarm"] * 60) == ["bound_role", "unbound_role"]
    assert follow(["headroom", "alarm", "highest", "person"] * 20) == []


@given(st.lists(st.sampled_from(sorted(SAID | {"alarm", "headroom"})), max_size=200))
def test_every_end_follows_a_beginning(sources: list[str]) -> None:
    """Whatever decides in whatever order, beginnings and ends of each bound take turns."""
    said = follow([*sources, *["alarm"] * (int(OVER_SECONDS) + 1)])

    for name in SAID:
        own = [code for code in said if code.endswith(f"bound_{name}")]
        assert own == [f"bound_{name}", f"unbound_{name}"] * (len(own) // 2)


@pytest.mark.parametrize(
    ("bounds", "how", "said"),
    [
        ([0.2] * 310 + [0.295, 0.305] * 100, {}, 1),
        ([0.1] * 290 + [0.5] * 110, {}, 0),
        ([-0.5] * 15, {"age_ratio": 0.05}, 1),
        ([-0.5] * 15, {"age_ratio": 0.31}, 1),
        ([-0.5] * 400, {"age_ratio": 0.05, "predicted": 0.5}, 0),
    ],
    ids=["at the edge", "not confirmed", "the lowest age breaks it", "nearly the lowest", "kept by it"],
)
def test_a_budget_out_of_reach_is_said_once_when_that_is_sure(
    bounds: list[float], how: dict[str, float], said: int
) -> None:
    """What five minutes do not confirm is not said, unless the lowest age breaks it: then within seconds."""
    assert times("budget_out_of_reach", bounds, **how) == said


@pytest.mark.parametrize(("baseline", "said"), [(0.7, 1), (0.4, 0)])
def test_a_budget_below_the_baseline_is_said_not_to_be_kept_once(baseline: float, said: int) -> None:
    """It bounds the set-point no lower than the settings found hold the age, and says so; not while kept."""
    assert times("budget_not_kept", [0.5] * 400, baseline=baseline) == said


@pytest.mark.parametrize(
    ("budget", "set_point", "right", "wrong"),
    [
        (
            Budget(0.1, predicted=14.0, allowed=10.0, least=14.2, exponent=0.5),
            0.9,
            ["max_recovery_seconds = 15", "1.7 times", "39 % of this redo capacity", "2.6 times"],
            "nothing",
        ),
        (Budget(-0.5, predicted=14.0, allowed=10.0, least=15.0), 0.9, [], "of this redo capacity"),
        (
            Budget(0.5, predicted=14.0, allowed=10.0, least=9.0, baseline=0.7, there=12.5, exponent=0.5),
            0.7,
            ["max_recovery_seconds = 13", "set_point = 0.5", "1.2 times"],
            "nothing",
        ),
        (
            Budget(0.5, predicted=14.0, allowed=10.0, least=9.0, baseline=1.0, there=20.1, authority=False),
            1.0,
            ["max_recovery_seconds = 21", "51 % of this redo capacity"],
            "set_point =",
        ),
    ],
    ids=["out of reach", "less redo does not help", "below the baseline", "no M moves the age"],
)
def test_what_would_keep_a_budget_is_said_with_its_cost(
    budget: Budget, set_point: float, right: list[str], wrong: str
) -> None:
    """A longer budget, less redo or a lower set-point, each only where it helps, and in page writes."""
    said = budget.right("recovery", set_point=set_point)

    assert [one for one in right if one not in said] == []
    assert wrong not in said


def test_a_budget_at_the_edge_of_reach_does_not_take_turns() -> None:
    """One that wavers around what the lowest set-point keeps bounds on; dropped, it stays so until far in."""

    def dropped(leasts: list[float]) -> list[bool]:
        state, seen = Announced(), []
        for second, least in enumerate(leasts):
            one = Budget(0.4 if least <= 10.0 else 0.2, predicted=14.0, allowed=10.0, least=least)
            state = drop(state, {"recovery": one}, now=float(second))
            seen.append(dict(state.dropped)["recovery"].on)
        return seen

    assert not any(dropped([10.5, 9.5] * 500))
    assert dropped([10.5] * 400)[-1]
    assert dropped([25.0])[0], "far out of reach is dropped at once"
    assert all(dropped([25.0, *([9.5] * 1000)]))
    assert not dropped([25.0, *([7.5] * 400)])[-1]
