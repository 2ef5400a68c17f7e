"""``innobrim policies --compare``: asks for a comparison, carries it out in parts, and prints it."""

from __future__ import annotations

import math
import shlex
import time
from pathlib import Path
from typing import NamedTuple, get_args

import click

from lab.bench import store
from lab.bench.comparison import Asked, Comparison, Runner
from lab.bench.progress import enough_minutes
from lab.bench.recorded import RecordedError, recorded
from lab.bench.refusals import PlanError
from lab.bench.revision import policies_revision
from lab.bench.store import COMPARISON, HeldError, Ledger
from lab.bench.table import group, table_csv, told
from lab.report.files import replace_text
from lab.report.rows import ReportError
from lab.scenarios import Scenario, ScenarioError, load_scenario, scenario_names
from lab.simulate import SimulateError
from tuner.cli.answer import NO, UNFINISHED, exit_code, like_ctrl_c, say, say_json
from tuner.cli.bar import Bar
from tuner.cli.options import fail, usage
from tuner.cli.parts import kept_text, refuse_given
from tuner.cli.wording import counted, duration
from tuner.config.checks import unusable_extra
from tuner.journal.reader import trace as read_trace
from tuner.journal.tables import JournalError
from tuner.settings import PolicyName, Settings

OF_A_PART = frozenset({"resume", "compare", "limit", "jobs", "as_json"})
"""Options that each part of a comparison has for itself."""

CSV = "comparison.csv"
SEEDS = 3
LONGEST_UNNAMED = 7 * 86_400
"""A scenario with more seconds takes part only where it is named."""


class Wanted(NamedTuple):
    """What a new comparison is asked for, in the user's words; seeds by scenario, those of all under ""."""

    policies: tuple[PolicyName, ...]
    scenarios: tuple[str, ...]
    trace: Path | None
    run: int | None
    seeds: dict[str, int]
    oracle: bool


class Part(NamedTuple):
    """What is asked of this part: seconds, processes, and one JSON object in place of the table."""

    limit: float | None
    jobs: int
    as_json: bool


def begin(context: click.Context, wanted: Wanted, output: Path | None, part: Part) -> None:
    """Start a comparison; ends as the command does."""
    asked = _asked(wanted)
    directory = output or Path(f"policies-{time.strftime('%Y%m%dT%H%M%S')}")
    try:
        context.with_resource(store.held(directory, COMPARISON, new=True))
        ledger = store.begin(directory, asked, COMPARISON)
    except PlanError as error:
        usage(str(error))
    except HeldError as error:
        fail(str(error), NO)
    _carry_out(asked, ledger, directory, part)


def go_on(context: click.Context, directory: Path, part: Part) -> None:
    """Go on with a comparison; ends as the command does."""
    refuse_given(context, OF_A_PART, " cannot be changed with --resume; start another comparison for it")
    try:
        context.with_resource(store.held(directory, COMPARISON))
        asked, ledger = store.go_on(directory, COMPARISON, Asked)
    except PlanError as error:
        usage(str(error))
    except HeldError as error:
        fail(str(error), NO)
    if old := sum(row.get("policies", "") not in ("", policies_revision()) for row in ledger.rows):
        click.echo(f"of other policies than now, and not counted: {counted(old, 'row')}", err=True)
    _carry_out(asked, ledger, directory, part)


def _asked(wanted: Wanted) -> Asked:
    """Return what is asked for; exit 2 where a scenario or a journal is wrong."""
    scenarios: list[Scenario] = []
    notes: dict[str, tuple[str, ...]] = {}
    try:
        if wanted.scenarios:
            scenarios += [load_scenario(name) for name in wanted.scenarios]
        elif wanted.trace is None:
            named = (load_scenario(name) for name in scenario_names())
            scenarios += [one for one in named if one.seconds <= LONGEST_UNNAMED]
        if wanted.trace is not None:
            name = wanted.trace.name or str(wanted.trace)
            found = recorded(read_trace(wanted.trace, wanted.run), name=name)
            scenarios.append(found.scenario)
            notes[found.scenario.name] = found.notes
    except (ScenarioError, JournalError, RecordedError) as error:
        usage(str(error))
    called = [one.name for one in scenarios]
    if twice := sorted({name for name in called if called.count(name) > 1}):
        usage(f"--scenario {', '.join(twice)}: is there twice; every scenario needs a name of its own")
    if unknown := [name for name in wanted.seeds if name and name not in called]:
        there = f"there are {', '.join(called)}" if len(called) > 1 else f"the only one is {called[0]}"
        usage(f"--seeds {unknown[0]}=…: no such scenario in this comparison; {there}")
    names, default = _policies(wanted.policies), Settings().policy
    first = (default,) if default in names else ()
    return Asked(
        policies=tuple(dict.fromkeys((*first, *names))),
        scenarios=tuple(scenarios),
        seeds=wanted.seeds.get("", SEEDS),
        other_seeds={name: number for name, number in wanted.seeds.items() if name},
        oracle=wanted.oracle,
        recorded=notes,
    )


def _policies(named: tuple[PolicyName, ...]) -> tuple[PolicyName, ...]:
    """Return what is compared: what was named, or all that can be; what is left out is said."""
    offered = named or get_args(PolicyName)
    lacking = {name: why for name in offered if (why := unusable_extra(name))}
    if named:
        for name, why in lacking.items():
            usage(f"--policy {name} {why}")
        return named
    for name, why in lacking.items():
        say(f"{name} is left out: it {why}", err=True)
    return tuple(name for name in offered if name not in lacking)


def _carry_out(asked: Asked, ledger: Ledger, directory: Path, part: Part) -> None:
    """Run what is not finished, write the table, and print it."""
    again = _again(directory, part)
    before = len(ledger.rows)
    seconds = math.inf if part.limit is None else part.limit
    try:
        with (
            like_ctrl_c(),
            Bar() as bar,
            Runner(ledger, jobs=part.jobs, seconds=seconds, progress=bar.show) as runner,
        ):
            comparison = Comparison(asked, runner)
            tasks = comparison.tasks()
            click.echo(
                f"{counted(len(tasks), 'run')} of {counted(len(asked.policies), 'policy', 'policies')} "
                f"on {counted(len(asked.scenarios), 'scenario')}, "
                f"{len(runner.missing(tasks))} to do, about {duration(max(1.0, runner.left_seconds(tasks)))}"
                f"{', and the searches' if asked.oracle else ''}; rows go to {directory}",
                err=True,
            )
            finished = comparison.run()
    except SimulateError as error:
        usage(str(error))
    except KeyboardInterrupt as error:
        click.echo(f"interrupted; {kept_text(len(ledger.rows))}; go on with: {again}", err=True)
        raise click.exceptions.Exit(exit_code(error)) from error
    _print(asked, comparison, directory, finished=finished, as_json=part.as_json)
    if not finished:
        short = ""
        if len(ledger.rows) == before and part.limit is not None and comparison.stopped is not None:
            short = f" before the first run: --time {part.limit:g}s is too short for one"
            again = _again(directory, part._replace(limit=60.0 * enough_minutes(comparison.stopped.needs)))
        click.echo(f"the time was up{short}: {comparison.stopped}; go on with: {again}", err=part.as_json)
        raise click.exceptions.Exit(UNFINISHED)


def _print(asked: Asked, comparison: Comparison, directory: Path, *, finished: bool, as_json: bool) -> None:
    """Write the table as CSV, and print it or the JSON object."""
    groups = []
    for scenario in asked.scenarios:
        notes = list(asked.recorded.get(scenario.name, ()))
        found = comparison.found.get(scenario.name)
        notes += [found.note] if found is not None and found.note else []
        rows = comparison.rows(scenario)
        one = group(scenario, rows, notes=notes, recorded=scenario.name in asked.recorded)
        groups += [] if one is None else [one]
    if groups:
        try:
            replace_text(directory / CSV, table_csv(groups))
        except ReportError as error:
            fail(str(error), NO)
    reference = asked.policies[0]
    if as_json:
        state = {"directory": str(directory), "finished": finished, "reference": reference}
        say_json({**state, "policies_revision": policies_revision(), "scenarios": groups})
        return
    for one in groups:
        click.echo("\n".join(told(one, reference)) + "\n")
    if groups:
        click.echo(f"the table with all digits: {directory / CSV}")


def _again(directory: Path, part: Part) -> str:
    """Return the command that goes on with a comparison."""
    words = ["innobrim", "policies", "--compare", "--resume", str(directory)]
    words += [] if part.limit is None else ["--time", f"{part.limit:g}s"]
    words += ["--jobs", str(part.jobs)]
    return shlex.join(words + (["--json"] if part.as_json else []))
