"""The best static setting of a scenario, found coarse to fine."""

from __future__ import annotations

import math
import os
from functools import partial
from typing import TYPE_CHECKING

from msgspec import Struct

from lab.plant.clock import SimClock
from lab.plant.server import CAPACITY_MINIMUM, SimulatedServer
from lab.scenarios.grid import between, coarse, most_left
from lab.scenarios.progress import Progress, nobody
from lab.scenarios.runs import Runs
from lab.scenarios.trace import Outcome, Trace
from tuner.records import Capacity

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from lab.scenarios.progress import Told
    from lab.scenarios.runs import Beat
    from lab.scenarios.schema import Scenario
    from tuner.settings import Settings

PARALLEL_FROM = 10_000
"""Simulated seconds from which a second process pays for its start."""

BEAT_SECONDS = 100
"""Simulated seconds after which a run says that it got on."""


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


def pair(io_capacity_max: int, ratio: int) -> Capacity:
    """Return the pair for a static M: C = M / ratio, at least the server's minimum."""
    return Capacity(max(CAPACITY_MINIMUM, io_capacity_max // ratio), io_capacity_max)


def starting_pair(scenario: Scenario) -> Capacity:
    """Return the C and M that the server starts with, its kind's default where the scenario has none."""
    server = scenario.server.in_force
    return Capacity(server.io_capacity, server.io_capacity_max)


def run_static(scenario: Scenario, ratio: int, io_capacity_max: int, beat: Beat = lambda _: None) -> Outcome:
    """Return the outcome of a scenario with one value of M, set in its first second.

    Args:
        scenario: what it is tried on.
        ratio: k, M = k * C.
        io_capacity_max: M, pages/s.
        beat: called with the simulated seconds since the last call, at its end too.
    """
    return run_pair(scenario, pair(io_capacity_max, ratio), beat)


def run_pair(scenario: Scenario, wanted: Capacity, beat: Beat = lambda _: None) -> Outcome:
    """Return the outcome of a scenario with one C and M, set in its first second.

    Args:
        scenario: what it is tried on.
        wanted: C and M, pages/s.
        beat: called with the simulated seconds since the last call, at its end too.
    """
    clock = SimClock()
    server = SimulatedServer(scenario.plant, clock, seed=scenario.seed)
    trace = Trace(scenario.measured_from)
    engine = server.engine
    sample = server.read()
    steps = (("innodb_io_capacity", wanted.io_capacity), ("innodb_io_capacity_max", wanted.io_capacity_max))
    server.apply(steps[::-1] if wanted.io_capacity > sample.io_capacity_max else steps, wanted)
    trace.add(sample, 0.0, engine.latencies)
    for second in range(1, scenario.seconds + 1):
        clock.advance_to(float(second))
        trace.add(server.read(), engine.stalled, engine.latencies)
        if second % BEAT_SECONDS == 0:
            beat(float(BEAT_SECONDS))
    beat(float(scenario.seconds % BEAT_SECONDS))
    return trace.outcome(scenario.measured_from)


def calm(outcome: Outcome) -> bool:
    """Return whether no page was sync-flushed and the first percentile is at least half the median."""
    return outcome.sync_flush_seconds == 0 and outcome.throughput_p1 >= 0.5 * outcome.throughput_median


def search(scenario: Scenario, *, ratio: int, caps: Caps, progress: Told = nobody) -> Search:
    """Return the static settings with the highest throughput.

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
    known: dict[int, Outcome] = {}
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

        def try_all(values: Iterable[int]) -> None:
            nonlocal most
            fresh = sorted(set(values) - known.keys())
            winners = {_winner(known, accept) for accept in rules}
            most = len(known) + max(len(fresh), most_left(known, winners, rules=len(rules)))
            known.update(zip(fresh, runs.outcomes(fresh), strict=True))

        try_all(coarse(ratio))
        while True:
            before = len(known)
            for accept in rules:
                winner = _winner(known, accept)
                try_all(() if winner is None else between(known, winner, ratio))
            if len(known) == before:
                break
    best, without_cap, unconstrained = (_answer(known, _winner(known, accept)) for accept in rules)
    return Search(
        best=best,
        without_cap=without_cap,
        unconstrained=unconstrained,
        untouched=_untouched(scenario, ratio, known),
        runs=len(known),
    )


def _untouched(scenario: Scenario, ratio: int, known: dict[int, Outcome]) -> Untouched:
    """Return what the server starts with and gives, from the search's runs where it is among them."""
    start = starting_pair(scenario)
    tried = known.get(start.io_capacity_max) if start == pair(start.io_capacity_max, ratio) else None
    outcome = run_pair(scenario, start) if tried is None else tried
    return Untouched(
        io_capacity=start.io_capacity,
        io_capacity_max=start.io_capacity_max,
        throughput_mean=round(outcome.throughput_mean, 1),
        throughput_p1=round(outcome.throughput_p1, 1),
        age_ratio_mean=round(outcome.age_ratio_mean, 4),
        checkpoint_age_max=round(outcome.checkpoint_age_max, 4),
        sync_flush_seconds=outcome.sync_flush_seconds,
        pages_per_commit=round(outcome.pages_per_commit, 4),
    )


def _winner(known: dict[int, Outcome], accept: Callable[[Outcome], bool]) -> int | None:
    """Return the acceptable M with the highest throughput; None when none is acceptable."""
    fit = [value for value, outcome in known.items() if accept(outcome)]
    return max(fit, key=lambda value: known[value].throughput_mean, default=None)


def _answer(known: dict[int, Outcome], winner: int | None) -> BestStatic | None:
    """Return a winner as it is printed."""
    if winner is None:
        return None
    outcome = known[winner]
    return BestStatic(winner, round(outcome.throughput_mean, 1), round(outcome.pages_per_commit, 4))
