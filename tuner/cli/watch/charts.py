"""The six charts: uncheckpointed bytes, C and M, redo, pages by type, row changes, pages per change."""

from __future__ import annotations

import math
from dataclasses import dataclass

from rich.text import Text

from tuner.cli.watch.follow import View
from tuner.cli.watch.look import BAD, CAREFUL, GOOD, LABEL_WIDTH, NAME, OURS, QUIET, Look
from tuner.cli.watch.plot import Layer, Line, Plot, Values, ceiling, peak
from tuner.cli.watch.trace import COLUMNS
from tuner.cli.wording import MIB, duration, mib
from tuner.records import CAPACITY_MINIMUM

FIGURES_WIDTH = 26
AXIS_WIDTH = 8


@dataclass(frozen=True, slots=True)
class Chart:
    """One chart.

    Attributes:
        name: what it shows, in the words of ``innobrim status``.
        figures: what it is now, the most important first.
        plot: what is drawn.
        top: what the upper edge stands for.
        bottom: what the lower edge stands for.
    """

    name: str
    figures: tuple[str, ...]
    plot: Plot
    top: str
    bottom: str = "0"

    def rows(self, look: Look, width: int, height: int) -> list[Text]:
        """Return the chart with its name and figures at both sides, for a narrow terminal."""
        if look.narrow:
            return self._stacked(look, width, height)
        drawn = self.plot.rows(height, look.glyphs, colour=look.colour)
        beside = [""] * height
        if height == 1:
            beside = [_that_fit(self.figures, FIGURES_WIDTH)]
        else:
            beside[: len(self.figures)] = self.figures[:height]
        made: list[Text] = []
        for index, row in enumerate(drawn):
            label = self.name if index == 0 else ""
            line = look.line((f"{label:<{LABEL_WIDTH}}", NAME)).append_text(row)
            line.append(" ")
            line.append(look.glyphs.text(beside[index]), "" if index == 0 else QUIET)
            made.append(look.cut(line, width))
        return made

    def _stacked(self, look: Look, width: int, height: int) -> list[Text]:
        """Return the name and the figures, and the chart below them in the lines that are left."""
        figures = _that_fit(self.figures, width - LABEL_WIDTH)
        made = [look.line((f"{self.name:<{LABEL_WIDTH}}", NAME), figures)]
        if height > 1:
            drawn = self.plot.rows(height - 1, look.glyphs, colour=look.colour)
            made += [look.line(" " * LABEL_WIDTH).append_text(row) for row in drawn]
        return [look.cut(line, width) for line in made]

    def block(self, look: Look, width: int, height: int) -> list[Text]:
        """Return the chart below its name and figures, for a wide terminal."""
        title = look.line((f"{self.name}  ", NAME), f"{', '.join(self.figures)}")
        drawn = self.plot.rows(height, look.glyphs, colour=look.colour)
        made = [look.cut(title, width)]
        for index, row in enumerate(drawn):
            label = self.top if index == 0 else self.bottom if index == height - 1 else ""
            made.append(look.line((f"{label:>{AXIS_WIDTH - 1}} ", QUIET)).append_text(row))
        return made


def charts(view: View, count: int) -> list[Chart]:
    """Return the charts with so many columns each."""
    end = view.status.at
    found = view.trace.columns(COLUMNS, end=end, span=view.span, count=count)
    columns = dict(zip(COLUMNS, found, strict=True))
    return [
        _age(view, columns),
        _capacity(view, columns),
        _redo(view, columns),
        _pages(view, columns),
        _changes(view, columns),
        _per_change(view, columns),
    ]


def axis(span: float, width: int, look: Look) -> Text:
    """Return the line of time below the charts."""
    left, right = f"{duration(span)} ago ", " now"
    rule = look.glyphs.rule * max(0, width - len(left) - len(right))
    return look.line((left, QUIET), (rule, QUIET), (right, QUIET))


def _age(view: View, columns: dict[str, list[float | None]]) -> Chart:
    found, limits = view.status.estimate, view.status.limits
    top = peak(columns["stall_point"]) or (limits.stall_point if limits else 1.0)
    figures: tuple[str, ...] = ("unknown",)
    if found is not None and limits is not None:
        share = found.checkpoint_age / limits.stall_point
        figures = (
            f"{mib(found.checkpoint_age)} of {limits.stall_point / MIB:,.1f}",
            f"{share:.0%}",
            f"age ratio {found.age_ratio:.3f}",
        )
    set_points = _times(columns["set_point"], columns["flush_limit"])
    return Chart(
        "uncheckpointed",
        figures,
        Plot(
            (Layer(columns["checkpoint_age"], GOOD),),
            top,
            (Line(columns["sync_point"], BAD), Line(set_points, OURS)),
            over=True,
        ),
        f"{top / MIB:,.0f}M",
    )


def _capacity(view: View, columns: dict[str, list[float | None]]) -> Chart:
    """Return C and M; on a logarithmic scale, since a good M is often a fiftieth of the one before it."""
    pair, highest = view.status.in_force, peak(columns["io_capacity_max"])
    figures = ("unknown",) if pair is None else (f"C {pair.io_capacity}", f"M {pair.io_capacity_max}")
    top = ceiling(max(highest, 2.0 * CAPACITY_MINIMUM))
    tall = _logarithms(columns["io_capacity_max"])
    apart = [
        None if c == m else c for c, m in zip(columns["io_capacity"], columns["io_capacity_max"], strict=True)
    ]
    low = _logarithms(apart)
    plot = Plot((Layer(tall, OURS),), math.log(top / CAPACITY_MINIMUM), (Line(low, CAREFUL),), over=True)
    figures = (*figures, f"max {highest:,.0f}")
    return Chart("C and M, log", figures, plot, _short(top), _short(CAPACITY_MINIMUM))


def _redo(view: View, columns: dict[str, list[float | None]]) -> Chart:
    found, highest = view.status.estimate, peak(columns["redo_rate"])
    now = "unknown" if found is None else f"{mib(found.redo_rate)}/s"
    top = MIB * ceiling(highest / MIB)
    plot = Plot((Layer(columns["redo_rate"], GOOD),), top)
    return Chart("redo", (now, f"max {highest / MIB:,.1f}"), plot, f"{top / MIB:,.3g}M")


def _pages(view: View, columns: dict[str, list[float | None]]) -> Chart:
    found = view.status.estimate
    synced, lru = columns["sync_rate"], columns["lru_rate"]
    by_age = _minus(columns["flush_rate"], synced)
    highest = peak(_plus(_plus(by_age, synced), lru))
    figures = ["unknown"]
    if found is not None:
        figures = [
            f"{found.flush_rate:,.0f}",
            f"sync {found.sync_rate:,.0f}",
            f"LRU {found.lru_rate:,.0f}",
        ]
    if peak(synced) > 0.0:
        figures.append(f"max sync {peak(synced):,.0f}")
    layers = (Layer(by_age, GOOD), Layer(lru, CAREFUL, mark=1), Layer(synced, BAD, mark=2, always=True))
    top = ceiling(highest)
    return Chart("pages/s", tuple(figures), Plot(layers, top), _short(top))


def _changes(view: View, columns: dict[str, list[float | None]]) -> Chart:
    found, highest = view.status.estimate, peak(columns["row_rate"])
    now = "unknown" if found is None else f"{found.row_rate:,.0f}"
    top = ceiling(highest)
    plot = Plot((Layer(columns["row_rate"], GOOD),), top)
    return Chart("row changes/s", (now, f"max {highest:,.0f}"), plot, _short(top))


def _per_change(view: View, columns: dict[str, list[float | None]]) -> Chart:
    found = view.status.estimate
    values = _over(_plus(columns["flush_rate"], columns["lru_rate"]), columns["row_rate"])
    highest = peak(values)
    now = "unknown"
    if found is not None and found.row_rate > 0.0:
        now = f"{(found.flush_rate + found.lru_rate) / found.row_rate:.3f}"
    top = ceiling(highest)
    return Chart("pages/change", (now, f"max {highest:.3f}"), Plot((Layer(values, GOOD),), top), f"{top:.3g}")


def _logarithms(values: Values) -> Values:
    return [None if one is None else math.log(max(1.0, one / CAPACITY_MINIMUM)) for one in values]


def _plus(one: Values, other: Values) -> Values:
    return [None if a is None or b is None else a + b for a, b in zip(one, other, strict=True)]


def _minus(one: Values, other: Values) -> Values:
    return [None if a is None or b is None else max(0.0, a - b) for a, b in zip(one, other, strict=True)]


def _times(one: Values, other: Values) -> Values:
    return [None if a is None or b is None else a * b for a, b in zip(one, other, strict=True)]


def _over(one: Values, other: Values) -> Values:
    return [None if a is None or not b else a / b for a, b in zip(one, other, strict=True)]


def _that_fit(figures: tuple[str, ...], width: int) -> str:
    """Return the first figures, as many as there is room for in so many columns."""
    made = figures[0]
    for one in figures[1:]:
        if len(made) + len(one) + 2 > width:
            break
        made += f", {one}"
    return made


def _short(value: float) -> str:
    """Return a round number in at most six characters."""
    for size, letter in ((1e9, "G"), (1e6, "m"), (1e3, "k")):
        if value >= 10.0 * size:
            return f"{value / size:.4g}{letter}"
    return f"{value:.4g}"
