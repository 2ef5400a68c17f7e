"""Sizes as people read them."""

from __future__ import annotations

import pytest

from tuner.system.amounts import size


@pytest.mark.parametrize(
    ("count", "said"),
    [
        (0, "0 B"),
        (700, "700 B"),
        (2**26, "64 MiB"),
        (27_400_000, "26.1 MiB"),
        (1.5 * 2**30, "1.5 GiB"),
        (1600 * 2**20, "1600 MiB"),
        (1600 * 2**20 + 1, "1.56 GiB"),
        (20 * 2**30, "20 GiB"),
        (95.37 * 2**30, "95.4 GiB"),
        (-3 * 2**20, "-3 MiB"),
    ],
)
def test_three_digits_tell_a_size_and_more_where_somebody_set_it(count: float, said: str) -> None:
    """What was measured has three digits; whole MiB, as a redo log is set, are said exactly."""
    assert size(count) == said
