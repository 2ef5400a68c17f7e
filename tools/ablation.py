"""What each mechanism of the loop is worth: docs/results/mechanisms.md.

A mechanism is taken out by one constant or function, and the same scenarios are run with the same seed. Runs
are kept with those of ``tools.no_harm``, of which the ones with the whole loop are used here as well.
"""

from __future__ import annotations

import statistics
from typing import Any
from unittest import mock

import click
from msgspec.structs import replace

from lab.bench.revision import revision
from lab.bench.store import Row
from lab.scenarios import load_scenario, scenario_names
from tools.markdown import table
from tools.no_harm import LEFT_OUT, ROOT, Job, compared, finished, in_minutes
from tuner.core.estimate.sawtooth import Sawtooth
from tuner.core.estimate.trends import Bursts
from tuner.records import Estimate

PAGE = ROOT / "docs/results/mechanisms.md"
SEED = 1
NOT_RUN = LEFT_OUT | {"batch", "daily", "h02-gp3", "h13-big-redo-poolpct", "seed-sata-40g", "wave"}
"""The longest take too long for as many runs as there are mechanisms."""

SHOWN = 0.002
"""Difference of a scenario's figure of merit that a row names."""


def _no_bursts(_bursts: Bursts, _wall: float) -> float:
    return 0.0


def _as_reckoned(_sawtooth: Sawtooth, reckoned: float) -> float:
    return reckoned


def _no_coupling(_estimate: Estimate) -> float:
    return 0.0


MECHANISMS: dict[str, tuple[str, Any]] = {
    "relief of a slow disk": ("tuner.core.fallback.relief.MOST_AN_HOUR", 0),
    "an M that was too low is not gone back to": ("tuner.core.decide.carry_out.TOO_LOW_SECONDS", 0.0),
    "the load's share of the device": ("tuner.core.writes.guards.LOAD_MARGIN", 1e9),
    "a steady load is held nearer to the sync point": ("tuner.core.estimate.trends.STEADY", 0.0),
    "rest of M where the age does not answer": ("tuner.core.fallback.unanswered.FAR", 1e9),
    "saving of scarce changes": ("tuner.core.writes.token_bucket.DEPTH", 1e9),
    "no lowering for a load that goes away": ("tuner.core.decide.wishes.FADING", 0.0),
    "trim by the mean of a long calm": ("policies.cascade.TRIM_GAIN", 0.0),
    "band widened by the load's unrest": ("policies.cascade.STIRRING", 0.0),
    "lowest M for a load that may surge": ("tuner.core.limits.FLOOR", 0),
    "headroom for bursts": ("tuner.core.estimate.trends.Bursts.expected", _no_bursts),
    "the sawtooth as it was seen": ("tuner.core.estimate.sawtooth.Sawtooth.seconds", _as_reckoned),
    "hurry of an emergency": ("tuner.core.decide.emergency.MOST_HURRY", 1.0),
    "M moved by less where the load answers": (
        "tuner.records.estimate.Estimate.coupling",
        property(_no_coupling),
    ),
    "the burst of the start forgotten": ("tuner.core.estimate.trends.OVER_SECONDS", 6 * 3600.0),
    "headroom clear of the age that asks for all of M": ("policies.setpoint.CLEAR", 1.0),
    "M for a slow disk corrected": ("tuner.core.fallback.relief.SAME", -1.0),
    "bound by waits for free pages": ("tuner.core.setpoint.caution.PRESSURE_RISES", 1e12),
}
"""By what each is called on the page: the constant or function that stands for it, and what takes it out."""

INTRODUCTION = """\
# What each mechanism of the loop is worth

Each mechanism was taken out by one constant or function of its own, and the same scenarios were run with \
the same seed: `make prove PART=ablation`; with `ARGS="step-up step-down"` it prints the table of these alone.

Measured at {revision}.

Each row is the loop without one mechanism over the loop with it, seed {seed}: commits/s, or commits for \
each page where the load is offered at a rate of its own. Named are scenarios that differ by more than \
{shown:.1%}. Seconds and changes an hour: how many more without it, over all scenarios.
"""
HEAD = ("without", "all scenarios", "where it differs", "starved s", "stalled s", "changes/h")


def measured(job: Job) -> Row:
    """Return what a run came to with the job's mechanism taken out of this process while it lasts.

    Raises:
        AttributeError: nothing has the mechanism's name, so that nothing would be taken out.
    """
    if job.without is None:
        return compared(job)
    with mock.patch(*MECHANISMS[job.without]):
        return compared(job)


def worth(rows: list[Row]) -> str:
    """Return the table of finished rows, Markdown."""
    by_mechanism: dict[str | None, dict[str, Row]] = {}
    for row in rows:
        by_mechanism.setdefault(row["without"], {})[row["scenario"]] = row
    whole = by_mechanism.pop(None)
    return table(HEAD, (_line(str(what), found, whole) for what, found in by_mechanism.items()))


def _line(what: str, rows: dict[str, Row], whole: dict[str, Row]) -> tuple[str, ...]:
    def more(figure: str) -> float:
        return float(sum(row[figure][0] - whole[name][figure][0] for name, row in rows.items()))

    ratios = {name: _merit(row) / _merit(whole[name]) for name, row in rows.items()}
    differing = [f"{name} {one:.3f}" for name, one in ratios.items() if abs(one - 1.0) > SHOWN]
    changes = sum(row["changes"] - whole[name]["changes"] for name, row in rows.items())
    return (
        what,
        f"{statistics.geometric_mean(ratios.values()):.4f}",
        ", ".join(differing) or "none",
        f"{more('starved'):+.0f}",
        f"{more('stalled'):+.1f}",
        f"{changes:+d}",
    )


def _merit(row: Row) -> float:
    """Return what is compared: commits/s, or where all are served commits for each page."""
    commits: float = row["commits"][0]
    pages: float = row["pages"][0]
    return 1.0 / max(pages, 1e-9) if load_scenario(row["scenario"]).offered else commits


@click.command()
@in_minutes
@click.argument("names", nargs=-1, metavar="[SCENARIO]...", type=click.Choice(scenario_names()))
def main(minutes: float, names: tuple[str, ...]) -> None:
    """Run the loop without each mechanism, and write docs/results/mechanisms.md.

    Of scenarios that are named the table is printed, and no page is written.
    """
    wanted = dict.fromkeys(names) or [name for name in scenario_names() if name not in NOT_RUN]
    known = [load_scenario(name) for name in wanted]
    jobs = [Job(replace(one, seed=SEED), what) for what in (None, *MECHANISMS) for one in known]
    found = worth(finished(measured, jobs, minutes=minutes))
    if names:
        click.echo(found)
        return
    head = INTRODUCTION.format(revision=revision() or "an unknown revision", seed=SEED, shown=SHOWN)
    PAGE.write_text(f"{head}\n{found}\n", encoding="utf-8")
    click.echo(f"wrote {PAGE.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
