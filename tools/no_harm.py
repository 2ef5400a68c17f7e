"""The loop against the same server left alone, in every named scenario: docs/results/no-harm.md.

Runs are kept by the text of loop and simulated server, so that the same command goes on where it was stopped.
"""

from __future__ import annotations

import functools
import hashlib
import os
import statistics
import time
from pathlib import Path

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
ours / untouched. What each mechanism of the loop is worth was [measured once](mechanisms.md).
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


def compared(scenario: Scenario) -> Row:
    """Return what both came to; each figure is ours, and what the server came to that was left alone."""
    run = run_policy(scenario, Settings(mode=Mode.ACTIVE))
    traces = (run.trace, trace_pair(scenario, starting_pair(scenario)))
    rates = [trace.rates(scenario.measured_from) for trace in traces]
    outcomes = [trace.outcome(scenario.measured_from) for trace in traces]
    median = statistics.median(rates[1])
    return {
        "scenario": scenario.name,
        "seed": scenario.seed,
        "commits": [statistics.fmean(one) for one in rates],
        "pages": [one.pages_per_commit for one in outcomes],
        "starved": [starved_seconds(one, median) for one in rates],
        "stalled": [one.stall_seconds for one in outcomes],
        "synced": [one.sync_flush_seconds for one in outcomes],
        "changes": most_in_an_hour(run.budgeted),
    }


def _in_time(end: float, scenario: Scenario) -> Row | None:
    return compared(scenario) if time.monotonic() < end else None


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
    """Return what tells one state of the loop and the simulated server from another."""
    found = hashlib.sha256()
    for folder in ("policies", "tuner/core", "lab/plant", "lab/scenarios"):
        for path in sorted((ROOT / folder).rglob("*.*")):
            if path.suffix in {".py", ".toml"}:
                found.update(path.read_bytes())
    return found.hexdigest()[:12]


@click.command()
@click.option(
    "--minutes", type=click.FloatRange(0.1), default=55.0, show_default=True, help="No run begins after."
)
def main(minutes: float) -> None:
    """Run every scenario with the loop and without it, and write docs/results/no-harm.md."""
    end = time.monotonic() + 60.0 * minutes
    known = [load_scenario(name) for name in scenario_names() if name not in LEFT_OUT]
    wanted = [replace(one, seed=seed) for one in known for seed in SEEDS]
    ledger = Ledger(KEPT / f"{_text()}.jsonl")
    todo = [one for one in wanted if not ledger.find(scenario=one.name, seed=one.seed)]
    with Workers(os.cpu_count() or 1) as workers:
        for one, row in workers.each(functools.partial(_in_time, end), todo):
            if row is not None:
                ledger.add(row)
                click.echo(f"{len(ledger.rows)} of {len(wanted)}: {one.name}, seed {one.seed}")
    if len(ledger.rows) < len(wanted):
        raise click.ClickException(
            f"not every scenario was run in {minutes:g} minutes; the same command goes on"
        )
    PAGE.write_text(page(ledger.rows), encoding="utf-8")
    click.echo(f"wrote {PAGE.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
