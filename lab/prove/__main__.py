"""``python -m lab.prove --part hold``: the long proofs, resumable, each within an hour."""

from __future__ import annotations

import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from lab.bench.folder import HeldError
from lab.bench.ledger import Ledger, read_rows
from lab.bench.plan import PlanError
from lab.prove import (
    audit,
    contests_page,
    hold,
    hostile,
    load,
    load_page,
    mutants,
    noharm,
    policies,
    recovery,
    report,
    safety,
    soak,
    suites,
    surge,
)
from lab.report.rows import ReportError
from lab.results import files
from lab.results.suites import SUITES
from lab.servers.base import LabServerError
from lab.servers.container import PLAIN_IMAGE

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import FrameType

RESULTS = Path("docs/results")
TRIAL = policies.ROWS / "trial"
"""Where a trial of the policies writes its page and lines, apart from what is published."""

PARTS = (
    "hold",
    "surge",
    "recovery",
    "soak",
    "load",
    "bench",
    "policies",
    "no-harm",
    "hostile",
    "mutants",
    "audit",
)
OF_SUITES = {"bench": SUITES, "policies": tuple(policies.SUITES)}


@click.command()
@click.option(
    "--part", type=click.Choice([*PARTS, "all"]), help="Which part to run; each takes up to an hour."
)
@click.option(
    "--suite",
    type=click.Choice([*SUITES, *policies.SUITES]),
    help="Of the part bench or policies only this one; it goes on where it stopped. Default: an hour of each "
    "suite of the bench, an hour of all suites of policies.",
)
@click.option("--resume", is_flag=True, help="Skip the rows that are finished.")
@click.option("--report", "page", is_flag=True, help="Only write the page from the finished rows.")
@click.option(
    "--minutes",
    type=click.IntRange(min=1),
    default=soak.MINUTES,
    show_default=True,
    help="Length of the soak; a part of it takes up to an hour, --resume carries out the next.",
)
@click.option("--seed", type=int, help="Order of the soak's faults; default: drawn.")
@click.option(
    "--trial",
    is_flag=True,
    help="surge, recovery, load, policies, hostile: only see that it works, with few runs; rows say so.",
)
@click.option("--image", default=PLAIN_IMAGE, show_default=True, help="Container image of the server.")
@click.option(
    "--results",
    type=click.Path(path_type=Path),
    default=RESULTS,
    show_default=True,
    help="Directory of rows and page.",
)
def main(
    *,
    part: str | None,
    suite: str | None,
    image: str,
    results: Path,
    minutes: int,
    seed: int | None,
    trial: bool,
    resume: bool,
    page: bool,
) -> None:
    """Run the long proofs and write their pages.

    Example: python -m lab.prove --part hold
    """
    signal.signal(signal.SIGTERM, _terminated)
    if part is None and not page:
        raise click.UsageError("name a --part, or ask for the --report")
    if suite is not None and suite not in OF_SUITES.get(part or "", ()):
        owner = next(name for name, named in OF_SUITES.items() if suite in named)
        raise click.UsageError(f"--suite {suite}: only of --part {owner}")
    results.mkdir(parents=True, exist_ok=True)
    codes = {0}
    try:
        for name in PARTS if part == "all" else filter(None, (part,)):
            if name == "soak":
                _soak(Ledger(results / "soak.jsonl", resume=resume), image, minutes, seed)
            elif name in OF_SUITES:
                _suites(name, results, image, suite, trial=trial)
            elif name in TOOLS:
                codes.add(TOOLS[name](results))
            else:
                codes.add(_run(name, results, image, resume=resume, trial=trial))
    except (LabServerError, PlanError, HeldError, ReportError) as error:
        raise click.ClickException(str(error)) from error
    finally:
        for write in (report.write, safety.write, load_page.write, contests_page.write):
            click.echo(f"wrote {write(results)}")
        for one in (audit, mutants):
            click.echo(f"wrote {one.write(results, read_rows(results / one.FILE))}")
    sys.exit(1 if 1 in codes else max(codes))


def _suites(part: str, results: Path, image: str, suite: str | None, *, trial: bool) -> None:
    if part == "bench":
        _bench(results, image, SUITES if suite is None else (suite,))
    else:
        _policies(TRIAL if trial else results, suite, trial=trial)


def _mutants(results: Path) -> int:
    if not mutants.run(Ledger(results / mutants.FILE, resume=True), told=click.echo):
        click.echo("not every change was tried; the same command goes on")
    return 0


def _audit(results: Path) -> int:
    return audit.run(Ledger(results / audit.FILE, resume=True), told=click.echo)


TOOLS = {"mutants": _mutants, "audit": _audit}
"""Parts that look at the program and not at a server; each returns its exit code."""


def _run(part: str, results: Path, image: str, *, resume: bool, trial: bool) -> int:
    """Run a part beside a server and return its exit code."""
    if part == "no-harm":
        noharm.run(results, told=click.echo)
        return 0
    if part == "hostile":
        minutes = hostile.TRIAL_MINUTES if trial else hostile.MINUTES
        return 0 if hostile.run(results, minutes=minutes, told=click.echo) else 1
    ledger = Ledger(results / f"{part}.jsonl", resume=resume)
    if part == "hold":
        hold.run(ledger, image)
    elif part == "surge":
        surge.run(ledger, image, trial=trial)
    elif part == "load":
        load.run(ledger, image, trial=trial)
    else:
        recovery.run(ledger, image, trial=trial)
    return 0


def _bench(results: Path, image: str, names: Sequence[str]) -> None:
    try:
        for name in names:
            if not suites.run(name, results, image):
                click.echo(f"the suite {name} is not finished; the same command goes on with it")
    finally:
        if results == RESULTS:
            for made in files.write(Path()):
                click.echo(f"wrote {made}")


def _policies(results: Path, suite: str | None, *, trial: bool) -> None:
    names = tuple(policies.SUITES) if suite is None else (suite,)
    try:
        if not policies.run(results, names, trial=trial):
            click.echo("the comparison of policies is not finished; the same command goes on with it")
    finally:
        click.echo(f"wrote {contests_page.write(results)}")


def _soak(ledger: Ledger, image: str, minutes: int, seed: int | None) -> None:
    if not soak.run(ledger, image, minutes=minutes, seed=seed):
        click.echo("the soak is not finished; go on with --resume")


def _terminated(number: int, frame: FrameType | None) -> None:  # noqa: ARG001 - the handler's signature
    """Unwind on SIGTERM as on Ctrl-C, so that server and load go away."""
    sys.exit(128 + number)


if __name__ == "__main__":
    main()
