"""Rows of a bench as a real server would have given them; made by the plant under parameters of its own."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from lab.plant.compare.conditions import parameters_of
from lab.plant.compare.twin import simulated
from lab.plant.fits import Fit
from lab.report.rows import Row, Series

SUITE = "contenders"
VARIANT = "1200 writes/s"
REDO = 104_857_600
SETTLED, COUNTED = 60, 40
ROW_SECONDS = 120.0
"""From the end of one row to the end of the next: the seconds above and a reset."""

TRUTH = Fit(
    name="mysql-9.7",
    suite=SUITE,
    fitted_on=(),
    load={
        "hot_pages": 26_000.0,
        "redo_bytes_per_commit": 600.0,
        "group_operations": 4.6,
        "commit_seconds": 0.0011,
    },
    disk={"operations_per_page": 1.2},
)
"""What the real server of the tests is like."""


def conditions(server: str = "MySQL 9.7.4", write_iops: int = 1200, **others: Any) -> dict[str, Any]:  # noqa: ANN401 - any condition
    """Return what a bench writes down of a row."""
    return {
        "server": server,
        "redo_capacity": REDO,
        "buffer_pool": 2**31,
        "set": {},
        "disk": {"write_iops": write_iops, "write_mib": None},
        "not_limited": [],
        "load": {
            "kind": "update_non_index",
            "distribution": "uniform",
            "threads": 16,
            "rate": 0,
            "course": "steady",
        },
        **others,
    }


def asked(
    most: int,
    given: dict[str, Any] | None = None,
    *,
    ratio: float = 0.2,
    place: int = 1,
    seconds: int = SETTLED + COUNTED,
) -> Row:
    """Return a row before anything was measured: C/M, conditions, when it ended, the age it begins with."""
    least = 100 if most == 100 else most // 2
    limit = 73_000_000.0
    return Row(
        contender=f"{least}/{most}",
        suite=SUITE,
        variant=VARIANT,
        plan={"timing": {"reset": 30.0, "settle_most": 180.0}},
        kind="static",
        io_capacity=least,
        io_capacity_max=most,
        conditions=given or conditions(),
        settled=True,
        series=Series(
            at=[float(one) for one in range(seconds)],
            counted_from=float(seconds - COUNTED),
            modified_age=[ratio * limit, *([None] * (seconds - 1))],
            flush_limit=limit,
        ),
        when=time.strftime("%Y-%m-%dT%H:%M:%S+0000", time.gmtime(1_800_000_000 + ROW_SECONDS * place)),
    )


def measured(
    most: int,
    truth: Fit = TRUTH,
    given: dict[str, Any] | None = None,
    *,
    ratio: float = 0.2,
    place: int = 1,
    seed: int = 9,
    idle: float = 0.6,
) -> Row:
    """Return a row of a server that is as ``truth`` says, with what its device and processors did."""
    empty = asked(most, given, ratio=ratio, place=place)
    parameters = parameters_of(empty, truth)
    row = simulated(empty, parameters, seed=seed)
    pages = row.figures["pages_per_commit"]
    writes = pages * parameters.disk.page_operations(128) + parameters.load.group_operations / 16
    seen = {"device_writes_per_commit": round(writes, 4), "machine_idle": idle}
    return replace(row, figures=row.figures | seen)


def bench(root: Path, rows: Sequence[Row], suite: str = SUITE) -> Path:
    """Write rows where a bench has them and return its directory."""
    directory = root / suite
    directory.mkdir(parents=True, exist_ok=True)
    text = "".join(json.dumps(msgspec.to_builtins(row)) + "\n" for row in rows)
    (directory / "rows.jsonl").write_text(text, encoding="utf-8")
    return directory
