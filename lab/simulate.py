"""Runs a policy on a scenario, and static settings beside it; the runner behind ``innobrim simulate``."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct

from lab.plant.clock import SimClock
from lab.plant.flavour import FLAVOURS as PLANT_FLAVOURS
from lab.plant.flavour import FlavourName
from lab.plant.server import SimulatedServer
from lab.scenarios.progress import Progress, nobody
from lab.scenarios.schema import SETTLING_RESIDENCES, SHORTEST_WINDOW, Scenario
from lab.scenarios.static import BestStatic, caps_of, search
from lab.scenarios.trace import Outcome, Trace
from tuner.core.step import start
from tuner.loop import drive
from tuner.records import Capacity, Command
from tuner.settings import Mode, PolicyName, Settings

if TYPE_CHECKING:
    from collections.abc import Callable

    from lab.scenarios.progress import Told
    from tuner.core.state import State
    from tuner.records import Facts, Receipt, Sample, TickRecord

FLAVOURS = tuple(PLANT_FLAVOURS)
"""The servers that the plant can be, default first."""

INTERVAL = 1.0
"""Simulated seconds between two ticks."""

PROGRESS_EVERY = 50
"""Ticks between two reports of progress."""


class NoStatic(Struct, frozen=True):
    """Stands in a result for a best static setting that was looked for, where none keeps the rules."""

    io_capacity_max: None = None
    throughput_mean: None = None
    pages_per_commit: None = None


class Result(Struct, frozen=True):
    """What ``innobrim simulate --json`` prints; rates in commits/s and pages/s, times in seconds.

    The best static settings are None where they were not looked for.
    """

    policy: str
    scenario: str
    flavour: str
    seed: int
    seconds: int
    measured_from: int
    throughput_mean: float
    throughput_p1: float
    age_ratio_mean: float
    age_ratio_max: float
    checkpoint_age_max: float
    sync_flush_seconds: int
    stall_seconds: float
    pages_per_commit: float
    latency_p50: float
    latency_p99: float
    settling_seconds: float | None
    knob_changes: int
    io_capacity_max_final: int
    wall_seconds: float
    plant: str
    best_static: BestStatic | NoStatic | None = None
    best_static_without_cap: BestStatic | NoStatic | None = None
    best_static_unconstrained: BestStatic | NoStatic | None = None
    warnings: tuple[str, ...] = ()


class SimulateError(Exception):
    """A run that cannot be done as asked; the message says what would be right."""


class SimInbox:
    """The loop's wait on simulated time: it ends at once, and the clock is where it should be."""

    def __init__(self, clock: SimClock, *commands: Command) -> None:
        """Start with commands for the first wait to return."""
        self._clock = clock
        self._commands = commands

    def take(self, *, until: float) -> tuple[Command, ...]:
        """Move the clock to the deadline and return what is there."""
        self._clock.advance_to(until)
        found, self._commands = self._commands, ()
        return found


class WatchedServer:
    """A simulated server whose readings and writes are noted on the way."""

    def __init__(self, server: SimulatedServer, trace: Trace) -> None:
        """Stand between a loop and its server."""
        self._server = server
        self._trace = trace
        self.changes = 0

    def facts(self) -> Facts:
        """Return what does not change while the server runs."""
        return self._server.facts()

    def read(self) -> Sample:
        """Return one reading, noted in the trace."""
        sample = self._server.read()
        engine = self._server.engine
        self._trace.add(sample, engine.stalled, engine.latencies)
        return sample

    def apply(self, steps: tuple[tuple[str, int], ...], wanted: Capacity) -> Receipt:
        """Carry out the SETs; count them when they changed the pair in force."""
        cleaner = self._server.engine.cleaner
        before = Capacity(cleaner.io_capacity, cleaner.io_capacity_max)
        receipt = self._server.apply(steps, wanted)
        self.changes += receipt.in_force != before
        return receipt

    def close(self) -> None:
        """Close the server."""
        self._server.close()


class PolicyRun(Struct, frozen=True):
    """The policy's part of a result.

    Attributes:
        outcome: what was counted.
        knob_changes: writes that changed the pair, over the whole run.
        final: the pair in force at the end, pages/s.
        wall_seconds: real time that the loop took.
    """

    outcome: Outcome
    knob_changes: int
    final: Capacity
    wall_seconds: float


def resized(
    scenario: Scenario, *, seed: int | None, seconds: int | None, flavour: FlavourName | None = None
) -> Scenario:
    """Return the scenario with another seed, length or server.

    Raises:
        SimulateError: too short to count anything, shorter than its own changes, or a server that cannot be
            what the scenario asks for.
    """
    chosen = msgspec.structs.replace(
        scenario,
        seed=scenario.seed if seed is None else seed,
        seconds=scenario.seconds if seconds is None else seconds,
        server=scenario.server
        if flavour is None
        else msgspec.structs.replace(scenario.server, flavour=flavour),
    )
    if flavour is not None and (wrong := chosen.server_problems()):
        raise SimulateError(f"--flavour {flavour}: {'; '.join(wrong)}")
    if seconds is not None and chosen.problems():
        least = max(
            scenario.measured_from + SHORTEST_WINDOW, *(int(at) + 1 for at in (0.0, *scenario.changes))
        )
        raise SimulateError(f"--seconds {seconds}: {scenario.name} needs at least {least}")
    return chosen


def run_policy(
    scenario: Scenario,
    settings: Settings,
    *,
    publish: Callable[[TickRecord], None] = lambda _: None,
) -> PolicyRun:
    """Let the loop turn on a scenario, as ``innobrim run --active`` would on a server.

    Args:
        scenario: what it goes through.
        settings: the loop's settings; mode active to write.
        publish: told every tick's record.
    """
    clock = SimClock()
    trace = Trace(scenario.measured_from)
    server = SimulatedServer(scenario.plant, clock, seed=scenario.seed)
    watched = WatchedServer(server, trace)
    inbox = SimInbox(clock, Command(name="originals_saved", who="simulate"))

    def told(_: State, record: TickRecord) -> None:
        publish(record)

    began = time.perf_counter()
    drive(
        watched,
        clock,
        inbox,
        start(settings, watched.facts()),
        interval=INTERVAL,
        publish=told,
        until=scenario.seconds + INTERVAL / 2,
    )
    wall = time.perf_counter() - began
    cleaner = server.engine.cleaner
    return PolicyRun(
        outcome=trace.outcome(scenario.measured_from),
        knob_changes=watched.changes,
        final=Capacity(cleaner.io_capacity, cleaner.io_capacity_max),
        wall_seconds=wall,
    )


def simulate(
    scenario: Scenario,
    policy: PolicyName,
    *,
    oracle: bool = False,
    publish: Callable[[TickRecord], None] = lambda _: None,
    progress: Told = nobody,
) -> Result:
    """Return everything about one policy on one scenario.

    Args:
        scenario: what it goes through.
        policy: the decision law.
        oracle: look for the best static setting as well.
        publish: told every tick's record.
        progress: told now and then how far it is.
    """
    settings = Settings(mode=Mode.ACTIVE, policy=policy)

    def ticked(record: TickRecord) -> None:
        publish(record)
        if record.tick.number % PROGRESS_EVERY == 0:
            progress(Progress(f"policy {policy}", record.tick.number / (scenario.seconds + 1)))

    run = run_policy(scenario, settings, publish=ticked)
    outcome = run.outcome
    found: dict[str, Any] = {}
    if oracle:
        best = search(
            scenario,
            ratio=settings.ratio,
            caps=caps_of(settings, scenario),
            progress=progress,
        )
        found = {
            "best_static": best.best or NoStatic(),
            "best_static_without_cap": best.without_cap or NoStatic(),
            "best_static_unconstrained": best.unconstrained or NoStatic(),
        }
    return Result(
        policy=policy,
        scenario=scenario.name,
        flavour=scenario.server.flavour,
        seed=scenario.seed,
        seconds=scenario.seconds,
        measured_from=scenario.measured_from,
        throughput_mean=round(outcome.throughput_mean, 1),
        throughput_p1=round(outcome.throughput_p1, 1),
        age_ratio_mean=round(outcome.age_ratio_mean, 4),
        age_ratio_max=round(outcome.age_ratio_max, 4),
        checkpoint_age_max=round(outcome.checkpoint_age_max, 4),
        sync_flush_seconds=outcome.sync_flush_seconds,
        stall_seconds=round(outcome.stall_seconds, 3),
        pages_per_commit=round(outcome.pages_per_commit, 4),
        latency_p50=round(outcome.latency_p50, 5),
        latency_p99=round(outcome.latency_p99, 5),
        settling_seconds=None if scenario.changes else outcome.settling_seconds,
        knob_changes=run.knob_changes,
        io_capacity_max_final=run.final.io_capacity_max,
        wall_seconds=round(run.wall_seconds, 3),
        plant=scenario.plant.fingerprint(),
        warnings=_warnings(scenario, outcome),
        **found,
    )


def _warnings(scenario: Scenario, outcome: Outcome) -> tuple[str, ...]:
    """Return what makes a result hard to compare; empty when nothing does."""
    if scenario.changes or outcome.redo_rate_before <= 0.0:
        return ()
    least = SETTLING_RESIDENCES * scenario.server.redo_capacity / outcome.redo_rate_before
    if least <= scenario.measured_from:
        return ()
    early = f"measured_from = {scenario.measured_from} is earlier than {SETTLING_RESIDENCES:g} times "
    return (early + f"redo capacity over redo rate, {least:.0f} s: a transient may be counted",)
