"""The loop beside the server left alone, in every named scenario, and what each of its mechanisms is worth.

A mechanism is taken out by one of its own constants, or by a function that answers as if it were not there,
in a process of its own; the same scenarios run with the same seeds. Runs are kept by the text of loop and
simulated server, so that the same command goes on where it was stopped.
"""

from __future__ import annotations

import hashlib
import importlib
import math
import os
import statistics
import time
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click
import msgspec

from lab.scenarios import load_scenario, scenario_names
from lab.scenarios.static import starting_pair, trace_pair
from lab.scenarios.trace import starved_seconds
from lab.simulate_loop import most_in_an_hour, run_policy
from tuner.settings import Mode, Settings

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs/results/no-harm.md"
KEPT = ROOT / ".cache/no-harm"
COMMAND = "make prove PART=no-harm"
SEEDS = (1, 2, 3, 4, 5)
ABLATION_SEEDS = (1,)

LEFT_OUT = frozenset({"month"})
"""Thirty days take minutes a run."""

NOT_ABLATED = frozenset({"batch", "daily", "h02-gp3", "h13-big-redo-poolpct", "seed-sata-40g", "wave"})
"""The longest take too long for as many runs as there are mechanisms."""

SHOWN = 0.002
"""Difference of a scenario's figure of merit that an ablation's row names."""


class Ablation(NamedTuple):
    """One mechanism, and what takes it out.

    Attributes:
        what: the mechanism, for people.
        module: where the name that is replaced lies.
        name: of the constant or function, with its class where it has one.
        value: what stands there instead.
    """

    what: str
    module: str
    name: str
    value: Any


ABLATIONS = (
    Ablation("relief of a slow disk", "tuner.core.fallback.relief", "MOST_AN_HOUR", 0),
    Ablation(
        "an M that was too low is not gone back to", "tuner.core.decide.carry_out", "TOO_LOW_SECONDS", 0.0
    ),
    Ablation("the load's share of the device", "tuner.core.writes.guards", "LOAD_MARGIN", 1e9),
    Ablation("a steady load is held nearer to the sync point", "tuner.core.estimate.trends", "STEADY", 0.0),
    Ablation("rest of M where the age does not answer", "tuner.core.fallback.unanswered", "FAR", 1e9),
    Ablation("saving of scarce changes", "tuner.core.writes.tokens", "DEPTH", 1e9),
    Ablation("no lowering for a load that goes away", "tuner.core.decide.wishes", "FADING", 0.0),
    Ablation("trim by the mean of a long calm", "policies.cascade", "TRIM_GAIN", 0.0),
    Ablation("band widened by the load's unrest", "policies.cascade", "STIRRING", 0.0),
    Ablation("lowest M for a load that may surge", "tuner.core.limits", "FLOOR", 0),
    Ablation("headroom for bursts", "tuner.core.estimate.trends", "Bursts.expected", lambda *_, **__: 0.0),
    Ablation(
        "the sawtooth as it was seen",
        "tuner.core.estimate.sawtooth",
        "Sawtooth.seconds",
        lambda _, known: known,
    ),
    Ablation("hurry of an emergency", "tuner.core.decide.emergency", "MOST_HURRY", 1.0),
    Ablation(
        "M moved by less where the load answers",
        "tuner.records",
        "Estimate.coupling",
        property(lambda _: 0.0),
    ),
    Ablation("the burst of the start forgotten", "tuner.core.estimate.trends", "OVER_SECONDS", 6 * 3600.0),
    Ablation("headroom clear of the age that asks for all of M", "policies.setpoint", "CLEAR", 1.0),
    Ablation("M for a slow disk corrected", "tuner.core.fallback.relief", "SAME", -1.0),
    Ablation("bound by waits for free pages", "tuner.core.setpoint.caution", "PRESSURE_RISES", 1e12),
)


class Outcome(msgspec.Struct, frozen=True):
    """One run, from where it counts.

    Attributes:
        commits: commits/s, one number a second.
        pages: flush-list pages per commit.
        stalled: seconds that all writers waited.
        synced: seconds with a sync-flushed page.
        changes: the most in an hour, beside emergencies and their way back.
    """

    commits: tuple[float, ...]
    pages: float
    stalled: float
    synced: int
    changes: int = 0

    @property
    def mean(self) -> float:
        """Return the mean commits/s."""
        return statistics.fmean(self.commits)


class Job(NamedTuple):
    """One run to be done: a scenario, a seed, and what is taken out; None for the server left alone."""

    scenario: str
    seed: int
    without: int | None = None
    untouched: bool = False


def run_one(job: Job) -> Outcome:
    """Return what one run came to; in a process in which nothing else is run."""
    scenario = msgspec.structs.replace(load_scenario(job.scenario), seed=job.seed)
    budgeted: tuple[float, ...] = ()
    if job.untouched:
        trace = trace_pair(scenario, starting_pair(scenario))
    else:
        with_out(job.without)
        run = run_policy(scenario, Settings(mode=Mode.ACTIVE))
        trace, budgeted = run.trace, run.budgeted
    found = trace.outcome(scenario.measured_from)
    return Outcome(
        commits=tuple(trace.rates(scenario.measured_from)),
        pages=found.pages_per_commit,
        stalled=found.stall_seconds,
        synced=found.sync_flush_seconds,
        changes=most_in_an_hour(budgeted),
    )


def with_out(number: int | None) -> None:
    """Take a mechanism out of this process for good; None for none.

    Raises:
        AttributeError: nothing has that name, so that nothing would be taken out.
    """
    if number is None:
        return
    ablation = ABLATIONS[number]
    owner: Any = importlib.import_module(ablation.module)
    *path, name = ablation.name.split(".")
    for part in path:
        owner = getattr(owner, part)
    getattr(owner, name)
    setattr(owner, name, ablation.value)


def _merit(outcome: Outcome, *, offered: bool) -> float:
    """Return what is compared: commits/s, or where all are served commits for each page."""
    return 1.0 / max(outcome.pages, 1e-9) if offered else outcome.mean


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
@click.option("--ablation", is_flag=True, help="Run the loop without each of its mechanisms as well.")
def main(minutes: float, *, ablation: bool) -> None:
    """Run every scenario with the loop and without it, and write docs/results/no-harm.md."""
    names = [name for name in scenario_names() if name not in LEFT_OUT]
    jobs = [Job(name, seed, untouched=alone) for name in names for seed in SEEDS for alone in (True, False)]
    if ablation:
        wanted = range(len(ABLATIONS))
        jobs += [
            Job(name, seed, one) for one in wanted for name in _ablatable(names) for seed in ABLATION_SEEDS
        ]
    folder, end = KEPT / _text(), time.monotonic() + 60.0 * minutes
    folder.mkdir(parents=True, exist_ok=True)
    done = {
        job: msgspec.msgpack.decode(path.read_bytes(), type=Outcome)
        for job in jobs
        if (path := _kept(folder, job)).exists()
    }
    click.echo(f"{len(done)} of {len(jobs)} runs are there")
    with ProcessPoolExecutor(os.cpu_count(), max_tasks_per_child=1) as pool:
        running = {pool.submit(_in_time, job, end): job for job in jobs if job not in done}
        for future in as_completed(running):
            job, outcome = running[future], future.result()
            if outcome is not None:
                done[job] = outcome
                _kept(folder, job).write_bytes(msgspec.msgpack.encode(outcome))
                click.echo(f"{len(done)} of {len(jobs)}: {job.scenario}, seed {job.seed}")
    if any(
        Job(name, seed, untouched=alone) not in done
        for name in names
        for seed in SEEDS
        for alone in (True, False)
    ):
        raise click.ClickException(
            f"not every scenario was run in {minutes:g} minutes; the same command goes on"
        )
    PAGE.write_text("\n".join(_page(names, done)) + "\n", encoding="utf-8")
    click.echo(f"wrote {PAGE.relative_to(ROOT)}")


def _in_time(job: Job, end: float) -> Outcome | None:
    return run_one(job) if time.monotonic() < end else None


def _kept(folder: Path, job: Job) -> Path:
    what = "untouched" if job.untouched else f"without-{job.without}" if job.without is not None else "ours"
    return folder / f"{job.scenario}-{job.seed}-{what}.msgpack"


def _page(names: list[str], done: dict[Job, Outcome]) -> Iterator[str]:
    yield "# The loop beside the server left alone, in every scenario"
    yield ""
    yield (
        f"Simulated servers, default settings, active from the start, {len(SEEDS)} seeds; `{COMMAND}`. "
        "Means over the seeds; changes are the most in any hour of any seed, beside emergencies and their "
        "way back. Starved are seconds with less than half of the median commits of the untouched server; "
        "ours / untouched."
    )
    yield ""
    yield (
        "| scenario | commits/s | untouched | ratio | pages/commit, ratio | starved s | stalled s "
        "| sync-flushed s | changes/h |"
    )
    yield "|---|---|---|---|---|---|---|---|---|"
    for name in names:
        ours = [done[Job(name, seed)] for seed in SEEDS]
        alone = [done[Job(name, seed, untouched=True)] for seed in SEEDS]
        medians = [statistics.median(one.commits) for one in alone]
        commits, theirs = _mean(one.mean for one in ours), _mean(one.mean for one in alone)
        pages = _mean(one.pages for one in ours) / max(1e-9, _mean(one.pages for one in alone))
        starved = _mean(
            starved_seconds(one.commits, median) for one, median in zip(ours, medians, strict=True)
        )
        before = _mean(
            starved_seconds(one.commits, median) for one, median in zip(alone, medians, strict=True)
        )
        yield (
            f"| {name} | {commits:.0f} | {theirs:.0f} | {commits / max(theirs, 1e-9):.3f} | {pages:.3f} "
            f"| {starved:.0f} / {before:.0f} "
            f"| {_mean(one.stalled for one in ours):.1f} / {_mean(one.stalled for one in alone):.1f} "
            f"| {_mean(one.synced for one in ours):.0f} / {_mean(one.synced for one in alone):.0f} "
            f"| {max(one.changes for one in ours)} |"
        )
    yield ""
    yield "## What each mechanism is worth"
    yield ""
    yield (
        f"Each row is the loop without one mechanism over the loop with it, seed 1: "
        "commits/s, or commits for each page where the load is offered at a rate of its own. Named are "
        f"scenarios that differ by more than {SHOWN:.1%}. Seconds and changes an hour: how many more without "
        "it, over all scenarios and seeds."
    )
    yield ""
    yield "| without | all scenarios | where it differs | starved s | stalled s | synced s | changes/h |"
    yield "|---|---|---|---|---|---|---|"
    late = []
    for number, ablation in enumerate(ABLATIONS):
        wanted = {Job(name, seed, number) for name in _ablatable(names) for seed in ABLATION_SEEDS}
        if wanted <= done.keys():
            yield _ablated(_ablatable(names), done, number, ablation)
        else:
            late.append(ablation.what)
    if late:
        yield ""
        yield f"Not run in time: {'; '.join(late)}."


def _ablated(names: list[str], done: dict[Job, Outcome], number: int, ablation: Ablation) -> str:
    ratios, starved, stalled, synced, changes = {}, 0, 0.0, 0, 0
    for name in names:
        offered = load_scenario(name).offered
        logs = []
        for seed in ABLATION_SEEDS:
            without, ours = done[Job(name, seed, without=number)], done[Job(name, seed)]
            median = statistics.median(done[Job(name, seed, untouched=True)].commits)
            logs.append(math.log(_merit(without, offered=offered) / _merit(ours, offered=offered)))
            starved += starved_seconds(without.commits, median) - starved_seconds(ours.commits, median)
            stalled += without.stalled - ours.stalled
            synced += without.synced - ours.synced
            changes += without.changes - ours.changes
        ratios[name] = math.exp(statistics.fmean(logs))
    total = math.exp(statistics.fmean(math.log(one) for one in ratios.values()))
    differs = (
        ", ".join(f"{name} {one:.3f}" for name, one in ratios.items() if abs(one - 1.0) > SHOWN) or "none"
    )
    return (
        f"| {ablation.what} | {total:.4f} | {differs} | {starved:+d} | {stalled:+.1f} | {synced:+d} "
        f"| {changes:+d} |"
    )


def _ablatable(names: list[str]) -> list[str]:
    return [name for name in names if name not in NOT_ABLATED]


def _mean(values: Iterator[float]) -> float:
    return statistics.fmean(values)


if __name__ == "__main__":
    main()
