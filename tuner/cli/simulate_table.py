"""A simulation's result as lines for people."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import click

from lab.decides import in_place_of
from lab.scenarios.search import BestStatic
from lab.simulate import NoStatic
from tuner.cli.wording import counted, gain_text
from tuner.core.evidence import said

if TYPE_CHECKING:
    from lab.scenarios import Scenario
    from lab.scenarios.search import Untouched
    from lab.simulate import Result
    from lab.simulate_optimiser import Optimised
    from tuner.settings import PolicyName

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
    if result.best_static is None:
        return
    click.echo("best static setting")
    _static("within the policy's limits", result.best_static)
    _static("without age cap and budgets", result.best_static_without_cap)
    _static("even with sync flushing", result.best_static_unconstrained)
    _beside(result)
    if (start := result.untouched) is not None:
        click.echo("the setting it starts with, left alone")
        _row(
            f"C/M = {start.io_capacity}/{start.io_capacity_max}", f"{start.throughput_mean:g}", _gives(start)
        )


def _optimiser(found: Optimised) -> None:
    """Print what came of the trials, and what is in force."""
    ends = f"{found.won} won, {found.not_used} not used, {found.abandoned} abandoned, {found.unsafe} unsafe"
    going = f", {found.under_way} under way" if found.under_way else ""
    used = "the analytic set-point"
    if (won := found.in_use) is not None:
        used = f"{said(won.suggestion)}, which won {gain_text(won)}"
    click.echo(
        f"optimiser: {counted(found.questions, 'question')}, {counted(found.begun, 'trial')}: {ends}{going}; "
        f"at the end {used}"
    )


def _beside(result: Result) -> None:
    """Print the policy's share of what the best static setting within its limits gives."""
    best = result.best_static
    if isinstance(best, BestStatic) and best.throughput_mean > 0.0 and best.pages_per_commit > 0.0:
        pages = result.pages_per_commit / best.pages_per_commit
        share = f"{result.throughput_mean / best.throughput_mean:.3f}"
        _row("the policy beside the first", share, f"of its commits/s, {pages:.3f} of its pages per commit")


def _gives(start: Untouched) -> str:
    """Return what else a setting that nobody moves gives than its throughput."""
    pages, age = f"{start.pages_per_commit:g} pages per commit", f"age ratio {start.age_ratio_mean:g}"
    return f"commits/s, {pages}, {age}, sync flush {start.sync_flush_seconds} s"


def _row(title: str, value: str, unit: str) -> None:
    """Print one figure."""
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
    """Print one of the best static settings."""
    if found is None or isinstance(found, NoStatic):
        click.echo(f"  {title:<28}{'none':>10}  (none keeps the rules: docs/simulate.md)")
        return
    click.echo(
        f"  {title:<28}{found.throughput_mean:>10g} commits/s at M = {found.io_capacity_max}, "
        f"{found.pages_per_commit:g} pages per commit"
    )
