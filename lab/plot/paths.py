"""Lines as SVG paths, and labels that do not lie over each other; pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

LINE_HEIGHT = 15.0
"""Least distance of two labels, units of the drawing."""

Point = tuple[float, float]


class Label(Struct, frozen=True):
    """A line's name at its right end.

    Attributes:
        kind: of the line, which decides its colour.
        text: its name.
        at: height of the line's end.
        y: height of the label.
    """

    kind: str
    text: str
    at: float
    y: float = 0.0


def path(points: Iterable[Point | None], *, steps: bool = False) -> str:
    """Return the path through points, with a new start behind every None.

    Args:
        points: to a tenth of a unit; those in the middle of a level stretch are left out.
        steps: each height goes on until the next point.
    """
    parts: list[str] = []
    run: list[Point] = []
    for point in (*points, None):
        if point is not None:
            run.append((round(point[0], 1), round(point[1], 1)))
            continue
        if run:
            parts.append(_through(_bends(run), steps=steps))
        run = []
    return "".join(parts)


def _bends(run: Sequence[Point]) -> list[Point]:
    """Return a line without the points whose two neighbours are as high as they are."""
    inner = [run[i] for i in range(1, len(run) - 1) if not run[i - 1][1] == run[i][1] == run[i + 1][1]]
    return [*run[:1], *inner, *run[1:][-1:]]


def _through(run: Sequence[Point], *, steps: bool) -> str:
    first, *rest = run
    parts = [f"M{first[0]:g} {first[1]:g}"]
    for x, y in rest:
        parts.append(f"H{x:g}V{y:g}" if steps else f"L{x:g} {y:g}")
    return "".join(parts) if rest else parts[0] + "h0"


def apart(labels: Iterable[Label], top: float, bottom: float) -> tuple[Label, ...]:
    """Return labels beside their lines' ends, moved as far as it takes for none to lie over another.

    Args:
        labels: in any order.
        top: where the highest may be.
        bottom: where the lowest may be, if there is room for all.
    """
    ordered = sorted(labels, key=lambda one: one.at)
    heights: list[float] = []
    for one in ordered:
        heights.append(max(one.at, heights[-1] + LINE_HEIGHT if heights else top))
    limit = bottom
    for index in range(len(heights) - 1, -1, -1):
        heights[index] = max(min(heights[index], limit), top + LINE_HEIGHT * index)
        limit = heights[index] - LINE_HEIGHT
    return tuple(
        Label(one.kind, one.text, round(one.at, 1), round(y, 1))
        for one, y in zip(ordered, heights, strict=True)
    )
