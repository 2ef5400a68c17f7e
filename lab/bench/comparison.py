"""Policies against each other and against static settings on the simulated server, run by run."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from lab.bench.table import Run
from lab.plant.engine import Endless
from lab.scenarios.parallel import Workers
from lab.scenarios.progress import OnProgress, Progress, silent
from lab.scenarios.schema import Scenario
from lab.scenarios.search import Tried, calm, caps_of, climb, winner
from lab.scenarios.static import RATIO, pair, run_pair, starting_pair
from lab.scenarios.trace import Outcome
from lab.simulate import SimulateError
from lab.simulate_loop import run_policy
from tuner.settings import Mode, PolicyName, Settings

DAY = 86_400

SEARCH_SEEDS = 3
"""The best static setting is searched on so many seeds, and judged on all."""

SEARCH_SECONDS = 3 * DAY
"""It is searched on the first so many seconds of a longer scenario, and judged on all of it."""

UNEVEN = (
    "no static setting keeps the first percentile at half the median: static is the best without that rule"
)
NONE_KEEPS = "no static setting keeps the rules"


class Task(Struct, frozen=True):
    """One run.

    Attributes:
        scenario: what it goes through, with the run's seed.
        policy: of the daemon's loop; None where nobody moves C and M.
        m: M where nobody moves it, pages/s; 0 for C and M as the server starts.
    """

    scenario: Scenario
    policy: PolicyName | None = None
    m: int = 0

    @property
    def contender(self) -> str:
        """Return the policy's name, ``static`` or ``untouched``."""
        return self.policy or ("static" if self.m else "untouched")


class Asked(Struct, frozen=True):
    """A comparison.

    Attributes:
        policies: by name, the reference first.
        scenarios: what they go through, each from its own seed on.
        seeds: runs of each, with one seed each.
        oracle: the best static setting beside them.
    """

    policies: tuple[PolicyName, ...]
    scenarios: tuple[Scenario, ...]
    seeds: int
    oracle: bool = False

    def seeded(self, scenario: Scenario) -> list[Scenario]:
        """Return a scenario with each seed."""
        return [replace(scenario, seed=scenario.seed + number) for number in range(self.seeds)]

    def searched(self, scenario: Scenario) -> list[Scenario]:
        """Return what the best setting of a scenario is searched on: its first seeds, its first seconds."""
        seconds = min(scenario.seconds, SEARCH_SECONDS)
        return [replace(one, seconds=seconds) for one in self.seeded(scenario)[:SEARCH_SEEDS]]

    def tasks(self, scenario: Scenario) -> list[Task]:
        """Return the runs of all policies and of the untouched server on a scenario, seed by seed."""
        who = (*self.policies, None)
        return [Task(one, policy) for one in self.seeded(scenario) for policy in who]


def run_task(task: Task) -> Run:
    """Return what came of a run.

    Raises:
        SimulateError: it would take for ever.
    """
    scenario = task.scenario
    try:
        if task.policy is None:
            set_to = pair(task.m, RATIO) if task.m else starting_pair(scenario)
            return Run(scenario, task.contender, run_pair(scenario, set_to), task.m or None)
        found = run_policy(scenario, Settings(mode=Mode.ACTIVE, policy=task.policy))
    except Endless as error:
        raise SimulateError(f"{scenario.name}, {task.contender}: {error}") from error
    return Run(
        scenario,
        task.contender,
        found.outcome,
        settling_seconds=None if scenario.changes else found.settling_seconds,
        changes=found.knob_changes,
        changes_in_hour=found.changes_in_hour,
    )


class Found(Struct, frozen=True):
    """What there is of a scenario.

    Attributes:
        runs: by contender, the reference first.
        note: what is to be known of the best static setting.
    """

    runs: dict[str, list[Run]]
    note: str = ""


class Comparison:
    """A comparison being carried out, in some processes; no run is done twice."""

    def __init__(self, asked: Asked, *, jobs: int, progress: OnProgress = silent) -> None:
        """Start nothing yet; ``jobs`` is how many processes, and ``progress`` is told after each run."""
        self._asked = asked
        self._workers = Workers(jobs)
        self._progress = progress
        self._runs: dict[Task, Run] = {}

    def tasks(self) -> list[Task]:
        """Return the runs of all policies and of the untouched servers."""
        return [task for scenario in self._asked.scenarios for task in self._asked.tasks(scenario)]

    def run(self) -> list[tuple[Scenario, Found]]:
        """Carry it out, and return what there is of each scenario.

        Raises:
            SimulateError: a run would take for ever.
        """
        with self._workers:
            self._done(self.tasks(), "policies")
            return [(scenario, self._found(scenario)) for scenario in self._asked.scenarios]

    def _done(self, tasks: Sequence[Task], stage: str) -> list[Run]:
        """Return what came of some tasks, in their order; carries out those that were not yet."""
        todo = [task for task in dict.fromkeys(tasks) if task not in self._runs]
        whole, ended = sum(task.scenario.seconds for task in todo), 0
        for task, run in self._workers.each(run_task, todo):
            self._runs[task] = run
            ended += task.scenario.seconds
            self._progress(Progress(stage, ended / whole))
        return [self._runs[task] for task in tasks]

    def _found(self, scenario: Scenario) -> Found:
        """Return a scenario's runs, with those of the best static setting where it is asked for."""
        tasks = self._asked.tasks(scenario)
        note = ""
        if self._asked.oracle:
            m, note = self._search(scenario)
            if m is not None:
                tasks += [Task(one, m=m) for one in self._asked.seeded(scenario)]
        runs = self._done(tasks, f"{scenario.name}: the best static setting")
        names = (*self._asked.policies, "static", "untouched")
        return Found({name: [run for run in runs if run.contender == name] for name in names}, note)

    def _search(self, scenario: Scenario) -> tuple[int | None, str]:
        """Search the best static setting; return M, pages/s, and what is to be known of it.

        Where none keeps the rules, the load may forbid an even first percentile by itself, as one that pauses
        does: then it is the best without that rule, for a policy is compared with something even there.
        """
        seeds = self._asked.searched(scenario)
        caps = caps_of(Settings(), seeds[0])
        known: Tried = {}

        def try_all(values: Sequence[int]) -> None:
            tasks = [Task(one, m=value) for value in values for one in seeds]
            runs = self._done(tasks, f"{scenario.name}: static settings, {len(known)} tried")
            for value in values:
                known[value] = tuple(run.outcome for run in runs if run.io_capacity_max == value)

        def even(outcome: Outcome) -> bool:
            return calm(outcome) and caps.keep(outcome)

        def dry(outcome: Outcome) -> bool:
            return outcome.sync_flush_seconds == 0 and caps.keep(outcome)

        for accept, note in ((even, ""), (dry, UNEVEN)):
            climb(seeds[0], known, try_all, rules=(accept,), ratio=RATIO, at_once=2)
            best = winner(known, accept, offered=scenario.offered)
            if best is not None:
                return best, note
        return None, NONE_KEEPS
