"""What page writes wear or cost, as ``daemon.write_price`` says it."""

from __future__ import annotations

import pytest

from tests.config.support import Given
from tuner.config.price import write_price

PAGE = 16_384


@pytest.mark.parametrize(
    ("text", "for_a_million", "unit"),
    [
        ("600 TBW", 100 * 1e6 * PAGE / 600e12, "% of 600 TBW"),
        ("1 DWPD of 3.84 TB for 5 years", 100 * 1e6 * PAGE / (3.84e12 * 1825), "% of 7008 TBW"),
        ("0.20 USD per million", 0.20, "USD"),
    ],
)
def test_a_page_wears_or_costs_what_was_given(text: str, for_a_million: float, unit: str) -> None:
    """Rated endurance, drive writes a day and a price for operations say what a million pages come to."""
    found = write_price(text, page_size=PAGE)

    assert found is not None
    assert (1e6 * found.for_page, found.unit) == (pytest.approx(for_a_million), unit)


@pytest.mark.parametrize("text", ["600", "600 TB", "cheap", "0.20 dollars per million", "1 DWPD for 5 years"])
def test_anything_else_is_refused_with_what_would_be_right(given: Given, text: str) -> None:
    """The error names the key, the value and the three ways to say it."""
    (problem,) = given.refused(f'[daemon]\nwrite_price = "{text}"\n')

    assert f'write_price = "{text}": must be "600 TBW"' in problem
