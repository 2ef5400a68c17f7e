"""Which pages the simulated clients touch, and what a pool that is too small makes of it."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lab.plant.load import Stream, streams
from lab.plant.parameters import DiskParameters, LoadParameters
from lab.plant.pool import pool
from tests.lab.plant.support import plant, rate, watched


@given(
    load=st.builds(
        LoadParameters,
        distribution=st.sampled_from(["uniform", "zipf", "hot_set"]),
        hot_pages=st.floats(100.0, 1e7),
        zipf_exponent=st.floats(0.1, 2.0),
        hot_share=st.floats(0.01, 0.99),
        hot_touches=st.floats(0.01, 0.99),
        pages_per_commit=st.floats(0.1, 50.0),
    )
)
def test_a_distribution_keeps_pages_and_touches(load: LoadParameters) -> None:
    """However the touches fall, a commit touches as many pages as it is said to, out of all of them."""
    found = streams(load)
    assert sum(stream.touches for stream in found) == pytest.approx(load.pages_per_commit)
    assert sum(stream.pages for stream in found) == pytest.approx(load.hot_pages, rel=1e-6)


def test_zipf_is_as_uneven_as_its_exponent_says() -> None:
    """With exponent 0.99 the hottest tenth of 10 000 pages gets three quarters of the touches."""
    found = streams(LoadParameters(distribution="zipf", hot_pages=10_000.0))
    seen = touched = 0.0
    for stream in found:
        share = min(1.0, max(0.0, 1_000.0 - seen) / stream.pages)
        seen += stream.pages
        touched += share * stream.touches
    exact = sum(rank**-0.99 for rank in range(1, 1_001)) / sum(rank**-0.99 for rank in range(1, 10_001))
    assert touched == pytest.approx(exact, abs=0.05)


def test_uneven_touches_combine_more_writes() -> None:
    """At the same setting a load on a hot set flushes fewer pages for a commit than an even one."""
    per_commit = {}
    for kind in ("uniform", "zipf", "hot_set"):
        _, samples = watched(
            plant(load=LoadParameters(distribution=kind), io_capacity=300, io_capacity_max=600), 400
        )
        per_commit[kind] = rate(samples[200:], "pages_adaptive") / rate(samples[200:], "commits")
    assert per_commit["hot_set"] < per_commit["zipf"] < per_commit["uniform"]


def test_new_pages_are_written_once_each() -> None:
    """A load that only fills new pages flushes in the end as many as it filled, at any age."""
    load = LoadParameters(pages_per_commit=0.0, appended_pages=0.02)
    _, samples = watched(plant(load=load, io_capacity=300, io_capacity_max=600), 600)
    pages = rate(samples[300:], "pages_adaptive")
    assert pages == pytest.approx(0.02 * rate(samples[300:], "commits"), rel=0.03)


def test_a_pool_that_holds_all_pages_never_reads() -> None:
    """Where all pages fit there is nothing to evict."""
    assert pool(1_000, [Stream(900.0, 1.0)]) is None


def test_new_pages_are_never_read_but_leave_one_for_one() -> None:
    """A full pool of new pages reads nothing, and keeps each for as many commits as it has pages."""
    found = pool(1_000, [Stream(math.inf, 1.0)])
    assert found is not None
    assert (found.misses, found.evictions) == (0.0, (1.0,))
    assert found.held == pytest.approx(1_000.0)


def test_an_even_load_misses_what_does_not_fit() -> None:
    """With touches spread evenly the share of misses is the share of the pages that are not in the pool."""
    found = pool(600, [Stream(1_000.0, 1.0)])
    assert found is not None
    assert found.misses == pytest.approx(0.4, rel=1e-3)


def test_hot_pages_stay_and_cold_ones_go() -> None:
    """Of two sets of pages the hot one stays in a pool that is too small for both."""
    found = pool(600, [Stream(500.0, 0.9), Stream(5_000.0, 0.1)])
    assert found is not None
    hot, cold = found.evictions
    assert hot < 0.1 * 0.9
    assert cold > 0.9 * 0.1


def test_a_small_pool_flushes_by_itself() -> None:
    """A pool that is too small writes dirty pages whatever M, keeps the age low, and costs commits."""
    _, samples = watched(plant(io_capacity=300, io_capacity_max=600, buffer_pool_pages=8_000), 400)
    _, roomy = watched(plant(io_capacity=300, io_capacity_max=600), 400)
    assert rate(samples[200:], "pages_lru") > 100.0
    assert samples[-1].age_ratio < 0.3 * roomy[-1].age_ratio
    assert rate(samples[200:], "commits") < 0.8 * rate(roomy[200:], "commits")


def test_reads_limit_a_load_that_misses() -> None:
    """On a disk that reads 500 pages/s, a load that misses two fifths of its pages commits 1250 a second."""
    disk = DiskParameters(read_iops=500.0)
    load = LoadParameters(hot_pages=20_000.0, noise=0.0)
    parameters = plant(disk=disk, load=load, buffer_pool_pages=12_000, io_capacity=300, io_capacity_max=600)
    _, samples = watched(parameters, 300)
    assert rate(samples[150:], "commits") <= 1_260.0
