"""What a comparison was asked for, in its directory beside the finished rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from lab.bench import folder
from lab.bench.ledger import Ledger
from lab.bench.plan import PlanError
from lab.compare.task import Task
from lab.scenarios.schema import Scenario
from tuner.settings import FORMER_POLICY_NAMES, Mode, PolicyName, Settings

if TYPE_CHECKING:
    import contextlib
    from pathlib import Path

ASKED = "comparison.json"
WHAT = "comparison"
SEARCH_SEEDS = 3
"""The best static setting is searched on so many seeds, and judged on all."""


class Asked(Struct, frozen=True, forbid_unknown_fields=True):
    """A comparison.

    Attributes:
        policies: by name, the reference first.
        scenarios: what they go through, each from its own seed on.
        seeds: runs of each, with one seed each; a recorded one has nothing random, and one run.
        oracle: static settings beside them.
        clairvoyant: an M for each piece as well.
        recorded: names of the scenarios that were made from a journal, and what is to be known of each.
        other_seeds: seeds of the scenarios that have another number of them, by name.
        search_seconds: the best settings of a longer scenario are searched on its first so many seconds, and
            judged on all of it; None: searched on all of it.
    """

    policies: tuple[PolicyName, ...]
    scenarios: tuple[Scenario, ...]
    seeds: int
    oracle: bool = False
    clairvoyant: bool = False
    recorded: dict[str, tuple[str, ...]] = {}
    other_seeds: dict[str, int] = {}
    search_seconds: int | None = None

    def seeded(self, scenario: Scenario) -> list[Scenario]:
        """Return a scenario with each seed."""
        asked = self.other_seeds.get(scenario.name, self.seeds)
        seeds = 1 if scenario.name in self.recorded else asked
        return [replace(scenario, seed=scenario.seed + number) for number in range(seeds)]

    def searched(self, scenario: Scenario) -> list[Scenario]:
        """Return what the best settings of a scenario are searched on: its first seeds, its first seconds."""
        seconds = min(scenario.seconds, self.search_seconds or scenario.seconds)
        return [replace(one, seconds=seconds) for one in self.seeded(scenario)[:SEARCH_SEEDS]]

    def policy_tasks(self, scenario: Scenario) -> list[Task]:
        """Return the runs of all policies on a scenario, seed by seed."""
        return [
            Task("policy", one, Settings(mode=Mode.ACTIVE, policy=policy))
            for one in self.seeded(scenario)
            for policy in self.policies
        ]

    def tasks(self, kind: str, scenario: Scenario, levels: tuple[int, ...] = ()) -> list[Task]:
        """Return the runs of a static setting on a scenario, one for each seed."""
        return [static_task(kind, one, levels) for one in self.seeded(scenario)]


def static_task(kind: str, scenario: Scenario, levels: tuple[int, ...] = ()) -> Task:
    """Return the run of a setting that nobody moves, or only at moments known beforehand."""
    return msgspec.convert(
        {"kind": kind, "scenario": scenario, "settings": Settings(mode=Mode.ACTIVE), "levels": levels}, Task
    )


def locked(directory: Path, *, new: bool = False) -> contextlib.AbstractContextManager[None]:
    """Keep other comparisons out of a directory; raises as ``lab.bench.folder.held``."""
    return folder.held(directory, new=new, asked=ASKED, what=WHAT)


def begin(directory: Path, asked: Asked) -> Ledger:
    """Note what is asked for in a comparison's directory; as ``lab.bench.folder.begin``."""
    return folder.begin(directory, asked, ASKED)


def go_on(directory: Path) -> tuple[Asked, Ledger]:
    """Return what was asked for, and the ledger with the finished rows.

    Raises:
        PlanError: no comparison's directory, or its files are wrong.
    """
    path = directory / ASKED
    try:
        raw = msgspec.json.decode(path.read_bytes())
        if isinstance(raw, dict) and isinstance(raw.get("policies"), list):
            raw["policies"] = [FORMER_POLICY_NAMES.get(name, name) for name in raw["policies"]]
        asked = msgspec.convert(raw, Asked)
    except FileNotFoundError as error:
        raise PlanError(f"{directory}: no comparison's directory: it has no {ASKED}") from error
    except OSError as error:
        raise PlanError(f"{path}: cannot be read: {error.strerror}") from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise PlanError(f"{path}: {error}") from error
    try:
        return asked, Ledger(directory / folder.ROWS, resume=True)
    except ValueError as error:
        raise PlanError(str(error)) from error
