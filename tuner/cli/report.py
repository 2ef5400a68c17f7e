"""``innobrim report``: a page of a bench's rows, of a recorded trace, or of a daemon's journal."""

from __future__ import annotations

from pathlib import Path

import click

from lab.report.files import default_page, is_journal, located, write
from lab.report.rows import ReportError
from tuner.cli.answer import Unusable, answering


@click.command()
@click.argument("sources", metavar="FILE|DIRECTORY", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="The page. Default: report.html beside rows, NAME.html beside a trace NAME.db, and report.html here "
    "for a daemon's state directory.",
)
@click.option("--run", type=int, help="Number of the run in a journal; default: the newest.")
@click.option(
    "--csv", "as_csv", is_flag=True, help="CSV beside it, of a journal: every second, and what happened."
)
@click.option("--json", "as_json", is_flag=True, help="Write the figures as JSON beside it.")
def report(
    sources: tuple[Path, ...], *, output: Path | None, run: int | None, as_csv: bool, as_json: bool
) -> None:
    """Make one self-contained HTML page of what was measured or recorded.

    FILE is rows.jsonl of a bench, or a trace of innobrim record; DIRECTORY a bench's, or a daemon's state
    directory. Both are only read, and may be in use. What is at the output is replaced, whole.

    Example: innobrim report monday.db --csv
    """
    if len(sources) > 1:
        raise Unusable(f"{sources[1]}: a page is made of one source; make another page of this one")
    with answering(means={ReportError: Unusable}):
        path = located(sources[0])
        if run is not None and not is_journal(path):
            raise Unusable(f"--run {run}: it names a run of a journal, and {path} has the rows of a bench")
        if as_csv and not is_journal(path):
            raise Unusable(f"--csv: {path} has every second already; --json has the figures")
        page = output or default_page(sources[0], path)
        if page.resolve() == path.resolve():
            raise Unusable(f"--output {page}: that is what the page is made of; name another file")
        for written in write(path, page, as_csv=as_csv, as_json=as_json, run=run):
            click.echo(written)
