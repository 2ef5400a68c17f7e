"""``innobrim simulate``: a policy on a simulated server, and the best static setting beside it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, cast

import click

from lab.scenarios import ScenarioError, load_scenario, scenario_names
from lab.scenarios.schema import HIGHEST_SEED
from lab.simulate import FLAVOURS, Result, SimulateError, resized, shortened
from lab.simulate import simulate as run_simulation
from tuner.cli.bar import Bar
from tuner.cli.ended import exit_code, like_ctrl_c
from tuner.cli.exits import NO
from tuner.cli.options import PolicyChoice, WholeNumber, fail, warn
from tuner.cli.saying import say, say_json
from tuner.cli.simulate_table import print_table
from tuner.cli.wording import duration
from tuner.config.checks import unusable_extra
from tuner.config.load import load_config
from tuner.config.schema import ConfigError
from tuner.settings import PolicyName, Settings

if TYPE_CHECKING:
    from lab.plant.flavour import FlavourName
    from lab.report.simulated import SimulatedPage
    from lab.scenarios import Scenario


def _list(*, as_json: bool) -> None:
    """Print the named scenarios."""
    found = [{"name": name, "description": load_scenario(name).description} for name in scenario_names()]
    if as_json:
        say_json(found)
        return
    width = max(len(one["name"]) for one in found)
    for one in found:
        click.echo(f"{one['name']:<{width}}  {one['description']}")


@click.command(
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
    help="Decision law; fixed steers to one C and M, 1000/2000 without --config.",
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
    metavar="FILE.html",
    help="Draw the policy's run on a page, in place of what is there.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object; with --list an array.")
def simulate(
    scenario_name: str | None,
    *,
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

    Nothing is written but the plot, where one is asked for. docs/simulate.md says what the simulated server
    is good for.
    """
    if only_list:
        _list(as_json=as_json)
        return
    if scenario_name is None:
        raise click.UsageError(
            "which scenario? --scenario NAME or --scenario FILE.toml; --list prints the names"
        )
    try:
        settings = _settings(config_path, policy)
        whole = resized(load_scenario(scenario_name), seed=seed, seconds=seconds, flavour=flavour)
        scenario = shortened(whole) if oracle and seconds is None else whole
        if scenario.seconds < whole.seconds:
            warn(_part(scenario, whole))
        page = None if plot is None else _page(plot, scenario, settings)
        with like_ctrl_c(), Bar() as bar:
            result = run_simulation(
                scenario,
                settings.policy,
                settings=settings,
                oracle=oracle,
                publish=(lambda _: None) if page is None else page.add,
                progress=bar.show,
            )
    except (ConfigError, ScenarioError, SimulateError) as error:
        raise click.UsageError(str(error)) from error
    except KeyboardInterrupt as error:
        click.echo("interrupted", err=True)
        raise click.exceptions.Exit(exit_code(error)) from error
    # before the figures: a reader that takes only the first of these ends the program
    lost = "" if plot is None or page is None else _draw(plot, page, result)
    for warning in result.warnings:
        click.echo(f"warning: {warning}", err=True)
    if as_json:
        say_json(result)
    else:
        print_table(result, scenario)
    if lost:
        fail(lost, NO)


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


def _part(scenario: Scenario, whole: Scenario) -> str:
    """Return what is said of a scenario of which only a part is run."""
    return (
        f"{whole.name}: with --oracle the first {duration(scenario.seconds)} of {duration(whole.seconds)}; "
        f"--seconds {whole.seconds} for all of it"
    )


def _page(plot: Path, scenario: Scenario, settings: Settings) -> SimulatedPage:
    """Return what takes a run for its page; exit 2 where that cannot be written."""
    from lab.report.rows import ReportError  # noqa: PLC0415 - most runs need no templates
    from lab.report.simulated import SimulatedPage, check  # noqa: PLC0415 - the same

    try:
        check(plot)
    except ReportError as error:
        raise click.UsageError(f"--plot {error}") from error
    return SimulatedPage(scenario, settings)


def _draw(plot: Path, page: SimulatedPage, result: Result) -> str:
    """Write the page; return why that failed after all, empty where it did not."""
    from lab.report.rows import ReportError  # noqa: PLC0415 - as above

    try:
        page.write(plot, result)
    except ReportError as error:
        return f"--plot {error}"
    return ""
