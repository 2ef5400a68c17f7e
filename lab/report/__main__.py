"""``python -m lab.report``: the page of the published benches and README.md's table, from the rows alone."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from lab.report import published
from lab.report.published import COMMAND
from lab.report.rows import ReportError


@click.command()
@click.option("--check", is_flag=True, help="Write nothing; exit 1 where a file is not what the rows say.")
@click.option(
    "--root",
    type=click.Path(path_type=Path, file_okay=False, exists=True),
    default=Path(),
    help="The checkout; here without it.",
)
def main(*, check: bool, root: Path) -> None:
    """Write what the published benches measured: their page, and the table in README.md.

    Example: python -m lab.report --check
    """
    try:
        if check:
            old = published.stale(root)
            for path in old:
                click.echo(f"{path} is stale; run: {COMMAND}", err=True)
            sys.exit(1 if old else 0)
        for path in published.write(root):
            click.echo(f"wrote {path}")
    except ReportError as error:
        raise click.ClickException(str(error)) from error


if __name__ == "__main__":
    main()
