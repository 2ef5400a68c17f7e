"""``innobrim report``: a page of a bench's rows, of a recorded trace, or of a daemon's journal."""

from __future__ import annotations

from pathlib import Path

import click

from tuner.cli.options import usage


@click.command()
@click.argument("source", metavar="FILE|DIRECTORY", type=click.Path(path_type=Path))
@click.option(
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="The page. Default: report.html beside rows, NAME.html beside a trace NAME.db, and report.html here "
    "for a daemon's state directory.",
)
@click.option("--run", type=int, help="Number of the run in a journal; default: the newest.")
@click.option("--csv", "as_csv", is_flag=True, help="CSV beside it: every second, and rows or events.")
@click.option("--json", "as_json", is_flag=True, help="Write the figures as JSON beside it.")
def report(source: Path, *, output: Path | None, run: int | None, as_csv: bool, as_json: bool) -> None:
    """Make one self-contained HTML page of what was measured or recorded.

    FILE is rows.jsonl of a bench, or a trace of innobrim record; DIRECTORY a bench's, or a daemon's state
    directory. Both are only read, and may be in use. What is at the output is replaced, whole.

    Example: innobrim report monday.db --csv
    """
    from lab.report import files  # noqa: PLC0415 - the list of commands needs no templates
    from lab.report.rows import ReportError  # noqa: PLC0415 - the same

    try:
        path = files.located(source)
        page = output or files.beside(source, path)
        if page.resolve() == path.resolve():
            usage(f"--output {page}: that is what the page is made of; name another file")
        if run is not None and not files.is_journal(path):
            usage(f"--run {run}: {path} has rows of a bench, not runs of a journal")
        for written in files.write(path, page, as_csv=as_csv, as_json=as_json, run=run):
            click.echo(written)
    except ReportError as error:
        usage(str(error))
