"""``innobrim policies --compare``: asks for a comparison, carries it out, and prints it."""

from __future__ import annotations

import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import get_args

import click

from lab.bench.comparison import Asked, Comparison
from lab.bench.revision import policies_revision
from lab.bench.store import ROWS, Ledger
from lab.bench.table import Group, group, table_csv, told
from lab.report.files import replace_text
from lab.report.rows import ReportError
from lab.scenarios import Scenario, ScenarioError, load_scenario, scenario_names
from lab.simulate import SimulateError
from tuner.cli.answer import NO, exit_code, like_ctrl_c, say, say_json
from tuner.cli.bar import Bar
from tuner.cli.options import fail, usage
from tuner.cli.wording import counted
from tuner.config.checks import unusable_extra
from tuner.settings import PolicyName, Settings

CSV = "comparison.csv"
SEEDS = 3
LONGEST_UNNAMED = 7 * 86_400
"""A scenario with more seconds takes part only where it is named."""


def compare(
    *,
    policies: tuple[PolicyName, ...],
    scenarios: tuple[str, ...],
    seeds: dict[str, int],
    oracle: bool,
    output: Path | None,
    jobs: int,
    as_json: bool,
) -> None:
    """Carry a comparison out; ends as the command does.

    Args:
        policies: by name; empty for all that can be had.
        scenarios: names or files; empty for all named ones of up to a week.
        seeds: runs by scenario, those of all others under "".
        oracle: the best static setting as well.
        output: directory of rows and table; None keeps neither.
        jobs: processes.
        as_json: print one JSON object in place of the table.
    """
    asked = _asked(policies, scenarios, seeds, oracle=oracle)
    with ExitStack() as stack:
        directory = output or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="innobrim-")))
        try:
            directory.mkdir(parents=True, exist_ok=True)
            ledger = Ledger(directory / ROWS)
        except (OSError, ValueError) as error:
            usage(f"--output {directory}: {getattr(error, 'strerror', None) or error}")
        groups = _groups(asked, ledger, jobs=jobs, keeps=output is not None)
        if output is not None:
            try:
                replace_text(directory / CSV, table_csv(groups))
            except ReportError as error:
                fail(str(error), NO)
    if as_json:
        found = {"reference": asked.policies[0], "policies_revision": policies_revision()}
        say_json({**found, "scenarios": groups})
        return
    for one in groups:
        click.echo("\n".join(told(one, asked.policies[0])) + "\n")
    if output is not None:
        click.echo(f"the table with all digits: {output / CSV}")


def _groups(asked: Asked, ledger: Ledger, *, jobs: int, keeps: bool) -> list[Group]:
    """Carry out what has no row yet, and return what it comes to."""
    try:
        with like_ctrl_c(), Bar() as bar:
            comparison = Comparison(asked, ledger, jobs=jobs, progress=bar.show)
            tasks, missing = comparison.tasks(), comparison.missing()
            click.echo(
                f"{counted(len(tasks), 'run')} of {counted(len(asked.policies), 'policy', 'policies')} "
                f"on {counted(len(asked.scenarios), 'scenario')}, {len(missing)} to do"
                f"{', and the searches' if asked.oracle else ''}",
                err=True,
            )
            found = comparison.run()
    except SimulateError as error:
        usage(str(error))
    except KeyboardInterrupt as error:
        kept = (
            f"{counted(len(ledger.rows), 'row')} kept: the same command goes on"
            if keeps
            else "nothing is kept without --output"
        )
        click.echo(f"interrupted; {kept}", err=True)
        raise click.exceptions.Exit(exit_code(error)) from error
    return [group(scenario, one.rows, notes=[one.note] if one.note else []) for scenario, one in found]


def _asked(
    policies: tuple[PolicyName, ...], names: tuple[str, ...], seeds: dict[str, int], *, oracle: bool
) -> Asked:
    """Return what is asked for; exit 2 where a scenario is wrong."""
    try:
        scenarios: list[Scenario] = [load_scenario(name) for name in names or scenario_names()]
    except ScenarioError as error:
        usage(str(error))
    if not names:
        scenarios = [one for one in scenarios if one.seconds <= LONGEST_UNNAMED]
    called = [one.name for one in scenarios]
    if twice := sorted({name for name in called if called.count(name) > 1}):
        usage(f"--scenario {', '.join(twice)}: is there twice; every scenario needs a name of its own")
    if unknown := [name for name in seeds if name and name not in called]:
        there = f"there are {', '.join(called)}" if len(called) > 1 else f"the only one is {called[0]}"
        usage(f"--seeds {unknown[0]}=…: no such scenario in this comparison; {there}")
    taking_part, default = _policies(policies), Settings().policy
    first = (default,) if default in taking_part else ()
    return Asked(
        policies=tuple(dict.fromkeys((*first, *taking_part))),
        scenarios=tuple(scenarios),
        seeds=seeds.get("", SEEDS),
        other_seeds={name: number for name, number in seeds.items() if name},
        oracle=oracle,
    )


def _policies(named: tuple[PolicyName, ...]) -> tuple[PolicyName, ...]:
    """Return what is compared: what was named, or all that can be; what is left out is said."""
    offered = named or get_args(PolicyName)
    lacking = {name: why for name in offered if (why := unusable_extra(name))}
    for name, why in lacking.items():
        if named:
            usage(f"--policy {name} {why}")
        say(f"{name} is left out: it {why}", err=True)
    return tuple(name for name in offered if name not in lacking)
