"""``innobrim policies``: the decision laws that can be asked for, and how they compare."""

from __future__ import annotations

import math
import os
import shlex
import time
from pathlib import Path
from typing import NamedTuple, get_args

import click

from api.models import Policies
from api.views import policies_of
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
from policies.catalogue import About
from tuner.cli.answer import UNFINISHED, Refused, Unusable, answering, exit_code, like_ctrl_c, say, say_json
from tuner.cli.bar import Bar
from tuner.cli.options import Duration, PolicyChoice, Seeds, WholeNumber, refuse_given
from tuner.cli.wording import counted, duration, kept_text
from tuner.config.checks import missing_extra, unusable_extra
from tuner.journal.reader import trace as read_trace
from tuner.journal.tables import JournalError
from tuner.settings import PolicyName, Settings

CSV = "comparison.csv"
SEEDS = 3
WEEK = 7 * 86_400
ALONE = frozenset({"as_json", "compare", "resume"})
"""Options that need no --compare."""

OF_A_PART = frozenset({"resume", "compare", "limit", "jobs", "as_json"})
"""Options that each part of a comparison has for itself."""

ENDS = {
    PlanError: Unusable,
    ScenarioError: Unusable,
    JournalError: Unusable,
    RecordedError: Unusable,
    SimulateError: Unusable,
    HeldError: Refused,
    ReportError: Refused,
}
"""How a comparison that cannot go on ends."""


class Part(NamedTuple):
    """What is asked of this part: seconds, processes, and one JSON object in place of the table."""

    limit: float | None
    jobs: int
    as_json: bool


@click.command(
    epilog="Example: innobrim policies\n\n"
    "Example: innobrim policies --compare --scenario steady-1200iops --scenario step-up --seeds 5 --oracle",
)
@click.option("--compare", is_flag=True, help="Compare them on the simulated server.")
@click.option(
    "--policy",
    "names",
    multiple=True,
    type=PolicyChoice(),
    help="Only this one; repeat it. Default: all, bayes where its extra is installed. "
    "Ratios are to the default policy, or to the first.",
)
@click.option(
    "--scenario",
    "scenarios",
    multiple=True,
    metavar="NAME|FILE",
    help="Only this one, as for innobrim simulate; repeat it. Default: all named ones of up to a week.",
)
@click.option(
    "--trace",
    "traces",
    multiple=True,
    type=click.Path(path_type=Path),
    metavar="JOURNAL",
    help="A recorded journal: its load and its device's limit, alone or beside --scenario.",
)
@click.option("--run", type=WholeNumber(1), help="Number of the run in that journal; default: the newest.")
@click.option(
    "--seeds",
    multiple=True,
    type=Seeds(),
    metavar="N|NAME=N",
    help="Runs of each scenario, with one seed each, or of the one named; repeat it. Default: 3.",
)
@click.option("--oracle", is_flag=True, help="The best static M as well.")
@click.option(
    "--time", "limit", type=Duration(WEEK), metavar="55m", help="Begin no run that would end later."
)
@click.option(
    "--output",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Where rows and table go; default: policies-TIME here.",
)
@click.option(
    "--resume",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Go on with a comparison; finished rows are kept.",
)
@click.option(
    "--jobs",
    type=WholeNumber(1, 256),
    default=min(2, os.cpu_count() or 1),
    show_default=True,
    help="Processes.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.pass_context
def policies(
    context: click.Context,
    /,
    *,
    compare: bool,
    names: tuple[PolicyName, ...],
    scenarios: tuple[str, ...],
    traces: tuple[Path, ...],
    run: int | None,
    seeds: tuple[tuple[str, int], ...],
    oracle: bool,
    limit: float | None,
    output: Path | None,
    resume: Path | None,
    jobs: int,
    as_json: bool,
) -> None:
    """List the decision laws, or compare them on the simulated server, with bounds on every ratio.

    The list has what each does, when to use it, and the constants that it decides by. A comparison writes
    nothing to any server and reads no configuration: every run has the default [loop], and innobrim simulate
    --config tries yours. Exit 0: all that was asked for is there. Exit 4: --time was up before; the last
    line is the command that goes on.
    """
    if not compare and resume is None:
        refuse_given(context, ALONE, ": goes with --compare")
        found = policies_of()
        if as_json:
            say_json(found)
        else:
            click.echo("\n".join(_told(found)))
        return
    with answering(means=ENDS):
        if resume is not None:
            refuse_given(
                context, OF_A_PART, " cannot be changed with --resume; start another comparison for it"
            )
            directory = resume
            context.with_resource(store.held(directory, COMPARISON))
            asked, ledger = store.go_on(directory, COMPARISON, Asked)
            if old := sum(row.get("policies", "") not in ("", policies_revision()) for row in ledger.rows):
                click.echo(f"of other policies than now, and not counted: {counted(old, 'row')}", err=True)
        else:
            asked = _asked(names, scenarios, traces, run, dict(seeds), oracle=oracle)
            directory = output or Path(f"policies-{time.strftime('%Y%m%dT%H%M%S')}")
            context.with_resource(store.held(directory, COMPARISON, new=True))
            ledger = store.begin(directory, asked, COMPARISON)
        _carry_out(asked, ledger, directory, Part(limit, jobs, as_json))


def _told(found: Policies) -> list[str]:
    """Return the laws in lines for people."""
    lines: list[str] = []
    needs = {"": "nothing more"}
    for one in found.policies:
        if one.extra not in needs:  # once: an import that failed says something else when it is tried again
            needs[one.extra] = _needs(one)
        lines += [_heading(one, found.default), f"  {one.does}", f"  use: {one.use}"]
        lines.append(f"  needs: {needs[one.extra]}")
        lines += [
            f"    {constant.name:<20}{constant.value:>6g} {constant.unit:<2}{constant.meaning}"
            for constant in one.constants
        ]
    return lines


def _needs(one: About) -> str:
    """Return what is to be installed for a law with an extra, and whether it is and works."""
    missing = bool(missing_extra(one.name))
    if not missing and (lacking := unusable_extra(one.name)):
        return lacking.removeprefix("needs ")
    return f"pip install 'innobrim[{one.extra}]' ({'not installed' if missing else 'installed'})"


def _heading(one: About, default: str) -> str:
    """Return a law's name, and whether it can be asked for."""
    if one.by_itself:
        return f"{one.name} (cannot be asked for)"
    return f"{one.name} (the default)" if one.name == default else one.name


def _asked(
    named: tuple[PolicyName, ...],
    given: tuple[str, ...],
    traces: tuple[Path, ...],
    run: int | None,
    seeds: dict[str, int],
    *,
    oracle: bool,
) -> Asked:
    """Return what a new comparison is asked for, of the user's words; seeds by scenario, of all under ""."""
    if len(traces) > 1:
        both = ", ".join(f"--trace {one}" for one in traces)
        raise Unusable(f"{both}: only one journal takes part; compare the others in directories of their own")
    if run is not None and not traces:
        raise Unusable(f"--run {run}: goes with --trace JOURNAL")
    scenarios: list[Scenario] = [load_scenario(name) for name in given]
    notes: dict[str, tuple[str, ...]] = {}
    if not given and not traces:
        every = (load_scenario(name) for name in scenario_names())
        scenarios = [one for one in every if one.seconds <= WEEK]
    for trace in traces:
        found = recorded(read_trace(trace, run), name=trace.name or str(trace))
        scenarios.append(found.scenario)
        notes[found.scenario.name] = found.notes
    called = [one.name for one in scenarios]
    if twice := sorted({name for name in called if called.count(name) > 1}):
        raise Unusable(
            f"--scenario {', '.join(twice)}: is there twice; every scenario needs a name of its own"
        )
    if unknown := [name for name in seeds if name and name not in called]:
        there = f"there are {', '.join(called)}" if len(called) > 1 else f"the only one is {called[0]}"
        raise Unusable(f"--seeds {unknown[0]}=…: no such scenario in this comparison; {there}")
    names, default = _policies(named), Settings().policy
    first = (default,) if default in names else ()
    return Asked(
        policies=tuple(dict.fromkeys((*first, *names))),
        scenarios=tuple(scenarios),
        seeds=seeds.get("", SEEDS),
        other_seeds={name: number for name, number in seeds.items() if name},
        oracle=oracle,
        recorded=notes,
    )


def _policies(named: tuple[PolicyName, ...]) -> tuple[PolicyName, ...]:
    """Return what is compared: what was named, or all that can be; what is left out is said."""
    offered = named or get_args(PolicyName)
    lacking = {name: why for name in offered if (why := unusable_extra(name))}
    if named:
        for name, why in lacking.items():
            raise Unusable(f"--policy {name} {why}")
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
        replace_text(directory / CSV, table_csv(groups))
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
