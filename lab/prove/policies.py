"""The part ``policies`` of the proof: every policy on every scenario of the simulated server, in parts."""

from __future__ import annotations

import os
import time
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from lab.bench.folder import held
from lab.bench.ledger import Ledger
from lab.bench.plan import PlanError
from lab.compare.asked import SEARCH_SEEDS, Asked
from lab.compare.comparison import Comparison
from lab.compare.results import judged_rows
from lab.compare.runner import Runner
from lab.compare.task import fault, left_out
from lab.prove.claims import PIECES, STATIC, UNTOUCHED, searched_by_piece
from lab.prove.conditions import say
from lab.prove.contests import Line, line_of
from lab.prove.published import Lines, comparable, publish, read, standing
from lab.scenarios import load_scenario, scenario_names
from tuner.config.checks import unusable_extra

if TYPE_CHECKING:
    from lab.scenarios import Scenario
    from lab.scenarios.progress import Progress
    from tuner.settings import PolicyName

ROWS = Path(".cache/prove/policies")
"""Where every run lies, those of the searches too; what has a row or is published is not run again."""

BUDGET_SECONDS = 55 * 60.0
"""No run begins that would end later; the rest of the hour is for what was expected wrongly."""

HOUR, DAY = 3600, 86_400
MONTH = 30 * DAY
SEARCHED_SECONDS = 3 * DAY
SAID_EVERY = 60.0

ALL: tuple[PolicyName, ...] = ("cascade", "pid")
LEARNING: tuple[PolicyName, ...] = ("cascade", "bayes")


class Suite(NamedTuple):
    """Scenarios that are compared in the same way.

    Attributes:
        name: on the command line.
        about: what it is, for people.
        shortest: seconds that its scenarios have at least.
        longest: seconds that they have at most.
        policies: that take part, ours first.
        seeds: runs of each.
        statics: static settings beside them.
        clairvoyant: an M for each piece as well.
        lengthened: scenarios that take part as well, as long as the longest.
    """

    name: str
    about: str
    shortest: int
    longest: int
    policies: tuple[PolicyName, ...]
    seeds: int
    statics: bool = True
    clairvoyant: bool = True
    lengthened: tuple[str, ...] = ()

    def scenarios(self) -> tuple[Scenario, ...]:
        """Return what is gone through."""
        named = [load_scenario(name) for name in scenario_names()]
        within = (one for one in named if self.shortest <= one.seconds <= self.longest)
        lengthened = (
            replace(load_scenario(name), name=f"{name}-30d", seconds=self.longest) for name in self.lengthened
        )
        return (*within, *lengthened)

    def asked(self, *, trial: bool = False) -> Asked:
        """Return the comparison; a trial has no more seeds than a search."""
        return Asked(
            policies=self.policies,
            scenarios=self.scenarios(),
            seeds=min(SEARCH_SEEDS, self.seeds) if trial else self.seeds,
            oracle=self.statics,
            clairvoyant=self.clairvoyant,
            search_seconds=SEARCHED_SECONDS,
        )


SUITES: dict[str, Suite] = {
    one.name: one
    for one in (
        Suite("hour", "scenarios of at most an hour", 0, HOUR, ALL, 20),
        Suite("long", "scenarios of more than an hour", HOUR + 1, DAY, ALL, 5),
        Suite("daily", "two days of an office", DAY + 1, 7 * DAY, ALL, 5),
        Suite("month", "30 days with random bursts", MONTH, MONTH, ALL[:1], 3, clairvoyant=False),
        Suite(
            "learning",
            "30 days with the optimiser",
            MONTH,
            MONTH,
            LEARNING,
            3,
            statics=False,
            clairvoyant=False,
            lengthened=("steady-1200iops",),
        ),
    )
}
"""Every suite, in the order in which they are run."""


def run(
    results: Path, names: tuple[str, ...], *, trial: bool = False, seconds: float = BUDGET_SECONDS
) -> bool:
    """Carry out the next part of the suites; returns whether all of them are finished.

    Args:
        results: directory of all results.
        names: of the suites.
        trial: only as many seeds as a search has; lines say so.
        seconds: no run begins that would end later than so long from now.

    Raises:
        PlanError: the rows cannot be written, or a policy needs what is not installed.
        HeldError: somebody else is at work on the rows.
        ReportError: published lines are damaged.
    """
    end = time.monotonic() + seconds
    for name in names:
        for policy in SUITES[name].policies:
            if lacking := unusable_extra(policy):
                raise PlanError(f"the suite {name}: policy {policy} {lacking}")
    with held(ROWS, new=True, what="comparison"):
        ledger = Ledger(ROWS / "rows.jsonl", resume=True, stray=lambda line: say(left_out(line)), fault=fault)
        finished = True
        for name in names:
            left = end - time.monotonic()
            finished &= _suite(SUITES[name], ledger, results, trial=trial, seconds=left)
        return finished


def _suite(suite: Suite, ledger: Ledger, results: Path, *, trial: bool, seconds: float) -> bool:
    asked = suite.asked(trial=trial)
    published = {name: read(results, name) for name in SUITES}
    there = standing(asked, chain.from_iterable(published.values()), trial=trial)
    before = comparable(asked, published[suite.name], trial=trial)
    known = {
        name: frozenset(lines) - (set() if searched_by_piece(lines) or not suite.clairvoyant else {UNTOUCHED})
        for name, lines in there.items()
    }
    jobs = min(2, os.cpu_count() or 1)
    with Runner(ledger, jobs=jobs, seconds=seconds, progress=_Said(suite.name)) as runner:
        comparison = Comparison(asked, runner, known)
        tasks = comparison.policy_tasks()
        missing = sum(runner.row(task) is None for task in tasks)
        expected = runner.left_seconds(tasks) / 60.0
        say(f"{suite.name}: {missing} of {len(tasks)} runs of policies to do, about {expected:.0f} min")
        try:
            finished = comparison.run()
        finally:
            lines = lines_of(asked, comparison, runner, _over(before, there), trial=trial)
            publish(results, suite.name, lines)
    say(f"{suite.name}: {'finished' if finished else f'not finished: {comparison.stopped}'}")
    return finished


def _over(before: Lines, there: Lines) -> Lines:
    """Return what stands, and where nothing does what was published before."""
    return {name: {**before.get(name, {}), **lines} for name, lines in there.items()}


class _Said:
    """Says now and then how far a set of runs is."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._next = time.monotonic() + SAID_EVERY

    def __call__(self, progress: Progress) -> None:
        if time.monotonic() >= self._next:
            self._next = time.monotonic() + SAID_EVERY
            say(f"{self._name}: {progress.stage}, {progress.share:.0%}")


def lines_of(
    asked: Asked, comparison: Comparison, runner: Runner, there: Lines, *, trial: bool = False
) -> list[Line]:
    """Return what is published so far: contenders whose runs are all there, and those that were before."""
    found: list[Line] = []
    for scenario in asked.scenarios:
        seeds = len(asked.seeded(scenario))
        by_contender = dict(there.get(scenario.name, {}))
        searched = comparison.found.get(scenario.name)
        noted = next(iter(by_contender.values()), None)
        notes = searched.notes if searched is not None else noted.notes if noted is not None else ()
        for name, rows in judged_rows(asked, comparison, runner, scenario).items():
            if len(rows) == seeds:
                by_contender[name] = line_of(scenario, rows, trial=trial)
        order = (*asked.policies, STATIC, PIECES, UNTOUCHED)
        found += [replace(by_contender[name], notes=notes) for name in order if name in by_contender]
    return found
