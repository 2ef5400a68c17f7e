"""A buffer pool that does not hold all that the load touches."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lab.plant.flush_list import FlushList
from lab.plant.load import Stream
from lab.plant.parameters import DiskChange, DiskParameters, LoadChange, LoadParameters
from lab.plant.pool import pool
from tests.lab.plant.support import plant, rate, watched

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
    parameters = plant(
        disk=FAST,
        load=load,
        redo_capacity=LARGE_REDO,
        buffer_pool_pages=20_000,
        io_capacity=100,
        io_capacity_max=100,
        max_dirty_pages_pct=99.9,
        lru_scan_depth=100_000,
    )
    _, samples = watched(parameters, 200)
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
    _, samples = watched(
        plant(
            disk=FAST,
            load=load,
            redo_capacity=LARGE_REDO,
            buffer_pool_pages=50_000,
            io_capacity=100,
            io_capacity_max=200,
        ),
        60,
    )
    before = [sample for sample in samples if 0.5 * sample.commits < 39_000]
    assert len(before) > 2
    assert before[-1].pages_lru == 0
    assert samples[-1].pages_lru > 0


def small(depth: int, **load: float) -> list[float]:
    """Return LRU pages/s, commits/s and free-page waits of a pool for a fifth of the pages."""
    parameters = plant(
        disk=DiskParameters(timeline=(DiskChange(0.0, 60_000.0),), redo_apart=True),
        load=LoadParameters(
            timeline=(LoadChange(0.0, 64),),
            hot_pages=100_000.0,
            noise=0.0,
            **({"commit_seconds": 5e-4} | load),
        ),
        buffer_pool_pages=20_000,
        redo_capacity=LARGE_REDO,
        lru_scan_depth=depth,
        io_capacity=100,
        io_capacity_max=200,
    )
    _, samples = watched(parameters, 200)
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
    parameters = plant(
        disk=FAST,
        load=LoadParameters(timeline=(LoadChange(0.0, 16, 500.0),), hot_pages=100_000.0),
        buffer_pool_pages=50_000,
        io_capacity=10_000,
        io_capacity_max=20_000,
    )
    _, samples = watched(parameters, 300)
    assert rate(samples[150:], "pages_lru") == 0.0
    assert samples[-1].free_page_waits == 0


def test_the_age_does_not_wait_for_pages_that_the_lru_took() -> None:
    """When all pages older than a moment have left the pool, the oldest modification is no older."""
    flush_list = FlushList([Stream(1e6, 1.0)], lsn=0.0)
    flush_list.update(commits=100.0, lsn=50_000.0)
    flush_list.update(commits=100.0, lsn=100_000.0)
    flush_list.evict([101.0], before=50_000.0)
    assert flush_list.oldest(100_000.0) == 50_000.0
