"""Where contenders and their spread are drawn: a block a dot, the mean a bar, the bounds a line; pure."""

from __future__ import annotations

import math
from collections.abc import Sequence

from msgspec import Struct

from lab.experiment.statistics import mean_bounds
from lab.report.figures import Figure, plain
from lab.report.summary import Group

WIDTH, MARGIN = 420.0, 14.0
LINE, TOP, BOTTOM = 40.0, 4.0, 24.0
TICKS = 4


class Dot(Struct, frozen=True):
    """One block: where, and what it says when pointed at."""

    x: float
    said: str


class Line(Struct, frozen=True):
    """One contender.

    Attributes:
        name: written above its line.
        colour: number of its colour.
        ours: it is one of ours.
        y: where its line is.
        mean: where the blocks' mean is.
        said: the mean, written out.
        bounds: from where to where the 95 % bounds go; None for a single block.
        dots: one for each block.
    """

    name: str
    colour: int
    ours: bool
    y: float
    mean: float
    said: str
    bounds: tuple[float, float] | None
    dots: tuple[Dot, ...]


class Drawing(Struct, frozen=True):
    """One figure of all contenders, in units of the drawing."""

    title: str
    width: float
    height: float
    foot: float
    ticks: tuple[Dot, ...]
    lines: tuple[Line, ...]


def draw(group: Group, figure: Figure) -> Drawing | None:
    """Return a figure's drawing, contenders in the order of the headline table; None where nobody has it."""
    factor, unit = (1000.0, ", ms") if figure.unit == "ms" else (1.0, "")
    found = [(one, _values(group, one.name, figure, factor)) for one in group.contenders]
    found = [(one, values) for one, values in found if values]
    if not found:
        return None
    marks = scale([value for _, values in found for value in values])
    colours = {name: place for place, name in enumerate(group.coloured())}

    def place(value: float) -> float:
        inside = min(max(value, marks[0]), marks[-1])
        return MARGIN + (WIDTH - 2.0 * MARGIN) * (inside - marks[0]) / (marks[-1] - marks[0])

    lines = []
    for index, (one, values) in enumerate(found):
        mean = mean_bounds(values)
        if mean is None:
            continue
        bounds = None if mean.low is None or mean.high is None else (place(mean.low), place(mean.high))
        lines.append(
            Line(
                name=one.name,
                colour=colours[one.name],
                ours=one.ours,
                y=TOP + LINE * index + 27.0,
                mean=place(mean.mean),
                said=plain(mean.mean),
                bounds=bounds,
                dots=tuple(Dot(place(value), f"{one.name}: {plain(value)}") for value in values),
            )
        )
    foot = TOP + LINE * len(lines) + 2.0
    return Drawing(
        title=f"{figure.title}{unit}",
        width=WIDTH,
        height=foot + BOTTOM,
        foot=foot,
        ticks=tuple(Dot(place(mark), plain(mark)) for mark in marks),
        lines=tuple(lines),
    )


def scale(values: Sequence[float]) -> list[float]:
    """Return round marks from zero to beyond the highest value."""
    highest = max(values, default=0.0)
    if highest <= 0:
        return [0.0, 1.0]
    rough = highest / TICKS
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * factor for factor in (1.0, 2.0, 2.5, 5.0, 10.0) if power * factor >= rough)
    return [step * index for index in range(math.ceil(highest * 1.001 / step) + 1)]


def _values(group: Group, name: str, figure: Figure, factor: float) -> tuple[float, ...]:
    found = {row.block: row.figure(figure.name) for row in group.rows if row.contender == name}
    return tuple(value * factor for _, value in sorted(found.items()) if value is not None)
