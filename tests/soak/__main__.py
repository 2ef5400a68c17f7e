"""``python -m tests.soak``: the next part of a soak, and what its finished rows come to."""

from __future__ import annotations

import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from lab.servers.container import PLAIN_IMAGE
from lab.servers.spec import LabServerError
from tests.soak.run import FILE, MINUTES, report, run

if TYPE_CHECKING:
    from types import FrameType


@click.command()
@click.option("--minutes", type=click.IntRange(min=1), default=MINUTES, show_default=True, help="Its length.")
@click.option("--seed", type=int, help="Order of the faults; default: drawn.")
@click.option("--image", default=PLAIN_IMAGE, show_default=True, help="Container image of the server.")
@click.option(
    "--rows",
    type=click.Path(path_type=Path, dir_okay=False),
    default=Path("docs/results") / FILE,
    show_default=True,
    help="File of the finished rows; what it has of seed and length counts.",
)
@click.option("--report", "only_report", is_flag=True, help="Only print what the finished rows come to.")
def main(*, minutes: int, seed: int | None, image: str, rows: Path, only_report: bool) -> None:
    """Let the next part of a soak run, of up to an hour; the same command goes on with what is left.

    Example: python -m tests.soak --minutes 90
    """
    signal.signal(signal.SIGTERM, terminated)
    try:
        if not only_report:
            run(rows, image, minutes=minutes, seed=seed)
    except LabServerError as error:
        raise click.ClickException(str(error)) from error
    finally:
        click.echo("\n".join(report(rows)))


def terminated(number: int, frame: FrameType | None) -> None:  # noqa: ARG001 - the handler's signature
    """Unwind on SIGTERM as on Ctrl-C, so that server and load go away."""
    sys.exit(128 + number)


if __name__ == "__main__":
    main()
