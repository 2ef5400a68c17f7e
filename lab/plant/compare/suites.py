"""The benches that the plant is held against: their rows, each with its twin."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from lab.plant.compare.conditions import fit_for, parameters_of
from lab.plant.compare.fresh import first_on_server
from lab.plant.compare.judge import Compared
from lab.plant.compare.twin import simulated
from lab.plant.fits import Fit
from lab.report.rows import FILE_NAME, Row, read_rows

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

BENCHES = ("contenders", "disks", "ladder", "mariadb-11.8", "mariadb-10.11", "old-mysql")
"""Directories of the published benches with a closed load that changes pages evenly, on a disk whose limit
stays, in the order of the page; a suite on two servers has two.
"""

BENCH = Path("docs/results/bench")
"""Where the published benches lie in a checkout."""

MEASURED = ("block", "search")
"""Stages whose rows may have a C and M that stay."""


class Static(Struct, frozen=True):
    """A row with a C and M that stay, and whether it was the first on its server."""

    row: Row
    fresh: bool


class Variant(Struct, frozen=True):
    """The rows of one variant of a bench.

    Attributes:
        suite: name of the bench's directory.
        name: of the variant; empty where there is one only.
        fit: the parameters fitted for its server, None for the plant's own.
        plant: hash of server, disk and load.
        rows: with their twins, from the highest M down.
        left_out: why other rows could not be compared, each reason once.
    """

    suite: str
    name: str
    fit: Fit | None = None
    plant: str = ""
    rows: tuple[Compared, ...] = ()
    left_out: tuple[str, ...] = ()


def suite_of(directory: Path) -> str:
    """Return the name of the bench in a directory."""
    return directory.resolve().name


def static_rows(directory: Path) -> list[Static]:
    """Return the rows of a bench whose C and M stay as they are; none where nothing was measured yet.

    Raises:
        ReportError: they cannot be read.
    """
    path = directory / FILE_NAME
    if not path.exists() or not path.stat().st_size:
        return []
    rows = [row for row in read_rows(path) if row.series.at]
    found: list[Static] = []
    for variant in dict.fromkeys(row.variant for row in rows):
        there = [row for row in rows if row.variant == variant]
        marked = zip(there, first_on_server(there), strict=True)
        found += [Static(row, fresh) for row, fresh in marked if _stays(row)]
    return found


def _stays(row: Row) -> bool:
    return row.stage in MEASURED and row.io_capacity_max is not None


def compared(
    directory: Path,
    fits: Sequence[Fit],
    *,
    seed: int = 1,
    progress: Callable[[str], None] = lambda _: None,
) -> list[Variant]:
    """Return every variant of a bench with the twins of its rows.

    Args:
        directory: of the bench.
        fits: fitted parameters; those of its server are used.
        seed: of the plant.
        progress: told each row that is being simulated.

    Raises:
        ReportError: the rows cannot be read.
    """
    suite = suite_of(directory)
    by: dict[str, list[Static]] = {}
    for one in static_rows(directory):
        by.setdefault(one.row.variant, []).append(one)
    found: list[Variant] = []
    for name, rows in by.items():
        variant = Variant(suite, name, fit=fit_for(rows[0].row, fits))
        found.append(_with_twins(variant, rows, seed, progress))
    return found


def _with_twins(
    variant: Variant, rows: Sequence[Static], seed: int, progress: Callable[[str], None]
) -> Variant:
    fit, plant = variant.fit, ""
    pairs: list[Compared] = []
    left_out: list[str] = []
    for one in sorted(rows, key=lambda one: -(one.row.io_capacity_max or 0)):
        row, fresh = one.row, one.fresh
        progress(f"{variant.suite} {variant.name} {row.contender}")
        try:
            parameters = parameters_of(row, fit)
            twin = simulated(row, parameters, seed=seed, fresh=fresh)
        except ValueError as error:  # conditions that the plant has not, or a row without a series
            left_out.append(str(error))
            continue
        plant = plant or parameters.fingerprint()
        fitted = fit is not None and fit.saw(variant.suite, variant.name, row.io_capacity_max)
        pairs.append(Compared(row, twin, fitted=fitted, fresh=fresh))
    return replace(variant, plant=plant, rows=tuple(pairs), left_out=tuple(dict.fromkeys(left_out)))
