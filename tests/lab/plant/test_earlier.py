"""The plant against the measured tables."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from lab.plant.compare import earlier
from lab.plant.parameters import PlantParameters

DOCS = Path(__file__).parents[3] / "docs" / "simulate.md"


@pytest.mark.parametrize("row", earlier.STEADY, ids=lambda row: f"M={row.io_capacity_max}")
def test_a_static_setting_gives_what_was_measured(row: earlier.Row) -> None:
    """For every measured M the plant is within 6 % of the throughput and 0.06 of the age."""
    found = earlier.steady(row)
    assert found.mean == pytest.approx(row.mean, rel=0.06)
    assert found.age == pytest.approx(row.age, abs=0.06)
    assert found.pages == pytest.approx(row.pages, rel=0.06)
    assert found.sync == pytest.approx(row.sync, abs=60)


def test_age_and_throughput_follow_m_as_measured() -> None:
    """The lower M, the higher the age; throughput rises with it as long as no page is sync-flushed."""
    found = [earlier.steady(row) for row in earlier.STEADY]
    assert all(later.age > earlier.age for earlier, later in itertools.pairwise(found))
    calm = [counted.mean for counted in found if counted.sync == 0]
    assert calm == sorted(calm)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_below_the_demand_throughput_comes_in_waves(seed: int) -> None:
    """M = 100 has a fine mean and seconds far below it, more than three times as uneven as M = 480."""
    waves = earlier.steady(earlier.STEADY[-1], seed=seed)
    calm = earlier.steady(earlier.STEADY[5], seed=seed)
    assert waves.mean > calm.mean
    assert waves.lowest < 0.7 * waves.mean
    assert waves.deviation > 3 * calm.deviation


@pytest.mark.parametrize("row", earlier.ALTERNATING, ids=lambda row: f"M={row.io_capacity_max}")
def test_a_changing_disk_gives_what_was_measured(row: earlier.Moving) -> None:
    """On the disk that changes every 150 s the plant is within 8 % of the throughput, and starves alike."""
    found = earlier.alternating(row)
    assert found.mean == pytest.approx(row.mean, rel=0.08)
    assert found.p5 == pytest.approx(row.p5, abs=150)


def test_the_report_has_every_row() -> None:
    """The command prints each measured setting beside the plant's numbers."""
    lines = "\n".join(earlier.report())
    assert "10000/20000" in lines
    assert "500/1000" in lines


def test_the_published_error_is_of_this_plant() -> None:
    """docs/simulate.md prints the comparison of the parameters in force, not of older ones."""
    assert f"Plant {PlantParameters().fingerprint()}," in DOCS.read_text(encoding="utf-8")
