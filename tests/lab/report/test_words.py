"""Numbers, the terminal's table and thinned series say what the rows say."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lab.report.charts import thin, with_gaps
from lab.report.figures import plain
from lab.report.files import bench_summary
from lab.report.rows import rows_of
from lab.report.summary import groups
from lab.report.words import comparison as table
from tests.lab.report.factory import CONDITIONS, row, suite


def test_a_variant_that_is_still_searched_for_hides_no_other() -> None:
    """A bench that was stopped while it searched shows what it has, and nothing of the search."""
    searched = row("folk rule", stage="search", variant="slow disk") | {"contender": "M = 400"}
    lines = table(groups(rows_of([searched, *suite()])))
    assert any(line.startswith("default") for line in lines)
    assert not any("M = 400" in line or "slow disk" in line for line in lines)


def test_what_could_not_be_limited_is_said_in_the_terminal_too() -> None:
    """Who never opens the page knows what the figures are worth."""
    refused = "disk not limited: it needs root"
    rows = [row(name, conditions=CONDITIONS | {"not_limited": [refused]}) for name in ("default", "cascade")]

    assert f"not limited: {refused}" in table(groups(rows_of(rows)))


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (6.7e-5, "0.000067"),
        (-3e-5, "-0.00003"),
        (0.0005, "0.0005"),
        (0.05, "0.050"),
        (0.0, "0"),
        (12.34, "12.3"),
    ],
)
def test_a_small_number_is_written_out(value: float, said: str) -> None:
    """Nobody takes reads per commit of 6.7e-05 for 6.7."""
    assert plain(value) == said


VARIANTS = ["open, 50 %", "open, 70 %"]


def test_rows_of_two_variants_can_be_told_apart() -> None:
    """Block 1 of one variant is not block 1 of the other."""
    rows = rows_of([row(variant=name) for name in VARIANTS])
    assert [group["variant"] for group in bench_summary(rows)["groups"]] == VARIANTS


def test_who_was_left_out_is_in_the_summary_with_the_reason() -> None:
    """A machine that counts contenders finds the one that is missing."""
    out = {"schema": 1, "stage": "left out", "contender": "folk", "why": "no limit is known"}
    (group,) = bench_summary(rows_of([row(), out]))["groups"]

    assert group["left_out"] == {"folk": "no limit is known"}


VALUES = st.lists(st.none() | st.floats(-1e9, 1e9), min_size=1, max_size=400)


@given(VALUES, st.integers(10, 100))
def test_no_dip_no_peak_and_no_gap_is_lost(values: list[float | None], points: int) -> None:
    """Lowest, highest and whether there is a gap survive, in every tenth of the time; nothing is invented."""
    at = [float(second) for second in range(len(values))]

    times, found = thin(at, {"commits": values}, points)

    kept = found["commits"]
    known = [value for value in values if value is not None]
    assert {min(known, default=None), max(known, default=None)} <= {*kept, None}
    assert (None in kept) == (None in values)
    assert {one for one in kept if one is not None} <= set(known)
    assert times == sorted(set(times))
    assert len(times) <= max(points, 1.5 * points + 3, 9)


def test_seconds_that_are_missing_become_a_gap() -> None:
    """Where the record jumps there is a point without a value, so that no line crosses it."""
    at = [0.0, 1.0, 2.0, 3.0, 60.0, 61.0, 62.0]

    times, found = with_gaps(at, {"commits": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]})

    assert times == [0.0, 1.0, 2.0, 3.0, 4.0, 60.0, 61.0, 62.0]
    assert found["commits"] == [1.0, 2.0, 3.0, 4.0, None, 5.0, 6.0, 7.0]
