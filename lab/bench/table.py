"""What a comparison comes to: mean, worst and paired ratio by contender, as a table; pure."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping, Sequence
from typing import cast

from msgspec import Struct

from lab.scenarios.schema import Scenario
from lab.scenarios.trace import SETTLED_OVER, SETTLED_WITHIN, Outcome
from lab.simulate import in_place_of, why_in_place
from lab.statistics import Bounds, ratio_bounds
from tuner.settings import OUTER, PolicyName, Settings

HOUR = 3600.0
NAME, CELL = 22, 13
"""Columns of a contender's name, and of a figure."""

NEVER, NONE = "never", "-"
NO_POLICY = ("static", "untouched")
"""Contenders whose C and M nobody moves."""

WHOLE_FROM = 1000.0
"""A figure from here on is written without a fraction."""

TRIAL_SECONDS = 6 * HOUR
"""In a shorter run hardly one trial ends, of up to 33 blocks of five minutes or more each."""

NO_BOUNDS = "no bounds: they need two seeds or more, and with one nobody knows what is chance"
FIXED = (
    f"fixed: M = {Settings().fixed_io_capacity_max}, as fixed_io_capacity_max is by default; "
    "it is none that was searched for"
)
SETTLED = (
    f"settled s: seconds after which the {SETTLED_OVER}-second mean of the age ratio stays within "
    f"{SETTLED_WITHIN:g} of its mean over the last third of the run"
)


class Metric(Struct, frozen=True):
    """What is compared: name in JSON, title for people, unit, and whether the worst is the lowest."""

    name: str
    title: str
    unit: str = ""
    lowest: bool = False


METRICS = (
    Metric("throughput_mean", "commits/s", "1/s", lowest=True),
    Metric("throughput_p1", "1st perc.", "1/s", lowest=True),
    Metric("pages_per_commit", "pages/commit"),
    Metric("age_ratio_mean", "age ratio"),
    Metric("age_ratio_max", "highest"),
    Metric("sync_flush_seconds", "sync s", "s"),
    Metric("stall_seconds", "stall s", "s"),
    Metric("settling_seconds", "settled s", "s"),
    Metric("changes_per_hour", "changes/h", "1/h"),
)


class Run(Struct, frozen=True):
    """One run, and what came of it.

    Attributes:
        scenario: what it went through, with the run's seed.
        contender: a policy's name, ``static`` or ``untouched``.
        outcome: what was counted.
        io_capacity_max: M of ``static``, pages/s.
        settling_seconds: None where the age never settles, or is moved.
        changes: of C or M, in all.
        changes_in_hour: of them the most within an hour.
    """

    scenario: Scenario
    contender: str
    outcome: Outcome
    io_capacity_max: int | None = None
    settling_seconds: float | None = None
    changes: int = 0
    changes_in_hour: int = 0

    @property
    def seed(self) -> int:
        """Return the seed, which pairs it with other contenders' runs."""
        return self.scenario.seed

    def value(self, metric: str) -> float | None:
        """Return its value of a metric; None where it has none."""
        if metric == "changes_per_hour":
            return self.changes * HOUR / self.scenario.seconds
        return self.settling_seconds if metric == "settling_seconds" else float(getattr(self.outcome, metric))


class Value(Struct, frozen=True):
    """One metric of one contender on one scenario.

    Attributes:
        mean: over the seeds; None where one has no value.
        worst: of the seeds; None where one has no value, as of an age that never settles.
        without: seeds that have no value.
        ratio: geometric mean over the seeds of its value over the reference's, with 95 % bounds; None where
            a value is zero or there is none.
    """

    mean: float | None
    worst: float | None
    without: int = 0
    ratio: Bounds | None = None


class ContenderResult(Struct, frozen=True):
    """One contender on one scenario.

    Attributes:
        name: the policy, static or untouched.
        policy: it is one.
        io_capacity_max: M of ``static``, pages/s.
        seeds: runs that are there.
        values: by metric.
    """

    name: str
    policy: bool
    io_capacity_max: int | None
    seeds: int
    values: dict[str, Value]


class ScenarioResult(Struct, frozen=True):
    """One scenario.

    Attributes:
        scenario: its name.
        seconds: length of a run.
        measured_from: second from which on is counted.
        moves: load, disk or redo log change, so that nothing settles.
        plant: hash of the simulated server's parameters.
        contenders: the reference first.
        notes: what is to be known.
    """

    scenario: str
    seconds: int
    measured_from: int
    moves: bool
    plant: str
    contenders: tuple[ContenderResult, ...]
    notes: tuple[str, ...] = ()


def group(
    scenario: Scenario, by_contender: Mapping[str, Sequence[Run]], *, notes: Sequence[str] = ()
) -> ScenarioResult:
    """Return what the runs of a scenario, at least one, come to; those of the reference are first."""
    there = {name: runs for name, runs in by_contender.items() if runs}
    reference = {run.seed: run for run in next(iter(by_contender.values()))}
    one = next(iter(there.values()))[0].scenario
    return ScenarioResult(
        scenario=scenario.name,
        seconds=one.seconds,
        measured_from=one.measured_from,
        moves=bool(one.changes),
        plant=one.plant.fingerprint(),
        contenders=tuple(
            ContenderResult(
                name=name,
                policy=name not in NO_POLICY,
                io_capacity_max=runs[0].io_capacity_max,
                seeds=len(runs),
                values={metric.name: _value(runs, reference, metric) for metric in METRICS},
            )
            for name, runs in there.items()
        ),
        notes=(*_notes(scenario, there), *notes),
    )


def _value(runs: Sequence[Run], reference: Mapping[int, Run], metric: Metric) -> Value:
    values = [found for run in runs if (found := run.value(metric.name)) is not None]
    if without := len(runs) - len(values):
        return Value(None, None, without=without)
    pairs = [
        (ours, theirs)
        for run, ours in zip(runs, values, strict=True)
        if run.seed in reference and (theirs := reference[run.seed].value(metric.name)) is not None
    ]
    is_reference = all(reference.get(run.seed) is run for run in runs)
    return Value(
        mean=statistics.fmean(values),
        worst=min(values) if metric.lowest else max(values),
        ratio=None if is_reference else ratio_bounds(pairs),
    )


def _notes(scenario: Scenario, there: Mapping[str, Sequence[Run]]) -> Iterator[str]:
    """Yield what is to be known of a table, so that nobody reads more out of it than is in it."""
    policies = [name for name in there if name not in NO_POLICY]
    in_place: dict[str, list[str]] = {}
    for name in policies:
        if other := in_place_of(cast("PolicyName", name), scenario):
            in_place.setdefault(other, []).append(name)
    for other, names in in_place.items():
        same = ", with the same rows" if len(names) > 1 or other in policies else ""
        yield f"{other} decides in place of {_listed(names)}{same}: {why_in_place(scenario)}"
    if len(there) > 1 and all(len(runs) == 1 for runs in there.values()):
        yield NO_BOUNDS
    if "fixed" in policies:
        yield FIXED
    runs = [run for found in there.values() for run in found]
    seconds, allowed = runs[0].scenario.seconds, Settings().max_changes_per_hour
    if seconds < HOUR or any((run.value("changes_per_hour") or 0.0) > allowed for run in runs):
        most = max(run.changes_in_hour for run in runs)
        yield (
            f"changes/h: the changes of the whole run, {seconds} s, scaled to an hour; "
            f"max_changes_per_hour = {allowed} counts those of one hour, which were {most} at most"
        )
    if OUTER in policies and not in_place_of(OUTER, scenario) and seconds < TRIAL_SECONDS:
        yield (
            f"{OUTER}: a trial takes hours, so that none or hardly one has ended within "
            f"{seconds} s: no verdict on what trials are worth; that takes {TRIAL_SECONDS / HOUR:g} h or "
            "more, better days"
        )


def _listed(names: Sequence[str]) -> str:
    """Return names in a row, as people have it."""
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def as_text(group: ScenarioResult, reference: str) -> list[str]:
    """Return one scenario in lines for people; the ratios are to the reference."""
    seeds = max(one.seeds for one in group.contenders)
    lines = [
        f"{group.scenario}: {group.seconds} s, counted from {group.measured_from} s, {_seeds(seeds)}",
        " " * NAME + "".join(f"{metric.title:>{CELL}}" for metric in METRICS),
    ]
    for one in group.contenders:
        none = NEVER if one.policy and not group.moves else NONE
        values = [one.values[metric.name] for metric in METRICS]
        title = {"static": f"M = {one.io_capacity_max}, best", "untouched": "as it starts"}.get(
            one.name, one.name
        )
        title = title if one.seeds == seeds else f"{title} ({_seeds(one.seeds)})"
        lines.append(_line(title, [_number(value.mean, none) for value in values]))
        if one.seeds > 1:
            lines.append(_line("  worst", [_number(value.worst, none) for value in values]))
        ratios = [value.ratio for value in values]
        if any(ratio is not None for ratio in ratios):
            cells = [NONE if ratio is None else f"{ratio.mean:.3f}" for ratio in ratios]
            lines.append(_line(f"  / {reference}", cells))
            if one.seeds > 1:
                lines.append(_line("  95 %", [_bounds(ratio) for ratio in ratios]))
    notes = group.notes if group.moves else (SETTLED, *group.notes)
    return [*lines, *(f"  {note}" for note in notes)]


def _seeds(count: int) -> str:
    return f"{count} seed{'s' if count > 1 else ''}"


def _line(title: str, cells: Sequence[str]) -> str:
    return f"{title:<{NAME}}" + "".join(f"{cell:>{CELL}}" for cell in cells)


def _bounds(ratio: Bounds | None) -> str:
    return NONE if ratio is None or ratio.low is None else f"{ratio.low:.3f}-{ratio.high:.3f}"


def _number(value: float | None, none: str) -> str:
    """Return a figure with about four digits."""
    if value is None:
        return none
    return f"{value:.0f}" if abs(value) >= WHOLE_FROM else f"{value:.4g}"
