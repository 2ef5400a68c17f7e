"""Runs a policy on a scenario, and static settings beside it; the runner behind ``innobrim simulate``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct

from lab.plant.clock import SimClock
from lab.plant.engine import Endless
from lab.plant.flavour import FLAVOURS as PLANT_FLAVOURS
from lab.plant.flavour import FlavourName
from lab.plant.server import SimulatedServer
from lab.scenarios.progress import OnProgress, Progress, silent
from lab.scenarios.schema import SETTLING_RESIDENCES, SHORTEST_WINDOW, Scenario
from lab.scenarios.search import BestStatic, Search, Untouched, caps_of, search, untouched
from lab.scenarios.static import RATIO
from lab.scenarios.trace import Outcome
from lab.simulate_loop import Optimised, PolicyRun, run_policy
from policies.registry import LAWS, make_policy
from tuner.settings import Mode, PolicyName, Settings

if TYPE_CHECKING:
    from collections.abc import Callable

    from tuner.records import TickRecord


class NoStatic(Struct, frozen=True):
    """Stands in a result for a best static setting that was looked for, where none keeps the rules."""

    io_capacity_max: None = None
    throughput_mean: None = None
    pages_per_commit: None = None


class Result(Struct, frozen=True):
    """What ``innobrim simulate --json`` prints; rates in commits/s and pages/s, times in seconds.

    The best static settings are None where they were not looked for. ``set_point``, its
    source and ``last_decision`` are of the last second. ``settings`` are those of the loop that are not as by
    default, mode and policy aside. ``optimiser`` is None where the policy has none.
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
    untouched: Untouched
    settings: dict[str, Any] = msgspec.field(default_factory=dict)
    set_point: float | None = None
    set_point_source: str = ""
    last_decision: str = ""
    optimiser: Optimised | None = None
    best_static: BestStatic | NoStatic | None = None
    best_static_without_cap: BestStatic | NoStatic | None = None
    best_static_unconstrained: BestStatic | NoStatic | None = None
    warnings: tuple[str, ...] = ()


def result_of(
    scenario: Scenario, settings: Settings, run: PolicyRun, statics: Search | None, alone: Untouched
) -> Result:
    """Return everything about one policy's run.

    Args:
        scenario: what it went through.
        settings: of its loop.
        run: what came of it.
        statics: the best static settings; None where they were not looked for.
        alone: what the setting that the server starts with gives.
    """
    outcome = run.outcome.rounded()
    found = {
        name: getattr(outcome, name) for name in Result.__struct_fields__ if name in Outcome.__struct_fields__
    }
    if statics is not None:
        found |= {
            "best_static": statics.best or NoStatic(),
            "best_static_without_cap": statics.without_cap or NoStatic(),
            "best_static_unconstrained": statics.unconstrained or NoStatic(),
        }
    return Result(
        policy=settings.policy,
        scenario=scenario.name,
        flavour=scenario.server.flavour,
        seed=scenario.seed,
        seconds=scenario.seconds,
        measured_from=scenario.measured_from,
        settling_seconds=None if scenario.moves else run.settling_seconds,
        knob_changes=run.knob_changes,
        io_capacity_max_final=run.final.io_capacity_max,
        wall_seconds=round(run.wall_seconds, 3),
        plant=scenario.plant.fingerprint(),
        settings=_unusual(settings),
        set_point=None if run.last.set_point is None else round(run.last.set_point, 4),
        set_point_source=run.last.set_point_source,
        last_decision=run.last.detail,
        optimiser=run.optimiser,
        untouched=alone,
        warnings=_warnings(scenario, run.outcome),
        **found,
    )


def _unusual(settings: Settings) -> dict[str, Any]:
    """Return the settings that are not as by default, mode and policy aside."""
    default = msgspec.structs.asdict(Settings(mode=settings.mode, policy=settings.policy))
    return {key: value for key, value in msgspec.structs.asdict(settings).items() if value != default[key]}


def _warnings(scenario: Scenario, outcome: Outcome) -> tuple[str, ...]:
    """Return what makes a result hard to compare; empty when nothing does."""
    found: list[str] = []
    if scenario.fit and scenario.fit != scenario.server.flavour:
        found.append(
            f"fit = {scenario.fit} was fitted on that server; nobody knows how well it suits "
            f"{scenario.server.flavour}"
        )
    if outcome.throughput_mean <= 0.0:
        found.append("nothing was committed in what is counted: the figures say nothing about a setting")
    if scenario.changes or outcome.redo_rate_before <= 0.0:
        return tuple(found)
    least = SETTLING_RESIDENCES * scenario.server.redo_capacity / outcome.redo_rate_before
    if least > scenario.measured_from:
        found.append(
            f"measured_from = {scenario.measured_from} is earlier than {SETTLING_RESIDENCES:g} times "
            f"redo capacity over redo rate, {least:.0f} s: a transient may be counted"
        )
    return tuple(found)


FLAVOURS = tuple(PLANT_FLAVOURS)
"""The servers that the plant can be, default first."""

JUDGED_SECONDS = 172_800
"""With an oracle a scenario is no longer, unless someone says how long: two days take up to four minutes."""

PROGRESS_EVERY = 50
"""Ticks between two reports of progress."""


class SimulateError(Exception):
    """A run that cannot be done as asked; the message says what would be right."""


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
        raise SimulateError(f"--seconds {seconds}: {scenario.name} {_least(scenario)}")
    return chosen


def shortened(scenario: Scenario) -> Scenario:
    """Return the part of a scenario on which dozens of static settings can be tried while somebody waits."""
    return msgspec.structs.replace(scenario, seconds=min(scenario.seconds, JUDGED_SECONDS))


def _least(scenario: Scenario) -> str:
    """Return how long a scenario must be at least, and why."""
    counted = scenario.measured_from + SHORTEST_WINDOW
    moved = max(int(at) + 1 for at in (0.0, *scenario.changes))
    if moved > counted:
        return f"needs at least {moved}, as its last change is at {moved - 1} s"
    why = f"as it counts from {scenario.measured_from} s on, {SHORTEST_WINDOW} s or more"
    return f"needs at least {counted}, {why}"


def simulate(
    scenario: Scenario,
    policy: PolicyName,
    *,
    settings: Settings | None = None,
    oracle: bool = False,
    publish: Callable[[TickRecord], None] = lambda _: None,
    progress: OnProgress = silent,
) -> Result:
    """Return everything about one policy on one scenario.

    Args:
        scenario: what it goes through.
        policy: the policy.
        settings: the loop's other settings; None: their defaults.
        oracle: look for the best static setting as well.
        publish: told every tick's record.
        progress: told now and then how far it is.

    Raises:
        SimulateError: a run that would take for ever.
    """
    settings = msgspec.structs.replace(settings or Settings(), mode=Mode.ACTIVE, policy=policy)

    def ticked(record: TickRecord) -> None:
        publish(record)
        if record.tick.number % PROGRESS_EVERY == 0:
            progress(Progress(f"policy {policy}", record.tick.number / (scenario.seconds + 1)))

    try:
        run = run_policy(scenario, settings, publish=ticked)
        ratio = settings.ratio or RATIO
        if not oracle:
            return result_of(scenario, settings, run, None, untouched(scenario, ratio, {}))
        statics = search(scenario, ratio=ratio, caps=caps_of(settings, scenario), progress=progress)
    except Endless as error:
        raise SimulateError(f"{scenario.name}: {error}") from error
    return result_of(scenario, settings, run, statics, statics.untouched)


def in_place_of(policy: PolicyName, scenario: Scenario) -> str:
    """Return the law that decides in place of a policy; empty where that decides itself.

    Args:
        policy: what was asked for.
        scenario: what it goes through.
    """
    fixed = Settings().fixed_io_capacity_max
    name = make_policy(policy, flush_law=_flush_law(scenario), fixed_io_capacity_max=fixed).name
    return "" if name == policy else name


def why_in_place(scenario: Scenario) -> str:
    """Return why another law decides on such a server; empty where none does."""
    law = LAWS[_flush_law(scenario)]
    return (
        law.sleeps
        if law.m_moves_age
        else "no innodb_io_capacity_max moves the age below the flush limit here"
    )


def _flush_law(scenario: Scenario) -> str:
    return SimulatedServer(scenario.plant, SimClock()).facts().flush_law
