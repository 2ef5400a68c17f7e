"""Which plans and rows are asked for, in which order, and which of them are still to do; pure."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, NamedTuple

from lab.bench.contenders import Contender, parse_contender
from lab.bench.plan import PlanError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from lab.bench.plan import Plan, Suite


class Turn(NamedTuple):
    """One row to be: which block, at which place in it, and who."""

    block: int
    position: int
    contender: Contender


def chosen(suite: Suite, variants: Sequence[str]) -> tuple[Plan, ...]:
    """Return the plans of these variants in the suite's own order, all of them where none is named.

    Raises:
        PlanError: the suite has no variant of a name.
    """
    names = [plan.variant for plan in suite.plans]
    for wanted in variants:
        if wanted not in names:
            there = ", ".join(repr(name) for name in names if name)
            raise PlanError(
                f"--variant {wanted}: the suite {suite.name} has no such variant; "
                + (f"there are {there}" if there else "it has none, so leave --variant out")
            )
    return tuple(plan for plan in suite.plans if not variants or plan.variant in variants)


def turns(plan: Plan, seed: int, absent: Sequence[str] = ()) -> list[Turn]:
    """Return every row of a plan's blocks, each block in an order of its own that the seed gives.

    Args:
        plan: what is compared.
        seed: the same seed gives the same order.
        absent: names of contenders that cannot run on this server.
    """
    dice = random.Random(f"{seed} {plan.variant}")  # noqa: S311 - an order that must be repeatable is no secret
    field = [parse_contender(word) for word in plan.contenders]
    order: list[Turn] = []
    for block in range(1, plan.blocks + 1):
        drawn = dice.sample(field, len(field))
        order += [
            Turn(block, position, contender)
            for position, contender in enumerate(drawn, 1)
            if contender.name not in absent
        ]
    return order


def to_do(order: Sequence[Turn], done: Callable[[Turn], bool]) -> list[Turn]:
    """Return the rows that are not finished, in order."""
    return [turn for turn in order if not done(turn)]
