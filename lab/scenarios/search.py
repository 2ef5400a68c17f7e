"""Which static M is best in a scenario, searched for coarse to fine on the simulated server.

Best is the highest throughput; where the load is offered at a rate of its own, the fewest pages per commit
among the settings that serve it. A real server is searched otherwise: docs/decisions/two-searches.md.
"""

from __future__ import annotations

import itertools
import math
import os
import statistics
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial

from msgspec import Struct

from lab.plant.disk import MEGABYTE, PAGE_BYTES
from lab.plant.parameters import DiskParameters
from lab.scenarios.parallel import Workers
from lab.scenarios.progress import OnProgress, Progress, silent
from lab.scenarios.schema import Scenario
from lab.scenarios.static import pair, run_pair, run_static, starting_pair
from lab.scenarios.trace import Outcome
from tuner.records import CAPACITY_MINIMUM
from tuner.settings import Settings


class Caps(Struct, frozen=True):
    """What a contender keeps to and a static setting therefore has to.

    Attributes:
        checkpoint_age: highest checkpoint age, as a share of the redo capacity.
        recovery_seconds: longest crash recovery predicted.
        pages_dirty: most dirty pages that a shutdown may find.
    """

    checkpoint_age: float
    recovery_seconds: float = math.inf
    pages_dirty: float = math.inf

    def keep(self, outcome: Outcome) -> bool:
        """Return whether an outcome is inside them."""
        return (
            outcome.checkpoint_age_max <= self.checkpoint_age
            and outcome.recovery_seconds_max <= self.recovery_seconds
            and outcome.pages_dirty_max <= self.pages_dirty
        )


def caps_of(settings: Settings, scenario: Scenario) -> Caps:
    """Return the caps of a policy's run; a shutdown flushes at the slowest rate that the disk has."""
    rate = slowest_flush(scenario.disk, scenario.server.in_force.doublewrite_pages)
    recovery, shutdown = settings.max_recovery_seconds, settings.max_shutdown_seconds
    return Caps(
        checkpoint_age=settings.max_checkpoint_age_ratio,
        recovery_seconds=math.inf if recovery is None else recovery,
        pages_dirty=math.inf if shutdown is None else shutdown * rate,
    )


def slowest_flush(disk: DiskParameters, doublewrite_pages: int) -> float:
    """Return the pages/s that a disk takes at its slowest, all for itself and without credits.

    The least of its write operations, its bandwidth, what its latency lets through with so many pages in
    flight, and what the server can write.

    Args:
        disk: the device.
        doublewrite_pages: pages in a batch of the doublewrite file.
    """
    operations = disk.page_operations(doublewrite_pages)
    rates = [min(change.write_iops for change in disk.timeline) / operations, disk.pages_per_second]
    if disk.megabytes_per_second is not None:
        rates.append(disk.megabytes_per_second * MEGABYTE / PAGE_BYTES)
    if disk.latency > 0.0:
        rates.append(disk.queued_pages / disk.latency)
    return min(rates)


def calm(outcome: Outcome) -> bool:
    """Return whether no page was sync-flushed and the first percentile is at least half the median."""
    return outcome.sync_flush_seconds == 0 and outcome.throughput_p1 >= 0.5 * outcome.throughput_median


Tried = dict[int, tuple[Outcome, ...]]
"""Values of M, pages/s, each with its outcomes by seed."""

Rule = Callable[[Outcome], bool]
"""Tells an acceptable outcome."""

SERVED = 0.99
"""Share of the highest throughput from which on an offered load counts as served."""


def winner(tried: Mapping[int, Sequence[Outcome]], accept: Rule, *, offered: bool) -> int | None:
    """Return the M, pages/s, that did best; None when none is acceptable.

    Args:
        tried: values of M, each with its outcomes by seed.
        accept: the rule; all outcomes of a setting have to keep it.
        offered: the load is offered at a rate of its own.
    """
    fit = [one for one, outcomes in tried.items() if all(map(accept, outcomes))]
    if not fit:
        return None
    if not offered:
        return max(fit, key=lambda one: throughput(tried[one]))
    served = SERVED * max(throughput(tried[one]) for one in fit)
    serving = [one for one in fit if throughput(tried[one]) >= served]
    return min(serving, key=lambda one: statistics.fmean(run.pages_per_commit for run in tried[one]))


def throughput(outcomes: Sequence[Outcome]) -> float:
    """Return the mean over the seeds, commits/s."""
    return statistics.fmean(one.throughput_mean for one in outcomes)


HIGHEST = 20_000
COARSE_FACTOR = 1.25
FINEST_STEP = 0.005
"""Relative distance of two values of M below which looking closer is not worth a run."""

STEPS = math.ceil(math.log(HIGHEST / CAPACITY_MINIMUM) / math.log(COARSE_FACTOR))

FALLS = 3
"""So many coarse steps in a row that each lower the throughput are no accident: M has doubled by then."""

PLAINLY = 0.05
"""Share of every winner's throughput that is lost where a higher M is plainly none of them."""


def coarse(ratio: int) -> list[int]:
    """Return values of M from lowest to highest, pages/s, each by a factor above the one before."""
    return [
        _rounded(CAPACITY_MINIMUM * (HIGHEST / CAPACITY_MINIMUM) ** (i / STEPS), ratio)
        for i in range(STEPS + 1)
    ]


def past_the_best(throughputs: Sequence[float], winners: Collection[float | None]) -> bool:
    """Tell whether a still higher M is not worth a run.

    Above the best M a higher one writes pages more often and leaves the disk less for commits: throughput
    falls on and on.

    Args:
        throughputs: commits/s of the coarse values of M so far, from the lowest up.
        winners: highest of them by each rule; None for a rule that no value keeps so far.
    """
    last = throughputs[-FALLS - 1 :]
    if len(last) <= FALLS or any(later >= earlier for earlier, later in itertools.pairwise(last)):
        return False
    return all(one is not None and last[-1] < (1.0 - PLAINLY) * one for one in winners)


def halfway(tried: Collection[int], winners: Collection[int | None], ratio: int) -> set[int]:
    """Return values halfway between winners and their neighbours, pages/s; none where these are close."""
    found: set[int] = set()
    ordered = sorted(tried)
    for one in {winner for winner in winners if winner is not None}:
        place = ordered.index(one)
        for neighbour in ordered[max(0, place - 1) : place + 2]:
            if abs(math.log(neighbour / one)) > FINEST_STEP:
                found.add(_rounded(math.sqrt(one * neighbour), ratio))
    return found - set(tried)


def _rounded(value: float, ratio: int) -> int:
    """Return the next M that is a whole multiple of the ratio, where C leaves room for one."""
    return max(CAPACITY_MINIMUM, round(value / ratio) * ratio)


def climb(
    scenario: Scenario,
    known: Tried,
    try_all: Callable[[Sequence[int]], None],
    *,
    rules: Sequence[Rule],
    ratio: int,
    at_once: int,
) -> None:
    """Try values of M until the winner by each rule is known.

    It climbs from the lowest M in coarse steps until throughput only falls, then looks halfway between each
    winner and its neighbours, again and again.

    Args:
        scenario: what they are tried on.
        known: what was tried, filled by ``try_all``.
        try_all: tries values of M, pages/s.
        rules: which outcomes are acceptable, by each rule.
        ratio: k, M = k * C.
        at_once: coarse steps that are tried together.
    """

    def winners() -> list[int | None]:
        return [winner(known, accept, offered=scenario.offered) for accept in rules]

    def past() -> bool:
        best = [None if one is None else throughput(known[one]) for one in winners()]
        return past_the_best([throughput(one) for one in known.values()], best)

    left = coarse(ratio)
    while left and not (known and past()):
        rungs, left = left[:at_once], left[at_once:]
        try_all(rungs)
    start = starting_pair(scenario)
    alone = {start.io_capacity_max} & set(left) if start == pair(start.io_capacity_max, ratio) else set()
    while fresh := alone | halfway(known, winners(), ratio):
        alone = set()
        try_all(sorted(fresh))


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


PARALLEL_FROM = 5_000
"""Simulated seconds from which a second process pays for its start."""

USUAL_RUNS = 45
"""Values of M that a search for three winners usually tries."""


def search(scenario: Scenario, *, ratio: int, caps: Caps, progress: OnProgress = silent) -> Search:
    """Return the best static settings, tried from the same state and with the same seed.

    Args:
        scenario: what they are tried on.
        ratio: k, M = k * C.
        caps: what the contender keeps to.
        progress: told after each run.
    """
    rules: tuple[Rule, ...] = (lambda outcome: calm(outcome) and caps.keep(outcome), calm, lambda _: True)
    known: Tried = {}
    jobs = min(2, os.cpu_count() or 1) if scenario.seconds >= PARALLEL_FROM else 1
    with Workers(jobs) as workers:

        def try_all(values: Sequence[int]) -> None:
            found: dict[int, Outcome] = {}
            for value, one in workers.each(partial(run_static, scenario, ratio), values):
                found[value] = one
                tried = len(known) + len(found)
                share = min(0.95, tried / USUAL_RUNS)
                progress(Progress("static settings", share, f"{tried} tried", at_least=True))
            known.update((value, (found[value],)) for value in values)

        climb(scenario, known, try_all, rules=rules, ratio=ratio, at_once=jobs)
    best, without_cap, unconstrained = (
        _answer(known, winner(known, accept, offered=scenario.offered)) for accept in rules
    )
    return Search(best, without_cap, unconstrained, untouched(scenario, ratio, known), runs=len(known))


def _answer(known: Tried, found: int | None) -> BestStatic | None:
    if found is None:
        return None
    outcome = known[found][0].rounded()
    return BestStatic(found, outcome.throughput_mean, outcome.pages_per_commit)


def untouched(scenario: Scenario, ratio: int, known: Tried) -> Untouched:
    """Return what the server starts with and gives, from a search's runs where it is among them."""
    start = starting_pair(scenario)
    tried = known.get(start.io_capacity_max) if start == pair(start.io_capacity_max, ratio) else None
    outcome = (run_pair(scenario, start) if tried is None else tried[0]).rounded()
    figures = {name: getattr(outcome, name) for name in Untouched.__struct_fields__[2:]}
    return Untouched(start.io_capacity, start.io_capacity_max, **figures)
