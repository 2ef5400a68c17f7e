"""``innobrim policies --compare``: asks for a comparison, carries it out in parts, and prints it."""

from __future__ import annotations

import math
import shlex
import time
from pathlib import Path
from typing import NamedTuple, get_args

import click

from lab.bench.folder import HeldError
from lab.bench.ledger import Ledger
from lab.bench.plan import PlanError
from lab.compare import asked as folder
from lab.compare.asked import Asked
from lab.compare.comparison import Comparison
from lab.compare.recorded import RecordedError, recorded
from lab.compare.results import groups_of, write_table
from lab.compare.revision import policies_revision
from lab.compare.runner import Runner
from lab.compare.sources import moved_on, source_of
from lab.scenarios import Scenario, ScenarioError, load_scenario, scenario_names
from lab.simulate import SimulateError
from tuner.cli.answer import NO, UNFINISHED, exit_code, like_ctrl_c, say, say_json
from tuner.cli.bar import Bar
from tuner.cli.bench_resume import enough_minutes, kept_text, refuse_beside_resume
from tuner.cli.options import fail, usage, warn
from tuner.cli.policies_table import BEST_FOUND, told
from tuner.cli.wording import counted, duration
from tuner.config.checks import unusable_extra
from tuner.journal.reader import trace as read_trace
from tuner.journal.tables import JournalError
from tuner.settings import LOW_WATER_POLICY, PolicyName, Settings

OF_A_PART = frozenset({"resume", "compare", "limit", "jobs", "as_json"})
"""Options that each part of a comparison has for itself."""


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
    clairvoyant: bool


def begin(
    context: click.Context,
    wanted: Wanted,
    output: Path | None,
    *,
    limit: float | None,
    jobs: int,
    as_json: bool,
) -> None:
    """Start a comparison; ends as the command does."""
    asked = _asked(wanted)
    directory = output or Path(f"policies-{time.strftime('%Y%m%dT%H%M%S')}")
    try:
        context.with_resource(folder.locked(directory, new=True))
        ledger = folder.begin(directory, asked, warn)
    except PlanError as error:
        usage(str(error))
    except HeldError as error:
        fail(str(error), NO)
    _carry_out(asked, ledger, directory, limit=limit, jobs=jobs, as_json=as_json)


def go_on(context: click.Context, directory: Path, *, limit: float | None, jobs: int, as_json: bool) -> None:
    """Go on with a comparison; ends as the command does."""
    refuse_beside_resume(context, OF_A_PART, "comparison")
    try:
        context.with_resource(folder.locked(directory))
        asked, ledger = folder.go_on(directory, warn)
    except PlanError as error:
        usage(str(error))
    except HeldError as error:
        fail(str(error), NO)
    for line in moved_on(asked):
        warn(line)
    old = sum(row.get("policies") not in ("", policies_revision()) for row in ledger.rows)
    if old:
        verb = (
            "is of other policies than now, and does"
            if old == 1
            else "are of other policies than now, and do"
        )
        click.echo(f"{counted(old, 'row')} {verb} not count", err=True)
    _carry_out(asked, ledger, directory, limit=limit, jobs=jobs, as_json=as_json)


def _asked(wanted: Wanted) -> Asked:
    """Return what is asked for; exit 2 where a scenario or a journal is wrong."""
    scenarios: list[Scenario] = []
    sources: dict[str, str] = {}
    notes: dict[str, tuple[str, ...]] = {}
    try:
        if wanted.scenarios:
            scenarios += [load_scenario(name) for name in wanted.scenarios]
            found_at = zip(scenarios, wanted.scenarios, strict=True)
            sources = {one.name: source_of(name) for one, name in found_at}
        elif wanted.trace is None:
            named = (load_scenario(name) for name in scenario_names())
            scenarios += [one for one in named if one.seconds <= LONGEST_UNNAMED]
        if wanted.trace is not None:
            found = recorded(
                read_trace(wanted.trace, wanted.run), name=wanted.trace.name or str(wanted.trace)
            )
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
    return Asked(
        policies=_reference_first(_policies(wanted.policies)),
        scenarios=tuple(scenarios),
        seeds=wanted.seeds.get("", SEEDS),
        other_seeds={name: number for name, number in wanted.seeds.items() if name},
        oracle=wanted.oracle or wanted.clairvoyant,
        clairvoyant=wanted.clairvoyant,
        recorded=notes,
        sources=sources,
    )


def _policies(named: tuple[PolicyName, ...]) -> tuple[PolicyName, ...]:
    """Return what is compared: what was named, or all that can be; what is left out is said."""
    offered = named or tuple(name for name in get_args(PolicyName) if name != LOW_WATER_POLICY)
    lacking = {name: why for name in offered if (why := unusable_extra(name))}
    if named:
        for name, why in lacking.items():
            usage(f"--policy {name} {why}")
        return named
    for name, why in lacking.items():
        say(f"{name} is left out: it {why}", err=True)
    say(
        f"{LOW_WATER_POLICY} is left out, which on most servers is bayes; to have it, name every policy "
        f"wanted: --policy {LOW_WATER_POLICY} --policy …",
        err=True,
    )
    return tuple(name for name in offered if name not in lacking)


def _reference_first(names: tuple[PolicyName, ...]) -> tuple[PolicyName, ...]:
    """Return the policies, the daemon's default in front where it is among them."""
    default = Settings().policy
    first = (default,) if default in names else ()
    return (*first, *dict.fromkeys(name for name in names if name not in first))


def _carry_out(
    asked: Asked, ledger: Ledger, directory: Path, *, limit: float | None, jobs: int, as_json: bool
) -> None:
    """Run what is not finished, write the table, and print it."""
    again = _again(directory, limit, jobs, as_json=as_json)
    seconds = math.inf if limit is None else limit
    before = len(ledger.rows)
    try:
        with (
            like_ctrl_c(),
            Bar() as bar,
            Runner(ledger, jobs=jobs, seconds=seconds, progress=bar.show) as runner,
        ):
            comparison = Comparison(asked, runner)
            tasks = comparison.policy_tasks()
            left = sum(runner.row(task) is None for task in tasks)
            click.echo(
                f"{counted(len(tasks), 'run')} of {counted(len(asked.policies), 'policy', 'policies')} "
                f"on {counted(len(asked.scenarios), 'scenario')}, "
                f"{left} to do, about {duration(max(1.0, runner.left_seconds(tasks)))}"
                f"{', and the searches' if asked.oracle else ''}; rows go to {directory}",
                err=True,
            )
            finished = comparison.run()
    except SimulateError as error:
        usage(str(error))
    except KeyboardInterrupt as error:
        click.echo(f"interrupted; {kept_text(len(ledger.rows))}; go on with: {again}", err=True)
        raise click.exceptions.Exit(exit_code(error)) from error
    groups = groups_of(asked, comparison, runner)
    reference = asked.policies[0]
    path = write_table(directory, groups) if groups else None
    if as_json:
        found = {
            "directory": str(directory),
            "finished": finished,
            "reference": reference,
            "policies_revision": policies_revision(),
            "clairvoyant": BEST_FOUND if asked.clairvoyant else "",
            "scenarios": groups,
        }
        say_json(found)
    else:
        for group in groups:
            click.echo("\n".join(told(group, reference)) + "\n")
        if path is not None:
            click.echo(f"the table with all digits: {path}")
    if not finished:
        short = ""
        if len(ledger.rows) == before and limit is not None and comparison.stopped is not None:
            short = f" before the first run: --time {limit:g}s is too short for one"
            again = _again(directory, 60.0 * enough_minutes(comparison.stopped.needs), jobs, as_json=as_json)
        click.echo(f"the time was up{short}: {comparison.stopped}; go on with: {again}", err=as_json)
        raise click.exceptions.Exit(UNFINISHED)


def _again(directory: Path, limit: float | None, jobs: int, *, as_json: bool) -> str:
    """Return the command that goes on with a comparison."""
    words = ["innobrim", "policies", "--compare", "--resume", str(directory)]
    words += [] if limit is None else ["--time", f"{limit:g}s"]
    words += ["--jobs", str(jobs)]
    return shlex.join(words + (["--json"] if as_json else []))
