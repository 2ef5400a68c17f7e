"""What is made of the one age that a server left alone shows."""

from __future__ import annotations

from tuner.findings.combining import Seen, fit

AGE, DENSITY, ROWS = 0.3, 1 / 1200, 1 / 3000


def test_row_changes_that_write_much_redo_touch_several_pages() -> None:
    """Few rows with much redo for each are no reason to foretell that next to nothing combines."""
    found = fit([Seen(AGE, DENSITY, 120.0)], rows=ROWS).at(3 * AGE)

    assert found.likeliest < 0.6 * DENSITY
    assert found.low <= found.likeliest <= found.high
