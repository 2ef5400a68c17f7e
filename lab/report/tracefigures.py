"""What a trace comes to: its figures, and what its charts are drawn from; pure."""

from __future__ import annotations

import statistics
from typing import Any

from msgspec import Struct

from lab.report.charts import MEBIBYTE, Table, Values, rounded, sliced, thin, with_gaps
from lab.report.figures import Unit, written
from lab.report.trace import COLUMNS, Trace
from lab.statistics import percentile

POINTS = 3000
"""Of each series on the page; the CSV has every second."""

_MIB = frozenset({"modified_age", "checkpoint_age", "flush_limit", "max_checkpoint_age", "redo_capacity"})
_FACTORS = dict.fromkeys((*_MIB, "redo_rate"), 1 / MEBIBYTE) | {"write_latency": 1000.0}


class Said(Struct, frozen=True):
    """One figure of a trace: its title, its value as a number, and as people read it."""

    name: str
    title: str
    value: float | None
    text: str


def known(trace: Trace, name: str) -> list[float]:
    """Return a column without its gaps."""
    return [value for value in trace.columns[name] if value is not None]


def figures(trace: Trace) -> list[Said]:
    """Return what the whole trace comes to; rates from the server's own counters."""
    rates = "row_changes"
    changes = known(trace, rates)
    median = statistics.median(changes) if changes else None
    flushed, commits = sum(known(trace, "pages_flushed")), sum(known(trace, "commits"))
    ages = [
        age / size
        for age, size in zip(trace.columns["checkpoint_age"], trace.columns["redo_capacity"], strict=True)
        if age is not None and size
    ]
    ratios = known(trace, "age_ratio")

    def mean(values: list[float]) -> float | None:
        return statistics.fmean(values) if values else None

    rows: list[tuple[str, str, float | None, Unit]] = [
        ("seconds", "recorded", trace.at[-1] - trace.at[0], "s"),
        ("readings_missed", "readings that failed", float(len(trace.missed)), ""),
        ("row_changes_mean", "row changes/s", mean(changes), ""),
        ("row_changes_p1", "1st percentile of row changes/s", low_end(changes), ""),
        (
            "seconds_below_half_median",
            "readings below half the median of row changes/s",
            None if median is None else float(sum(one < median / 2.0 for one in changes)),
            "",
        ),
        ("commits_mean", "engine commits/s", mean(known(trace, "commits")), ""),
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
        ("pages_per_second", "pages flushed/s", mean(known(trace, "pages_flushed")), ""),
        ("pages_per_commit", "pages flushed per engine commit", flushed / commits if commits else None, ""),
        ("sync_pages", "sync-flushed pages", _number(trace.sync_pages), ""),
        (
            "sync_seconds",
            "readings with sync flushing",
            float(sum(one > 0 for one in known(trace, "sync_pages"))) if known(trace, "sync_pages") else None,
            "",
        ),
        ("stall_waits", "waits for redo space", float(trace.stall_waits), ""),
        ("changes", "changes of C or M", float(sum(one.carried_out for one in trace.decisions)), ""),
    ]
    return [Said(name, title, value, written(value, unit)) for name, title, value, unit in rows]


def _number(count: int | None) -> float | None:
    return None if count is None else float(count)


def low_end(values: list[float]) -> float | None:
    """Return the 1st percentile; None without values."""
    return percentile(values, 1.0) if values else None


def payload(trace: Trace) -> dict[str, Any]:
    """Return what the charts are drawn from."""
    columns = {name: _scaled(name, trace.columns[name]) for name in COLUMNS if known(trace, name)}
    at, columns = thin(*with_gaps(trace.at, columns), POINTS)
    return {
        "at": [rounded(moment, 7) for moment in at],
        "began": trace.wall[0],
        "series": {name: [rounded(value) for value in values] for name, values in columns.items()},
        "writes": [
            [rounded(one.at, 7), f"{one.kind} {one.after}: {one.reason}"]
            for one in trace.decisions
            if one.carried_out
        ],
        "would": [
            [rounded(one.at, 7), f"would set {one.after}"] for one in trace.decisions if not one.carried_out
        ],
        "holds": [[rounded(one.since, 7), rounded(one.until, 7), one.code] for one in trace.holds],
        "events": [[rounded(one.at, 7), one.code] for one in trace.events if not _is_of_decision(one.code)],
    }


def _is_of_decision(code: str) -> bool:
    """Tell whether an event says again what a decision or a hold says."""
    kinds = {"set", "emergency", "override", "drain", "park", "restore"}
    return code in kinds or code.startswith(("hold_", "clear_"))


def _scaled(name: str, values: Values) -> Values:
    factor = _FACTORS.get(name, 1.0)
    return [None if value is None else value * factor for value in values]


TABLES = (
    ("throughput", "Throughput", (("row_changes", "row changes/s"), ("commits", "engine commits/s"))),
    (
        "age",
        "Uncheckpointed bytes",
        (
            ("checkpoint_age", "checkpoint age, MiB"),
            ("modified_age", "modified age, MiB"),
            ("flush_limit", "flush limit, MiB"),
            ("max_checkpoint_age", "max checkpoint age, MiB"),
        ),
    ),
    ("ratio", "Age ratio and set-point", (("age_ratio", "age ratio"), ("set_point", "set-point"))),
    ("capacity", "C and M", (("io_capacity", "C, pages/s"), ("io_capacity_max", "M, pages/s"))),
    (
        "pages",
        "Pages flushed",
        (
            ("pages_flushed", "pages flushed/s"),
            ("sync_pages", "of them sync-flushed/s"),
            ("lru_pages", "of them from the LRU tail/s"),
        ),
    ),
    ("dirty", "Dirty pages", (("dirty_share", "dirty, % of the pool"), ("dirty_limit", "limit, %"))),
    ("redo", "Redo written", (("redo_rate", "redo, MiB/s"),)),
    ("latency", "Latency of writing statements", (("write_latency", "mean latency, ms"),)),
)


def tables(trace: Trace) -> dict[str, Table]:
    """Return each chart's table by its key; charts of which nothing is known are left out."""
    found = {}
    for key, title, columns in TABLES:
        there = [(head, _scaled(name, trace.columns[name])) for name, head in columns if known(trace, name)]
        if there:
            found[key] = sliced(title, trace.at, there)
    return found


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
