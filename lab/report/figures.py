"""Which figures a page shows and how blocks become one; numbers and times as people read them."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Literal

from msgspec import Struct

from tuner.system.amounts import size

Better = Literal["higher", "lower", ""]
Unit = Literal["", "ms", "s", "B", "B/s", "share", "pages/s"]
UNKNOWN = "–"


class Figure(Struct, frozen=True):
    """One figure of a row.

    Attributes:
        name: key in ``figures``.
        title: column head.
        unit: how it is written.
        over: how the blocks' values become one: mean, sum, highest or lowest.
        better: which direction is good; empty where neither is.
    """

    name: str
    title: str
    unit: Unit = ""
    over: Literal["mean", "sum", "highest", "lowest"] = "mean"
    better: Better = ""

    def of(self, values: Sequence[float]) -> float | None:
        """Return the blocks' values as one; None without any."""
        return OVER[self.over](values) if values else None

    def head(self) -> str:
        """Return the column's head, with how the blocks were put together where that is no mean."""
        return self.title if self.over == "mean" else f"{self.title} ({self.over})"


OVER: dict[str, Callable[[Sequence[float]], float]] = {
    "mean": statistics.fmean,
    "sum": sum,
    "highest": max,
    "lowest": min,
}

THROUGHPUT = Figure("commits_mean", "commits/s", better="higher")

STEADINESS = (
    Figure("commits_median", "median commits/s"),
    Figure("commits_p5", "5th percentile"),
    Figure("commits_p1", "1st percentile, commits/s", better="higher"),
    Figure("commits_min", "slowest second", over="lowest"),
    Figure("commits_sd", "standard deviation in a block"),
    Figure("seconds_below_half_median", "seconds below half the median", "s", "sum", "lower"),
    Figure("latency_p50", "latency p50", "ms", better="lower"),
    Figure("latency_p99", "latency p99", "ms", better="lower"),
    Figure("latency_p999", "latency p99.9", "ms", better="lower"),
    Figure("read_latency_p99", "latency p99 of the reads", "ms", better="lower"),
)
COST = (
    Figure("device_writes_per_commit", "device writes per commit", better="lower"),
    Figure("device_reads_per_commit", "device reads per commit", better="lower"),
    Figure("device_write_bytes_per_commit", "device bytes written per commit", "B", better="lower"),
    Figure("pages_per_commit", "pages flushed per commit", better="lower"),
    Figure("pages_per_second", "pages flushed/s"),
    Figure("sync_pages", "sync-flushed pages", "", "sum", "lower"),
    Figure("lru_pages", "pages flushed from the LRU tail", "", "sum"),
    Figure("stall_seconds", "stall", "s", "sum", "lower"),
    Figure("stall_waits", "waits for redo space", "", "sum", "lower"),
)
CONTROL = (
    Figure("age_ratio_mean", "age ratio"),
    Figure("age_ratio_max", "highest age ratio", over="highest"),
    Figure("checkpoint_ratio_max", "highest checkpoint age / redo capacity", over="highest"),
    Figure("redo_bytes_per_second", "redo", "B/s"),
    Figure("io_capacity_max_mean", "mean M", "pages/s"),
    Figure("settle_seconds", "time to settle", "s"),
    Figure("knob_changes", "changes of C or M", over="sum"),
    Figure("daemon_cpu", "daemon, share of a core", "share"),
    Figure("daemon_resident_bytes", "daemon memory", "B", "highest"),
    Figure("recovery_seconds", "crash recovery", "s"),
    Figure("shutdown_seconds", "shutdown", "s"),
    Figure("recovery_seconds_predicted", "longest recovery predicted", "s", "highest"),
    Figure("shutdown_seconds_predicted", "longest shutdown predicted", "s", "highest"),
    Figure("machine_idle", "idle processors"),
    Figure("errors", "errors of the load", over="sum"),
)
TABLES = (
    ("Steadiness and latency", STEADINESS),
    ("What it costs", COST),
    ("Age and control", CONTROL),
)

COMPARED = (
    THROUGHPUT,
    *(one for one in (*STEADINESS, *COST) if one.better and one.over == "mean"),
)
"""Figures of which the blocks' ratios have bounds."""

COUNTED = tuple(one for one in (*STEADINESS, *COST) if one.better and one.over == "sum")
"""Figures of which there is no ratio, because nothing is the best they can be."""


def written(value: float | None, unit: str = "") -> str:
    """Return a value as people read it; a dash where it is not known."""
    if value is None or not math.isfinite(value):
        return UNKNOWN
    if unit == "ms":
        return f"{plain(value * 1000.0)} ms"
    if unit == "share":
        return f"{value:.1%}"
    if unit in {"B", "B/s"}:
        return f"{size(value)}{unit.removeprefix('B')}"
    return plain(value) + (f" {unit}" if unit else "")


_SMALLEST = 7
"""Digits after the point down to which a number is written without an exponent."""


def plain(value: float) -> str:
    """Return a number with three or four digits that count."""
    size = abs(value)
    if size >= 1000:  # noqa: PLR2004 - thousands are read in groups
        return f"{value:,.0f}".replace(",", "\u202f")
    if value == int(value):
        return str(int(value))
    for digits, least in ((0, 100.0), (1, 10.0), (2, 1.0), (3, 0.01)):
        if size >= least:
            return f"{value:.{digits}f}"
    return (
        f"{float(f'{value:.2g}'):.{_SMALLEST}f}".rstrip("0") if size >= 10.0**-_SMALLEST else f"{value:.2g}"
    )


def clock(wall: float) -> str:
    """Return a Unix time as date and time of day."""
    return datetime.fromtimestamp(wall, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def span(whens: Sequence[str]) -> str:
    """Return from when to when rows were taken, as short as it can be said; one that is no time stays."""
    if not whens:
        return ""
    first, last = min(whens), max(whens)
    try:
        begin, end = (datetime.fromisoformat(when).astimezone(UTC) for when in (first, last))
    except ValueError:
        return f"{first} to {last}"
    until = end.strftime("%H:%M UTC" if begin.date() == end.date() else "%Y-%m-%d %H:%M UTC")
    return f"{begin.strftime('%Y-%m-%d %H:%M')} to {until}"
