"""What is drawn where: a policy's run as panels over one time axis; pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from lab.plot.panels import PANELS, Frame, Panel
from lab.plot.scales import moment, times

if TYPE_CHECKING:
    from lab.plot.course import Series
    from lab.scenarios.schema import Scenario
    from lab.simulate_result import Result

WIDTH = 1056.0
LEFT, RIGHT = 62.0, 214.0
"""Room for the marks' values, and for the lines' names."""

TOP, HEADING, BETWEEN, FOOT = 80.0, 30.0, 12.0, 58.0
HEIGHTS = (160.0, 210.0, 130.0, 140.0)

LONGEST_TITLE, LONGEST = 100, 132
"""Letters of the title, and of a line under it."""

MOST_CHANGES = 24
"""Changes of load, disk or redo that are marked; of more nobody could tell one from another."""


class Drawing(Struct, frozen=True):
    """All that the template needs, in units of the drawing.

    Attributes:
        title: scenario, policy, server, seed.
        heading: the same, no longer than the drawing is wide.
        lines: under the title.
        said: the same and the figures, for those who hear it read.
        width: of the whole.
        height: of the whole.
        frame: left and right end of the time axis.
        top: of the first panel.
        bottom: of the last one.
        times: marks on the time axis, and what they say.
        counted: where the counted window begins.
        counted_said: from when on is counted.
        counted_end: that is written left of the mark.
        changes: where load, disk or redo change.
        foot: what the lines are made of.
        panels: from top to bottom.
    """

    title: str
    heading: str
    lines: tuple[str, ...]
    said: str
    width: float
    height: float
    frame: tuple[float, float]
    top: float
    bottom: float
    times: tuple[tuple[float, str], ...]
    counted: float
    counted_said: str
    counted_end: bool
    changes: tuple[float, ...]
    foot: str
    panels: tuple[Panel, ...]


def draw(series: Series, scenario: Scenario, result: Result) -> Drawing:
    """Return the drawing of a run.

    Args:
        series: what was noted.
        scenario: what the policy went through.
        result: what came out.
    """
    left, right = LEFT, WIDTH - RIGHT
    panels = []
    top = TOP
    for make, height in zip(PANELS, HEIGHTS, strict=True):
        frame = Frame(left, right, top + HEADING, top + HEADING + height, float(result.seconds))
        panels.append(make(series, result, frame))
        top = frame.bottom + BETWEEN
    bottom = panels[-1].bottom
    counted = left + (right - left) * result.measured_from / result.seconds
    title = f"{result.scenario}: policy {result.policy} on {result.flavour}, seed {result.seed}"
    return Drawing(
        title=title,
        heading=_cut(title, LONGEST_TITLE),
        lines=(
            _cut(scenario.description, LONGEST),
            (
                f"simulated {moment(result.seconds)}, counted from {moment(result.measured_from)}; "
                f"plant {result.plant}"
            ),
        ),
        said=_said(scenario, result),
        width=WIDTH,
        height=bottom + FOOT,
        frame=(left, right),
        top=TOP,
        bottom=bottom,
        times=tuple(
            (round(left + (right - left) * at / result.seconds, 1), said)
            for at, said in times(result.seconds)
        ),
        counted=round(counted, 1),
        counted_said=f"counted from {moment(result.measured_from)}",
        counted_end=counted > (left + right) / 2.0,
        changes=_changes(scenario, left, right),
        foot=_foot(series, changes=bool(_changes(scenario, left, right))),
        panels=tuple(panels),
    )


def _changes(scenario: Scenario, left: float, right: float) -> tuple[float, ...]:
    """Return where load, disk or redo change; nothing where they do so too often to be told apart."""
    found = scenario.changes
    if scenario.repeats or len(found) > MOST_CHANGES:
        return ()
    return tuple(round(left + (right - left) * at / scenario.seconds, 1) for at in found)


def _foot(series: Series, *, changes: bool) -> str:
    parts = ["one reading a second"]
    if series.stretch > 1:
        parts.append(f"each {moment(series.stretch)} drawn as lowest and highest value")
    if changes:
        parts.append("dotted: load, disk or redo change")
    return "; ".join(parts)


def _said(scenario: Scenario, result: Result) -> str:
    """Return the run in sentences."""
    run = f"Policy {result.policy} on a simulated {result.flavour}, seed {result.seed}"
    found = [
        f"Scenario {result.scenario}: {scenario.description}.",
        f"{run}, {moment(result.seconds)}, counted from {moment(result.measured_from)}.",
        f"Mean throughput {result.throughput_mean:g} commits/s.",
        f"Mean age ratio {result.age_ratio_mean:g}, highest {result.age_ratio_max:g}.",
        f"Sync flushing in {result.sync_flush_seconds} s, stalled for {result.stall_seconds:g} s.",
        f"M at the end {result.io_capacity_max_final} pages/s.",
    ]
    best = result.best_static
    if best is not None and best.throughput_mean is not None:
        found.append(f"Best static setting: M = {best.io_capacity_max}, {best.throughput_mean:g} commits/s.")
    found.append(f"Plant {result.plant}.")
    return " ".join(found)


def _cut(text: str, longest: int) -> str:
    """Return a text of at most so many letters."""
    return text if len(text) <= longest else f"{text[: longest - 1].rstrip()}…"
