"""The simulated MariaDB against six measured rows."""

from __future__ import annotations

import pytest

from lab.plant.compare import earlier_mariadb as earlier
from lab.plant.compare.counted import Counted

Found = list[tuple[earlier.Row, Counted]]


@pytest.fixture(scope="module", params=[1, 2], ids=["seed-1", "seed-2"])
def found(request: pytest.FixtureRequest) -> Found:
    """Return what the plant gives for each row."""
    return earlier.run(seed=request.param)


def test_throughput_is_what_was_measured(found: Found) -> None:
    """For all six settings throughput is within 10 % of the real server's, and pages/s within 20 %."""
    assert len(found) == len(earlier.ROWS)
    for row, counted in found:
        assert counted.mean == pytest.approx(row.mean, rel=0.1)
        assert counted.pages == pytest.approx(row.pages, rel=0.2)


def test_the_age_is_what_was_measured(found: Found) -> None:
    """The checkpoint age is within 0.05 of the real one; with M = 2000, where the start decides, 0.2."""
    for row, counted in found:
        assert counted.age == pytest.approx(row.age, abs=0.2 if row.io_capacity_max == 2000 else 0.05)


def test_writers_starve_after_another_setting_and_not_after_the_same() -> None:
    """A wave that a large M made is due once more under the next M; one log later seconds are as measured."""
    row, begun = earlier.starts()[1]
    _, after_default, after_itself, *_ = begun
    assert (row.io_capacity_max, row.p5) == (600, 1552)
    assert after_default.p5 < 0.15 * row.p5
    assert after_itself.p5 == pytest.approx(row.p5, rel=0.1)
    assert after_itself.deviation == pytest.approx(row.deviation, rel=0.15)


def test_a_large_m_at_the_flush_limit_starves_the_writers(found: Found) -> None:
    """With the defaults there are seconds with next to nothing among full ones, as was measured."""
    row, counted = found[0]
    assert counted.p5 < 0.15 * counted.mean
    assert counted.deviation == pytest.approx(row.deviation, rel=0.3)


def test_with_m_near_the_demand_throughput_is_as_even_as_measured(found: Found) -> None:
    """With a low-water mark and M up to 1000 the slowest seconds are within 20 % of the real server's."""
    for row, counted in found[3:]:
        assert counted.p5 == pytest.approx(row.p5, rel=0.15)
        assert counted.lowest == pytest.approx(row.lowest, rel=0.2)


def test_the_report_has_every_row_and_says_which_are_fitted() -> None:
    """Each measured setting stands beside the plant's numbers, with the fitted ones marked."""
    lines = earlier.report()
    rows = [line for line in lines if line.startswith("| 0")][: len(earlier.ROWS)]
    assert [line.split("|")[2].strip() for line in rows] == [
        f"{row.io_capacity}/{row.io_capacity_max}" for row in earlier.ROWS
    ]
    assert ["*fitted*" in line for line in rows] == [row.fitted for row in earlier.ROWS]


def test_the_report_says_for_every_row_what_the_start_decides() -> None:
    """Below it the same settings have the plant's lowest and highest figures beside the measured ones."""
    lines = earlier.report()
    rows = [line for line in lines if line.startswith("| 0")][len(earlier.ROWS) :]
    for line, row in zip(rows, earlier.ROWS, strict=True):
        assert f"| {row.io_capacity}/{row.io_capacity_max} |" in line
        assert f"/ {row.mean} |" in line
        assert " to " in line
