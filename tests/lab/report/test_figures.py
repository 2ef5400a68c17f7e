"""Numbers are written as people read them."""

from __future__ import annotations

import pytest

from lab.report.figures import plain


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
