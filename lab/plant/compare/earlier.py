"""Twelve settings that were measured before there was a bench: figures only, no series.

Measured on MySQL 9.7.4 with 1200 write operations per second, 100 MiB of redo, a 2 GiB
buffer pool, ``oltp_update_non_index`` with 16 threads on 4 tables of 400,000 rows, uniform;
240 s a row of which the last 120 are counted, one run each. The plant goes through the same,
from an empty flush list. Of the second table, on a disk that changes every 150 s, only the
lowest seconds took part in choosing a parameter (``queued_pages``).
"""

from __future__ import annotations

from typing import NamedTuple

from lab.plant.compare.counted import Counted, commit_cells, counted
from lab.plant.parameters import DiskChange, DiskParameters, PlantParameters, ServerParameters
from lab.plant.readings import watched
from tuner.servers.families.redo_capacity import redo_limits


class Row(NamedTuple):
    """One setting and what came out: commits/s, pages/s, ages over the raw async counter."""

    io_capacity: int
    io_capacity_max: int
    mean: float
    p5: float
    lowest: float
    deviation: float
    age: float
    pages: float
    sync: float


STEADY = (
    Row(10_000, 20_000, 1289, 809, 570, 428, 0.16, 796, 0),
    Row(1_250, 2_500, 1967, 1716, 1440, 160, 0.37, 659, 0),
    Row(600, 1_200, 2252, 1773, 1531, 241, 0.53, 571, 0),
    Row(400, 800, 2522, 2241, 1838, 195, 0.66, 529, 0),
    Row(300, 600, 2657, 2292, 2083, 190, 0.75, 497, 0),
    Row(240, 480, 2828, 2546, 2284, 185, 0.86, 474, 0),
    Row(225, 450, 2829, 2395, 2169, 238, 0.89, 451, 0),
    Row(175, 350, 3023, 1880, 1564, 535, 1.03, 416, 130),
    Row(100, 100, 3008, 1239, 314, 947, 1.05, 385, 381),
)
STEADY_SECONDS = 240
STEADY_SKIPPED = 120


class Moving(NamedTuple):
    """One setting on the disk that changes: commits/s, pages/s, pages per commit."""

    io_capacity: int
    io_capacity_max: int
    mean: float
    p5: float
    lowest: float
    deviation: float
    sync: float
    pages_per_commit: float


ALTERNATING = (
    Moving(500, 1_000, 3212, 131, 65, 2463, 28, 0.218),
    Moving(350, 700, 3249, 180, 104, 2726, 131, 0.214),
    Moving(225, 450, 3652, 1205, 147, 2392, 332, 0.166),
)
ALTERNATING_SECONDS = 600
ALTERNATING_SKIPPED = 10
ALTERNATING_DISK = DiskParameters(
    timeline=tuple(DiskChange(150.0 * i, (2400.0, 800.0)[i % 2]) for i in range(4))
)


def run(parameters: PlantParameters, *, seconds: int, skipped: int, seed: int) -> Counted:
    """Return what one setting gives, counted after the skipped seconds."""
    _, samples = watched(parameters, seconds=seconds, seed=seed)
    return counted(samples[skipped:], limit=redo_limits(parameters.server.redo_capacity).raw_async)


def steady(row: Row, *, seed: int = 1) -> Counted:
    """Return what the plant gives for a row of the first table."""
    server = ServerParameters(io_capacity=row.io_capacity, io_capacity_max=row.io_capacity_max)
    return run(PlantParameters(server=server), seconds=STEADY_SECONDS, skipped=STEADY_SKIPPED, seed=seed)


def alternating(row: Moving, *, seed: int = 1) -> Counted:
    """Return what the plant gives for a row of the second table."""
    server = ServerParameters(io_capacity=row.io_capacity, io_capacity_max=row.io_capacity_max)
    parameters = PlantParameters(server=server, disk=ALTERNATING_DISK)
    return run(parameters, seconds=ALTERNATING_SECONDS, skipped=ALTERNATING_SKIPPED, seed=seed)


def report() -> list[str]:
    """Return both comparisons as lines of Markdown: plant / measured, and the plant's error."""
    lines = [
        f"Plant {PlantParameters().fingerprint()}, seed 1; each cell is plant / measured.",
        "",
        "| C/M | commits/s | error | p5 | min | sd | checkpoint age / raw async | error | pages/s | sync |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for row in STEADY:
        found = steady(row)
        lines.append(
            f"| {row.io_capacity}/{row.io_capacity_max} {commit_cells(found, row)}"
            f"| {found.age:.2f} / {row.age:.2f} | {found.age - row.age:+.3f} "
            f"| {found.pages:.0f} / {row.pages:.0f} | {found.sync:.0f} / {row.sync:.0f} |"
        )
    lines += [
        "",
        "Disk alternating between 2400 and 800 write operations per second every 150 s:",
        "",
        "| C/M | commits/s | error | p5 | min | sd | sync pages/s | pages per commit |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for moving in ALTERNATING:
        found = alternating(moving)
        lines.append(
            f"| {moving.io_capacity}/{moving.io_capacity_max} {commit_cells(found, moving)}"
            f"| {found.sync:.0f} / {moving.sync:.0f} "
            f"| {found.pages / found.mean:.3f} / {moving.pages_per_commit:.3f} |"
        )
    return lines
