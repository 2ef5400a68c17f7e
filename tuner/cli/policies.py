"""``innobrim policies``: the policies that can be asked for, and how they compare."""

from __future__ import annotations

import os
from typing import get_args

import click

from api.models import Policies
from api.views import policies_of
from lab.bench.comparison import Asked, Comparison
from lab.bench.revision import policies_revision
from lab.bench.table import ScenarioResult, as_text, group
from lab.scenarios import Scenario, ScenarioError, load_scenario, scenario_names
from lab.simulate import SimulateError
from policies.catalogue import About
from tuner.cli.answer import Unusable, answering, say, say_json
from tuner.cli.bar import working
from tuner.cli.options import PolicyChoice, WholeNumber, json_option, refuse_given
from tuner.cli.wording import counted
from tuner.config.checks import missing_extra, unusable_extra
from tuner.settings import PolicyName, Settings

WEEK = 7 * 86_400
ALONE = frozenset({"as_json", "compare"})
"""Options that need no --compare."""

ENDS = {
    ScenarioError: Unusable,
    SimulateError: Unusable,
}
"""How a comparison that cannot go on ends."""


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
    "--seeds",
    type=WholeNumber(1, 1000),
    default=3,
    show_default=True,
    help="Runs of each scenario, with one seed each.",
)
@click.option("--oracle", is_flag=True, help="The best static M as well.")
@click.option(
    "--jobs",
    type=WholeNumber(1, 256),
    default=min(2, os.cpu_count() or 1),
    show_default=True,
    help="Processes.",
)
@json_option
@click.pass_context
def policies(
    context: click.Context,
    /,
    *,
    compare: bool,
    names: tuple[PolicyName, ...],
    scenarios: tuple[str, ...],
    seeds: int,
    oracle: bool,
    jobs: int,
    as_json: bool,
) -> None:
    """List the policies, or compare them on the simulated server, with bounds on every ratio.

    The list has what each does, when to use it, and the constants that it decides by. A comparison writes
    nothing to any server and reads no configuration: every run has the default [loop], and innobrim simulate
    --config tries yours.
    """
    if not compare:
        refuse_given(context, ALONE, ": goes with --compare")
        found = policies_of()
        if as_json:
            say_json(found)
        else:
            click.echo("\n".join(_lines(found)))
        return
    with answering(means=ENDS):
        asked = _asked(names, scenarios, seeds, oracle=oracle)
        groups = _groups(asked, jobs=jobs)
    if as_json:
        revision = policies_revision()
        say_json({"reference": asked.policies[0], "policies_revision": revision, "scenarios": groups})
        return
    for one in groups:
        click.echo("\n".join(as_text(one, asked.policies[0])) + "\n")


def _lines(found: Policies) -> list[str]:
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
    return f"pip install '.[{one.extra}]' ({'not installed' if missing else 'installed'})"


def _heading(one: About, default: str) -> str:
    if one.by_itself:
        return f"{one.name} (cannot be asked for)"
    return f"{one.name} (the default)" if one.name == default else one.name


def _asked(named: tuple[PolicyName, ...], given: tuple[str, ...], seeds: int, *, oracle: bool) -> Asked:
    scenarios: list[Scenario] = [load_scenario(name) for name in given or scenario_names()]
    if not given:
        scenarios = [one for one in scenarios if one.seconds <= WEEK]
    called = [one.name for one in scenarios]
    if twice := sorted({name for name in called if called.count(name) > 1}):
        raise Unusable(
            f"--scenario {', '.join(twice)}: is there twice; every scenario needs a name of its own"
        )
    names, default = _policies(named), Settings().policy
    first = (default,) if default in names else ()
    return Asked(
        policies=tuple(dict.fromkeys((*first, *names))),
        scenarios=tuple(scenarios),
        seeds=seeds,
        oracle=oracle,
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


def _groups(asked: Asked, *, jobs: int) -> list[ScenarioResult]:
    with working("interrupted; nothing is kept") as bar:
        comparison = Comparison(asked, jobs=jobs, progress=bar.show)
        say(
            f"{counted(len(comparison.tasks()), 'run')} "
            f"of {counted(len(asked.policies), 'policy', 'policies')} "
            f"on {counted(len(asked.scenarios), 'scenario')}"
            f"{', and the searches' if asked.oracle else ''}",
            err=True,
        )
        found = comparison.run()
    return [group(scenario, one.runs, notes=[one.note] if one.note else []) for scenario, one in found]
