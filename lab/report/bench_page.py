"""The page of a bench's rows, and the same for machines."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from lab.report.charts import group_payload, points_each
from lab.report.figures import CONTROL, COST, STEADINESS, TABLES, THROUGHPUT, span
from lab.report.render import render
from lab.report.rows import Row
from lab.report.summary import REFERENCES, Group, best_static, groups

HEADLINE = ("commits_p1", "latency_p99", "sync_pages", "stall_seconds", "device_writes_per_commit")
SEARCHED = (
    "commits_p1",
    "age_ratio_mean",
    "checkpoint_ratio_max",
    "pages_per_commit",
    "sync_pages",
    "recovery_seconds_predicted",
    "shutdown_seconds_predicted",
)
FIGURES = {one.name: one for one in (THROUGHPUT, *STEADINESS, *COST, *CONTROL)}


def bench_page(rows: Sequence[Row], *, title: str = "", made: str = "an unknown day") -> str:
    """Return the page, HTML.

    Args:
        rows: of a bench.
        title: its title; without one, suite and server.
        made: when, in words.
    """
    found = groups(rows)
    points = points_each(len(rows))
    plan = next((row.plan for row in rows if row.plan), None)
    return render(
        "bench.html",
        {"groups": [group_payload(group, points) for group in found]},
        title=title or _title(rows),
        made=made,
        rows=rows,
        groups=found,
        suites=_all(row.suite for row in rows),
        seeds=_all(row.seed for row in rows),
        versions=_all(row.version for row in rows),
        span=span([row.when for row in rows if row.when]),
        references=[
            [kind for kind in REFERENCES if any(kind in one.to for one in group.contenders)]
            for group in found
        ],
        headline=[group.known([FIGURES[name] for name in HEADLINE]) for group in found],
        tables=TABLES,
        charted=[any(row.series.at for row in group.rows) for group in found],
        events=[_events(group) for group in found],
        search_figures=[FIGURES[name] for name in SEARCHED],
        plan=msgspec.json.format(msgspec.json.encode(plan)).decode() if plan else "",
    )


def _title(rows: Sequence[Row]) -> str:
    suite = next((row.suite for row in rows if row.suite), "")
    server = next((str(row.conditions["server"]) for row in rows if "server" in row.conditions), "")
    return " ".join(part for part in ("InnoBrim bench", suite, f"on {server}" if server else "") if part)


def _all(values: Iterable[object]) -> str:
    return ", ".join(dict.fromkeys(str(value) for value in values if value not in {None, ""}))


def _events(group: Group) -> list[tuple[float, str, str]]:
    """Return what happened at a second of counting, in words, and in which rows."""
    found: dict[tuple[float, str], list[str]] = {}
    for row in group.rows:
        for at, words in row.events:
            key = (round(at - row.series.counted_from, 1), words)
            found.setdefault(key, []).append(f"{row.contender}, block {row.block}")
    return [
        (at, words, "every row" if len(rows) == len(group.rows) else "; ".join(rows))
        for (at, words), rows in sorted(found.items())
    ]


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
