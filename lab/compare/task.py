"""One simulated run of a comparison: what it is, what names it, and what it came to."""

from __future__ import annotations

import hashlib
import itertools
import time
from typing import TYPE_CHECKING, Annotated, Any, Literal

import msgspec
from msgspec import Struct

from lab.compare.pieces import pieces_of
from lab.compare.revision import policies_revision
from lab.plant.engine import Endless
from lab.scenarios.schema import Scenario
from lab.scenarios.static import RATIO, pair, run_course, run_pair, starting_pair
from lab.scenarios.trace import Outcome
from lab.simulate import PROGRESS_EVERY, SimulateError
from lab.simulate_loop import INTERVAL, most_in_an_hour, run_policy
from tuner.settings import Settings

if TYPE_CHECKING:
    from lab.scenarios.runs import Beat
    from tuner.records import TickRecord

SCHEMA = 4
HOUR = 3600.0

Kind = Literal["policy", "static", "pieces", "untouched"]
Row = dict[str, Any]


class _Counted(Struct):
    """What every row has: whose it is, and how long it took."""

    key: str
    kind: Kind
    scenario: str
    seconds: Annotated[int, msgspec.Meta(gt=0)]
    processor_seconds: float


class _Whole(_Counted):
    """What a row of this schema has beside that."""

    contender: str
    levels: list[int]
    seed: int
    measured_from: int
    moves: bool
    plant: str
    policies: str
    outcome: Outcome
    settling_seconds: float | None
    changes: int


def defaults_revision() -> str:
    """Return the hash of what a row depends on beside plant and code: its schema and the default settings.

    A policy runs with them, and the best static setting is searched inside their caps.
    """
    named = msgspec.json.encode([SCHEMA, Settings()], order="deterministic")
    return hashlib.sha256(named).hexdigest()[:12]


class Task(Struct, frozen=True):
    """One run.

    Attributes:
        kind: the daemon's loop with a policy, an M that nobody moves, one for each piece, or C and M as the
            server starts with them.
        scenario: what it goes through, with the run's seed.
        settings: of the loop; of the others only the ratio of M to C counts.
        levels: M of ``static``, or of each piece, pages/s.
    """

    kind: Kind
    scenario: Scenario
    settings: Settings
    levels: tuple[int, ...] = ()

    @property
    def key(self) -> str:
        """Return the hash of all that the row depends on: plant, seed, length, and what decides."""
        scenario = self.scenario
        named: list[object] = [
            SCHEMA,
            self.kind,
            scenario.plant.fingerprint(),
            scenario.seed,
            scenario.seconds,
            scenario.measured_from,
            self.levels,
            self.settings.ratio,
        ]
        if self.kind == "policy":
            named += [self.settings, policies_revision()]
        return hashlib.sha256(msgspec.json.encode(named, order="deterministic")).hexdigest()[:16]

    @property
    def contender(self) -> str:
        """Return the policy's name, or the kind."""
        return self.settings.policy if self.kind == "policy" else self.kind


def left_out(line: str) -> str:
    """Return what is said of a line among the rows that is none.

    Args:
        line: its file, its number and what is wrong with it.
    """
    return f"{line}; the line is left out, and a run that has no other is done again"


def fault(row: Row) -> str:
    """Return why an object is no row of a comparison; empty where it is one, also of an older schema."""
    try:
        msgspec.convert(row, _Whole if row.get("schema") == SCHEMA else _Counted)
    except msgspec.ValidationError as error:
        return str(error)
    return ""


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
        found = _policy(task, beat) if task.kind == "policy" else _course(task, beat)
    except Endless as error:
        raise SimulateError(f"{task.scenario.name}, {task.contender}: {error}") from error
    scenario = task.scenario
    return {
        "schema": SCHEMA,
        "key": task.key,
        "scenario": scenario.name,
        "contender": task.contender,
        "kind": task.kind,
        "levels": list(task.levels),
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
        "climb_seconds": run.climb_seconds,
        "settled": list(run.settled),
        "days": [round(one, 2) for one in run.days],
        "io_capacity_max_final": run.final.io_capacity_max,
    }


def _course(task: Task, beat: Beat) -> Row:
    """Return what C and M came to that nobody moves, or that move at moments known beforehand."""
    scenario = task.scenario
    moved: list[float] = []
    if task.kind == "untouched":
        final = starting_pair(scenario)
        outcome = run_pair(scenario, final, beat)
    elif task.kind == "static":
        final = pair(task.levels[0], RATIO)
        outcome = run_pair(scenario, final, beat)
    else:
        course = [(at, pair(task.levels[piece], RATIO)) for at, piece in pieces_of(scenario).moments]
        final = course[-1][1]
        moved = [after[0] for before, after in itertools.pairwise(course) if after[1] != before[1]]
        outcome = run_course(scenario, course, beat)
    return {
        "outcome": msgspec.to_builtins(outcome),
        "settling_seconds": None,
        "changes": len(moved),
        "changes_in_hour": most_in_an_hour(moved),
        "io_capacity_max_final": final.io_capacity_max,
    }
