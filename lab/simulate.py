"""Runs a policy on a scenario, and static settings beside it; the runner behind ``innobrim simulate``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from lab.plant.engine import Endless
from lab.plant.flavour import FLAVOURS as PLANT_FLAVOURS
from lab.plant.flavour import FlavourName
from lab.scenarios.caps import caps_of
from lab.scenarios.progress import Progress, nobody
from lab.scenarios.schema import SHORTEST_WINDOW, Scenario
from lab.scenarios.search import search
from lab.scenarios.static import RATIO
from lab.simulate_loop import run_policy
from lab.simulate_result import Result, result_of
from tuner.settings import Mode, PolicyName, Settings

if TYPE_CHECKING:
    from collections.abc import Callable

    from lab.scenarios.progress import Told
    from tuner.records import TickRecord

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
    progress: Told = nobody,
) -> Result:
    """Return everything about one policy on one scenario.

    Args:
        scenario: what it goes through.
        policy: the decision law.
        settings: the loop's other settings; None: their defaults.
        oracle: look for the best static setting as well.
        publish: told every tick's record.
        progress: told now and then how far it is.

    Raises:
        SimulateError: a run that would take for ever.
    """
    try:
        return _simulated(scenario, policy, settings, oracle=oracle, publish=publish, progress=progress)
    except Endless as error:
        raise SimulateError(f"{scenario.name}: {error}") from error


def _simulated(
    scenario: Scenario,
    policy: PolicyName,
    settings: Settings | None,
    *,
    oracle: bool,
    publish: Callable[[TickRecord], None],
    progress: Told,
) -> Result:
    settings = msgspec.structs.replace(settings or Settings(), mode=Mode.ACTIVE, policy=policy)

    def ticked(record: TickRecord) -> None:
        publish(record)
        if record.tick.number % PROGRESS_EVERY == 0:
            progress(Progress(f"policy {policy}", record.tick.number / (scenario.seconds + 1)))

    run = run_policy(scenario, settings, publish=ticked)
    statics = None
    if oracle:
        caps = caps_of(settings, scenario)
        statics = search(scenario, ratio=settings.ratio or RATIO, caps=caps, progress=progress)
    return result_of(scenario, settings, run, statics)
