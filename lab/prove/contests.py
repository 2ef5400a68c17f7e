"""What is published of compared policies: a line for each contender on a scenario, its seeds side by side."""

from __future__ import annotations

import statistics
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct

from lab.bench.statistics import Bounds, ratio_bounds
from lab.compare.summary import METRICS, value_of
from lab.compare.task import defaults_revision
from lab.scenarios.static import starting_pair

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from lab.compare.task import Row
    from lab.scenarios.schema import Scenario

DIGITS = 5

Values = tuple[float | None, ...]


class Line(Struct, frozen=True, forbid_unknown_fields=True):
    """One contender on one scenario.

    Attributes:
        scenario: its name.
        contender: the policy, ``static``, ``pieces`` or ``untouched``.
        levels: its M, or its M by piece, pages/s; empty for a policy.
        seconds: length of a run.
        measured_from: second from which on is counted.
        moves: load, disk or redo log change while it runs.
        offered: transactions are offered at a rate of their own.
        starts: C/M that the server starts with, pages/s.
        plant: hash of the simulated server's parameters, of the first seed where bursts differ.
        policies: hash of the code that decides; empty where nothing does.
        seeds: of the runs.
        figures: a value for each seed by metric, None where one has none.
        days: mean commits/s of each whole day, for each seed; empty where there is none.
        settled: seconds after which the age stays where it ends, within each of ``SETTLED_BANDS``, for each
            seed; empty but for policies.
        notes: what is to be known of the searches beside it.
        trial: of a try with fewer seeds than the report asks for.
        defaults: hash of the rows' schema and the default settings; empty where it was not written yet.
    """

    scenario: str
    contender: str
    levels: tuple[int, ...]
    seconds: int
    measured_from: int
    moves: bool
    offered: bool
    starts: str
    plant: str
    policies: str
    seeds: tuple[int, ...]
    figures: dict[str, Values]
    days: tuple[tuple[float, ...], ...] = ()
    settled: tuple[Values, ...] = ()
    notes: tuple[str, ...] = ()
    trial: bool = False
    defaults: str = ""

    def values(self, metric: str) -> list[float]:
        """Return the values that there are."""
        return [one for one in self.figures[metric] if one is not None]

    def mean(self, metric: str) -> float | None:
        """Return the mean over the seeds; None where one has no value."""
        found = self.values(metric)
        return statistics.fmean(found) if found and len(found) == len(self.seeds) else None

    def highest(self, metric: str) -> float:
        """Return the highest value of a seed; infinite where one has none."""
        found = self.values(metric)
        return max(found) if found and len(found) == len(self.seeds) else float("inf")


class Contest(Struct, frozen=True):
    """All contenders on one scenario, by name.

    Attributes:
        lines: by contender; a search that is not finished has left none.
    """

    lines: dict[str, Line]

    @property
    def any(self) -> Line:
        """Return a line, for what all have in common."""
        return next(iter(self.lines.values()))


def line_of(
    scenario: Scenario, rows: Sequence[Row], *, notes: Sequence[str] = (), trial: bool = False
) -> Line:
    """Return what is published of a contender's runs."""
    first = rows[0]
    pair = starting_pair(scenario)
    figures = {metric.name: tuple(_short(value_of(row, metric)) for row in rows) for metric in METRICS}
    figures["changes_in_hour"] = tuple(float(row["changes_in_hour"]) for row in rows)
    figures["age_ratio_wander"] = tuple(_short(row["outcome"]["age_ratio_wander"]) for row in rows)
    figures["climb_seconds"] = tuple(_short(row.get("climb_seconds")) for row in rows)
    days = tuple(tuple(row.get("days", ())) for row in rows)
    settled = tuple(tuple(row.get("settled", ())) for row in rows)
    return Line(
        scenario=scenario.name,
        contender=first["contender"],
        levels=tuple(first["levels"]),
        seconds=scenario.seconds,
        measured_from=scenario.measured_from,
        moves=scenario.moves,
        offered=scenario.offered,
        starts=f"{pair.io_capacity}/{pair.io_capacity_max}",
        plant=first["plant"],
        policies=first["policies"],
        seeds=tuple(row["seed"] for row in rows),
        figures={name: values for name, values in figures.items() if any(one is not None for one in values)}
        | {metric.name: figures[metric.name] for metric in METRICS},
        days=days if any(days) else (),
        settled=settled if any(settled) else (),
        notes=tuple(notes),
        trial=trial,
        defaults=defaults_revision(),
    )


def _short(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.{DIGITS}g}")


def contests(lines: Iterable[Line]) -> dict[str, Contest]:
    """Return the lines by scenario and contender, in their order."""
    found: dict[str, dict[str, Line]] = {}
    for line in lines:
        found.setdefault(line.scenario, {})[line.contender] = line
    return {scenario: Contest(by_name) for scenario, by_name in found.items()}


def parse(rows: Iterable[Mapping[str, Any]]) -> list[Line]:
    """Return published rows as lines.

    Raises:
        msgspec.ValidationError: one is none.
    """
    return [msgspec.convert(row, Line) for row in rows]


def ratio(ours: Line, theirs: Line, metric: str) -> Bounds | None:
    """Return the mean of our value over theirs, paired by seed, with 95 % bounds; None where one is zero."""
    other = dict(zip(theirs.seeds, theirs.figures[metric], strict=True))
    pairs = [
        (value, against)
        for seed, value in zip(ours.seeds, ours.figures[metric], strict=True)
        if value is not None and (against := other.get(seed)) is not None
    ]
    return ratio_bounds(pairs)
