"""The page of a trace, and the same for machines: figures, charts, decisions, holds and events."""

from __future__ import annotations

import csv
import statistics
from collections.abc import Sequence
from typing import IO, Any, NamedTuple

from msgspec import Struct

from lab.report.charts import MEBIBYTE, drawn, rounded, scaled, sliced
from lab.report.figures import Unit, clock, plain, written
from lab.report.render import render
from lab.report.trace import COLUMNS, Moment, Trace
from lab.statistics import percentile
from tuner.records import DecisionKind

POINTS = 3000
"""Of each series on the page; the CSV has every second."""

MOST_LINES = 400
"""Of a table of decisions, holds or events."""

_MIB = ("modified_age", "checkpoint_age", "flush_limit", "max_checkpoint_age", "redo_capacity", "redo_rate")
FACTORS = dict.fromkeys(_MIB, 1 / MEBIBYTE) | {"write_latency": 1000.0}


class Chart(NamedTuple):
    """A chart: its name in the page's script, its title, what it shows, and the heads of its columns."""

    key: str
    title: str
    describe: str
    columns: dict[str, str]


CHARTS = (
    Chart(
        "throughput",
        "Throughput, per second",
        "row changes and commits per second",
        {"row_changes": "row changes/s", "commits": "engine commits/s"},
    ),
    Chart(
        "age",
        "Uncheckpointed bytes, MiB",
        "checkpoint age and modified age under max checkpoint age",
        {
            "checkpoint_age": "checkpoint age, MiB",
            "modified_age": "modified age, MiB",
            "flush_limit": "flush limit, MiB",
            "max_checkpoint_age": "max checkpoint age, MiB",
        },
    ),
    Chart(
        "ratio",
        "Age ratio and set-point",
        "modified age over flush limit, and what the loop would hold",
        {"age_ratio": "age ratio", "set_point": "set-point"},
    ),
    Chart(
        "capacity",
        "C and M, pages/s",
        "innodb_io_capacity and innodb_io_capacity_max",
        {"io_capacity": "C, pages/s", "io_capacity_max": "M, pages/s"},
    ),
    Chart(
        "pages",
        "Pages flushed per second",
        "all pages, sync flushing in red",
        {
            "pages_flushed": "pages flushed/s",
            "sync_pages": "of them sync-flushed/s",
            "lru_pages": "of them from the LRU tail/s",
        },
    ),
    Chart(
        "dirty",
        "Dirty pages, % of the buffer pool",
        "share of the buffer pool that is not on disk yet",
        {"dirty_share": "dirty, % of the pool", "dirty_limit": "limit, %"},
    ),
    Chart("redo", "Redo written, MiB/s", "redo written per second", {"redo_rate": "redo, MiB/s"}),
    Chart(
        "latency",
        "Latency of writing statements, ms",
        "mean of each second",
        {"write_latency": "mean latency, ms"},
    ),
)


class Figure(Struct, frozen=True):
    """One figure of a trace: its title, its value as a number, and as people read it."""

    name: str
    title: str
    value: float | None
    text: str


def trace_page(
    trace: Trace, *, title: str = "", made: str = "an unknown day", notes: Sequence[str] = ()
) -> str:
    """Return the page, HTML.

    Args:
        trace: one run.
        title: its title; without one, the server's address.
        made: when, in words.
        notes: what a reader has to know besides.
    """
    facts, settings = trace.run.facts, trace.run.settings
    columns = scaled(trace.columns, FACTORS)
    charts = []
    for chart in CHARTS:
        heads = {head: columns[name] for name, head in chart.columns.items() if name in columns}
        if heads:
            table = sliced(chart.title, trace.at, heads)
            charts.append((chart.key, chart.title, chart.describe, table))
    at, series = drawn(trace.at, columns, POINTS)
    return render(
        "trace.html",
        {"trace": {"at": [rounded(moment, 7) for moment in at], "series": series, **_marks(trace)}},
        title=title or f"Trace of InnoDB at {facts.endpoint}",
        made=made,
        facts=facts,
        span=f"{clock(trace.wall[0])} to {clock(trace.wall[-1])}",
        mode=_mode(trace),
        know=[*notes, *know_first(trace)],
        figures=figures(trace),
        charts=charts,
        marked=bool(trace.decisions or trace.holds),
        decisions=_newest(trace.decisions),
        holds=_newest(trace.holds),
        events=_newest(trace.events),
        settings=[
            *((name, getattr(facts, name)) for name in facts.__struct_fields__),
            *((f"loop.{name}", getattr(settings, name)) for name in settings.__struct_fields__),
        ],
    )


def _mode(trace: Trace) -> str:
    if not trace.active:
        return "Advisory throughout: nothing was written to the server."
    if trace.active == len(trace.at):
        return "Active throughout."
    return f"Active in {plain(float(trace.active))} of {plain(float(len(trace.at)))} ticks."


def _newest(items: Sequence[object]) -> dict[str, Any]:
    """Return the end of a long list, and how many are left out before it."""
    return {"rows": items[-MOST_LINES:], "left": max(0, len(items) - MOST_LINES)}


def _marks(trace: Trace) -> dict[str, Any]:
    """Return what the charts have beside lines."""
    return {
        "began": trace.wall[0],
        "writes": [
            [rounded(one.at, 7), f"{one.kind} {one.after}: {one.reason}"]
            for one in trace.decisions
            if one.carried_out
        ],
        "would": [
            [rounded(one.at, 7), f"would set {one.after}"] for one in trace.decisions if not one.carried_out
        ],
        "holds": [[rounded(one.since, 7), rounded(one.until, 7), one.code] for one in trace.holds],
        "events": [[rounded(one.at, 7), one.code] for one in trace.events if not _repeats(one)],
    }


def _repeats(event: Moment) -> bool:
    """Tell whether an event says again what a decision or a hold says."""
    return event.code in set(DecisionKind) or event.code.startswith(("hold_", "clear_"))


def known(trace: Trace, name: str) -> list[float]:
    """Return a column without its gaps."""
    return [value for value in trace.columns[name] if value is not None]


def figures(trace: Trace) -> list[Figure]:
    """Return what the whole trace comes to; rates from the server's own counters."""
    changes, commits, ratios = (known(trace, name) for name in ("row_changes", "commits", "age_ratio"))
    flushed, synced = (known(trace, name) for name in ("pages_flushed", "sync_pages"))
    half = statistics.median(changes) / 2.0 if changes else 0.0
    ages = [
        age / size
        for age, size in zip(trace.columns["checkpoint_age"], trace.columns["redo_capacity"], strict=True)
        if age is not None and size
    ]

    def mean(values: list[float]) -> float | None:
        return statistics.fmean(values) if values else None

    def count(values: list[float], bad: int) -> int | None:
        return bad if values else None

    rows: list[tuple[str, str, float | None, Unit]] = [
        ("seconds", "recorded", trace.at[-1] - trace.at[0], "s"),
        ("readings_missed", "readings that failed", len(trace.missed), ""),
        ("row_changes_mean", "row changes/s", mean(changes), ""),
        (
            "row_changes_p1",
            "1st percentile of row changes/s",
            percentile(changes, 1.0) if changes else None,
            "",
        ),
        (
            "seconds_below_half_median",
            "readings below half the median of row changes/s",
            count(changes, sum(one < half for one in changes)),
            "",
        ),
        ("commits_mean", "engine commits/s", mean(commits), ""),
        (
            "write_latency_mean",
            "mean latency of writing statements",
            mean(known(trace, "write_latency")),
            "ms",
        ),
        ("redo_bytes_per_second", "redo written", mean(known(trace, "redo_rate")), "B/s"),
        ("age_ratio_mean", "age ratio", mean(ratios), ""),
        ("age_ratio_max", "highest age ratio", max(ratios, default=None), ""),
        ("checkpoint_ratio_max", "highest checkpoint age / redo capacity", max(ages, default=None), ""),
        ("pages_per_second", "pages flushed/s", mean(flushed), ""),
        (
            "pages_per_commit",
            "pages flushed per engine commit",
            sum(flushed) / sum(commits) if sum(commits) else None,
            "",
        ),
        ("sync_pages", "sync-flushed pages", trace.sync_pages, ""),
        ("sync_seconds", "readings with sync flushing", count(synced, sum(one > 0 for one in synced)), ""),
        ("stall_waits", "waits for redo space", trace.stall_waits, ""),
        ("changes", "changes of C or M", sum(one.carried_out for one in trace.decisions), ""),
    ]
    return [
        Figure(name, title, None if value is None else float(value), written(value, unit))
        for name, title, value, unit in rows
    ]


def know_first(trace: Trace) -> list[str]:
    """Return what a reader has to know of a trace before believing it."""
    facts, found = trace.run.facts, []
    if trace.missed:
        reasons = list(dict.fromkeys(one.said for one in trace.missed))
        found.append(f"{len(trace.missed)} of {len(trace.at)} readings failed: {'; '.join(reasons[:3])}")
    if not known(trace, "modified_age"):
        found.append(
            "InnoDB's counters were off: the age is the checkpoint's alone, and sync flushing is not seen"
        )
    if not known(trace, "write_latency") and "latency" not in facts.unseen:
        found.append("no latency of writing statements: it is read every ten seconds, or nothing was written")
    if facts.unseen:
        found.append(f"the account may not look at: {', '.join(facts.unseen)}")
    found += [f"this server cannot be tuned: {blocker}" for blocker in facts.blockers]
    found.append(
        "device writes and commit latency as clients see it are in no trace; innobrim bench has them"
    )
    if known(trace, "commits"):
        found.append(
            "engine commits are Handler_commit, which counts a writing transaction twice where the binary log"
            " is on; row changes are counted once"
        )
    return found


def trace_summary(trace: Trace) -> dict[str, Any]:
    """Return what a trace comes to, for machines."""
    return {
        "schema": 1,
        "server": trace.run.facts,
        "began": trace.wall[0],
        "ended": trace.wall[-1],
        "figures": {one.name: one.value for one in figures(trace)},
        "know_first": know_first(trace),
        "decisions": trace.decisions,
        "holds": trace.holds,
        "events": trace.events,
    }


def series_csv(to: IO[str], trace: Trace) -> None:
    """Write every second."""
    table = csv.writer(to, lineterminator="\n")
    table.writerow(("at", "wall", *COLUMNS))
    for at, wall, *values in zip(trace.at, trace.wall, *trace.columns.values(), strict=True):
        table.writerow((round(at, 3), round(wall, 3), *values))


def events_csv(to: IO[str], trace: Trace) -> None:
    """Write what happened and what was decided, in order."""
    table = csv.writer(to, lineterminator="\n")
    table.writerow(("at", "utc", "what", "code", "said"))
    lines = [(one.at, one.wall, "event", one.code, one.said) for one in (*trace.events, *trace.missed)]
    lines += [
        (one.at, one.wall, "decision", one.kind, f"{one.before} → {one.after}: {one.detail}")
        for one in trace.decisions
    ]
    for at, wall, *rest in sorted(lines, key=lambda line: line[0]):
        table.writerow((round(at, 3), clock(wall), *rest))
