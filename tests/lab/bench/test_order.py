"""The order of a bench is drawn, repeatable, and complete."""

from __future__ import annotations

from collections import Counter

import pytest

from lab.bench.order import Turn, chosen, to_do, turns
from lab.bench.plan import Plan, PlanError, Suite

FIELD = ("default", "2000/4000", "ours", "sync")


def test_every_block_has_every_contender_once_in_an_order_of_its_own() -> None:
    """Nobody gains from a fixed place: orders differ between blocks, and each is complete."""
    order = turns(Plan(contenders=FIELD, blocks=12), seed=3)
    counted = Counter((turn.block, turn.contender.name) for turn in order)
    assert set(counted.values()) == {1}
    assert len(counted) == 12 * len(FIELD)
    first = {turn.contender.name for turn in order if turn.position == 1}
    assert len(first) > 1


def test_the_seed_alone_decides_the_order() -> None:
    """A bench that goes on after an interruption has the order that it began with."""
    plan = Plan(contenders=FIELD, blocks=5)
    assert turns(plan, seed=3) == turns(plan, seed=3)
    assert turns(plan, seed=3) != turns(plan, seed=4)


def test_who_cannot_run_leaves_the_others_where_they_were() -> None:
    """A contender that a server does not know changes nobody else's place."""
    plan = Plan(contenders=FIELD, blocks=3)
    whole = turns(plan, seed=1)
    assert turns(plan, seed=1, absent=["sync"]) == [one for one in whole if one.contender.name != "sync"]


def test_a_variant_that_a_suite_lacks_is_refused_with_those_it_has() -> None:
    """Nobody runs the wrong plan for hours because of a misspelt name."""
    suite = Suite(name="mine", about="Mine.", plans=(Plan(variant="slow disk"), Plan(variant="fast disk")))
    assert chosen(suite, ["fast disk", "slow disk"]) == chosen(suite, []) == suite.plans
    assert chosen(suite, ["fast disk"]) == suite.plans[1:]
    with pytest.raises(PlanError, match=r"--variant fast: .* there are 'slow disk', 'fast disk'"):
        chosen(suite, ["fast"])
    with pytest.raises(PlanError, match="it has none, so leave --variant out"):
        chosen(Suite(name="quick", about="", plans=(Plan(),)), ["fast"])


def test_finished_rows_are_not_repeated() -> None:
    """What is done is left out of what is to do; the rest keeps its order."""
    order = turns(Plan(contenders=FIELD, blocks=2), seed=1)
    done: set[Turn] = set(order[:3])
    assert to_do(order, done.__contains__) == order[3:]
