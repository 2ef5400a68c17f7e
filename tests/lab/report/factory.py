"""Rows of a bench as a runner writes them, made by hand: a load that ours holds and others do not."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

MEBIBYTE = 1_048_576
REDO = 100 * MEBIBYTE
FLUSH_LIMIT, MAX_AGE = 73_000_000, 87_000_000
SECONDS, COUNTED_FROM = 180, 60

CONDITIONS: dict[str, Any] = {
    "server": "MySQL 9.7.4",
    "redo_capacity": REDO,
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

CONTENDERS = (
    # name, kind, M, commits/s, age ratio, pages per commit, sync pages
    ("cascade", "policy", None, 2640.0, 0.87, 0.159, 0),
    ("best static", "best static", 420, 2650.0, 0.88, 0.160, 41),
    ("default", "default", 20_000, 1264.0, 0.11, 0.615, 0),
    ("static 2000/4000", "static", 4_000, 1310.0, 0.16, 0.58, 0),
    ("folk rule", "folk", 1_200, 1890.0, 0.55, 0.31, 0),
    ("M = 100, sync", "sync", 100, 2500.0, 1.02, 0.17, 61_000),
    ("high_checkpoint", "high_checkpoint", 10_000, 1500.0, 0.3, 0.5, 0),
)


def row(
    contender: str = "cascade",
    block: int = 1,
    *,
    seed: int = 7,
    **changes: Any,  # noqa: ANN401 - any field
) -> dict[str, Any]:
    """Return one finished row; its series has a one-second dip at second 100 and a gap at 120 and 121."""
    name, kind, m, commits, ratio, pages, sync = next(one for one in CONTENDERS if one[0] == contender)
    dice = random.Random(f"{seed} {contender} {block}")  # noqa: S311 - a made-up load
    commits *= 1.0 + dice.gauss(0.0, 0.012)
    waves = 0.8 if kind == "sync" else 0.06
    at = [float(second) for second in range(SECONDS)]
    rate = [max(60.0, commits * (1.0 + waves * math.sin(s / 7.0) + dice.gauss(0.0, 0.03))) for s in at]
    rate[100] = 150.0
    if kind == "sync":
        rate = [commits * (0.1 if math.sin(s / 7.0) < -0.3 else 1.5) for s in at]
    settle = [min(1.0, s / 50.0) for s in at]
    modified = [round(FLUSH_LIMIT * ratio * part * (1.0 + dice.gauss(0.0, 0.01))) for part in settle]
    flushed = [round(now * pages) for now in rate]
    synced = [round(sync / 40.0) if now < 400.0 and sync else 0 for now in rate]
    made_m = [20_000.0 if m is None and s < 20 else float(m or 450 + 5 * (s > 90)) for s in at]
    columns: dict[str, list[float | None]] = {
        "commits": [round(now, 1) for now in rate],
        "latency_p99": [round(16.0 / now * 1.6, 5) for now in rate],
        "modified_age": list(modified),
        "checkpoint_age": [age + 2 * MEBIBYTE for age in modified],
        "io_capacity": [one / 2 for one in made_m],
        "io_capacity_max": list(made_m),
        "pages_flushed": list(flushed),
        "sync_pages": list(synced),
        "device_writes": [round(now * (pages + 0.25)) for now in rate],
        "device_reads": [round(now * 0.02) for now in rate],
    }
    for values in columns.values():
        values[120] = values[121] = None
    counted = sorted(rate[COUNTED_FROM:])
    mean = sum(counted) / len(counted)
    figures = {
        "seconds": SECONDS - COUNTED_FROM,
        "commits_mean": round(mean, 1),
        "commits_median": round(counted[len(counted) // 2], 1),
        "commits_p1": round(counted[1], 1),
        "commits_p5": round(counted[5], 1),
        "commits_min": counted[0],
        "commits_sd": 90.0,
        "seconds_below_half_median": sum(now < counted[len(counted) // 2] / 2 for now in counted),
        "latency_p50": round(16.0 / mean, 5),
        "latency_p99": round(16.0 / mean * 1.7 + 0.02 * (sync > 1000), 5),
        "latency_p999": round(16.0 / mean * 2.6 + 0.1 * (sync > 1000), 5),
        "sync_pages": sum(synced),
        "lru_pages": 0,
        "stall_seconds": 1.4 if sync > 1000 else 0.0,
        "stall_waits": 29 if sync else 0,
        "pages_per_second": round(mean * pages, 1),
        "pages_per_commit": round(pages * (1.0 + dice.gauss(0.0, 0.01)), 4),
        "device_writes_per_commit": round((pages + 0.25) * (1.0 + dice.gauss(0.0, 0.01)), 4),
        "device_reads_per_commit": 0.02,
        "device_write_bytes_per_commit": round(pages * 2 * 16_384 + 700),
        "device_source": "control group",
        "age_ratio_mean": ratio,
        "age_ratio_max": round(ratio * 1.06, 3),
        "checkpoint_ratio_max": round(ratio * 0.89, 3),
        "redo_bytes_per_second": 1_462_920,
        "io_capacity_max_mean": 455.0 if m is None else m,
        "knob_changes": 3 if m is None else 0,
        "errors": 0,
        "daemon_cpu": 0.021 if kind == "policy" else None,
        "daemon_resident_bytes": 41_000_000 if kind == "policy" else None,
        "machine_idle": 0.38,
        "recovery_seconds": None,
        "shutdown_seconds": None,
        "recovery_seconds_predicted": 21.0,
        "shutdown_seconds_predicted": 30.0,
    }
    return {
        "schema": 1,
        "suite": "quick",
        "plan": {"suite": "quick", "blocks": 3},
        "plan_hash": "0123456789abcdef",
        "seed": seed,
        "stage": "block",
        "block": block,
        "position": 1,
        "contender": name,
        "kind": kind,
        "io_capacity": None if m is None else m // 2,
        "io_capacity_max": m,
        "conditions": CONDITIONS,
        "settled": True,
        "settle_seconds": 42.0,
        "reset": "C/M to 10000/20000 until the age ratio is below 0.25",
        "figures": figures,
        "series": {
            "at": at,
            "counted_from": float(COUNTED_FROM),
            **columns,
            "flush_limit": FLUSH_LIMIT,
            "max_checkpoint_age": MAX_AGE,
            "redo_capacity": REDO,
        },
        "events": [[90.0, "disk limited to 800 writes/s"]],
        "version": "0.1.0",
        "when": f"2026-11-21T21:0{block}:00+0000",
        **changes,
    }


NAMES = tuple(one[0] for one in CONTENDERS)


def suite(names: Sequence[str] = NAMES, blocks: int = 3) -> list[dict[str, Any]]:
    """Return the rows of a quick suite, static search first."""
    found = []
    for m in (300, 420, 600) if "best static" in names else ():
        found.append(row("best static", stage="search", io_capacity=m // 2, io_capacity_max=m))
        found[-1] |= {"contender": f"static {m}", "kind": "static"}
    for block in range(1, blocks + 1):
        found += [row(name, block, position=place) for place, name in enumerate(names, 1)]
    return found


def write_rows(path: Path, rows: Sequence[dict[str, Any]]) -> Path:
    """Write rows as a bench does."""
    path.write_text("".join(json.dumps(one) + "\n" for one in rows), encoding="utf-8")
    return path
