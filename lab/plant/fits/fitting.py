"""Parameters of load and disk from a few measured rows."""

from __future__ import annotations

import math
import statistics
from typing import TYPE_CHECKING

from lab.plant.compare.conditions import parameters_of
from lab.plant.compare.judge import AGE_WITHIN, THROUGHPUT_WITHIN, Compared
from lab.plant.compare.twin import simulated
from lab.plant.fits import DISK, LOAD, Fit, FitError, FittedOn
from lab.plant.fits.search import Point, lowest
from lab.plant.parameters import DiskParameters, LoadParameters

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from lab.report.rows import Row

READ_OFF = ("redo_bytes_per_commit", "group_operations", "operations_per_page")
"""Known from the rows without a search; the last two where the bench could watch the device."""

SEARCHED = ("hot_pages", "commit_seconds")
"""What is looked for where nothing else is said; with the last two above where they could not be read off."""

FEWEST = 2
"""Rows that a straight line goes through."""

KNOWN_WITHIN = 0.25
"""Standard error of a page's cost, as a share of it, up to which rows tell it; those of the quartiles may lie
too close together, and the device's own cost of a page is the better one then.
"""


def fit_rows(
    rows: Sequence[Row],
    *,
    name: str,
    suite: str,
    names: Sequence[str] = SEARCHED,
    progress: Callable[[float], None] = lambda _: None,
) -> Fit:
    """Return the parameters with which the plant comes nearest to some rows.

    Nearest is the least mean square of three errors in units of what is promised: throughput and pages/s,
    a tenth each, and the age ratio, 0.05. What a commit adds to the redo log, and what commits and pages cost
    the device, is read off the rows, the second as a straight line through its writes per commit over pages
    per commit; a parameter that is named is searched for all the same.

    Args:
        rows: with a fixed C and M, of one server.
        name: of the fit.
        suite: directory of the bench.
        names: parameters that are searched for.
        progress: told every error that is the least so far.

    Raises:
        FitError: no rows, or a name that cannot be fitted.
        ConditionsError: a row was measured under something that the plant has not.
    """
    if not rows:
        raise FitError(f"{suite}: none of the rows to fit on is measured yet")
    if wrong := [one for one in names if one not in (*LOAD, *DISK)]:
        raise FitError(f"{', '.join(wrong)}: cannot be searched for; there are {', '.join((*LOAD, *DISK))}")
    known = {READ_OFF[0]: redo_per_commit(rows), **operations(rows)}
    fixed = {one: value for one, value in known.items() if one not in names}
    load, disk = LoadParameters(), DiskParameters()
    searched = dict.fromkeys((*names, *(one for one in READ_OFF if one not in known)))
    start = {one: known.get(one, float(getattr(load if one in LOAD else disk, one))) for one in searched}
    seen = tuple(FittedOn(row.variant, row.io_capacity_max or 0) for row in rows)

    def made(point: Point, left: float = 0.0) -> Fit:
        both = fixed | point
        return Fit(
            name=name,
            suite=suite,
            fitted_on=tuple(dict.fromkeys(seen)),
            load={key: both[key] for key in LOAD if key in both},
            disk={key: both[key] for key in DISK if key in both},
            left=left,
        )

    def cost(point: Point) -> float:
        fit = made(point)
        return math.sqrt(statistics.fmean(_squares(row, fit) for row in rows))

    point, left = lowest(cost, start, progress=progress)
    return made(point, left)


def redo_per_commit(rows: Sequence[Row]) -> float:
    """Return the bytes of redo that one commit added, over all rows."""
    redo = sum(row.figure("redo_bytes_per_second") or 0.0 for row in rows)
    return redo / sum(row.figure("commits_mean") or 0.0 for row in rows)


def operations(rows: Sequence[Row]) -> dict[str, float]:
    """Return what a group of commits and a page cost the device, write operations; empty where not known.

    The device's writes per commit are those of a page times the pages, and a commit's share of its group's.
    Where the rows lie too close together to tell a page's cost it is the plant's own, which is the device's
    and not the server's, and only the group's is read off.
    """
    points = [
        (pages, writes)
        for row in rows
        if (pages := row.figure("pages_per_commit")) is not None
        and (writes := row.figure("device_writes_per_commit")) is not None
    ]
    if len(points) < max(FEWEST, len(rows)) or len({pages for pages, _ in points}) < FEWEST:
        return {}
    parameters = parameters_of(rows[0])
    load, disk = parameters.load, parameters.disk
    batch = disk.batch_operations / parameters.server.in_force.doublewrite_pages
    slope, error = _slope(points)
    if error > KNOWN_WITHIN * abs(slope):
        slope = disk.operations_per_page + batch
    mean_pages, mean_writes = (statistics.fmean(column) for column in zip(*points, strict=True))
    per_page, intercept = slope - batch, mean_writes - slope * mean_pages
    if per_page <= 0.0 or intercept <= 0.0:
        return {}
    group = min(load.timeline[0].threads, load.group_limit)
    return {"group_operations": intercept * group, "operations_per_page": per_page}


def _slope(points: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """Return the slope of the straight line through some points, and its standard error."""
    across, up = zip(*points, strict=True)
    line = statistics.linear_regression(across, up)
    if len(points) <= FEWEST:
        return line.slope, 0.0
    off = sum((y - line.intercept - line.slope * x) ** 2 for x, y in points) / (len(points) - FEWEST)
    return line.slope, math.sqrt(off / (statistics.pvariance(across) * len(points)))


def _squares(row: Row, fit: Fit) -> float:
    """Return the mean square of a row's errors, in units of what is promised."""
    both = Compared(row, simulated(row, parameters_of(row, fit)))
    errors = (
        (both.throughput.share or 0.0) / THROUGHPUT_WITHIN,
        (both.figure("pages_per_second").share or 0.0) / THROUGHPUT_WITHIN,
        (both.age.difference or 0.0) / AGE_WITHIN,
    )
    return statistics.fmean(error * error for error in errors)
