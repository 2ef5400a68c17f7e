"""Rows of a bench as a runner writes them, made by hand: a load that ours holds and others do not."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

MEBIBYTE = 1_048_576
SECONDS, COUNTED_FROM, DIP, GAP = 180, 60, 100, (120, 121)

CONDITIONS: dict[str, Any] = {
    "server": "MySQL 9.7.4",
    "redo_capacity": 100 * MEBIBYTE,
    "buffer_pool": 2**31,
    "disk": {"write_iops": 1200},
    "not_limited": [],
    "load": {
        "kind": "update_non_index",
        "distribution": "uniform",
        "tables": 4,
        "rows": 400_000,
        "threads": 16,
        "rate": 0,
    },
    "processors": 2,
}


class Known(NamedTuple):
    """What a contender does."""

    kind: str
    m: int | None
    commits: float
    ratio: float
    pages: float
    sync: int


CONTENDERS = {
    "cascade": Known("policy", None, 2640.0, 0.87, 0.159, 0),
    "best static": Known("best static", 420, 2650.0, 0.88, 0.160, 41),
    "default": Known("default", 20_000, 1264.0, 0.11, 0.615, 0),
    "static 2000/4000": Known("static", 4_000, 1310.0, 0.16, 0.58, 0),
    "folk rule": Known("folk", 1_200, 1890.0, 0.55, 0.31, 0),
    "high_checkpoint": Known("high_checkpoint", 10_000, 1500.0, 0.3, 0.5, 0),
}
NAMES = tuple(CONTENDERS)


def row(contender: str = "cascade", block: int = 1, **changes: Any) -> dict[str, Any]:  # noqa: ANN401 - any field
    """Return one finished row; its series has a one-second dip at second 100 and a gap at 120 and 121.

    Each block is as much faster as the one before, for everybody, and by a little more for each contender.
    """
    known = CONTENDERS[contender]
    commits = known.commits * (1.0 + 0.01 * block + 0.001 * (block % 2) * NAMES.index(contender))
    each_second: dict[str, float] = {
        "commits": round(commits, 1),
        "latency_p99": 0.01,
        "modified_age": round(73_000_000 * known.ratio),
        "checkpoint_age": round(73_000_000 * known.ratio) + 2 * MEBIBYTE,
        "io_capacity": (known.m or 450) / 2,
        "io_capacity_max": known.m or 450,
        "pages_flushed": round(commits * known.pages),
        "sync_pages": 0,
        "device_writes": round(commits * (known.pages + 0.25)),
        "device_reads": 50,
    }
    columns: dict[str, list[float | None]] = {
        name: [None if second in GAP else value for second in range(SECONDS)]
        for name, value in each_second.items()
    }
    columns["commits"][DIP] = 150.0
    return {
        "schema": 1,
        "suite": "quick",
        "plan": {"suite": "quick", "blocks": 3},
        "plan_hash": "0123456789abcdef",
        "seed": 7,
        "stage": "block",
        "block": block,
        "position": 1,
        "contender": contender,
        "kind": known.kind,
        "io_capacity": None if known.m is None else known.m // 2,
        "io_capacity_max": known.m,
        "conditions": CONDITIONS,
        "settled": True,
        "settle_seconds": 42.0,
        "reset": "C/M to 10000/20000 until the age ratio is below 0.25",
        "figures": {
            "commits_mean": round(commits, 1),
            "commits_median": round(commits, 1),
            "commits_p1": round(0.9 * commits, 1),
            "latency_p99": round(16.0 / commits * 1.7, 5),
            "sync_pages": known.sync,
            "stall_seconds": 0.0,
            "pages_per_commit": known.pages,
            "pages_per_second": 400.0,
            "device_writes_per_commit": known.pages + 0.25,
            "age_ratio_mean": known.ratio,
            "checkpoint_ratio_max": round(known.ratio * 0.89, 3),
            "errors": 0,
            "machine_idle": 0.38,
            "recovery_seconds_predicted": 21.0,
            "shutdown_seconds_predicted": 30.0,
        },
        "series": {
            "at": [float(second) for second in range(SECONDS)],
            "counted_from": float(COUNTED_FROM),
            **columns,
            "flush_limit": 73_000_000,
            "max_checkpoint_age": 87_000_000,
            "redo_capacity": 100 * MEBIBYTE,
        },
        "events": [[90.0, "disk limited to 800 writes/s"]],
        "version": "0.1.0",
        "when": f"2026-11-21T21:0{block}:00+0000",
        **changes,
    }


def searched(m: int, **figures: float) -> dict[str, Any]:
    """Return a row of the search for the best static setting, which keeps every rule unless it says not."""
    found = row("best static", 0, stage="search", io_capacity=m // 2, io_capacity_max=m)
    found |= {"contender": f"M = {m}", "kind": "static"}
    found["figures"] |= {"sync_pages": 0, "checkpoint_ratio_max": 0.7, **figures}
    return found


def suite(names: Sequence[str] = NAMES, blocks: int = 3) -> list[dict[str, Any]]:
    """Return the rows of a quick suite, static search first."""
    found = [searched(m) for m in (300, 420, 600)] if "best static" in names else []
    for block in range(1, blocks + 1):
        found += [row(name, block, position=place) for place, name in enumerate(names, 1)]
    return found


def write_rows(path: Path, rows: Sequence[dict[str, Any]]) -> Path:
    """Write rows as a bench does."""
    path.write_text("".join(json.dumps(one) + "\n" for one in rows), encoding="utf-8")
    return path
