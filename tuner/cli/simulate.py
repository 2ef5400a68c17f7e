"""``innobrim simulate``: a policy on a simulated server, and the best static setting beside it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, cast, get_args

import click
import msgspec

from lab.scenarios import ScenarioError, load_scenario, scenario_names
from lab.simulate import FLAVOURS, NoStatic, Result, SimulateError, resized
from lab.simulate import simulate as run_simulation
from tuner.cli.bar import Bar
from tuner.cli.exits import INTERRUPTED, NO
from tuner.cli.options import fail
from tuner.settings import PolicyName

if TYPE_CHECKING:
    from collections.abc import Callable

    from lab.plant.flavour import FlavourName
    from lab.plot import Course
    from lab.scenarios import Scenario
    from lab.scenarios.static import BestStatic, Untouched
    from tuner.records import TickRecord

ROWS = (
    ("throughput", "throughput_mean", "commits/s"),
    ("throughput, 1st percentile", "throughput_p1", "commits/s"),
    ("age ratio", "age_ratio_mean", "of the flush limit"),
    ("age ratio, highest", "age_ratio_max", "of the flush limit"),
    ("checkpoint age, highest", "checkpoint_age_max", "of the redo capacity"),
    ("sync flush", "sync_flush_seconds", "s"),
    ("stall", "stall_seconds", "s"),
    ("pages per commit", "pages_per_commit", ""),
    ("commit latency, median", "latency_p50", "ms"),
    ("commit latency, 99th perc.", "latency_p99", "ms"),
    ("changes of M", "knob_changes", ""),
    ("M at the end", "io_capacity_max_final", "pages/s"),
)
"""Title, name in the result, and unit; what the result has in seconds and a table in ms is multiplied."""

LATE = 2 / 3
"""Share of a run after which an age that only then settled has not settled in earnest."""


def _list(context: click.Context, _: click.Parameter, wanted: bool) -> None:  # noqa: FBT001 - click's signature
    """Print the named scenarios, and do nothing else."""
    if not wanted or context.resilient_parsing:
        return
    names = scenario_names()
    width = max(len(name) for name in names)
    for name in names:
        click.echo(f"{name:<{width}}  {load_scenario(name).description}")
    context.exit()


@click.command(
    epilog="Example: innobrim simulate --scenario steady-1200iops --policy feedforward --oracle",
)
@click.option(
    "--scenario",
    "scenario_name",
    metavar="NAME|FILE",
    help="One that --list prints, or a TOML file.  [required]",
)
@click.option(
    "--list",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_list,
    help="Print the named scenarios with a line about each, and end.",
)
@click.option(
    "--policy",
    default="feedforward",
    show_default=True,
    type=click.Choice(get_args(PolicyName)),
    help="Decision law; fixed steers to 1000/2000. A C and M that nobody moves: see --oracle.",
)
@click.option(
    "--flavour",
    type=click.Choice(FLAVOURS),
    help="Which server is simulated, all else as the scenario says; default: the scenario's.",
)
@click.option(
    "--seed", type=click.IntRange(min=0), help="Decides every random number; default: the scenario's."
)
@click.option(
    "--seconds",
    type=click.IntRange(60, 2_678_400),
    help="Length in simulated seconds; default: the scenario's. A day takes about half a minute.",
)
@click.option(
    "--oracle",
    is_flag=True,
    help="Look for the best static setting as well, and try the one that the server starts with.",
)
@click.option(
    "--plot",
    type=click.Path(path_type=Path),
    metavar="FILE.svg",
    help="Draw the policy's run into this file, in place of what is there.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def simulate(
    scenario_name: str | None,
    policy: str,
    flavour: FlavourName | None,
    seed: int | None,
    seconds: int | None,
    *,
    oracle: bool,
    plot: Path | None,
    as_json: bool,
) -> None:
    """Run a policy on a simulated server, as fast as the machine goes.

    Nothing is written but the plot, where one is asked for. docs/simulate.md says what the simulated server
    is good for.
    """
    if scenario_name is None:
        raise click.UsageError(
            "which scenario? --scenario NAME or --scenario FILE.toml; --list prints the names"
        )
    try:
        scenario = resized(load_scenario(scenario_name), seed=seed, seconds=seconds, flavour=flavour)
        course = None if plot is None else _course(plot, scenario)
        with Bar() as bar:
            result = run_simulation(
                scenario,
                cast("PolicyName", policy),
                oracle=oracle,
                publish=_noted(course),
                progress=bar.show,
            )
    except (ScenarioError, SimulateError) as error:
        raise click.UsageError(str(error)) from error
    except KeyboardInterrupt as error:
        click.echo("interrupted", err=True)
        raise click.exceptions.Exit(INTERRUPTED) from error
    # before the figures: a reader that takes only the first of these ends the program
    lost = "" if plot is None or course is None else _draw(plot, course, scenario, result)
    for warning in result.warnings:
        click.echo(f"warning: {warning}", err=True)
    if as_json:
        click.echo(msgspec.json.encode(result))
    else:
        _table(result, scenario)
    if lost:
        fail(lost, NO)


def _course(plot: Path, scenario: Scenario) -> Course:
    """Return what notes a run for its plot; exit 2 where the plot cannot be written."""
    from lab.plot import Course, PlotError, ready  # noqa: PLC0415 - most runs need no templates

    try:
        ready(plot)
    except PlotError as error:
        raise click.UsageError(f"--plot {error}") from error
    return Course(scenario.seconds)


def _noted(course: Course | None) -> Callable[[TickRecord], None]:
    """Return what tells a plot's course of every tick; without one, nothing is told."""
    if course is None:
        return lambda _: None
    return lambda record: course.add(record.tick.reading, record.decision.set_point)


def _draw(plot: Path, course: Course, scenario: Scenario, result: Result) -> str:
    """Write the plot; return why that failed after all, empty where it did not."""
    from lab.plot import PlotError, write_plot  # noqa: PLC0415 - as above

    try:
        write_plot(plot, course.series(), scenario, result)
    except PlotError as error:
        return f"--plot {error}"
    return ""


def _table(result: Result, scenario: Scenario) -> None:
    """Print a result for people."""
    click.echo(
        f"{result.scenario}, policy {result.policy}, {result.flavour}, seed {result.seed}: "
        f"{result.seconds} s, counted from {result.measured_from} s"
    )
    for title, name, unit in ROWS:
        value = getattr(result, name)
        _row(title, f"{value * 1000:.3g}" if unit == "ms" else f"{value:g}", unit)
    _row("settled for good after", *_settled(result, scenario))
    if result.set_point is not None:
        _row("set-point at the end", f"{result.set_point:g}", f"({result.set_point_source})")
    _row("real time", f"{result.wall_seconds:.1f}", "s")
    click.echo(f"  {'hash of the parameters':<28}{result.plant}")
    click.echo(f"at the end: {result.last_decision}")
    if result.best_static is None:
        return
    click.echo("best static setting")
    _static("within the policy's limits", result.best_static)
    _static("without the age cap", result.best_static_without_cap)
    _static("even with sync flushing", result.best_static_unconstrained)
    if (start := result.untouched) is not None:
        click.echo("the setting it starts with, left alone")
        _row(
            f"C/M = {start.io_capacity}/{start.io_capacity_max}", f"{start.throughput_mean:g}", _gives(start)
        )


def _gives(start: Untouched) -> str:
    """Return what else a setting that nobody moves gives than its throughput."""
    pages, age = f"{start.pages_per_commit:g} pages per commit", f"age ratio {start.age_ratio_mean:g}"
    return f"commits/s, {pages}, {age}, sync flush {start.sync_flush_seconds} s"


def _row(title: str, value: str, unit: str) -> None:
    """Print one figure."""
    click.echo(f"  {title:<28}{value:>10} {unit}".rstrip())


def _settled(result: Result, scenario: Scenario) -> tuple[str, str]:
    """Return when the age ratio came to rest, and what is to be said about that."""
    if scenario.changes:
        return "-", "(not told where load, disk or redo change)"
    if result.settling_seconds is None:
        return "never", ""
    late = result.settling_seconds > LATE * result.seconds
    return f"{result.settling_seconds:g}", "s (a swing of more than 0.03 that late)" if late else "s"


def _static(title: str, found: BestStatic | NoStatic | None) -> None:
    """Print one of the best static settings."""
    if found is None or isinstance(found, NoStatic):
        click.echo(f"  {title:<28}{'none':>10}  (none keeps the rules: docs/simulate.md)")
        return
    click.echo(
        f"  {title:<28}{found.throughput_mean:>10g} commits/s at M = {found.io_capacity_max}, "
        f"{found.pages_per_commit:g} pages per commit"
    )
