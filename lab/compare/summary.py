"""What a comparison comes to: mean, worst, and the paired ratio to the reference, by contender; pure."""

from __future__ import annotations

import csv
import io
import statistics
from typing import TYPE_CHECKING

from msgspec import Struct

from lab.bench.statistics import Bounds, ratio_bounds
from lab.scenarios.trace import SETTLED_OVER, SETTLED_WITHIN

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from lab.compare.task import Row

HOUR = 3600.0
HEADER = (
    *("scenario", "contender", "levels", "seeds", "metric", "unit"),
    *("mean", "worst", "ratio", "low", "high", "plant"),
)


class Metric(Struct, frozen=True):
    """What is compared.

    Attributes:
        name: in JSON.
        title: for people.
        unit: of mean and worst.
        lowest: the worst value is the lowest one, not the highest.
    """

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

SETTLED = (
    f"settled s: seconds after which the {SETTLED_OVER}-second mean of the age ratio stays within "
    f"{SETTLED_WITHIN:g} of its mean over the last third of the run"
)
"""What a settling time is, for people."""


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


class Contender(Struct, frozen=True):
    """One contender on one scenario.

    Attributes:
        name: the policy, static, pieces or untouched.
        policy: it is one.
        levels: its M, or its M by piece, pages/s; empty for a policy.
        seeds: runs that are there.
        values: by metric.
    """

    name: str
    policy: bool
    levels: tuple[int, ...]
    seeds: int
    values: dict[str, Value]


class Group(Struct, frozen=True):
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
    contenders: tuple[Contender, ...]
    notes: tuple[str, ...] = ()


def value_of(row: Row, metric: Metric) -> float | None:
    """Return a row's value of a metric; None where it has none."""
    if metric.name == "changes_per_hour":
        return float(row["changes"]) * HOUR / float(row["seconds"])
    found = row[metric.name] if metric.name == "settling_seconds" else row["outcome"][metric.name]
    return None if found is None else float(found)


def group(
    scenario: str, rows_by_contender: Mapping[str, Sequence[Row]], *, notes: Sequence[str] = ()
) -> Group | None:
    """Return what the rows of a scenario come to; None without a row.

    Args:
        scenario: its name.
        rows_by_contender: by contender, the reference first.
        notes: what is to be known.
    """
    there = {name: rows for name, rows in rows_by_contender.items() if rows}
    if not there:
        return None
    reference = {row["seed"]: row for row in next(iter(rows_by_contender.values()))}
    any_row = next(iter(there.values()))[0]
    return Group(
        scenario=scenario,
        seconds=any_row["seconds"],
        measured_from=any_row["measured_from"],
        moves=any_row["moves"],
        plant=any_row["plant"],
        contenders=tuple(_contender(rows, reference) for rows in there.values()),
        notes=tuple(notes),
    )


def _contender(rows: Sequence[Row], reference: Mapping[int, Row]) -> Contender:
    return Contender(
        name=rows[0]["contender"],
        policy=rows[0]["kind"] == "policy",
        levels=tuple(rows[0]["levels"]),
        seeds=len(rows),
        values={metric.name: _value(rows, reference, metric) for metric in METRICS},
    )


def _value(rows: Sequence[Row], reference: Mapping[int, Row], metric: Metric) -> Value:
    values = [found for row in rows if (found := value_of(row, metric)) is not None]
    without = len(rows) - len(values)
    if without:
        return Value(None, None, without=without)
    pairs: list[tuple[float, float]] = []
    for row, ours in zip(rows, values, strict=True):
        theirs = value_of(reference[row["seed"]], metric) if row["seed"] in reference else None
        if theirs is not None:
            pairs.append((ours, theirs))
    is_reference = all(reference.get(row["seed"]) is row for row in rows)
    worst: Callable[[Iterable[float]], float] = min if metric.lowest else max
    return Value(
        mean=statistics.fmean(values),
        worst=worst(values),
        ratio=None if is_reference else ratio_bounds(pairs),
    )


def table_csv(groups: Sequence[Group]) -> str:
    """Return a line for each scenario, contender and metric."""
    text = io.StringIO()
    lines = csv.writer(text, lineterminator="\n")
    lines.writerow(HEADER)
    for one in groups:
        for who in one.contenders:
            levels = " ".join(map(str, who.levels))
            for metric in METRICS:
                value = who.values[metric.name]
                ratio = value.ratio
                bounds = ("", "", "") if ratio is None else (ratio.mean, ratio.low, ratio.high)
                figures = (value.mean, value.worst, *bounds)
                written = ["" if number in (None, "") else f"{number:.6g}" for number in figures]
                lines.writerow(
                    [one.scenario, who.name, levels, who.seeds, metric.name, metric.unit, *written, one.plant]
                )
    return text.getvalue()
