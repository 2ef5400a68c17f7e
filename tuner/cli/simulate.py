"""``innobrim simulate``: a policy on a simulated server, and the best static setting beside it."""

from __future__ import annotations

from pathlib import Path
from typing import cast

import click

from lab.plant.flavour import FlavourName
from lab.report.rows import ReportError
from lab.report.simulated import SimulatedPage, check
from lab.scenarios import Scenario, ScenarioError, load_scenario, scenario_names
from lab.scenarios.schema import HIGHEST_SEED
from lab.scenarios.search import BestStatic, Untouched
from lab.simulate import FLAVOURS, NoStatic, Result, SimulateError, in_place_of, resized, shortened
from lab.simulate import simulate as run_simulation
from lab.simulate_loop import Optimised
from tuner.cli.answer import Refused, Unusable, answering, say, say_json
from tuner.cli.bar import working
from tuner.cli.options import PolicyChoice, WholeNumber, warn
from tuner.cli.wording import counted, duration, gain_text
from tuner.config.checks import unusable_extra
from tuner.config.load import load_config
from tuner.config.schema import ConfigError
from tuner.core.trials.evidence import describe
from tuner.settings import PolicyName, Settings

ENDS = {ScenarioError: Unusable, SimulateError: Unusable}
"""How a simulation that cannot begin ends."""


def _list(*, as_json: bool) -> None:
    found = [{"name": name, "description": load_scenario(name).description} for name in scenario_names()]
    if as_json:
        say_json(found)
        return
    width = max(len(one["name"]) for one in found)
    for one in found:
        click.echo(f"{one['name']:<{width}}  {one['description']}")


@click.command(
    context_settings={"allow_extra_args": True},
    epilog="Example: innobrim simulate --scenario steady-1200iops --policy cascade --oracle",
)
@click.option(
    "--scenario",
    "scenario_name",
    metavar="NAME|FILE",
    help="One that --list prints, or a TOML file.  [required]",
)
@click.option(
    "--list",
    "only_list",
    is_flag=True,
    help="Print the named scenarios with a line about each, and end.",
)
@click.option(
    "--policy",
    show_default="cascade, or as --config says",
    type=PolicyChoice(),
    help="How innodb_io_capacity_max is chosen; fixed keeps one pair, 1000/2000 without --config.",
)
@click.option(
    "--config",
    "config_path",
    metavar="FILE",
    help="The daemon's configuration (TOML): its [loop] counts, always active; default: every key's default.",
)
@click.option(
    "--flavour",
    type=click.Choice(FLAVOURS),
    help="Which server is simulated, all else as the scenario says; default: the scenario's.",
)
@click.option(
    "--seed",
    type=WholeNumber(0, HIGHEST_SEED),
    help="Decides every random number, as seed in a scenario's file; default: the scenario's.",
)
@click.option(
    "--seconds",
    type=WholeNumber(60, 2_678_400),
    help="Length in simulated seconds; default: the scenario's. A day takes less than a minute.",
)
@click.option(
    "--oracle",
    is_flag=True,
    help="Look for the best static setting as well.",
)
@click.option(
    "--plot",
    type=click.Path(path_type=Path),
    metavar="FILE.html",
    help="Draw the policy's run on a page, in place of what is there.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object; with --list an array.")
@click.pass_context
def simulate(
    context: click.Context,
    /,
    *,
    scenario_name: str | None,
    only_list: bool,
    policy: str | None,
    config_path: str | None,
    flavour: FlavourName | None,
    seed: int | None,
    seconds: int | None,
    oracle: bool,
    plot: Path | None,
    as_json: bool,
) -> None:
    """Run a policy on a simulated server, as fast as the machine goes.

    Only the plot is written, where you ask for one. docs/lab/simulate.md says what the simulated server is
    good for.
    """
    if context.args:
        raise click.UsageError(f"{context.args[0]}: a scenario is named by --scenario {context.args[0]}")
    if only_list:
        _list(as_json=as_json)
        return
    if scenario_name is None:
        raise click.UsageError(
            "which scenario? --scenario NAME or --scenario FILE.toml; --list prints the names"
        )
    with answering(means=ENDS):
        settings = _settings(config_path, policy)
        whole = resized(load_scenario(scenario_name), seed=seed, seconds=seconds, flavour=flavour)
        scenario = shortened(whole) if oracle and seconds is None else whole
        if scenario.seconds < whole.seconds:
            warn(
                f"{whole.name}: with --oracle the first {duration(scenario.seconds)} of "
                f"{duration(whole.seconds)}; --seconds {whole.seconds} for all of it"
            )
        page = None
        if plot is not None:
            try:
                check(plot)
            except ReportError as error:
                raise Unusable(f"--plot {error}") from error
            page = SimulatedPage(scenario, settings)
        with working("interrupted") as bar:
            result = run_simulation(
                scenario,
                settings.policy,
                settings=settings,
                oracle=oracle,
                publish=(lambda _: None) if page is None else page.add,
                progress=bar.show,
            )
    # before the figures: a reader that takes only the first of these ends the program
    lost = "" if plot is None or page is None else _draw(plot, page, result)
    for warning in result.warnings:
        click.echo(f"warning: {warning}", err=True)
    if as_json:
        say_json(result)
    else:
        print_table(result, scenario)
    if lost:
        raise Refused(lost)


def _settings(config_path: str | None, policy: str | None) -> Settings:
    """Return the loop's settings.

    Raises:
        ConfigError: the configuration is wrong, or the policy needs what cannot be imported.
    """
    if config_path is not None:
        config = load_config(config_path, environ={}, flags={"loop.policy": policy}, noted=warn)
        if config.schedule:
            shown = f"innobrim schedule --config {config_path} shows it"
            say(f"note: its [[schedule]] is not simulated; {shown}", err=True)
        settings = config.loop
    else:
        settings = Settings() if policy is None else Settings(policy=cast("PolicyName", policy))
    if lacking := unusable_extra(settings.policy):
        said = "--policy " if policy is not None else f"{config_path}: loop.policy = "
        raise ConfigError([f"{said}{settings.policy} {lacking}"])
    return settings


def _draw(plot: Path, page: SimulatedPage, result: Result) -> str:
    """Write the page; return why that failed after all, empty where it did not."""
    try:
        page.write(plot, result)
    except ReportError as error:
        return f"--plot {error}"
    return ""


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
    ("changes", "knob_changes", ""),
    ("io_capacity_max at the end", "io_capacity_max_final", "pages/s"),
)
"""Title, name in the result, and unit; what the result has in seconds and a table in ms is multiplied."""

LATE = 2 / 3
"""Share of a run after which an age that only then settled has not settled in earnest."""


def print_table(result: Result, scenario: Scenario) -> None:
    """Print a result for people."""
    moves_law = bool(result.settings.get("low_water_mark"))
    other = "" if moves_law else in_place_of(cast("PolicyName", result.policy), scenario)
    policy = f"{result.policy} ({other} decides in its place)" if other else result.policy
    click.echo(
        f"{result.scenario}, policy {policy}, {result.flavour}, seed {result.seed}: "
        f"{result.seconds} s, counted from {result.measured_from} s"
    )
    if result.settings:
        click.echo(f"with {', '.join(f'{key} = {value}' for key, value in result.settings.items())}")
    for title, name, unit in ROWS:
        value = getattr(result, name)
        _row(title, f"{value * 1000:.3g}" if unit == "ms" else f"{value:g}", unit)
    _row("settled for good after", *_settled(result, scenario))
    if result.set_point is not None:
        _row("set-point at the end", f"{result.set_point:g}", f"({result.set_point_source})")
    _row("real time", f"{result.wall_seconds:.1f}", "s")
    click.echo(f"  {'hash of the parameters':<28}{result.plant}")
    click.echo(f"at the end: {result.last_decision}")
    if result.optimiser is not None:
        _optimiser(result.optimiser)
    if result.best_static is not None:
        click.echo("best static setting")
        _static("within the policy's limits", result.best_static)
        _static("without age cap and budgets", result.best_static_without_cap)
        _static("even with sync flushing", result.best_static_unconstrained)
        _share_of_best(result)
    start = result.untouched
    click.echo("the setting it starts with, left alone")
    _row(f"C/M = {start.io_capacity}/{start.io_capacity_max}", f"{start.throughput_mean:g}", _figures(start))


def _optimiser(found: Optimised) -> None:
    ends = f"{found.won} won, {found.not_used} not used, {found.abandoned} abandoned, {found.unsafe} unsafe"
    going = f", {found.under_way} under way" if found.under_way else ""
    used = "the analytic set-point"
    if (won := found.in_use) is not None:
        used = f"{describe(won.suggestion)}, which won {gain_text(won)}"
    click.echo(
        f"optimiser: {counted(found.questions, 'question')}, {counted(found.begun, 'trial')}: {ends}{going}; "
        f"at the end {used}"
    )


def _share_of_best(result: Result) -> None:
    best = result.best_static
    if isinstance(best, BestStatic) and best.throughput_mean > 0.0 and best.pages_per_commit > 0.0:
        pages = result.pages_per_commit / best.pages_per_commit
        share = f"{result.throughput_mean / best.throughput_mean:.3f}"
        _row("the policy beside the first", share, f"of its commits/s, {pages:.3f} of its pages per commit")


def _figures(start: Untouched) -> str:
    """Return what else a setting that nobody moves gives than its throughput."""
    pages, age = f"{start.pages_per_commit:g} pages per commit", f"age ratio {start.age_ratio_mean:g}"
    return f"commits/s, {pages}, {age}, sync flush {start.sync_flush_seconds} s"


def _row(title: str, value: str, unit: str) -> None:
    click.echo(f"  {title:<28}{value:>10} {unit}".rstrip())


def _settled(result: Result, scenario: Scenario) -> tuple[str, str]:
    """Return when the age ratio came to rest, and what is to be said about that."""
    if scenario.moves:
        return "-", "(not told where load, disk or redo change)"
    if result.settling_seconds is None:
        return "never", ""
    late = result.settling_seconds > LATE * result.seconds
    return f"{result.settling_seconds:g}", "s (a swing of more than 0.03 that late)" if late else "s"


def _static(title: str, found: BestStatic | NoStatic | None) -> None:
    if found is None or isinstance(found, NoStatic):
        click.echo(f"  {title:<28}{'none':>10}  (none keeps the rules: docs/lab/simulate.md)")
        return
    click.echo(
        f"  {title:<28}{found.throughput_mean:>10g} commits/s at M = {found.io_capacity_max}, "
        f"{found.pages_per_commit:g} pages per commit"
    )
