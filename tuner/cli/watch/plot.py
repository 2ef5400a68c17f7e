"""Charts of characters: columns that are filled from the bottom, lines across, and gaps that stay empty."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from rich.text import Text

from tuner.cli.watch.glyphs import Glyphs

Values = Sequence[float | None]

LEAST_WITH_LINES = 3
"""A chart of fewer rows has no room for lines across."""


@dataclass(frozen=True, slots=True)
class Layer:
    """One part of a column's height.

    Attributes:
        values: of each column; None in a gap.
        style: its colour.
        mark: which of the marks stands for it where there is no colour.
        always: any of it is seen, however little it is.
    """

    values: Values
    style: str
    mark: int = 0
    always: bool = False


@dataclass(frozen=True, slots=True)
class Line:
    """A line across the columns, behind them."""

    values: Values
    style: str


@dataclass(frozen=True, slots=True)
class Plot:
    """What is drawn.

    Attributes:
        layers: one above the other.
        top: value at the upper edge, above 0.
        lines: behind the layers; in front of them where ``over``.
        over: a line is seen where a column covers it as well.
    """

    layers: Sequence[Layer]
    top: float
    lines: Sequence[Line] = field(default=())
    over: bool = False

    def rows(self, height: int, glyphs: Glyphs, *, colour: bool) -> list[Text]:
        """Return so many lines of characters, the uppermost first, one character a column."""
        rows = [Text(no_wrap=True) for _ in range(height)]
        for column in range(len(self.layers[0].values)):
            for row, (char, style) in zip(rows, self._column(column, height, glyphs, colour), strict=True):
                row.append(char, style)
        return rows

    def _column(self, column: int, height: int, glyphs: Glyphs, colour: bool) -> list[tuple[str, str]]:  # noqa: FBT001 - internal
        """Return the cells of one column, the uppermost first."""
        parts = [layer.values[column] for layer in self.layers]
        if parts[0] is None:
            return [(" ", "")] * height
        steps = len(glyphs.levels) - 1
        ends = self._ends(parts, steps * height)
        cells: list[tuple[str, str]] = []
        for cell in range(height):
            filled = min(steps, max(0, ends[-1] - cell * steps))
            if filled == 0 and cell > 0:
                cells.append((" ", ""))
                continue
            layer = self._layer_at(ends, cell * steps, filled)
            char = glyphs.levels[filled]
            if not colour and layer.mark and filled:
                char = glyphs.marks[layer.mark]
            cells.append((char, layer.style))
        for line in self.lines if height >= LEAST_WITH_LINES else ():
            self._cross(cells, line, column, glyphs, colour=colour)
        return cells[::-1]

    def _ends(self, parts: Sequence[float | None], full: int) -> list[int]:
        """Return how high each layer ends, in steps of a cell; one that must be seen has a step at least."""
        total = 0.0
        ends: list[int] = []
        for layer, value in zip(self.layers, parts, strict=True):
            begins, total = ends[-1] if ends else 0, total + max(0.0, value or 0.0)
            least = begins + 1 if layer.always and value else begins
            ends.append(max(least, round(full * total / self.top)))
        over = max(0, ends[-1] - full)
        ends = [max(0, end - over) for end in ends]
        if ends[-1] == 0 and total > 0.0:
            ends[-1] = 1
        return ends

    def _layer_at(self, ends: Sequence[int], bottom: int, filled: int) -> Layer:
        """Return which layer a cell belongs to: the one that fills its middle, or one that must be seen."""
        middle = bottom + max(1, filled) / 2.0
        found = next(index for index, end in enumerate(ends) if end >= middle or index == len(ends) - 1)
        for index, layer in enumerate(self.layers):
            begins = ends[index - 1] if index else 0
            if layer.always and begins < bottom + filled and ends[index] > max(bottom, begins):
                return layer
        return self.layers[found]

    def _cross(
        self, cells: list[tuple[str, str]], line: Line, column: int, glyphs: Glyphs, *, colour: bool
    ) -> None:
        value = line.values[column]
        if value is None or not 0.0 <= value <= self.top:
            return
        cell = min(len(cells) - 1, int(len(cells) * value / self.top))
        char, style = cells[cell]
        if char == " ":
            cells[cell] = (glyphs.line, line.style)
        elif self.over:
            full = colour and char == glyphs.levels[-1]
            cells[cell] = (glyphs.line, f"{line.style} on {style}" if full else line.style)


def peak(values: Values) -> float:
    """Return the largest value; 0 without any."""
    return max((value for value in values if value is not None), default=0.0)


def ceiling(value: float) -> float:
    """Return the next round number: 1, 1.5, 2, 3, 5 or 7.5 times a power of ten."""
    if value <= 0.0:
        return 1.0
    power = 1.0
    while power > value:
        power /= 10.0
    while power * 10.0 < value:
        power *= 10.0
    return next(power * step for step in (1.0, 1.5, 2.0, 3.0, 5.0, 7.5, 10.0) if power * step >= value)
