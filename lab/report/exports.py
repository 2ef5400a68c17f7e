"""What lies beside a page: the same as CSV and as JSON."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from typing import IO, Any

from lab.report import tracefigures
from lab.report.clock import clock
from lab.report.rates import COLUMNS as TRACE_COLUMNS
from lab.report.rows import COLUMNS, Row
from lab.report.summary import groups
from lab.report.trace import Trace
from lab.report.winners import best_static


def bench_summary(rows: Sequence[Row]) -> dict[str, Any]:
    """Return what the rows come to, for machines."""
    return {
        "schema": 1,
        "suite": next((row.suite for row in rows if row.suite), ""),
        "plan_hash": next((row.plan_hash for row in rows if row.plan_hash), ""),
        "rows": len(rows),
        "groups": [
            {
                "variant": group.variant,
                "conditions": group.conditions,
                "not_limited": group.not_limited,
                "left_out": dict(group.left_out),
                "blocks": group.blocks,
                "contenders": group.contenders,
                "verdicts": group.verdicts,
                "best_static": best_static(group.search),
            }
            for group in groups(rows)
        ],
    }


def trace_summary(trace: Trace) -> dict[str, Any]:
    """Return what a trace comes to, for machines."""
    return {
        "schema": 1,
        "server": trace.run.facts,
        "began": trace.wall[0],
        "ended": trace.wall[-1],
        "figures": {one.name: one.value for one in tracefigures.figures(trace)},
        "know_first": tracefigures.know_first(trace),
        "decisions": trace.decisions,
        "holds": trace.holds,
        "events": trace.events,
    }


def rows_csv(to: IO[str], rows: Sequence[Row]) -> None:
    flat = [_flat(row) for row in rows]
    heads = list(dict.fromkeys(name for one in flat for name in one))
    table = csv.DictWriter(to, heads, lineterminator="\n")
    table.writeheader()
    table.writerows(flat)


def _flat(row: Row) -> dict[str, object]:
    names = (
        "suite",
        "variant",
        "stage",
        "block",
        "position",
        "contender",
        "kind",
        "io_capacity",
        "io_capacity_max",
    )
    more = ("settled", "settle_seconds", "reset_ratio", "seed", "plan_hash", "version", "revision", "when")
    found: dict[str, object] = {name: getattr(row, name) for name in (*names, *more)}
    for name, value in row.conditions.items():
        if isinstance(value, dict):
            found |= {f"conditions.{name}.{key}": one for key, one in value.items()}
        else:
            found[f"conditions.{name}"] = "; ".join(map(str, value)) if isinstance(value, list) else value
    return found | row.figures


def series_csv(to: IO[str], rows: Sequence[Row]) -> None:
    table = csv.writer(to, lineterminator="\n")
    names = ("variant", "stage", "block", "contender", "io_capacity_max_set", "at", "since_counting")
    table.writerow((*names, *COLUMNS))
    for row in rows:
        columns = [row.series.column(name) for name in COLUMNS]
        head = (row.variant, row.stage, row.block, row.contender, row.io_capacity_max)
        for index, at in enumerate(row.series.at):
            since = round(at - row.series.counted_from, 3)
            table.writerow((*head, at, since, *(column[index] for column in columns)))


def trace_series_csv(to: IO[str], trace: Trace) -> None:
    table = csv.writer(to, lineterminator="\n")
    table.writerow(("at", "wall", *TRACE_COLUMNS))
    for index, (at, wall) in enumerate(zip(trace.at, trace.wall, strict=True)):
        values = (trace.columns[name][index] for name in TRACE_COLUMNS)
        table.writerow((round(at, 3), round(wall, 3), *values))


def trace_events_csv(to: IO[str], trace: Trace) -> None:
    table = csv.writer(to, lineterminator="\n")
    table.writerow(("at", "utc", "what", "code", "said"))
    lines = [(one.at, one.wall, "event", one.code, one.said) for one in (*trace.events, *trace.missed)]
    lines += [
        (one.at, one.wall, "decision", one.kind, f"{one.before} → {one.after}: {one.detail}")
        for one in trace.decisions
    ]
    for at, wall, what, code, said in sorted(lines, key=lambda line: line[0]):
        table.writerow((round(at, 3), clock(wall), what, code, said))
