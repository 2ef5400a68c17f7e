"""``innobrim report``: a page of a bench's rows, of recorded traces, or of a daemon's journal."""

from __future__ import annotations

from pathlib import Path

import click

from lab.report.files import beside, is_journal, located, write
from lab.report.rows import ReportError
from tuner.cli.answer import Unusable, answering


@click.command()
@click.argument(
    "sources", metavar="FILE|DIRECTORY...", nargs=-1, required=True, type=click.Path(path_type=Path)
)
@click.option(
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="The page. Default: report.html beside rows, NAME.html beside a trace NAME.db, and report.html here "
    "for a daemon's state directory or several traces.",
)
@click.option("--run", type=int, help="Number of the run in a journal; default: the newest.")
@click.option("--csv", "as_csv", is_flag=True, help="CSV beside it: every second, and rows or events.")
@click.option("--json", "as_json", is_flag=True, help="Write the figures as JSON beside it.")
def report(
    sources: tuple[Path, ...], *, output: Path | None, run: int | None, as_csv: bool, as_json: bool
) -> None:
    """Make one self-contained HTML page of what was measured or recorded.

    FILE is rows.jsonl of a bench, or a trace of innobrim record; DIRECTORY a bench's, or a daemon's state
    directory. Both are only read, and may be in use. Several traces or journals are drawn over each other.
    What is at the output is replaced, whole.

    Example: innobrim report monday.db --csv
    """
    with answering(means={ReportError: Unusable}):
        paths = [located(source) for source in sources]
        rows = [path for path in paths if not is_journal(path)]
        if rows and len(paths) > 1:
            raise Unusable(
                f"{rows[0]}: rows of a bench have a page of their own; only traces and journals share one"
            )
        if run is not None and (rows or len(paths) > 1):
            raise Unusable(
                f"--run {run}: it names a run of one journal, and {paths[0]} is not the one that is meant"
            )
        page = output or beside(sources, paths)
        if page.resolve() in {path.resolve() for path in paths}:
            raise Unusable(f"--output {page}: that is what the page is made of; name another file")
        for written in write(paths, page, as_csv=as_csv, as_json=as_json, run=run):
            click.echo(written)
