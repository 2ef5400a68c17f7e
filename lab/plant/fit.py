"""``python -m lab.plant.fit``: fit the plant's load and disk to a few rows of a bench."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from lab.plant.compare.conditions import ConditionsError, flavour_of
from lab.plant.compare.suites import BENCH, Static, static_rows, suite_of
from lab.plant.fits import SUFFIX, FitError, FittedOn
from lab.plant.fits.fitting import SEARCHED, fit_rows
from lab.plant.fits.rows import fitted_on
from lab.report.files import replace_text
from lab.report.rows import ReportError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lab.report.rows import Row

FITS = Path("lab/plant/fits")


@click.command()
@click.argument("bench")
@click.option(
    "--on",
    "settings",
    multiple=True,
    metavar="VARIANT:M",
    help="A row to fit on, by variant and M; can be given again. Default: those of a plant-* bench for it.",
)
@click.option("--variant", "variants", multiple=True, help="Fit for this variant only; can be given again.")
@click.option(
    "--parameter",
    "names",
    multiple=True,
    default=SEARCHED,
    show_default=True,
    help="A parameter to search for; can be given again. What rows say by themselves is read off them.",
)
@click.option("--name", help="Of the fit, as scenarios call it. Default: the simulated server's name.")
@click.option("--write", "to_file", is_flag=True, help=f"Write {FITS}/NAME.toml instead of printing it.")
def main(
    *,
    bench: str,
    settings: tuple[str, ...],
    variants: tuple[str, ...],
    names: tuple[str, ...],
    name: str | None,
    to_file: bool,
) -> None:
    """Fit the plant's load and disk to a few rows of BENCH, a directory or a name under docs/results/bench.

    Prints TOML. What was fitted on is written into it, so that the comparison leaves it out of the judgment.

    Example: python -m lab.plant.fit plant-mysql97 --write
    """
    directory = Path(bench) if "/" in bench else BENCH / bench
    suite = suite_of(directory)
    try:
        wanted = tuple(map(_setting, settings)) or fitted_on(suite)
        wanted = tuple(one for one in wanted if not variants or one.variant in variants)
        rows = chosen(static_rows(directory), wanted)
        called = name or (flavour_of(str(rows[0].conditions.get("server", ""))) if rows else suite)
        fit = fit_rows(rows, name=called, suite=suite, names=names, variants=variants, progress=_say)
        if to_file:
            path = FITS / f"{called}{SUFFIX}"
            replace_text(path, fit.toml())
            click.echo(f"wrote {path}")
        else:
            click.echo(fit.toml(), nl=False)
    except (ConditionsError, FitError, ReportError, ValueError) as error:
        raise click.ClickException(str(error)) from error


def chosen(rows: Sequence[Static], wanted: Sequence[FittedOn]) -> list[Row]:
    """Return the rows to fit on, without those that were the first on their server.

    Args:
        rows: of a bench.
        wanted: variant and M of each.

    Raises:
        FitError: no row is wanted.
    """
    if not wanted:
        raise FitError("which rows are fitted on is not said: name them, --on VARIANT:M")
    settings = {(one.variant, one.io_capacity_max) for one in wanted}
    return [
        one.row for one in rows if (one.row.variant, one.row.io_capacity_max) in settings and not one.fresh
    ]


def _setting(words: str) -> FittedOn:
    variant, colon, most = words.rpartition(":")
    if not colon or not most.isdecimal():
        raise FitError(f"--on {words}: must be a variant and an M, such as '1200 writes/s:500'")
    return FittedOn(variant, int(most))


def _say(left: float) -> None:
    """Say on a terminal how far it is, over the line before."""
    if sys.stderr.isatty():
        click.echo(f"\rerror left: {left:8.4f} of what is promised", nl=False, err=True)


if __name__ == "__main__":
    main()
