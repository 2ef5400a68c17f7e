"""``python -m lab.results``: the page of the published benches and README.md's table, from the rows alone."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from lab.report.files import replace_text
from lab.report.rows import ReportError
from lab.results import headlines, page
from lab.results.suites import read

README = Path("README.md")
BENCH = Path("docs/results/bench")
PAGE = BENCH / "README.md"


def documents(root: Path) -> dict[Path, str]:
    """Return every generated file of a checkout with what it should hold.

    Raises:
        ReportError: rows or README.md cannot be read, or README.md has no place for the table.
    """
    suites = read(root / BENCH)
    readme = root / README
    try:
        table = headlines.replaced(readme.read_text(encoding="utf-8"), suites)
    except OSError as error:
        raise ReportError(f"{readme}: {(error.strerror or str(error)).lower()}") from error
    except ValueError as error:
        raise ReportError(str(error)) from error
    return {root / PAGE: page.document(suites), readme: table}


def stale(root: Path) -> list[Path]:
    """Return which of the generated files are not what the rows make of them."""
    return [path for path, wanted in documents(root).items() if not _is(path, wanted)]


def _is(path: Path, wanted: str) -> bool:
    return path.exists() and path.read_text(encoding="utf-8") == wanted


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

    Example: python -m lab.results --check
    """
    try:
        old = stale(root)
        if check:
            for path in old:
                click.echo(f"{path} is stale; run: {page.COMMAND}", err=True)
            sys.exit(1 if old else 0)
        for path in old:
            path.parent.mkdir(parents=True, exist_ok=True)
            replace_text(path, documents(root)[path])
            click.echo(f"wrote {path}")
    except ReportError as error:
        raise click.ClickException(str(error)) from error


if __name__ == "__main__":
    main()
