"""``python -m lab.prove --part soak``: the long measurements, each up to an hour."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from lab.experiment.daemon import PROGRAM
from lab.experiment.plan import go_on, load_suite
from lab.experiment.progress import Progress, enough_minutes
from lab.experiment.refusals import PlanError
from lab.experiment.store import BENCH, COMPARISON
from lab.prove import ablation, audit, hostile, load, mutants, soak
from lab.report import published
from lab.report.markdown import put
from lab.report.rows import ReportError
from lab.report.suites import SUITES
from lab.scenarios import load_scenario, scenario_names
from lab.servers.base import LabServerError
from lab.servers.container import PLAIN_IMAGE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import FrameType

RESULTS = Path("docs/results")
ROWS = Path(".cache/prove/policies")
"""Where the rows of compared policies lie; published is the table."""

BUDGET = 55
"""Minutes. No row begins that would end later; starting a server and writing the page take the rest of the
hour. A row that takes longer by itself is given its own time."""

UNFINISHED = 4
"""Exit code of a command whose time was up."""

END_SECONDS = 120.0
"""What a command that was told to end has for removing its server."""

HOUR, DAY = 3600, 86_400


class Compared(NamedTuple):
    """Policies compared on the named scenarios of some length.

    Attributes:
        shortest: seconds that a scenario has at least.
        longest: seconds that it has at most.
        words: further words of ``innobrim policies --compare``.
    """

    shortest: int
    longest: int
    words: str


POLICIES = {
    "hour": Compared(0, HOUR, "--seeds 20 --oracle"),
    "long": Compared(HOUR + 1, DAY, "--seeds 5 --oracle"),
    "daily": Compared(DAY + 1, 7 * DAY, "--seeds 5 --oracle"),
    "month": Compared(30 * DAY, 30 * DAY, "--policy cascade --seeds 3 --oracle"),
    "learning": Compared(30 * DAY, 30 * DAY, "--policy cascade --policy bayes --seeds 3"),
    "no-harm": Compared(0, 7 * DAY, "--policy cascade --seeds 5"),
}
"""Suites of simulated runs, by name."""

ONE_BENCH = ("hold", "surge", "recovery")
"""Suites of the bench that are parts by themselves."""

SIMULATED = ("policies", "no-harm", "ablation")
PARTS = (*ONE_BENCH, "soak", "load", "bench", *SIMULATED, "hostile", "mutants", "audit")
OF_SUITES = {"bench": SUITES, "policies": tuple(POLICIES)}


@click.command()
@click.option(
    "--part", type=click.Choice([*PARTS, "all"]), help="Which part to run; each takes up to an hour."
)
@click.option(
    "--suite",
    type=click.Choice(list(dict.fromkeys([*SUITES, *POLICIES]))),
    help="Of the part bench or policies only this one; without it an hour of each.",
)
@click.option("--report", is_flag=True, help="Only write the pages from the finished rows.")
@click.option(
    "--minutes", type=click.IntRange(min=1), help="Length of the soak (90), or of the part hostile (60)."
)
@click.option("--seed", type=int, help="Order of the soak's faults; default: drawn.")
@click.option("--image", default=PLAIN_IMAGE, show_default=True, help="Container image of the server.")
@click.option(
    "--results",
    type=click.Path(path_type=Path),
    default=RESULTS,
    show_default=True,
    help="Directory of rows and pages.",
)
def main(
    *,
    part: str | None,
    suite: str | None,
    report: bool,
    minutes: int | None,
    seed: int | None,
    image: str,
    results: Path,
) -> None:
    """Run the long measurements and write their pages; the same command goes on with what is not finished.

    Example: python -m lab.prove --part soak
    """
    signal.signal(signal.SIGTERM, _terminated)
    if part is None and not report:
        raise click.UsageError("name a --part, or ask for the --report")
    if suite is not None and suite not in OF_SUITES.get(part or "", ()):
        owner = next(name for name, named in OF_SUITES.items() if suite in named)
        raise click.UsageError(f"--suite {suite}: only of --part {owner}")
    results.mkdir(parents=True, exist_ok=True)
    tools: dict[str, Callable[[], int]] = {
        "soak": lambda: soak.run(results, image, minutes=minutes or soak.MINUTES, seed=seed),
        "load": lambda: load.run(results, image),
        "hostile": lambda: hostile.run(results, minutes=minutes or hostile.MINUTES),
        "mutants": lambda: mutants.run(results),
        "audit": lambda: audit.run(results),
        "policies": lambda: _policies(results, tuple(POLICIES) if suite is None else (suite,)),
        "no-harm": lambda: _policies(results, ("no-harm",)),
        "ablation": lambda: ablation.run(results),
        "bench": lambda: _bench(results, image, SUITES if suite is None else (suite,)),
        **{name: lambda name=name: _bench(results, image, (name,)) for name in ONE_BENCH},  # type: ignore[misc]  # bound now
    }
    codes = {0}
    try:
        for name in PARTS if part == "all" else filter(None, (part,)):
            codes.add(tools[name]())
    except (LabServerError, PlanError, ReportError) as error:
        raise click.ClickException(str(error)) from error
    finally:
        for write in (soak.write, load.write, mutants.write, audit.write):
            click.echo(f"wrote {write(results)}")
    sys.exit(1 if 1 in codes else max(codes))


def _bench(results: Path, image: str, names: tuple[str, ...]) -> int:
    """Carry out an hour of each suite of the bench, and write the page of all that are published."""
    try:
        for name in names:
            directory = results / "bench" / name
            begin = ["--suite", name, "--server", image, "--output", str(directory)]
            begun = (directory / BENCH).exists()
            time = ["--time", f"{_minutes(name, directory if begun else None)}m"]
            words = ["bench", *(["--resume", str(directory)] if begun else begin), *time]
            if not carried_out(words)[0]:
                click.echo(f"the suite {name} is not finished; the same command goes on with it")
    finally:
        if results == RESULTS:
            for made in published.write(Path()):
                click.echo(f"wrote {made}")
    return 0


def _minutes(name: str, begun: Path | None) -> int:
    """Return how long a part of a suite is to be, and say so where its next row takes more than the budget.

    Raises:
        PlanError: what was begun there cannot be gone on with.
    """
    if begun is None:
        progress = Progress(load_suite(name).plans, [])
    else:
        asked, ledger = go_on(begun)
        progress = Progress(asked.plans, ledger.rows)
    enough = enough_minutes(progress.part_seconds())
    if enough > BUDGET:
        click.echo(f"the suite {name}: a row takes longer than {BUDGET} min, so this part has {enough} min")
    return max(BUDGET, enough)


def _policies(results: Path, names: tuple[str, ...]) -> int:
    """Carry out an hour of each comparison of policies, and publish what there is of its table."""
    for name in names:
        suite = POLICIES[name]
        directory = ROWS / name
        words = ["policies", "--compare", "--resume", str(directory), "--time", f"{BUDGET}m"]
        if not (directory / COMPARISON).exists():
            words[2:4] = [*_scenarios(suite), *suite.words.split(), "--output", str(directory)]
        finished, said = carried_out(words, heard=True)
        (results / "policies").mkdir(exist_ok=True)
        how = f"`innobrim policies --compare {suite.words}` on the scenarios of that length"
        page = [
            f"# Compared policies: {name}",
            f"`make prove PART=policies SUITE={name}`: {how}.",
            f"```text\n{said}```",
        ]
        click.echo(f"wrote {put(results / 'policies' / f'{name}.md', page)}")
        if not finished:
            click.echo(f"the suite {name} is not finished; the same command goes on with it")
    return 0


def _scenarios(suite: Compared) -> Iterator[str]:
    for name in scenario_names():
        if suite.shortest <= load_scenario(name).seconds <= suite.longest:
            yield from ("--scenario", name)


def carried_out(words: list[str], *, heard: bool = False) -> tuple[bool, str]:
    """Run a command of ours; return whether all of it is finished, and what it said where that is heard.

    Raises:
        LabServerError: it failed; it has said why.
    """
    with subprocess.Popen(
        [PROGRAM, *words], stdout=subprocess.PIPE if heard else None, encoding="utf-8"
    ) as child:
        try:
            said, _ = child.communicate()
        except BaseException as error:
            if not isinstance(error, KeyboardInterrupt):
                child.terminate()  # Ctrl-C reaches it by itself; a second signal would stop its cleaning up
            child.wait(END_SECONDS)
            raise
    if child.returncode not in {0, UNFINISHED}:
        raise LabServerError(f"innobrim {' '.join(words)} ended with {child.returncode}")
    return child.returncode == 0, said or ""


def _terminated(number: int, frame: FrameType | None) -> None:  # noqa: ARG001 - the handler's signature
    """Unwind on SIGTERM as on Ctrl-C, so that server and load go away."""
    sys.exit(128 + number)


if __name__ == "__main__":
    main()
