"""Writers that wait for redo space: the simulated server beside the published rows of a real one."""

from __future__ import annotations

from pathlib import Path

import pytest

from lab.plant.compare.conditions import fit_for, parameters_of
from lab.plant.compare.suites import BENCH, static_rows
from lab.plant.compare.twin import simulated
from lab.plant.fits import load_fits

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize("most", [400, 382, 366, 306, 100])
def test_writers_find_the_log_full_in_as_many_seconds_as_on_the_real_server(most: int) -> None:
    """Of two minutes at a published M, within five: none at 400, and some twenty at 100."""
    rows = [one for one in static_rows(ROOT / BENCH / "contenders") if one.row.io_capacity_max == most]
    for one in rows:
        twin = simulated(one.row, parameters_of(one.row, fit_for(one.row, load_fits())), fresh=one.fresh)
        stalled = one.row.figures["stall_seconds"]

        assert twin.figures["stall_seconds"] == pytest.approx(stalled, abs=5)
    assert rows
