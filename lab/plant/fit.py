"""``python -m lab.plant.fit``: fit the plant's load and disk to a few rows of a bench."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from lab.plant.compare.conditions import flavour_of
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
    "--parameter",
    "names",
    multiple=True,
    default=SEARCHED,
    show_default=True,
    help="A parameter to search for; can be given again. What rows say by themselves is read off them.",
)
@click.option("--write", "to_file", is_flag=True, help=f"Write {FITS}/SERVER.toml instead of printing it.")
def main(*, bench: str, names: tuple[str, ...], to_file: bool) -> None:
    """Fit the plant's load and disk to a few rows of BENCH, a directory or a name under docs/results/bench.

    Prints TOML. The rows are those at the quartiles of the values of M that were tried, of each variant; they
    are written into it, so that the comparison leaves them out of the judgment. The comparison takes the fit
    for all benches of the same simulated server.

    Example: python -m lab.plant.fit contenders --write
    """
    directory = Path(bench) if "/" in bench else BENCH / bench
    suite = suite_of(directory)
    try:
        rows = chosen(static_rows(directory))
        name = flavour_of(str(rows[0].conditions.get("server", ""))) if rows else suite
        fit = fit_rows(rows, name=name, suite=suite, names=names, progress=_say)
        if to_file:
            path = FITS / f"{name}{SUFFIX}"
            replace_text(path, fit.toml())
            click.echo(f"wrote {path}")
        else:
            click.echo(fit.toml(), nl=False)
    except (FitError, ReportError, ValueError) as error:
        raise click.ClickException(str(error)) from error


def chosen(rows: Sequence[Static]) -> list[Row]:
    """Return the rows of a bench to fit on; what was the first on its server counts as not tried."""
    tried = [
        (FittedOn(one.row.variant, one.row.io_capacity_max or 0), one.row) for one in rows if not one.fresh
    ]
    wanted = fitted_on(setting for setting, _ in tried)
    return [row for setting, row in tried if setting in wanted]


def _say(left: float) -> None:
    """Say on a terminal how far it is, over the line before."""
    if sys.stderr.isatty():
        click.echo(f"\rerror left: {left:8.4f} of what is promised", nl=False, err=True)


if __name__ == "__main__":
    main()
