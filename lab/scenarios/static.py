"""The best static setting of a scenario, found coarse to fine."""

from __future__ import annotations

import math
import multiprocessing
import os
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from typing import TYPE_CHECKING

from msgspec import Struct

from lab.plant.clock import SimClock
from lab.plant.server import CAPACITY_MINIMUM, SimulatedServer
from lab.scenarios.trace import Outcome, Trace
from tuner.records import Capacity

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from lab.scenarios.schema import Scenario
    from tuner.settings import Settings

LOWEST = 100
HIGHEST = 20_000
COARSE_FACTOR = 1.25
FINEST_STEP = 0.01
"""Relative distance of two values of M below which looking closer is not worth a run."""

PARALLEL_FROM = 10_000
"""Simulated seconds from which a second process pays for its start."""


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
    disk = scenario.disk
    operations = disk.page_operations(scenario.server.doublewrite_pages)
    rate = min(change.write_iops for change in disk.timeline) / operations
    return Caps(
        checkpoint_age=settings.max_checkpoint_age_ratio,
        recovery_seconds=settings.max_recovery_seconds,
        pages_dirty=settings.max_shutdown_seconds * min(rate, disk.pages_per_second),
    )


class BestStatic(Struct, frozen=True):
    """A static setting and what it gives: M in pages/s, commits/s, pages per commit."""

    io_capacity_max: int
    throughput_mean: float
    pages_per_commit: float


class Search(Struct, frozen=True):
    """The winners of a search; None where no setting keeps the rules.

    Attributes:
        best: under all constraints.
        without_cap: without budgets and alarm cap.
        unconstrained: without any.
        runs: values of M that were tried.
    """

    best: BestStatic | None
    without_cap: BestStatic | None
    unconstrained: BestStatic | None
    runs: int


def pair(io_capacity_max: int, ratio: int) -> Capacity:
    """Return the pair for a static M: C = M / ratio, at least the server's minimum."""
    return Capacity(max(CAPACITY_MINIMUM, io_capacity_max // ratio), io_capacity_max)


def run_static(scenario: Scenario, ratio: int, io_capacity_max: int) -> Outcome:
    """Return the outcome of a scenario with one value of M, set in its first second."""
    clock = SimClock()
    server = SimulatedServer(scenario.plant, clock, seed=scenario.seed)
    trace = Trace(scenario.measured_from)
    engine = server.engine
    sample = server.read()
    wanted = pair(io_capacity_max, ratio)
    steps = (("innodb_io_capacity", wanted.io_capacity), ("innodb_io_capacity_max", wanted.io_capacity_max))
    server.apply(steps[::-1] if wanted.io_capacity > sample.io_capacity_max else steps, wanted)
    trace.add(sample, 0.0, engine.latencies)
    for second in range(1, scenario.seconds + 1):
        clock.advance_to(float(second))
        trace.add(server.read(), engine.stalled, engine.latencies)
    return trace.outcome(scenario.measured_from)


def calm(outcome: Outcome) -> bool:
    """Return whether no page was sync-flushed and the first percentile is at least half the median."""
    return outcome.sync_flush_seconds == 0 and outcome.throughput_p1 >= 0.5 * outcome.throughput_median


def search(
    scenario: Scenario,
    *,
    ratio: int,
    caps: Caps,
    progress: Callable[[int], None] = lambda _: None,
) -> Search:
    """Return the static settings with the highest throughput.

    Args:
        scenario: what they are tried on, from the same state and with the same seed.
        ratio: k, M = k * C.
        caps: what the contender keeps to.
        progress: called with the number of runs done.
    """
    rules: tuple[Callable[[Outcome], bool], ...] = (
        lambda outcome: calm(outcome) and caps.keep(outcome),
        calm,
        lambda _: True,
    )
    known: dict[int, Outcome] = {}
    run = partial(run_static, scenario, ratio)
    workers = min(2, os.cpu_count() or 1) if scenario.seconds >= PARALLEL_FROM else 1
    with ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context("spawn")) as pool:

        def try_all(values: Iterable[int]) -> None:
            fresh = sorted(set(values) - known.keys())
            outcomes = pool.map(run, fresh) if workers > 1 else map(run, fresh)
            for value, outcome in zip(fresh, outcomes, strict=True):
                known[value] = outcome
                progress(len(known))

        try_all(_coarse(ratio))
        while True:
            before = len(known)
            for accept in rules:
                try_all(_between(known, _winner(known, accept), ratio))
            if len(known) == before:
                break
    best, without_cap, unconstrained = (_answer(known, _winner(known, accept)) for accept in rules)
    return Search(best=best, without_cap=without_cap, unconstrained=unconstrained, runs=len(known))


def _coarse(ratio: int) -> list[int]:
    """Return values of M from lowest to highest, each by a factor above the one before."""
    count = math.ceil(math.log(HIGHEST / LOWEST) / math.log(COARSE_FACTOR))
    return [_rounded(LOWEST * (HIGHEST / LOWEST) ** (i / count), ratio) for i in range(count + 1)]


def _rounded(value: float, ratio: int) -> int:
    """Return the next M that is a whole multiple of the ratio, where C leaves room for one."""
    whole = round(value / ratio) * ratio
    return max(LOWEST, whole)


def _winner(known: dict[int, Outcome], accept: Callable[[Outcome], bool]) -> int | None:
    """Return the acceptable M with the highest throughput; None when none is acceptable."""
    fit = [value for value, outcome in known.items() if accept(outcome)]
    return max(fit, key=lambda value: known[value].throughput_mean, default=None)


def _between(known: dict[int, Outcome], winner: int | None, ratio: int) -> list[int]:
    """Return values between the winner and its neighbours; none when these are close enough."""
    if winner is None:
        return []
    ordered = sorted(known)
    place = ordered.index(winner)
    found: list[int] = []
    for neighbour in ordered[max(0, place - 1) : place + 2]:
        if neighbour != winner and abs(math.log(neighbour / winner)) > FINEST_STEP:
            found += [_rounded(winner * (neighbour / winner) ** share, ratio) for share in (0.25, 0.5, 0.75)]
    return [value for value in found if value not in known]


def _answer(known: dict[int, Outcome], winner: int | None) -> BestStatic | None:
    """Return a winner as it is printed."""
    if winner is None:
        return None
    outcome = known[winner]
    return BestStatic(winner, round(outcome.throughput_mean, 1), round(outcome.pages_per_commit, 4))
