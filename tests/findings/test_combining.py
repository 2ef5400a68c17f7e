"""What is made of the one age that a server left alone shows."""

from __future__ import annotations

import pytest

from tuner.findings.combining import Seen, even, fit, touches_of

AGE, DENSITY, ROWS = 0.3, 1 / 1200, 1 / 3000


@pytest.mark.parametrize("rows", [0.0, ROWS, 1 / 500])
def test_advise_and_redo_foretell_the_same_from_one_age(rows: float) -> None:
    """The likeliest of the table of sizes is the figure of the verdict."""
    curve = even(touches_of(rows, DENSITY), AGE, DENSITY)

    assert fit([Seen(AGE, DENSITY, 120.0)], rows=rows).at(0.9).likeliest == pytest.approx(curve.at(0.9))


def test_row_changes_that_write_much_redo_touch_several_pages() -> None:
    """Few rows with much redo for each are no reason to foretell that next to nothing combines."""
    found = fit([Seen(AGE, DENSITY, 120.0)], rows=ROWS).at(3 * AGE)

    assert found.likeliest < 0.6 * DENSITY
    assert found.low <= found.likeliest <= found.high
