"""What the demo says of the half minute that it compares with."""

from __future__ import annotations

import pytest

from lab.demo import caution
from tests.factory import estimate, would_set


@pytest.mark.parametrize(
    ("ratios", "said"),
    [
        ((0.20, 0.33, 0.44), "0.20 to 0.44"),
        ((0.60, 0.40), "0.60 to 0.40"),
        ((0.50, 0.62, 0.55), ""),
        ((), ""),
    ],
)
def test_a_default_that_was_not_at_rest_is_compared_with_a_caution(
    ratios: tuple[float, ...], said: str
) -> None:
    """Whoever reads the figures learns that they are of an age on its way, and from where to where."""
    shown = caution([would_set(estimate=estimate(age_ratio=one)) for one in ratios], "200/2000")

    assert said in shown
    assert ("200/2000" in shown) == bool(said)
