"""Percentiles of counted latencies, against every latency sorted one by one."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lab.workloads.histogram import Histogram, merged

LATENCIES = st.dictionaries(
    st.floats(1e-6, 100.0, allow_nan=False), st.integers(1, 50), min_size=1, max_size=30
)


def spelled_out(histogram: Histogram) -> list[float]:
    return sorted(latency for latency, count in histogram.counts.items() for _ in range(count))


@given(counts=LATENCIES, per_mille=st.integers(1, 1000))
def test_a_percentile_is_the_nearest_rank(counts: dict[float, int], per_mille: int) -> None:
    """A percentile is the latency that so many percent of the transactions did not exceed, none lower."""
    histogram = Histogram(counts)
    every = spelled_out(histogram)
    rank = max(1, -(-len(every) * per_mille // 1000))
    assert histogram.percentile(per_mille / 10) == every[rank - 1]


@given(first=LATENCIES, second=LATENCIES)
def test_merging_counts_every_transaction_once(first: dict[float, int], second: dict[float, int]) -> None:
    """The percentiles of two spans together are those of all their transactions."""
    both = Histogram(first).merge(Histogram(second))
    assert spelled_out(both) == sorted(spelled_out(Histogram(first)) + spelled_out(Histogram(second)))
    assert both.transactions == sum(first.values()) + sum(second.values())


@pytest.mark.parametrize("percent", [0.0, -1.0, 100.1, math.nan])
def test_a_percentile_out_of_range_is_refused(percent: float) -> None:
    """There is no 0th and no 101st percentile."""
    with pytest.raises(ValueError, match="out of range: above 0 and at most 100"):
        Histogram({0.001: 1}).percentile(percent)


def test_nothing_has_no_percentile() -> None:
    """Without transactions there is no latency to report."""
    with pytest.raises(ValueError, match="without transactions"):
        merged([]).percentile(50.0)
