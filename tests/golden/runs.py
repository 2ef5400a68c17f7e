"""The recorded runs: the loop on every scenario, every server, every policy, and among hostile neighbours."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from msgspec.structs import replace

from lab.plant.clock import SimClock
from lab.plant.flavour import FlavourName
from lab.plant.server import SimulatedServer
from lab.scenarios import load_scenario, scenario_names
from lab.simulate import FLAVOURS
from lab.simulate_loop import SimInbox
from policies.types import Suggestion
from tests.golden.hostile import hostile
from tests.golden.notation import Course
from tuner.core.state import State
from tuner.core.step import start
from tuner.loop import drive
from tuner.records import Command, OptimiserPhase, TickRecord
from tuner.settings import Mode, PolicyName, Settings

FOLDER = Path(__file__).parent / "runs"

SECONDS = 1500.0
"""How long a run lasts: a load that stays as it is counts as steady after ten minutes and its start."""

AFTER_CHANGE = 900.0
"""How long it goes on at least after a first change of load or disk."""

LONGEST = 3000.0
"""No run lasts longer, however late its first change."""

SEEDS = range(1, 9)

MOVING = "open-step"
"""The scenario that every server and every policy goes through."""

TRIED = "steady-1200iops"
"""The scenario on which a suggestion is tried, in hours of a load that stays as it is."""

SUGGESTION = Suggestion(-0.02, 0.8, 1.2)
"""What is tried there, whatever it is worth."""


def _simulated(
    name: str,
    *,
    flavour: FlavourName | None = None,
    policy: PolicyName = "cascade",
    seconds: float | None = None,
) -> Iterator[str]:
    """Yield the lines of a loop on a scenario, from a fresh start with default settings.

    Args:
        name: of the scenario.
        flavour: of the server; None for the scenario's own.
        policy: the policy.
        seconds: how long; None for the scenario's first part.
    """
    scenario = load_scenario(name)
    if flavour is not None:
        scenario = replace(scenario, server=replace(scenario.server, flavour=flavour))
    first = scenario.changes[0] if scenario.changes else 0.0
    seconds = seconds or min(max(SECONDS, first + AFTER_CHANGE), LONGEST, float(scenario.seconds))
    clock, course, lines = SimClock(), Course(), list[str]()
    inbox = SimInbox(clock, Command(name="originals_saved", who="golden"))
    server = SimulatedServer(scenario.plant, clock, seed=1)
    begun = clock.monotonic()

    def told(_: State, record: TickRecord) -> None:
        lines.extend(course.lines(record.tick.now - begun, record))
        asks = record.optimiser
        if asks is not None and asks.phase is OptimiserPhase.ASKING:
            inbox.put(Command(name="suggest", who="golden", value=asks.number, suggestion=SUGGESTION))

    drive(
        server,
        clock,
        inbox,
        start(Settings(mode=Mode.ACTIVE, policy=policy), server.facts()),
        interval=1.0,
        publish=told,
        until=begun + seconds + 0.5,
    )
    yield from lines


RUNS: dict[str, Callable[[], Iterator[str]]] = {
    **{f"scenario-{name}": partial(_simulated, name) for name in scenario_names()},
    **{f"server-{one}": partial(_simulated, MOVING, flavour=one) for one in FLAVOURS[1:]},
    **{f"policy-{one}": partial(_simulated, MOVING, policy=one) for one in ("pid", "fixed")},
    "policy-bayes": partial(_simulated, TRIED, policy="bayes", seconds=7_200.0),
    **{f"hostile-{seed}": partial(hostile, seed) for seed in SEEDS},
}
"""By the name of its file: what yields its lines."""


def text_of(name: str) -> str:
    """Return what the file of a run should hold."""
    return "".join(f"{line}\n" for line in RUNS[name]())
