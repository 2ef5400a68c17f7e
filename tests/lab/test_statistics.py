"""Percentiles, bounds of means and ratios, and slopes."""

from __future__ import annotations

import pytest

from lab.statistics import percentile, ratio_bounds, slope, t95


def test_percentiles_interpolate() -> None:
    """A percentile between two values lies between them, and of no values there is none."""
    assert percentile([4.0, 1.0, 3.0, 2.0], 0) == 1.0
    assert percentile([4.0, 1.0, 3.0, 2.0], 50) == 2.5
    assert percentile([4.0, 1.0, 3.0, 2.0], 100) == 4.0
    with pytest.raises(ValueError, match="no values"):
        percentile([], 50)


def test_a_paired_ratio_has_t_bounds() -> None:
    """Three pairs give Student's bounds; one pair gives a ratio without bounds, a zero none at all."""
    found = ratio_bounds([(200.0, 100.0), (210.0, 100.0), (190.0, 100.0)])
    assert found is not None
    assert found.mean == pytest.approx(1.998, abs=0.001)
    assert found.low is not None
    assert found.high is not None
    assert found.low < 1.9
    assert found.high > 2.1
    single = ratio_bounds([(2.0, 1.0)])
    assert single is not None
    assert single.low is None
    assert ratio_bounds([(1.0, 0.0)]) is None


@pytest.mark.parametrize(("freedom", "t"), [(1, 12.706), (9, 2.262), (10, 2.228), (12, 2.179), (19, 2.093)])
def test_bounds_of_many_blocks_are_no_narrower_than_students_t(freedom: int, t: float) -> None:
    """Up to the most blocks that a plan may have, t is right within a hundredth (table of Student's t)."""
    assert t95(freedom) == pytest.approx(t, abs=0.01)


def test_a_slope_has_bounds() -> None:
    """A straight line has a slope without spread; three points are the fewest."""
    exact = slope([0.0, 1.0, 2.0, 3.0], [1.0, 3.0, 5.0, 7.0])
    assert (exact.mean, exact.low, exact.high) == pytest.approx((2.0, 2.0, 2.0))
    noisy = slope([0.0, 1.0, 2.0, 3.0], [0.0, 1.0, -1.0, 0.0])
    assert noisy.low is not None
    assert noisy.high is not None
    assert noisy.low < 0.0 < noisy.high
    with pytest.raises(ValueError, match="no slope"):
        slope([0.0, 1.0], [0.0, 1.0])
