"""The page of the plant's error in a checkout: where it lies, what it is made from, and writing it."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from lab.plant.compare import earlier_mariadb
from lab.plant.compare.page import MARK, document
from lab.plant.compare.suites import BENCH, BENCHES, compared, static_rows
from lab.plant.fits import load_fits
from lab.plant.parameters import PlantParameters
from lab.report.files import replace_text

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

PAGE = Path("docs/results/plant.md")


def found(root: Path) -> list[Path]:
    """Return the directories of the benches that the plant is held against, as far as they were begun."""
    return [path for name in BENCHES if (path := root / BENCH / name).is_dir()]


def write(root: Path, *, progress: Callable[[str], None] = lambda _: None) -> Path:
    """Write the page of a checkout, and return its path.

    Raises:
        ReportError: rows cannot be read, or the page cannot be written.
        FitError: fitted parameters cannot be read.
    """
    replace_text(root / PAGE, page(found(root), progress=progress))
    return root / PAGE


def page(
    directories: Sequence[Path], *, seed: int = 1, progress: Callable[[str], None] = lambda _: None
) -> str:
    """Return the page of these benches.

    Raises:
        ReportError: rows cannot be read.
        FitError: fitted parameters cannot be read.
    """
    fits = load_fits()
    variants = [one for path in directories for one in compared(path, fits, seed=seed, progress=progress)]
    return document(variants, state=state(directories))


def state(directories: Sequence[Path]) -> str:
    """Return a hash of everything that the page is made from: the plant, the fits and the rows.

    Raises:
        ReportError: rows cannot be read.
        FitError: fitted parameters cannot be read.
    """
    rows = [
        (path.resolve().name, one.row.variant, one.row.contender, one.row.block, one.row.when)
        for path in directories
        for one in static_rows(path)
    ]
    plants = PlantParameters().fingerprint(), earlier_mariadb.parameters(0.0).fingerprint()
    encoded = msgspec.json.encode((plants, load_fits(), rows), order="deterministic")
    return hashlib.sha256(encoded).hexdigest()[:12]


def state_of(document: str) -> str:
    """Return the hash that a page says it is made from; empty where it says none."""
    return document.partition(MARK)[2].partition(" ")[0]
