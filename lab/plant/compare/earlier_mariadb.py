"""Six settings that were measured on MariaDB 11.8.6 before there was a bench: figures only, no series.

1200 write operations per second, 100 MiB of redo, 16 threads of ``oltp_update_non_index`` on 4 tables of
400,000 rows, uniform; 120 to 160 s a row of which the last half is counted, one run each. The age is that of
the checkpoint over ``Innodb_checkpoint_max_age``.

How the rows began was not written down, nor in which order they were run. The plant begins with tables that
have just been filled, for each value of ``innodb_max_dirty_pages_pct_lwm`` once: the log is full up to the
flush limit with the pages that were filled last, each as old as its place in the table. Then it goes through
the rows of that value by their turn, 140 s each. The turns with 0.001 are, of the 24 orders, the one with the
least mean error of age and commits in the two fitted rows, over six seeds; with 0 they are as in the table.

What was flushed within one moment is due within one moment, a log later, so that a row shows what the one
before it did. ``starts`` runs each row after each of several others.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, NamedTuple

from lab.plant.clock import SimClock
from lab.plant.compare.counted import Counted, commit_cells, counted
from lab.plant.neighbours import Areas
from lab.plant.parameters import DiskParameters, LoadParameters, PlantParameters, ServerParameters
from lab.plant.server import SimulatedServer
from tuner.records import Capacity

if TYPE_CHECKING:
    from collections.abc import Sequence

PAGE_BYTES = 16_384
"""Redo for filling a page: what it holds."""

SECONDS = 140
SKIPPED = 70

LOAD = LoadParameters(redo_bytes_per_commit=440.0, group_operations=5.58)
DISK = DiskParameters(operations_per_page=1.017)
"""The two rows marked as fitted decide three parameters: both costs of the device, from their commits and
pages per second; the redo of a commit, in steps of 10 bytes, from the least mean error over six seeds. The
others are MySQL's."""


class Row(NamedTuple):
    """One setting and what came out: rows changed a second, age over its maximum, pages/s; and its turn."""

    low_water: float
    io_capacity: int
    io_capacity_max: int
    mean: float
    p5: float
    lowest: float
    deviation: float
    age: float
    pages: float
    turn: int
    fitted: bool = False


ROWS = (
    Row(0.0, 200, 2_000, 2406, 251, 209, 1097, 0.73, 336, turn=1),
    Row(0.0, 300, 600, 2380, 1552, 1529, 659, 0.90, 346, turn=2),
    Row(0.001, 200, 2_000, 2083, 1350, 622, 671, 0.62, 457, turn=1),
    Row(0.001, 500, 1_000, 2108, 2017, 1985, 70, 0.54, 434, turn=2, fitted=True),
    Row(0.001, 250, 500, 2501, 1975, 1678, 291, 0.89, 306, turn=4, fitted=True),
    Row(0.001, 210, 420, 2501, 2103, 1897, 354, 0.89, 315, turn=3),
)


def parameters(low_water: float) -> PlantParameters:
    """Return the simulated server with a value of ``innodb_max_dirty_pages_pct_lwm``, percent."""
    server = ServerParameters(flavour="mariadb-11.8", max_dirty_pages_pct_lwm=low_water)
    return PlantParameters(server=server, load=LOAD, disk=DISK)


def run(*, seed: int = 1) -> list[tuple[Row, Counted]]:
    """Return what the plant gives for each row, in the order of the table."""
    found: dict[Row, Counted] = {}
    for low_water, rows in itertools.groupby(ROWS, key=lambda row: row.low_water):
        turns = sorted(rows, key=lambda row: row.turn)
        pairs = [Capacity(row.io_capacity, row.io_capacity_max) for row in turns]
        found |= zip(turns, _one_after_another(low_water, pairs, seed=seed), strict=True)
    return [(row, found[row]) for row in ROWS]


def starts(*, seed: int = 1) -> list[tuple[Row, list[Counted]]]:
    """Return what the plant gives for each row that is the first, or comes after 140 s of another pair."""
    pairs = dict.fromkeys(Capacity(row.io_capacity, row.io_capacity_max) for row in ROWS)
    found = []
    for row in ROWS:
        wanted = Capacity(row.io_capacity, row.io_capacity_max)
        begun = [[wanted], *([pair, wanted] for pair in pairs)]
        found.append((row, [_one_after_another(row.low_water, one, seed=seed)[-1] for one in begun]))
    return found


def _one_after_another(low_water: float, pairs: Sequence[Capacity], *, seed: int) -> list[Counted]:
    """Return what each pair of C and M gives on one server whose tables were just filled, 140 s each."""
    clock = SimClock()
    server = SimulatedServer(parameters(low_water), clock, seed=seed)
    _fill(server)
    found = []
    for number, wanted in enumerate(pairs):
        server.set_capacity(wanted)
        samples = []
        for second in range(SKIPPED, SECONDS + 1):
            clock.advance_to(float(number * SECONDS + second))
            samples.append(server.read())
        found.append(counted(samples, limit=samples[0].stall_point))
    return found


def _fill(server: SimulatedServer) -> None:
    """Let the log hold as much redo of filled pages as fits below the flush limit."""
    engine = server.engine
    if isinstance(engine.ledger, Areas):
        engine.redo.lsn += engine.redo.flush_limit
        engine.ledger.fill(engine.redo.flush_limit / PAGE_BYTES, engine.redo.lsn)


def report() -> list[str]:
    """Return the comparison as lines of Markdown: plant / measured, and the plant's error."""
    plants = [parameters(low_water).fingerprint() for low_water in dict.fromkeys(row[0] for row in ROWS)]
    lines = [
        f"Plants {' and '.join(plants)}, seed 1; each cell is plant / measured.",
        "",
        "| lwm | C/M |  | commits/s | error | p5 | min | sd | checkpoint age / maximum | error | pages/s |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for row, found in run():
        lines.append(
            f"| {row.low_water:g} | {row.io_capacity}/{row.io_capacity_max} | {'*fitted*' * row.fitted} "
            f"{commit_cells(found, row)}"
            f"| {found.age:.2f} / {row.age:.2f} | {found.age - row.age:+.3f} "
            f"| {found.pages:.0f} / {row.pages:.0f} |"
        )
    return [*lines, "", *_by_start()]


def _by_start() -> list[str]:
    """Return what the start decides as lines of Markdown: lowest to highest of the plant / measured."""
    lines = [
        "Each row as the first one, and after 140 s of each of the five pairs; lowest to highest / measured.",
        "",
        "| lwm | C/M | commits/s | p5 | sd | checkpoint age / maximum | pages/s |",
        "|---|---|---|---|---|---|---|",
    ]
    for row, found in starts():
        cells = [f"{row.low_water:g}", f"{row.io_capacity}/{row.io_capacity_max}"]
        for name, digits in (("mean", 0), ("p5", 0), ("deviation", 0), ("age", 2), ("pages", 0)):
            values = [getattr(one, name) for one in found]
            span = f"{min(values):.{digits}f} to {max(values):.{digits}f}"
            cells.append(f"{span} / {getattr(row, name):.{digits}f}")
        lines.append(f"| {' | '.join(cells)} |")
    return lines
