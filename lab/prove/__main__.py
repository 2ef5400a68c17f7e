"""``python -m lab.prove --part search``: the long proofs, resumable, each within an hour."""

from __future__ import annotations

import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from lab.prove import blocks, hold, report, search
from lab.prove.ledger import Ledger, read_rows
from lab.servers.base import LabServerError
from lab.servers.container import PLAIN_IMAGE

if TYPE_CHECKING:
    from types import FrameType

RESULTS = Path("docs/results")
PARTS = ("search", "blocks", "hold")


@click.command()
@click.option(
    "--part", type=click.Choice([*PARTS, "all"]), help="Which part to run; each takes up to an hour."
)
@click.option("--resume", is_flag=True, help="Skip the rows that are finished.")
@click.option("--report", "page", is_flag=True, help="Only write the page from the finished rows.")
@click.option("--best-static", type=int, help="M for the blocks instead of the search's winner, pages/s.")
@click.option("--image", default=PLAIN_IMAGE, show_default=True, help="Container image of the server.")
@click.option(
    "--results",
    type=click.Path(path_type=Path),
    default=RESULTS,
    show_default=True,
    help="Directory of rows and page.",
)
def main(
    part: str | None, best_static: int | None, image: str, results: Path, *, resume: bool, page: bool
) -> None:
    """Run the long proofs and write their page.

    Example: python -m lab.prove --part search --resume
    """
    signal.signal(signal.SIGTERM, _terminated)
    if part is None and not page:
        raise click.UsageError("name a --part, or ask for the --report")
    try:
        for name in PARTS if part == "all" else (part,):
            if name is not None:
                _run(name, results, image, best_static, resume=resume)
    except LabServerError as error:
        raise click.ClickException(str(error)) from error
    click.echo(f"wrote {report.write(results)}")


def _run(part: str, results: Path, image: str, best_static: int | None, *, resume: bool) -> None:
    ledger = Ledger(results / f"{part}.jsonl", resume=resume)
    if part == "search":
        search.run(ledger, image)
    elif part == "hold":
        hold.run(ledger, image)
    else:
        found = search.best(read_rows(results / "search.jsonl"))
        value = best_static or (int(found["io_capacity_max"]) if found else None)
        if value is None:
            raise LabServerError("no acceptable static value is known: run --part search first")
        blocks.run(ledger, image, value)


def _terminated(number: int, frame: FrameType | None) -> None:  # noqa: ARG001 - the handler's signature
    """Unwind on SIGTERM as on Ctrl-C, so that server and load go away."""
    sys.exit(128 + number)


if __name__ == "__main__":
    main()
