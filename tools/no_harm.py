"""The loop against the same server left alone, in every named scenario: docs/results/no-harm.md.

Runs are kept by the text of loop and simulated server, so that the same command goes on where it was stopped.
"""

from __future__ import annotations

import functools
import hashlib
import os
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import click
from msgspec.structs import replace

from lab.bench.store import Ledger, Row
from lab.scenarios import Scenario, load_scenario, scenario_names
from lab.scenarios.parallel import Workers
from lab.scenarios.static import starting_pair, trace_pair
from lab.scenarios.trace import starved_seconds
from lab.simulate_loop import most_in_an_hour, run_policy
from tools.markdown import table
from tuner.settings import Mode, Settings

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs/results/no-harm.md"
KEPT = ROOT / ".cache/no-harm"
SEEDS = (1, 2, 3, 4, 5)
LEFT_OUT = frozenset({"month"})
"""Thirty days take minutes a run."""

INTRODUCTION = f"""\
# The loop against the server left alone, in every scenario

Simulated servers, default settings, active from the start, {len(SEEDS)} seeds; `make prove PART=no-harm`. \
Means over the seeds; changes are the most in any hour of any seed, emergencies and the changes after them \
not counted. Starved are seconds with less than half of the median commits of the untouched server; \
ours / untouched. What each mechanism of the loop is worth is [a table of its own](mechanisms.md).
"""
HEAD = (
    "scenario",
    "commits/s",
    "untouched",
    "ratio",
    "pages/commit, ratio",
    "starved s",
    "stalled s",
    "sync-flushed s",
    "changes/h",
)


in_minutes = click.option(
    "--minutes", type=click.FloatRange(0.1), default=55.0, show_default=True, help="No run begins after."
)


class Job(NamedTuple):
    """One run: a scenario with its seed, and the mechanism that the loop is without; None for none."""

    scenario: Scenario
    without: str | None = None

    @property
    def key(self) -> Row:
        """Return what tells its row from others."""
        return {"scenario": self.scenario.name, "seed": self.scenario.seed, "without": self.without}


def compared(job: Job) -> Row:
    """Return what both came to; each figure is ours, and what the server came to that was left alone."""
    scenario = job.scenario
    run = run_policy(scenario, Settings(mode=Mode.ACTIVE))
    traces = (run.trace, trace_pair(scenario, starting_pair(scenario)))
    rates = [trace.rates(scenario.measured_from) for trace in traces]
    outcomes = [trace.outcome(scenario.measured_from) for trace in traces]
    median = statistics.median(rates[1])
    return {
        **job.key,
        "commits": [statistics.fmean(one) for one in rates],
        "pages": [one.pages_per_commit for one in outcomes],
        "starved": [starved_seconds(one, median) for one in rates],
        "stalled": [one.stall_seconds for one in outcomes],
        "synced": [one.sync_flush_seconds for one in outcomes],
        "changes": most_in_an_hour(run.budgeted),
    }


def finished(run: Callable[[Job], Row], jobs: list[Job], *, minutes: float) -> list[Row]:
    """Return the rows of all jobs; what is not kept is run, a job on each processor.

    Args:
        run: returns a job's row; it can be pickled.
        jobs: what is wanted.
        minutes: no run begins after.

    Raises:
        ClickException: they did not all end in time; those that did are kept.
    """
    end = time.monotonic() + 60.0 * minutes
    ledger = Ledger(KEPT / f"{_text()}.jsonl")
    todo = [job for job in jobs if not ledger.find(**job.key)]
    left = len(todo)
    with Workers(os.cpu_count() or 1) as workers:
        for job, row in workers.each(functools.partial(_in_time, run, end), todo):
            if row is not None:
                ledger.add(row)
                left -= 1
                what = f", without {job.without}" if job.without else ""
                click.echo(
                    f"{len(jobs) - left} of {len(jobs)}: {job.scenario.name}, seed {job.scenario.seed}{what}"
                )
    if left:
        raise click.ClickException(
            f"not every scenario was run in {minutes:g} minutes; the same command goes on"
        )
    return [row for job in jobs if (row := ledger.find(**job.key))]


def _in_time(run: Callable[[Job], Row], end: float, job: Job) -> Row | None:
    return run(job) if time.monotonic() < end else None


def page(rows: list[Row]) -> str:
    """Return the page of finished rows, Markdown."""
    by_scenario: dict[str, list[Row]] = {}
    for row in rows:
        by_scenario.setdefault(row["scenario"], []).append(row)
    lines = (_line(name, by_scenario[name]) for name in sorted(by_scenario))
    return f"{INTRODUCTION}\n{table(HEAD, lines)}\n"


def _line(name: str, rows: list[Row]) -> tuple[str, ...]:
    def means(figure: str) -> tuple[float, float]:
        ours, alone = zip(*(row[figure] for row in rows), strict=True)
        return statistics.fmean(ours), statistics.fmean(alone)

    commits, pages = means("commits"), means("pages")
    ratios = [f"{ours / max(alone, 1e-9):.3f}" for ours, alone in (commits, pages)]
    digits = {"starved": 0, "stalled": 1, "synced": 0}
    seconds = [" / ".join(f"{one:.{count}f}" for one in means(name)) for name, count in digits.items()]
    most = max(row["changes"] for row in rows)
    return (name, f"{commits[0]:.0f}", f"{commits[1]:.0f}", *ratios, *seconds, str(most))


def _text() -> str:
    """Return what tells one state of the loop, the simulated server and these measurements from another."""
    found = hashlib.sha256()
    for folder in ("policies", "tuner/core", "tuner/records", "lab/plant", "lab/scenarios"):
        for path in sorted((ROOT / folder).rglob("*.*")):
            if path.suffix in {".py", ".toml"}:
                found.update(path.read_bytes())
    for path in (Path(__file__), Path(__file__).with_name("ablation.py")):
        found.update(path.read_bytes())
    return found.hexdigest()[:12]


@click.command()
@in_minutes
def main(minutes: float) -> None:
    """Run every scenario with the loop and without it, and write docs/results/no-harm.md."""
    known = [load_scenario(name) for name in scenario_names() if name not in LEFT_OUT]
    jobs = [Job(replace(one, seed=seed)) for one in known for seed in SEEDS]
    PAGE.write_text(page(finished(compared, jobs, minutes=minutes)), encoding="utf-8")
    click.echo(f"wrote {PAGE.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
