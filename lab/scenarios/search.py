"""The best static setting of a scenario, found coarse to fine."""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING

from msgspec import Struct

from lab.scenarios.caps import calm
from lab.scenarios.grid import coarse, halfway, most_between, most_left, past_the_best
from lab.scenarios.progress import Progress, nobody
from lab.scenarios.runs import Runs
from lab.scenarios.static import pair, run_pair, run_static, starting_pair
from lab.scenarios.winner import throughput, winner

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from lab.scenarios.caps import Caps
    from lab.scenarios.progress import Told
    from lab.scenarios.schema import Scenario
    from lab.scenarios.trace import Outcome

PARALLEL_FROM = 5_000
"""Simulated seconds from which a second process pays for its start."""


class BestStatic(Struct, frozen=True):
    """A static setting and what it gives: M in pages/s, commits/s, pages per commit."""

    io_capacity_max: int
    throughput_mean: float
    pages_per_commit: float


class Untouched(Struct, frozen=True):
    """The C and M that the server starts with, in pages/s, and what they give where nobody changes them.

    Attributes:
        io_capacity: C, pages/s.
        io_capacity_max: M, pages/s.
        throughput_mean: commits/s.
        throughput_p1: first percentile of the commits in one second.
        age_ratio_mean: modified age over flush limit.
        checkpoint_age_max: highest checkpoint age as a share of the redo capacity.
        sync_flush_seconds: seconds in which a page was sync-flushed.
        pages_per_commit: flush-list pages written per commit.
    """

    io_capacity: int
    io_capacity_max: int
    throughput_mean: float
    throughput_p1: float
    age_ratio_mean: float
    checkpoint_age_max: float
    sync_flush_seconds: int
    pages_per_commit: float


class Search(Struct, frozen=True):
    """The winners of a search; None where no setting keeps the rules.

    Attributes:
        best: under all constraints.
        without_cap: without budgets and alarm cap.
        unconstrained: without any.
        untouched: what the server starts with.
        runs: values of M that were tried.
    """

    best: BestStatic | None
    without_cap: BestStatic | None
    unconstrained: BestStatic | None
    untouched: Untouched
    runs: int


Tried = dict[int, tuple["Outcome", ...]]
"""Values of M, pages/s, each with its outcomes by seed."""


def search(scenario: Scenario, *, ratio: int, caps: Caps, progress: Told = nobody) -> Search:
    """Return the best static settings, as ``lab.scenarios.winner`` has it.

    Args:
        scenario: what they are tried on, from the same state and with the same seed.
        ratio: k, M = k * C.
        caps: what the contender keeps to.
        progress: told how many runs are done, of how many at most.
    """
    rules: tuple[Callable[[Outcome], bool], ...] = (
        lambda outcome: calm(outcome) and caps.keep(outcome),
        calm,
        lambda _: True,
    )
    known: Tried = {}
    most = 0

    def told(done: int, seconds: float) -> None:
        tried = len(known) + done
        progress(
            Progress(
                stage="static settings",
                share=seconds / (most * scenario.seconds),
                detail=f"{tried} tried of at most {most}",
                at_least=True,
            )
        )

    workers = min(2, os.cpu_count() or 1) if scenario.seconds >= PARALLEL_FROM else 1
    with Runs(partial(run_static, scenario, ratio), workers=workers, told=told) as runs:

        def try_all(values: Sequence[int], later: int) -> None:
            nonlocal most
            most = len(known) + len(values) + later
            known.update((value, (one,)) for value, one in zip(values, runs.outcomes(values), strict=True))

        climb(scenario, known, try_all, rules=rules, ratio=ratio, at_once=workers)
    best, without_cap, unconstrained = (
        _answer(known, winner(known, accept, offered=scenario.offered)) for accept in rules
    )
    return Search(
        best=best,
        without_cap=without_cap,
        unconstrained=unconstrained,
        untouched=_untouched(scenario, ratio, known),
        runs=len(known),
    )


def climb(
    scenario: Scenario,
    known: Tried,
    try_all: Callable[[Sequence[int], int], None],
    *,
    rules: Sequence[Callable[[Outcome], bool]],
    ratio: int,
    at_once: int,
) -> None:
    """Try values of M until the winner by each rule is known.

    It climbs from the lowest M in coarse steps until throughput only falls, then looks halfway between each
    winner and its neighbours, again and again.

    Args:
        scenario: what they are tried on.
        known: what was tried, filled by ``try_all``.
        try_all: tries values of M, pages/s; told how many may be tried after them at most.
        rules: which outcomes are acceptable, by each rule.
        ratio: k, M = k * C.
        at_once: coarse steps that are tried together.
    """

    def winners() -> list[int | None]:
        return [winner(known, accept, offered=scenario.offered) for accept in rules]

    def past() -> bool:
        best = [None if one is None else throughput(known[one]) for one in winners()]
        return past_the_best([throughput(one) for one in known.values()], best)

    left = ladder = coarse(ratio)
    while left and not (known and past()):
        rungs, left = left[:at_once], left[at_once:]
        try_all(rungs, len(left) + len(rules) * most_between(ladder))
    start = starting_pair(scenario)
    alone = {start.io_capacity_max} & set(left) if start == pair(start.io_capacity_max, ratio) else set()
    while fresh := alone | halfway(known, winners(), ratio):
        alone = set()
        try_all(sorted(fresh), max(0, most_left(known, winners()) - len(fresh)))


def _untouched(scenario: Scenario, ratio: int, known: Tried) -> Untouched:
    """Return what the server starts with and gives, from the search's runs where it is among them."""
    start = starting_pair(scenario)
    tried = known.get(start.io_capacity_max) if start == pair(start.io_capacity_max, ratio) else None
    outcome = (run_pair(scenario, start) if tried is None else tried[0]).rounded()
    return Untouched(
        io_capacity=start.io_capacity,
        io_capacity_max=start.io_capacity_max,
        throughput_mean=outcome.throughput_mean,
        throughput_p1=outcome.throughput_p1,
        age_ratio_mean=outcome.age_ratio_mean,
        checkpoint_age_max=outcome.checkpoint_age_max,
        sync_flush_seconds=outcome.sync_flush_seconds,
        pages_per_commit=outcome.pages_per_commit,
    )


def _answer(known: Tried, found: int | None) -> BestStatic | None:
    """Return a winner as it is printed."""
    if found is None:
        return None
    outcome = known[found][0].rounded()
    return BestStatic(found, outcome.throughput_mean, outcome.pages_per_commit)
