"""``python -m lab.prove --part search``: the long proofs, resumable, each within an hour."""

from __future__ import annotations

from pathlib import Path

import click

from lab.prove import search
from lab.prove.ledger import Ledger
from lab.servers.base import LabServerError
from lab.servers.container import PLAIN_IMAGE

RESULTS = Path("docs/results")


@click.command()
@click.option("--part", type=click.Choice(["search"]), help="Which part to run.")
@click.option("--resume", is_flag=True, help="Skip the rows that are finished.")
@click.option("--image", default=PLAIN_IMAGE, show_default=True, help="Container image of the server.")
def main(part: str | None, image: str, *, resume: bool) -> None:
    """Run one part of the long proof."""
    try:
        if part == "search":
            search.run(Ledger(RESULTS / "search.jsonl", resume=resume), image)
    except LabServerError as error:
        raise click.ClickException(str(error)) from error


if __name__ == "__main__":
    main()
