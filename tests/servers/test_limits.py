"""The limits that every age is measured against, beside values recorded on a live MySQL 9.7.4."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tuner.servers.families.redo_capacity import FLUSH_ORDER_LAG, redo_limits

SMALLEST = 8 * 1_048_576
LARGEST = 512 * 1024**3
CAPACITIES = st.integers(SMALLEST, LARGEST)
PAGE_SIZES = st.sampled_from([4_096, 8_192, 16_384, 32_768, 65_536])
THREADS = st.integers(0, 1000)


@pytest.mark.parametrize(
    ("capacity", "raw_async", "raw_sync", "concurrency_margin"),
    [
        (8_388_608, 6_352_896, 6_806_528, 1_022_464),
        (104_857_600, 81_281_024, 87_086_592, 5_303_808),
        (268_435_456, 208_330_752, 223_211_520, 12_563_968),
        (536_870_912, 416_824_832, 446_598_144, 24_477_696),
        (1_073_741_824, 833_811_968, 893_369_856, 48_305_664),
    ],
)
def test_exported_counters_are_met_byte_for_byte(
    capacity: int, raw_async: int, raw_sync: int, concurrency_margin: int
) -> None:
    """For every redo capacity tried, our arithmetic gives what a real server exports, to the byte."""
    limits = redo_limits(capacity)

    assert (limits.raw_async, limits.raw_sync) == (raw_async, raw_sync)
    assert limits.concurrency_margin == concurrency_margin


def test_thread_concurrency_widens_the_margin() -> None:
    """A server with innodb_thread_concurrency = 20 has a larger margin, exactly as it exports it."""
    limits = redo_limits(1_073_741_824, thread_concurrency=20)

    assert limits.concurrency_margin == 49_616_384
    assert limits.flush_limit < redo_limits(1_073_741_824).flush_limit


@pytest.mark.parametrize(
    ("capacity", "threads", "page_size", "margin"),
    [
        (100 * 1_048_576, 1000, 16_384, 49_494_352),
        (100 * 1_048_576, 200, 65_536, 49_494_352),
        (8 * 1_048_576, 100, 16_384, 3_868_304),
    ],
)
def test_the_margin_of_very_many_threads_is_capped_as_the_server_does(
    capacity: int, threads: int, page_size: int, margin: int
) -> None:
    """At 55 % of the soft capacity, counted in payload: 496 of each 512 bytes (log_concurrency_margin)."""
    limits = redo_limits(capacity, thread_concurrency=threads, page_size=page_size)

    assert limits.concurrency_margin == margin == limits.soft * 55 // 100 // 512 * 496


def test_effective_points_have_the_margin_taken_off() -> None:
    """What the flush law and the writers really stop at is the server's own, not the raw counters."""
    limits = redo_limits(536_870_912)

    assert limits.flush_limit == 391_557_120
    assert limits.sync_point + FLUSH_ORDER_LAG == 421_330_836
    assert limits.stall_point == 451_103_744
    assert limits.soft == 476_371_456


def test_stall_point_is_what_percona_and_pmm_chart() -> None:
    """At 100 MiB the stall point equals Percona 8.4.6's Innodb_checkpoint_max_age."""
    limits = redo_limits(104_857_600)

    assert limits.stall_point == 87_417_344
    assert limits.soft == 92_892_672


def test_less_than_the_servers_minimum_is_refused() -> None:
    """A capacity that no server accepts is refused with the minimum named."""
    with pytest.raises(ValueError, match="minimum is 8388608"):
        redo_limits(SMALLEST - 1)


@given(capacity=CAPACITIES, page_size=PAGE_SIZES, threads=THREADS)
def test_the_points_come_in_their_order(capacity: int, page_size: int, threads: int) -> None:
    """With any page size and concurrency: flush limit, then stall point, then the soft capacity."""
    limits = redo_limits(capacity, page_size=page_size, thread_concurrency=threads)

    assert 0 < limits.flush_limit < limits.stall_point < limits.soft < capacity
    assert limits.sync_point < limits.stall_point
    assert limits.concurrency_margin < limits.margin


@given(capacity=st.integers(40 * 1_048_576, LARGEST))
def test_sync_flushing_starts_between_flush_limit_and_stall(capacity: int) -> None:
    """From 40 MiB on the sync point lies above the flush limit and below the point where writers stall."""
    limits = redo_limits(capacity)

    assert limits.flush_limit < limits.sync_point < limits.stall_point


@given(capacity=CAPACITIES, more=st.integers(1_048_576, 1024**3), page_size=PAGE_SIZES, threads=THREADS)
def test_more_redo_never_lowers_a_limit(capacity: int, more: int, page_size: int, threads: int) -> None:
    """Growing the redo log moves every point up."""
    small = redo_limits(capacity, page_size=page_size, thread_concurrency=threads)
    large = redo_limits(capacity + more, page_size=page_size, thread_concurrency=threads)

    assert small.flush_limit < large.flush_limit
    assert small.sync_point < large.sync_point
    assert small.stall_point < large.stall_point


@given(capacity=CAPACITIES, threads=st.integers(0, 500))
def test_more_concurrency_never_raises_a_limit(capacity: int, threads: int) -> None:
    """Each thread allowed into InnoDB costs room: no point moves up."""
    few = redo_limits(capacity, thread_concurrency=threads)
    many = redo_limits(capacity, thread_concurrency=threads + 1)

    assert many.flush_limit <= few.flush_limit
    assert many.stall_point <= few.stall_point
