"""``innobrim simulate``: a policy on a simulated server, and the best static setting beside it."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, cast, get_args

import click
import msgspec

from lab.scenarios import ScenarioError, load_scenario, scenario_names
from lab.simulate import FLAVOURS, NoStatic, Result, SimulateError, resized
from lab.simulate import simulate as run_simulation
from tuner.settings import PolicyName

if TYPE_CHECKING:
    from lab.plant.flavour import FlavourName
    from lab.scenarios.static import BestStatic

QUIET_SECONDS = 2.0
"""How long nothing is said about progress."""

LINE = "\r\033[K"

ROWS = (
    ("throughput", "throughput_mean", "commits/s"),
    ("throughput, 1st percentile", "throughput_p1", "commits/s"),
    ("age ratio", "age_ratio_mean", "of the flush limit"),
    ("age ratio, highest", "age_ratio_max", "of the flush limit"),
    ("checkpoint age, highest", "checkpoint_age_max", "of the redo capacity"),
    ("sync flush", "sync_flush_seconds", "s"),
    ("stall", "stall_seconds", "s"),
    ("pages per commit", "pages_per_commit", ""),
    ("commit latency, median", "latency_p50", "s"),
    ("commit latency, 99th perc.", "latency_p99", "s"),
    ("settled after", "settling_seconds", "s"),
    ("changes of M", "knob_changes", ""),
    ("M at the end", "io_capacity_max_final", "pages/s"),
    ("real time", "wall_seconds", "s"),
)


class Progress:
    """One line on a terminal, from two seconds on."""

    def __init__(self) -> None:
        """Start the clock."""
        self._began = time.monotonic()
        self._shown = False

    def say(self, text: str) -> None:
        """Show a short line, in place of the one before."""
        if sys.stderr.isatty() and time.monotonic() - self._began > QUIET_SECONDS:
            sys.stderr.write(f"{LINE}{text}")
            sys.stderr.flush()
            self._shown = True

    def clear(self) -> None:
        """Take the line away."""
        if self._shown:
            sys.stderr.write(LINE)
            sys.stderr.flush()


@click.command(
    epilog="Example: innobrim simulate --scenario steady-1200iops --policy feedforward --oracle",
)
@click.option(
    "--scenario",
    "scenario_name",
    required=True,
    metavar="NAME|FILE",
    help=f"One of {', '.join(scenario_names())}, or a TOML file.",
)
@click.option(
    "--policy",
    default="feedforward",
    show_default=True,
    type=click.Choice(get_args(PolicyName)),
    help="Decision law.",
)
@click.option(
    "--flavour",
    type=click.Choice(FLAVOURS),
    help="Which server is simulated; default: the scenario's.",
)
@click.option(
    "--seed", type=click.IntRange(min=0), help="Decides every random number; default: the scenario's."
)
@click.option(
    "--seconds",
    type=click.IntRange(60, 2_678_400),
    help="Length in simulated seconds; default: the scenario's.",
)
@click.option("--oracle", is_flag=True, help="Look for the best static setting as well.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def simulate(
    scenario_name: str,
    policy: str,
    flavour: FlavourName | None,
    seed: int | None,
    seconds: int | None,
    *,
    oracle: bool,
    as_json: bool,
) -> None:
    """Run a policy on a simulated server, as fast as the machine goes.

    Nothing is written anywhere. docs/simulate.md says what the simulated server is good for.
    """
    progress = Progress()
    try:
        scenario = resized(load_scenario(scenario_name), seed=seed, seconds=seconds, flavour=flavour)
        result = run_simulation(scenario, cast("PolicyName", policy), oracle=oracle, progress=progress.say)
    except (ScenarioError, SimulateError) as error:
        raise click.UsageError(str(error)) from error
    finally:
        progress.clear()
    for warning in result.warnings:
        click.echo(f"warning: {warning}", err=True)
    if as_json:
        click.echo(msgspec.json.encode(result))
    else:
        _table(result)


def _table(result: Result) -> None:
    """Print a result for people."""
    click.echo(
        f"{result.scenario}, policy {result.policy}, {result.flavour}, seed {result.seed}: "
        f"{result.seconds} s, counted from {result.measured_from} s"
    )
    for title, name, unit in ROWS:
        value = getattr(result, name)
        click.echo(f"  {title:<28}{'never' if value is None else f'{value:g}':>10} {unit}".rstrip())
    click.echo(f"  {'plant':<28}{result.plant}")
    if result.best_static is None:
        return
    click.echo("best static setting")
    _static("within the policy's limits", result.best_static)
    _static("without the age cap", result.best_static_without_cap)
    _static("without any constraint", result.best_static_unconstrained)


def _static(title: str, found: BestStatic | NoStatic | None) -> None:
    """Print one of the best static settings."""
    if found is None or isinstance(found, NoStatic):
        click.echo(f"  {title:<28}{'none':>10}  (none keeps the rules: docs/simulate.md)")
        return
    click.echo(
        f"  {title:<28}{found.throughput_mean:>10g} commits/s at M = {found.io_capacity_max}, "
        f"{found.pages_per_commit:g} pages per commit"
    )
