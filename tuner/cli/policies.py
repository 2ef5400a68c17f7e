"""``innobrim policies``: the decision laws that can be asked for, and how they compare."""

from __future__ import annotations

import os
from pathlib import Path

import click

from api.models import Policies
from api.views import policies_of
from policies.catalogue import About
from tuner.cli.answer import say_json
from tuner.cli.options import PolicyChoice, Seeds, WholeNumber, usage
from tuner.config.checks import missing_extra, unusable_extra
from tuner.settings import PolicyName

ALONE = frozenset({"as_json", "compare"})
"""Options that need no --compare."""


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
    multiple=True,
    type=Seeds(),
    metavar="N|NAME=N",
    help="Runs of each scenario, with one seed each, or of the one named; repeat it. Default: 3.",
)
@click.option("--oracle", is_flag=True, help="The best static M as well.")
@click.option(
    "--output",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Keep rows and table there; a run that has a row there is not repeated. Without it nothing is kept.",
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
    seeds: tuple[tuple[str, int], ...],
    oracle: bool,
    output: Path | None,
    jobs: int,
    as_json: bool,
) -> None:
    """List the decision laws, or compare them on the simulated server, with bounds on every ratio.

    The list has what each does, when to use it, and the constants that it decides by. A comparison writes
    nothing to any server and reads no configuration: every run has the default [loop], and innobrim simulate
    --config tries yours.
    """
    if not compare:
        for param in context.command.params:
            given = context.get_parameter_source(str(param.name)) is click.core.ParameterSource.COMMANDLINE
            if given and param.name not in ALONE:
                usage(f"{param.opts[0]}: goes with --compare")
        found = policies_of()
        if as_json:
            say_json(found)
        else:
            click.echo("\n".join(_told(found)))
        return
    from tuner.cli.policies_compare import compare as carry_out  # noqa: PLC0415 - the list needs no simulated server

    carry_out(
        policies=names,
        scenarios=scenarios,
        seeds=dict(seeds),
        oracle=oracle,
        output=output,
        jobs=jobs,
        as_json=as_json,
    )


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
