"""The four panels: throughput, uncheckpointed bytes, C and M, pages flushed; pure."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from msgspec import Struct

from lab.plot.paths import Label, apart, path
from lab.plot.scales import Axis, counts, moment, ratios, sizes
from lab.report.figures import bytes_said, plain

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from lab.plot.course import Series
    from lab.plot.paths import Point
    from lab.simulate_result import Result

LIMITS = (
    ("stall_point", "stall", "stall point"),
    ("sync_point", "sync-point", "sync point"),
    ("flush_limit", "limit", "flush limit A"),
)
CHECKPOINT = ("checkpoint_age", "checkpoint", "checkpoint age")
MODIFIED = ("modified_age", "modified", "modified age")
PAGES = (
    ("lru", "lru", "LRU"),
    ("background", "background", "background"),
    ("adaptive", "adaptive", "adaptive"),
    ("sync", "sync", "sync"),
)


class Frame(Struct, frozen=True):
    """Where a panel is, in units of the drawing, and the seconds that it spans."""

    left: float
    right: float
    top: float
    bottom: float
    seconds: float

    def x(self, at: float) -> float:
        """Return where a moment is."""
        return self.left + (self.right - self.left) * at / self.seconds

    def y(self, axis: Axis, value: float) -> float:
        """Return where a value is."""
        return self.bottom - (self.bottom - self.top) * axis.place(value)


class Curve(Struct, frozen=True):
    """One line: what it shows, for its colour, and where it goes."""

    kind: str
    path: str


class Panel(Struct, frozen=True):
    """One panel.

    Attributes:
        title: what is shown, with its unit.
        top: height of its upper end.
        bottom: height of its lower end.
        marks: heights that are marked, and what they say.
        curves: lines, the last one on top.
        labels: names of the lines at their right ends.
    """

    title: str
    top: float
    bottom: float
    marks: tuple[tuple[float, str], ...]
    curves: tuple[Curve, ...]
    labels: tuple[Label, ...]


def throughput(series: Series, result: Result, frame: Frame) -> Panel:
    """Return commits/s: single readings, their means, and the best static setting if one was looked for."""
    best = result.best_static
    level = None if best is None else best.throughput_mean
    axis = counts([*_known(series, "commits"), level or 0.0])
    curves = [
        Curve("second", _line(series, "commits", frame, axis)),
        Curve("mean", path((frame.x(at), frame.y(axis, value)) for at, value in series.means)),
    ]
    labels = []
    if series.means:
        last = frame.y(axis, series.means[-1][1])
        labels.append(Label("mean", f"policy, mean of {moment(series.span)}", last))
    if best is not None and level is not None:
        y = frame.y(axis, level)
        curves.append(Curve("static", path([(frame.x(result.measured_from), y), (frame.right, y)])))
        labels.append(Label("static", f"best static, M = {best.io_capacity_max}", y))
    said = f"Commits/s: {plain(result.throughput_mean)} counted"
    if best is not None:
        said += ", best static setting " + ("none keeps the rules" if level is None else plain(level))
    return _panel(said, frame, axis, curves, labels)


def uncheckpointed(series: Series, result: Result, frame: Frame) -> Panel:
    """Return the ages under the limits and around the set-point."""
    axis = sizes([value for name, *_ in (CHECKPOINT, *LIMITS, MODIFIED) for value in _known(series, name)])
    curves, labels = [], []
    for name, kind, title in (CHECKPOINT, *LIMITS, MODIFIED):
        last = _last(series, name)
        steps = (name, kind, title) in LIMITS
        curves.append(Curve(kind, _line(series, name, frame, axis, steps=steps)))
        labels.append(Label(kind, f"{title}, {bytes_said(last)}" if steps else title, frame.y(axis, last)))
    if set_points := _known(series, "set_point"):
        curves.append(Curve("set-point", _line(series, "set_point", frame, axis)))
        share = set_points[-1] / _last(series, "flush_limit")
        labels.append(Label("set-point", f"set-point, {share:.2f} A", frame.y(axis, set_points[-1])))
    title = f"Uncheckpointed bytes, {axis.unit}: age ratio {plain(result.age_ratio_mean)} counted, "
    return _panel(f"{title}highest {plain(result.age_ratio_max)}", frame, axis, curves, labels)


def capacity(series: Series, result: Result, frame: Frame) -> Panel:
    """Return C and M in steps."""
    pair = (("io_capacity", "c", "C"), ("io_capacity_max", "m", "M"))
    axis = ratios([value for name, *_ in pair for value in _known(series, name)])
    curves, labels = [], []
    for name, kind, title in pair:
        curves.append(Curve(kind, _line(series, name, frame, axis, steps=True)))
        last = _last(series, name)
        labels.append(Label(kind, f"{title}, {plain(last)} at the end", frame.y(axis, last)))
    times = result.knob_changes
    changed = "never changed" if times == 0 else f"changed {'once' if times == 1 else f'{times} times'}"
    return _panel(f"C and M, pages/s, logarithmic: {changed}", frame, axis, curves, labels)


def pages(series: Series, result: Result, frame: Frame) -> Panel:
    """Return pages flushed per second by kind; kinds of which there was no page are named and not drawn."""
    axis = counts([value for name, *_ in PAGES for value in _known(series, name)])
    curves, labels, none = [], [], []
    for name, kind, title in PAGES:
        values = _known(series, name)
        if not any(values):
            none.append(title)
            continue
        curves.append(Curve(kind, _line(series, name, frame, axis)))
        labels.append(Label(kind, title, frame.y(axis, values[-1])))
    counted = moment(result.seconds - result.measured_from)
    said = f"Pages flushed/s: sync flushing in {result.sync_flush_seconds} s of the {counted} counted"
    return _panel(f"{said}; none: {', '.join(none)}" if none else said, frame, axis, curves, labels)


PANELS: tuple[Callable[[Series, Result, Frame], Panel], ...] = (throughput, uncheckpointed, capacity, pages)


def _panel(title: str, frame: Frame, axis: Axis, curves: Sequence[Curve], labels: Iterable[Label]) -> Panel:
    return Panel(
        title=title,
        top=frame.top,
        bottom=frame.bottom,
        marks=tuple(
            (round(frame.y(axis, mark), 1), said) for mark, said in zip(axis.marks, axis.said, strict=True)
        ),
        curves=tuple(curves),
        labels=apart(labels, frame.top, frame.bottom),
    )


def _line(series: Series, name: str, frame: Frame, axis: Axis, *, steps: bool = False) -> str:
    points: list[Point | None] = [
        None if value is None else (frame.x(at), frame.y(axis, value))
        for at, value in zip(series.at, series.columns[name], strict=True)
    ]
    return path(points, steps=steps)


def _known(series: Series, name: str) -> list[float]:
    return [value for value in series.columns[name] if value is not None]


def _last(series: Series, name: str) -> float:
    return _known(series, name)[-1]
