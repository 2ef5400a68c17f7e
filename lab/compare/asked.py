"""What a comparison was asked for, in its directory beside the finished rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from lab.bench import folder
from lab.bench.ledger import Ledger
from lab.bench.plan import PlanError
from lab.bench.refusals import in_words
from lab.compare.task import Task, fault, left_out
from lab.scenarios.schema import Scenario
from tuner.settings import FORMER_POLICY_NAMES, Mode, PolicyName, Settings

if TYPE_CHECKING:
    import contextlib
    from collections.abc import Callable
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
        sources: where scenarios came from, by their names; none of one made from a journal.
    """

    policies: tuple[PolicyName, ...]
    scenarios: tuple[Scenario, ...]
    seeds: int
    oracle: bool = False
    clairvoyant: bool = False
    recorded: dict[str, tuple[str, ...]] = {}
    other_seeds: dict[str, int] = {}
    search_seconds: int | None = None
    sources: dict[str, str] = {}

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


def begin(directory: Path, asked: Asked, warned: Callable[[str], None]) -> Ledger:
    """Note what is asked for in a comparison's directory.

    Rows that are there without a note of what was asked for count: each says by itself what it is of.

    Args:
        directory: for the rows.
        asked: what is compared.
        warned: told of each line among the rows that is none.

    Raises:
        PlanError: it holds a comparison or other rows already, or cannot be written.
    """
    opened = None
    if not (directory / ASKED).exists():
        strays: list[str] = []
        opened = _ledger(directory, strays.append)
        for one in strays if opened.rows else ():
            warned(one)
    return folder.begin(directory, asked, ASKED, opened=opened, what=WHAT)


def go_on(directory: Path, warned: Callable[[str], None]) -> tuple[Asked, Ledger]:
    """Return what was asked for, and the ledger with the finished rows.

    Args:
        directory: of the comparison.
        warned: told of each line among the rows that is none.

    Raises:
        PlanError: no comparison's directory, or what was asked for cannot be read.
    """
    path = directory / ASKED
    try:
        asked = _asked(path.read_bytes())
    except FileNotFoundError as error:
        raise PlanError(f"{directory}: no comparison's directory: it has no {ASKED}") from error
    except OSError as error:
        raise PlanError(f"{path}: cannot be read: {error.strerror}") from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise PlanError(
            f"{path}: {in_words(str(error), Asked)}; start in another directory, or delete that file and "
            f"give the same options again with --output {directory}: its finished rows count"
        ) from error
    return asked, _ledger(directory, warned)


def _asked(text: bytes) -> Asked:
    """Return what was asked for, with the policies' names of today.

    Raises:
        msgspec.DecodeError: it is something else.
    """
    raw = msgspec.json.decode(text)
    if isinstance(raw, dict) and isinstance(raw.get("policies"), list):
        raw["policies"] = [FORMER_POLICY_NAMES.get(str(name), name) for name in raw["policies"]]
    return msgspec.convert(raw, Asked)


def _ledger(directory: Path, warned: Callable[[str], None]) -> Ledger:
    """Return the finished rows; a line that is none is left out, so that a run without another is done again.

    Raises:
        PlanError: they cannot be read.
    """
    path = directory / folder.ROWS
    try:
        return Ledger(
            path,
            stray=lambda line: warned(left_out(line)),
            fault=fault,
        )
    except OSError as error:
        raise PlanError(f"{path}: cannot be read: {error.strerror}") from error
