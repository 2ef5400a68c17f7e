"""Policies against each other and against static settings on the simulated server, run by run.

A run's key is the hash of all that its row depends on; one whose key has a row is never run again.
"""

from __future__ import annotations

import hashlib
import math
import time
from collections.abc import Iterator, Sequence
from types import TracebackType
from typing import Literal, Self

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from lab.bench.revision import policies_revision
from lab.bench.store import Ledger, Row
from lab.plant.engine import Endless
from lab.scenarios.caps import calm, caps_of
from lab.scenarios.progress import Progress, Told, nobody
from lab.scenarios.runs import Beat, Runs
from lab.scenarios.schema import Scenario
from lab.scenarios.search import climb
from lab.scenarios.static import RATIO, pair, run_pair, starting_pair
from lab.scenarios.trace import Outcome
from lab.scenarios.winner import winner
from lab.simulate import PROGRESS_EVERY, SimulateError
from lab.simulate_loop import INTERVAL, run_policy
from tuner.records import TickRecord
from tuner.settings import Mode, PolicyName, Settings

SCHEMA = 5
HOUR, DAY = 3600.0, 86_400

SEARCH_SEEDS = 3
"""The best static setting is searched on so many seeds, and judged on all."""

SEARCH_SECONDS = 3 * DAY
"""It is searched on the first so many seconds of a longer scenario, and judged on all of it."""

SEARCH_VALUES = 36
"""Values of M that a search usually tries."""

UNEVEN = (
    "no static setting keeps the first percentile at half the median: static is the best without that rule"
)

FIRST_GUESS = {"policy": 4.0, "static": 1.5, "untouched": 1.5}
"""Seconds that a simulated hour is taken to last before one was seen, by kind of run."""

NEEDED = {"key", "kind", "scenario", "seconds", "seed", "outcome", "changes", "processor_seconds"}
"""Without one of them an object is no finished run, which is done again."""

WORSE = 1.3
"""So much longer than the longest so far may a run take."""

Kind = Literal["policy", "static", "untouched"]


class Task(Struct, frozen=True):
    """One run.

    Attributes:
        kind: the daemon's loop with a policy, an M that nobody moves, or C and M as the server starts.
        scenario: what it goes through, with the run's seed.
        policy: of the loop.
        m: of ``static``, pages/s.
    """

    kind: Kind
    scenario: Scenario
    policy: PolicyName = Settings().policy
    m: int = 0

    @property
    def settings(self) -> Settings:
        """Return the loop's settings."""
        return Settings(mode=Mode.ACTIVE, policy=self.policy)

    @property
    def key(self) -> str:
        """Return the hash of all that the row depends on: plant, seed, length, and what decides."""
        one = self.scenario
        named: list[object] = [SCHEMA, self.kind, one.plant.fingerprint(), one.seed, one.seconds]
        named += [one.measured_from, self.m]
        if self.kind == "policy":
            named += [self.settings, policies_revision()]
        return hashlib.sha256(msgspec.json.encode(named, order="deterministic")).hexdigest()[:16]

    @property
    def contender(self) -> str:
        """Return the policy's name, or the kind."""
        return self.policy if self.kind == "policy" else self.kind


class Asked(Struct, frozen=True, forbid_unknown_fields=True):
    """A comparison.

    Attributes:
        policies: by name, the reference first.
        scenarios: what they go through, each from its own seed on.
        seeds: runs of each, with one seed each; a recorded one has nothing random, and one run.
        oracle: the best static setting beside them.
        recorded: names of the scenarios that were made from a journal, and what is to be known of each.
        other_seeds: seeds of the scenarios that have another number of them, by name.
    """

    policies: tuple[PolicyName, ...]
    scenarios: tuple[Scenario, ...]
    seeds: int
    oracle: bool = False
    recorded: dict[str, tuple[str, ...]] = {}
    other_seeds: dict[str, int] = {}

    def seeded(self, scenario: Scenario) -> list[Scenario]:
        """Return a scenario with each seed."""
        asked = self.other_seeds.get(scenario.name, self.seeds)
        seeds = 1 if scenario.name in self.recorded else asked
        return [replace(scenario, seed=scenario.seed + number) for number in range(seeds)]

    def searched(self, scenario: Scenario) -> list[Scenario]:
        """Return what the best setting of a scenario is searched on: its first seeds, its first seconds."""
        seconds = min(scenario.seconds, SEARCH_SECONDS)
        return [replace(one, seconds=seconds) for one in self.seeded(scenario)[:SEARCH_SEEDS]]

    def tasks(self, scenario: Scenario) -> list[Task]:
        """Return the runs of all policies and of the untouched server on a scenario, seed by seed."""
        return [
            task
            for one in self.seeded(scenario)
            for task in (
                *(Task("policy", one, policy) for policy in self.policies),
                Task("untouched", one),
            )
        ]

    def static_tasks(self, scenario: Scenario, m: int) -> list[Task]:
        """Return the runs of a static setting on a scenario, one for each seed."""
        return [Task("static", one, m=m) for one in self.seeded(scenario)]


def carry_out(task: Task, beat: Beat) -> Row:
    """Return the row of a run.

    Args:
        task: the run.
        beat: called with the simulated seconds since the last call.

    Raises:
        SimulateError: it would take for ever.
    """
    began, spent = time.monotonic(), time.process_time()
    try:
        found = _policy(task, beat) if task.kind == "policy" else _static(task, beat)
    except Endless as error:
        raise SimulateError(f"{task.scenario.name}, {task.contender}: {error}") from error
    scenario = task.scenario
    return {
        "schema": SCHEMA,
        "key": task.key,
        "scenario": scenario.name,
        "contender": task.contender,
        "kind": task.kind,
        "io_capacity_max": task.m or None,
        "seed": scenario.seed,
        "seconds": scenario.seconds,
        "measured_from": scenario.measured_from,
        "moves": bool(scenario.changes),
        "plant": scenario.plant.fingerprint(),
        "policies": policies_revision() if task.kind == "policy" else "",
        **found,
        "processor_seconds": round(time.process_time() - spent, 3),
        "wall_seconds": round(time.monotonic() - began, 3),
        "when": time.strftime("%Y-%m-%dT%H:%M:%S%z"),
    }


def _policy(task: Task, beat: Beat) -> Row:
    """Return what the loop came to."""
    every = PROGRESS_EVERY * INTERVAL

    def ticked(record: TickRecord) -> None:
        if record.tick.number % PROGRESS_EVERY == 0:
            beat(every)

    run = run_policy(task.scenario, task.settings, publish=ticked)
    beat(task.scenario.seconds % every)
    return {
        "outcome": msgspec.to_builtins(run.outcome),
        "settling_seconds": None if task.scenario.changes else run.settling_seconds,
        "changes": run.knob_changes,
        "changes_in_hour": run.changes_in_hour,
    }


def _static(task: Task, beat: Beat) -> Row:
    """Return what C and M came to that nobody moves."""
    setting = pair(task.m, RATIO) if task.m else starting_pair(task.scenario)
    outcome = msgspec.to_builtins(run_pair(task.scenario, setting, beat))
    return {"outcome": outcome, "settling_seconds": None, "changes": 0, "changes_in_hour": 0}


class TimeUpError(Exception):
    """The time is up; the message says what is left, where only that is, and how long another run may take.

    Attributes:
        needs: how long it may take, seconds.
    """

    def __init__(self, needs: float, left: str = "") -> None:
        said = f"{max(1.0, needs):.0f} s" if needs < 120.0 else f"{math.ceil(needs / 60.0)} min"  # noqa: PLR2004 - reads better
        super().__init__(f"{f'{left}; ' if left else ''}another run may take {said}")
        self.needs = needs


class Runner:
    """Carries runs out side by side, each once: rows are kept, and none begins that would end too late."""

    def __init__(
        self, ledger: Ledger, *, jobs: int, seconds: float = math.inf, progress: Told = nobody
    ) -> None:
        """Start nothing yet.

        Args:
            ledger: finished rows, of this and of earlier parts.
            jobs: processes.
            seconds: no run begins that would end later than so long from now.
            progress: told how far a set of runs is.
        """
        self._ledger = ledger
        whole = [row for row in ledger.rows if row.get("schema") == SCHEMA and row.keys() >= NEEDED]
        self._rows = {str(row["key"]): row for row in whole}
        self._end = time.monotonic() + seconds
        self._progress = progress
        self._jobs = jobs
        self._lasted: dict[tuple[str, str], float] = {}
        for row in whole:  # of the machine as it was, which others may have slowed down
            self._learn(row, row["processor_seconds"])
        self._seconds = self._before = 0.0
        self._stage, self._whole, self._vague = "", 1.0, False
        self._runs: Runs[Task, Row] = Runs(carry_out, workers=jobs, told=self._told)

    def __enter__(self) -> Self:
        """Return itself."""
        self._runs.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End the processes, at once where something went wrong."""
        self._runs.__exit__(kind, error, trace)

    def rows(self, tasks: Sequence[Task]) -> list[Row]:
        """Return the rows of those tasks that have one, in their order."""
        return [self._rows[task.key] for task in tasks if task.key in self._rows]

    def stage(self, words: str, *, seconds: float, vague: bool = False) -> None:
        """Say what the next runs are.

        Args:
            words: for people.
            seconds: simulated seconds of all of them.
            vague: there may be fewer.
        """
        self._stage, self._whole, self._vague = words, max(1.0, seconds), vague
        self._before = self._seconds

    def missing(self, tasks: Sequence[Task]) -> list[Task]:
        """Return those tasks that have no row yet."""
        return [task for task in tasks if task.key not in self._rows]

    def done(self, tasks: Sequence[Task]) -> list[Row]:
        """Return the rows of some tasks, in their order; runs those that have none yet.

        Raises:
            TimeUpError: some have none, as they would end too late; the others have been run.
            SimulateError: a run would take for ever.
            KeyboardInterrupt: Ctrl-C.
        """
        asked = {task.key: task for task in tasks}
        late: list[Task] = []

        def to_do() -> Iterator[str]:
            for key, task in asked.items():
                if key in self._rows:
                    continue
                if time.monotonic() + self.expected_seconds(task) <= self._end:
                    yield key
                else:
                    late.append(task)

        for key, row in self._runs.each(to_do(), asked.__getitem__):
            self._ledger.add(row)
            self._rows[key] = row
            self._learn(row, row["wall_seconds"])
        if late:
            raise TimeUpError(max(self.expected_seconds(task) for task in late))
        return [self._rows[task.key] for task in tasks]

    def expected_seconds(self, task: Task) -> float:
        """Return how long a run may take: by the longest of its kind and scenario, else of its kind."""
        known = self._lasted.get((task.kind, task.scenario.name)) or self._lasted.get((task.kind, ""))
        rate = FIRST_GUESS[task.kind] / HOUR if known is None else WORSE * known
        return rate * task.scenario.seconds

    def left_seconds(self, tasks: Sequence[Task]) -> float:
        """Return about how long the runs of these tasks take that have no row yet."""
        return sum(map(self.expected_seconds, self.missing(tasks))) / self._jobs

    def _learn(self, row: Row, lasted: float) -> None:
        rate = lasted / row["seconds"]
        for key in ((row["kind"], row["scenario"]), (row["kind"], "")):
            self._lasted[key] = max(rate, self._lasted.get(key, 0.0))

    def _told(self, _done: int, seconds: float) -> None:
        self._seconds = seconds
        share = (seconds - self._before) / self._whole
        self._progress(Progress(self._stage, min(1.0, share), at_least=self._vague))


class Found(Struct, frozen=True):
    """What the search of a scenario has found: the best M, pages/s, None where none keeps the rules."""

    static: int | None
    note: str = ""


class Comparison:
    """A comparison being carried out.

    Attributes:
        found: what the searches have found so far, by scenario.
        stopped: why it stopped before its end; None when it did not.
    """

    def __init__(self, asked: Asked, runner: Runner) -> None:
        """Take what is compared, and what carries the runs out; start nothing."""
        self._asked = asked
        self._runner = runner
        self.found: dict[str, Found] = {}
        self.stopped: TimeUpError | None = None

    def tasks(self) -> list[Task]:
        """Return the runs of all policies and of the untouched servers."""
        return [task for scenario in self._asked.scenarios for task in self._asked.tasks(scenario)]

    def run(self) -> bool:
        """Carry out what has no row yet; return whether all is there.

        Raises:
            SimulateError: a run would take for ever.
            KeyboardInterrupt: Ctrl-C.
        """
        tasks = self.tasks()
        seconds = sum(task.scenario.seconds for task in self._runner.missing(tasks))
        self._runner.stage("policies", seconds=seconds)
        try:
            self._runner.done(tasks)
        except TimeUpError as error:
            self.stopped = error
            return False
        searched = self._asked.scenarios if self._asked.oracle else ()
        for number, scenario in enumerate(searched):
            try:
                self.found[scenario.name] = self._search(scenario)
            except TimeUpError as error:
                names = ", ".join(one.name for one in searched[number:])
                left = f"only the search of best static is left, on {names}"
                self.stopped = TimeUpError(error.needs, left)
                return False
        return True

    def rows(self, scenario: Scenario) -> dict[str, list[Row]]:
        """Return the rows of a scenario by contender, the reference first, but what a search only tried."""
        tasks = self._asked.tasks(scenario)
        found = self.found.get(scenario.name)
        statics = self._asked.static_tasks(scenario, found.static) if found and found.static else []
        kinds = [*self._asked.policies, "static", "untouched"]
        return {
            name: self._runner.rows([one for one in (*tasks, *statics) if one.contender == name])
            for name in kinds
        }

    def _search(self, scenario: Scenario) -> Found:
        """Search the best static setting, and judge it on all seeds.

        Where none keeps the rules, the load may forbid an even first percentile by itself, as one that pauses
        does: then it is the best without that rule, for a policy is compared with something even there.
        """
        seeds = self._asked.searched(scenario)
        seconds = seeds[0].seconds * len(seeds) * SEARCH_VALUES
        seconds += scenario.seconds * len(self._asked.seeded(scenario))
        self._runner.stage(f"{scenario.name}: static settings", seconds=seconds, vague=True)
        caps = caps_of(Settings(), seeds[0])
        known: dict[int, tuple[Outcome, ...]] = {}

        def try_all(values: Sequence[int], _later: int) -> None:
            rows = self._runner.done([Task("static", one, m=value) for value in values for one in seeds])
            outcomes = [msgspec.convert(row["outcome"], Outcome) for row in rows]
            for place, value in enumerate(values):
                known[value] = tuple(outcomes[place * len(seeds) : (place + 1) * len(seeds)])

        def even(outcome: Outcome) -> bool:
            return calm(outcome) and caps.keep(outcome)

        def dry(outcome: Outcome) -> bool:
            return outcome.sync_flush_seconds == 0 and caps.keep(outcome)

        for accept, note in ((even, ""), (dry, UNEVEN)):
            climb(seeds[0], known, try_all, rules=(accept,), ratio=RATIO, at_once=2)
            best = winner(known, accept, offered=scenario.offered)
            if best is not None:
                self._runner.done(self._asked.static_tasks(scenario, best))
                return Found(best, note)
        return Found(None, "no static setting keeps the rules")
