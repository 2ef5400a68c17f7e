"""Which pages the load touches, and a buffer pool that does not hold them all."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lab.plant.load import Stream, streams
from lab.plant.parameters import DiskChange, DiskParameters, LoadChange, LoadParameters
from lab.plant.pool import pool
from tests.lab.plant.support import plant, rate, readings, watched, with_iops


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
        samples = readings(400, load=LoadParameters(distribution=kind), m=600)
        per_commit[kind] = rate(samples[200:], "pages_adaptive") / rate(samples[200:], "commits")
    assert per_commit["hot_set"] < per_commit["zipf"] < per_commit["uniform"]


def test_new_pages_are_written_once_each() -> None:
    """A load that only fills new pages flushes in the end as many as it filled, at any age."""
    load = LoadParameters(pages_per_commit=0.0, appended_pages=0.02)
    samples = readings(600, load=load, m=600)
    pages = rate(samples[300:], "pages_adaptive")
    assert pages == pytest.approx(0.02 * rate(samples[300:], "commits"), rel=0.03)


def test_a_small_pool_flushes_by_itself() -> None:
    """A pool that is too small writes dirty pages whatever M, keeps the age low, and costs commits."""
    samples = readings(400, m=600, buffer_pool_pages=8_000)
    roomy = readings(400, m=600)
    assert rate(samples[200:], "pages_lru") > 100.0
    assert samples[-1].age_ratio < 0.3 * roomy[-1].age_ratio
    assert rate(samples[200:], "commits") < 0.8 * rate(roomy[200:], "commits")


def test_reads_limit_a_load_that_misses() -> None:
    """On a disk that reads 500 pages/s, a load that misses two fifths of its pages commits 1250 a second."""
    disk = DiskParameters(read_iops=500.0)
    load = LoadParameters(hot_pages=20_000.0, noise=0.0)
    samples = readings(300, disk=disk, load=load, buffer_pool_pages=12_000, m=600)
    assert rate(samples[150:], "commits") <= 1_260.0


FAST = DiskParameters(timeline=(DiskChange(0.0, 60_000.0),))
LARGE_REDO = 17_179_869_184
"""Redo that no run here fills, so that the age asks for no page."""

STREAMS = st.lists(st.builds(Stream, pages=st.floats(100.0, 1e6), touches=st.floats(0.01, 10.0)), min_size=1)


@given(streams=STREAMS, frames=st.floats(50.0, 1e5), new=st.sampled_from([0.0, 0.02, 1.0]))
def test_what_comes_in_goes_out(streams: list[Stream], frames: float, new: float) -> None:
    """A full pool drives out a page for each that is read or filled, each new one included."""
    found = pool(frames, [*streams, Stream(math.inf, new)])
    if found is None:
        assert new == 0.0
        assert sum(one.pages for one in streams) <= frames
    else:
        assert sum(found.evictions) == pytest.approx(found.misses + new)
        assert found.evictions[-1] == new
        assert found.held >= 0.0


@pytest.mark.parametrize(
    "load",
    [
        LoadParameters(hot_pages=100_000.0),
        LoadParameters(appended_pages=1.0),
        LoadParameters(hot_pages=100_000.0, appended_pages=0.5),
        LoadParameters(hot_pages=15_000.0, appended_pages=0.05, pages_per_commit=8.0),
        LoadParameters(hot_pages=50_000.0, distribution="hot_set"),
    ],
    ids=["hot", "appended", "both", "nearly fits", "hot set"],
)
def test_no_more_pages_are_dirty_than_the_pool_has(load: LoadParameters) -> None:
    """With redo for hours and C = M = 100 a pool of 20,000 pages fills with dirty ones, and not with more."""
    samples = readings(
        200,
        disk=FAST,
        load=load,
        redo_capacity=LARGE_REDO,
        buffer_pool_pages=20_000,
        io_capacity=100,
        io_capacity_max=100,
        max_dirty_pages_pct=99.9,
        lru_scan_depth=100_000,
    )
    assert max(sample.pages_dirty for sample in samples) <= 20_000
    assert samples[-1].pages_lru > 0
    assert rate(samples[100:], "commits") > 100.0


def test_a_pool_full_of_dirty_pages_commits_no_faster_than_it_writes() -> None:
    """Where every commit fills a new page there are as many commits as the disk writes pages."""
    load = LoadParameters(appended_pages=1.0, pages_per_commit=0.0)
    parameters = plant(load=load, redo_capacity=LARGE_REDO, buffer_pool_pages=20_000, lru_scan_depth=8192)
    _, samples = watched(parameters, 400)
    written = sum(rate(samples[200:], name) for name in ("pages_lru", "pages_adaptive", "pages_sync"))
    assert rate(samples[200:], "commits") == pytest.approx(written, rel=0.02)
    assert written * parameters.disk.page_operations(128) < 1200.0


def test_a_new_page_drives_none_out_before_the_pool_is_full() -> None:
    """Inserts into a pool with 40,000 free pages flush none of the LRU list until these are used up."""
    load = LoadParameters(appended_pages=0.5, hot_pages=10_000.0)
    samples = readings(
        60,
        disk=FAST,
        load=load,
        redo_capacity=LARGE_REDO,
        buffer_pool_pages=50_000,
        m=200,
    )
    before = [sample for sample in samples if 0.5 * sample.commits < 39_000]
    assert len(before) > 2
    assert before[-1].pages_lru == 0
    assert samples[-1].pages_lru > 0


def small(depth: int, **load: float) -> list[float]:
    """Return LRU pages/s, commits/s and free-page waits of a pool for a fifth of the pages."""
    samples = readings(
        200,
        disk=with_iops(60_000.0, redo_apart=True),
        load=LoadParameters(
            timeline=(LoadChange(0.0, 64),),
            hot_pages=100_000.0,
            noise=0.0,
            **({"commit_seconds": 5e-4} | load),
        ),
        buffer_pool_pages=20_000,
        redo_capacity=LARGE_REDO,
        lru_scan_depth=depth,
        m=200,
    )
    counted = samples[100:]
    return [rate(counted, "pages_lru"), rate(counted, "commits"), rate(counted, "free_page_waits")]


def test_the_scan_depth_limits_what_is_evicted_and_waits_limit_commits() -> None:
    """A pass of 100 pages each 10 ms flushes 10,100 pages/s at most; larger passes allow more commits."""
    depths = [small(depth) for depth in (100, 400, 100_000)]
    pages, commits, waits = zip(*depths, strict=True)
    assert pages[0] <= 10_100.0
    assert commits[0] < 0.8 * commits[1] < 0.8 * commits[2]
    assert waits[0] > waits[2]


def test_pages_that_are_clean_again_leave_the_pool_for_nothing() -> None:
    """Where the page cleaner is ahead of the LRU list, a small pool costs no page write and no wait."""
    samples = readings(
        300,
        disk=FAST,
        load=LoadParameters(timeline=(LoadChange(0.0, 16, 500.0),), hot_pages=100_000.0),
        buffer_pool_pages=50_000,
        m=20_000,
    )
    assert rate(samples[150:], "pages_lru") == 0.0
    assert samples[-1].free_page_waits == 0
