"""A bench at work for the command line: its rows run, its end said, its pages written."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import click

from lab.bench import folder
from lab.bench.ledger import Ledger
from lab.bench.plan import Plan
from lab.bench.runner import Bench
from lab.report.exports import bench_summary
from lab.report.files import write_bench
from lab.report.rows import ReportError, rows_of
from lab.report.summary import groups
from lab.report.table import table
from lab.servers.base import LabServer, LabServerError
from lab.servers.choose import remove_leftovers
from lab.servers.existing import SCHEME
from tuner.cli.bench_resume import kept_text
from tuner.cli.ended import exit_code
from tuner.cli.exits import NO, UNREACHABLE
from tuner.cli.options import fail
from tuner.cli.saying import say_json

Say = Callable[[str], None]


def carry_out(
    asked: folder.Asked,
    ledger: Ledger,
    directory: Path,
    make: Callable[[Plan], LabServer],
    say: Say,
    *,
    limit: float | None,
    variants: tuple[str, ...],
    again: str,
) -> tuple[bool, list[str], float | None]:
    """Run what is not finished.

    Args:
        asked: what the bench was begun with.
        ledger: rows that are there.
        directory: where they lie.
        make: makes the server of a plan.
        say: prints a line.
        limit: no row begins that would end later than so many seconds from now; None: no limit.
        variants: only these; all where there is none.
        again: command that goes on.

    Returns:
        Whether what was asked for is finished, which variants have rows to do, and how long a part would have
        had to be for its first row, seconds; None where it was long enough.
    """
    runner = Bench(
        asked.suite,
        ledger,
        make,
        lambda text: say(f"{time.strftime('%H:%M:%S')} {text}"),
        seed=asked.seed,
        seconds=float("inf") if limit is None else limit,
        variants=variants,
        own=asked.server.startswith(SCHEME),
    )
    say(f"{asked.name}: {asked.about} Seed {asked.seed}, {runner.progress.left()}; rows go to {directory}")
    try:
        for removed in remove_leftovers():  # also where this bench starts no server of that kind itself
            say(removed)
        return runner.run(), runner.unfinished(), runner.needs
    except (LabServerError, KeyboardInterrupt) as error:
        _page(ledger, directory)
        kept = f"{kept_text(len(ledger.rows))}; go on with: {again}"
        if isinstance(error, KeyboardInterrupt):
            say(f"interrupted; {kept}")
            raise click.exceptions.Exit(exit_code(error)) from error
        fail(f"{error}\n{kept}", UNREACHABLE)


def conclude(
    ledger: Ledger, directory: Path, say: Say, *, finished: bool, left: list[str], as_json: bool
) -> None:
    """Write the pages, and print the comparison."""
    page = _page(ledger, directory)
    rows = rows_of(ledger.rows)
    if as_json:
        state = {"finished": finished, "unfinished_variants": left}
        where = {"directory": str(directory), "page": page and str(page)}
        say_json({**where, **state, **bench_summary(rows)})
        return
    if page is None:
        return
    for line in table(groups(rows)):
        say(line)
    say(f"the page: {page}")


def _page(ledger: Ledger, directory: Path) -> Path | None:
    """Write the page and what lies beside it; return where it is, None while there is no row for it."""
    if not any(row["stage"] == "block" for row in ledger.rows):
        return None
    try:
        return write_bench(directory)[0]
    except ReportError as error:
        fail(f"{error}; once that is put right: innobrim report {directory}", NO)
