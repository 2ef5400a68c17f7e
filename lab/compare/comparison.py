"""All runs of a comparison in order: policies, static settings, and what knows load and disk beforehand."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct

from lab.compare.asked import Asked, static_task
from lab.compare.coordinates import FACTORS, best_levels
from lab.compare.pieces import MOST_PIECES, pieces_of
from lab.compare.runner import Runner, TimeUpError
from lab.scenarios.caps import calm, caps_of
from lab.scenarios.search import climb
from lab.scenarios.static import RATIO
from lab.scenarios.trace import Outcome
from lab.scenarios.winner import SERVED, pages, throughput, winner
from tuner.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from lab.compare.coordinates import Levels, Score
    from lab.compare.task import Row, Task
    from lab.scenarios.schema import Scenario

SEARCH_VALUES = 36
"""Values of M that a search usually tries."""

PIECE_VALUES = 4 * len(FACTORS)
"""Values that it usually tries of each piece."""

UNEVEN = (
    "no static setting keeps the first percentile at half the median: static is the best without that rule"
)

NO_CLAIRVOYANT = "no clairvoyant"
"""How a note begins that says why there is no M for each piece."""

Rule = Callable[["Outcome"], bool]


class Found(Struct):
    """What the searches of a scenario have found.

    Attributes:
        static: the best M, pages/s; None where none keeps the rules.
        levels: the best M of each piece, pages/s; empty where there is one piece or no search.
        notes: what is to be said about it.
    """

    static: int | None = None
    levels: tuple[int, ...] = ()
    notes: tuple[str, ...] = ()


class Comparison:
    """A comparison being carried out.

    Attributes:
        found: what the searches have found so far, by scenario.
        stopped: why it stopped before its end; None when it did not.
    """

    def __init__(
        self, asked: Asked, runner: Runner, known: Mapping[str, frozenset[str]] | None = None
    ) -> None:
        """Start nothing.

        Args:
            asked: what is compared.
            runner: carries the runs out.
            known: contenders by scenario whose runs are left out, as what they come to is known; static
                settings are where the C and M are that the scenario starts with.
        """
        self._asked = asked
        self._runner = runner
        self._known = known or {}
        self.found: dict[str, Found] = {}
        self.stopped: TimeUpError | None = None

    def policy_tasks(self) -> list[Task]:
        """Return the runs of all policies, those left out whose outcome is known."""
        return [
            task
            for scenario in self._asked.scenarios
            for task in self._asked.policy_tasks(scenario)
            if task.contender not in self._known.get(scenario.name, ())
        ]

    def run(self) -> bool:
        """Carry out what has no row yet; return whether all is there.

        Raises:
            SimulateError: a run would take for ever.
            KeyboardInterrupt: Ctrl-C.
        """
        try:
            tasks = self.policy_tasks()
            missing = [task for task in tasks if self._runner.row(task) is None]
            self._runner.stage("policies", seconds=sum(task.scenario.seconds for task in missing))
            self._runner.done(tasks)
        except TimeUpError as error:
            self.stopped = error
            return False
        searched = [
            one
            for one in (self._asked.scenarios if self._asked.oracle else ())
            if "untouched" not in self._known.get(one.name, ())
        ]
        for number, scenario in enumerate(searched):
            try:
                self._statics(scenario)
            except TimeUpError as error:
                self.stopped = TimeUpError(error.needs, self._left(searched[number:]))
                return False
        return True

    def _left(self, scenarios: Sequence[Scenario]) -> str:
        """Return that nothing but the searches on these scenarios is left."""
        what = "the search of best static" + (" and clairvoyant" if self._asked.clairvoyant else "")
        return f"only {what} is left, on {', '.join(one.name for one in scenarios)}"

    def _statics(self, scenario: Scenario) -> None:
        """Search the best static setting and the best M of each piece, and judge them on all seeds."""
        seeds = self._asked.searched(scenario)
        self._runner.stage(
            f"{scenario.name}: static settings",
            seconds=seeds[0].seconds * len(seeds) * SEARCH_VALUES
            + 2 * scenario.seconds * len(self._asked.seeded(scenario)),
            vague=True,
        )
        search = _Search(self._runner, seeds)
        found = Found(static=search.static())
        self._runner.done(self._asked.tasks("untouched", scenario))
        if found.static is None:
            found.notes = ("no static setting keeps the rules",)
        else:
            self._runner.done(self._asked.tasks("static", scenario, (found.static,)))
            found.notes = (UNEVEN,) if search.uneven else ()
        if self._asked.clairvoyant:
            why = self._clairvoyant(scenario, search, found)
            found.notes += (f"{NO_CLAIRVOYANT}: {why}",) if why else ()
        self.found[scenario.name] = found

    def _clairvoyant(self, scenario: Scenario, search: _Search, found: Found) -> str:
        """Search the best M of each piece and judge it on all seeds; return why there is none, else empty."""
        seeds = self._asked.searched(scenario)
        count = pieces_of(seeds[0]).count
        if count == 1:
            return "nothing moves at a known moment"
        if count > MOST_PIECES:
            return f"{count} pieces are too many to search"
        seconds = seeds[0].seconds * len(seeds) * PIECE_VALUES * count
        self._runner.stage(f"{scenario.name}: an M for each piece", seconds=seconds, vague=True)
        levels = best_levels((found.static or search.any(),) * count, search.scores, ratio=RATIO)
        if search.scores([levels])[0][0] < len(seeds):
            return "no M by piece that was tried keeps the rules"
        self._runner.done(self._asked.tasks("pieces", scenario, levels))
        found.levels = levels
        return ""


class _Search:
    """Tries settings of one scenario on the search's seeds."""

    def __init__(self, runner: Runner, seeds: Sequence[Scenario]) -> None:
        self._runner = runner
        self._scenario = seeds[0]
        self._seeds = seeds
        caps = caps_of(Settings(), self._scenario)
        self._even: Rule = lambda outcome: calm(outcome) and caps.keep(outcome)
        self._dry: Rule = lambda outcome: outcome.sync_flush_seconds == 0 and caps.keep(outcome)
        self._accept: Rule = self._even
        self._known: dict[int, tuple[Outcome, ...]] = {}

    @property
    def uneven(self) -> bool:
        """Tell whether the rule about the first percentile had to be given up."""
        return self._accept is self._dry

    def static(self) -> int | None:
        """Return the best M that keeps the rules with every seed, pages/s.

        Where none does, the load may forbid an even first percentile by itself, as one that pauses does: then
        the best without that rule, for a policy is compared with something even there.
        """
        found = self._best()
        if found is None:
            self._accept = self._dry
            found = self._best()
        return found

    def _best(self) -> int | None:
        """Return the best M by the rules in force, pages/s."""

        def try_all(values: Sequence[int], _later: int) -> None:
            self._known.update(zip(values, self._outcomes("static", [(one,) for one in values]), strict=True))

        climb(self._scenario, self._known, try_all, rules=(self._accept,), ratio=RATIO, at_once=2)
        return winner(self._known, self._accept, offered=self._scenario.offered)

    def any(self) -> int:
        """Return the best M where none keeps the rules, pages/s."""
        found = winner(self._known, lambda _: True, offered=self._scenario.offered)
        return found or max(self._known)

    def scores(self, settings: Sequence[Levels]) -> list[Score]:
        """Return for settings by piece on how many seeds they keep the rules, and how much they give.

        An offered load is served as ``winner`` has it: beside the settings that keep the rules, if one does.
        """
        keeping = [one for one in self._known.values() if all(map(self._accept, one))]
        most = max(map(throughput, keeping or self._known.values()))
        found: list[Score] = []
        for outcomes in self._outcomes("pieces", settings):
            gives = throughput(outcomes)
            if self._scenario.offered:
                gives = -pages(outcomes) if gives >= SERVED * most else -math.inf
            found.append((sum(map(self._accept, outcomes)), gives))
        return found

    def _outcomes(self, kind: str, settings: Sequence[Levels]) -> list[tuple[Outcome, ...]]:
        """Return the outcomes of some settings, each by seed."""
        tasks = [static_task(kind, one, levels) for levels in settings for one in self._seeds]
        rows = [outcome_of(row) for row in self._runner.done(tasks)]
        width = len(self._seeds)
        return [tuple(rows[place : place + width]) for place in range(0, len(rows), width)]


def outcome_of(row: Row) -> Outcome:
    """Return what a row's run amounted to."""
    return msgspec.convert(row["outcome"], Outcome)
