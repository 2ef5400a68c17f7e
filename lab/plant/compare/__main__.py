"""``python -m lab.plant.compare``: the error of the simulated server against real ones."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from lab.plant.compare import earlier, earlier_mariadb
from lab.plant.compare.files import PAGE, found, page, write
from lab.plant.fits import FitError
from lab.report.rows import ReportError


@click.command()
@click.argument(
    "directories",
    nargs=-1,
    type=click.Path(path_type=Path, file_okay=False, exists=True),
    metavar="[DIRECTORY]…",
)
@click.option("--write", "to_file", is_flag=True, help=f"Write {PAGE} instead of printing it.")
@click.option("--earlier", "only_earlier", is_flag=True, help="Only what was measured before the bench.")
@click.option("--seed", type=click.IntRange(min=0), default=1, show_default=True, help="Of the plant.")
def main(*, directories: tuple[Path, ...], to_file: bool, only_earlier: bool, seed: int) -> None:
    """Run the simulated server under the conditions of a bench's rows and say how far off it is.

    Without a DIRECTORY: of the published benches that the page names. Each row with a C and M that stay is
    compared; nothing real is started.

    Example: python -m lab.plant.compare --write
    """
    if only_earlier:
        click.echo("\n".join([*earlier.report(), "", "MariaDB 11.8.6:", "", *earlier_mariadb.report()]))
        return
    if directories and to_file:
        raise click.UsageError(f"--write: {PAGE} is of the published benches alone; leave directories out")
    try:
        if to_file:
            click.echo(f"wrote {write(Path(), progress=_say)}")
        else:
            click.echo(page(directories or found(Path()), seed=seed, progress=_say), nl=False)
    except (ReportError, FitError) as error:
        raise click.ClickException(str(error)) from error


def _say(line: str) -> None:
    """Say on a terminal what is being simulated, over the line before."""
    if sys.stderr.isatty():
        click.echo(f"\r{line:<70}", nl=False, err=True)


if __name__ == "__main__":
    main()
