"""The limits that every age is measured against, beside values that live servers exported."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tuner.servers.exported import BLOCK, Points
from tuner.servers.families.log_files import log_group_limits, log_group_limits_5, log_group_limits_8012
from tuner.servers.families.mariadb import mariadb_limits
from tuner.servers.families.redo_capacity import FLUSH_ORDER_LAG, redo_limits

MEBIBYTE = 1_048_576
GIBIBYTE = 1024 * MEBIBYTE
SMALLEST, LARGEST = 8 * MEBIBYTE, 512 * GIBIBYTE
CAPACITIES = st.integers(SMALLEST, LARGEST)
PAGE_SIZES = st.sampled_from([4_096, 8_192, 16_384, 32_768, 65_536])
THREADS = st.integers(0, 1000)


@pytest.mark.parametrize(
    ("capacity", "threads", "exported"),
    [
        (8_388_608, 0, (6_352_896, 6_806_528, 1_022_464)),
        (104_857_600, 0, (81_281_024, 87_086_592, 5_303_808)),
        (268_435_456, 0, (208_330_752, 223_211_520, 12_563_968)),
        (536_870_912, 0, (416_824_832, 446_598_144, 24_477_696)),
        (1_073_741_824, 0, (833_811_968, 893_369_856, 48_305_664)),
        (1_073_741_824, 20, (833_811_968, 893_369_856, 49_616_384)),
    ],
)
def test_exported_counters_are_met_byte_for_byte(
    capacity: int, threads: int, exported: tuple[int, int, int]
) -> None:
    """For every redo capacity and concurrency tried, our arithmetic gives what a MySQL 9.7.4 exports."""
    limits = redo_limits(capacity, thread_concurrency=threads)

    assert (limits.raw_async, limits.raw_sync, limits.concurrency_margin) == exported


@pytest.mark.parametrize(
    ("threads", "margin", "raised"),
    [(0, 10_433_024, (148_012_928, 158_585_280)), (64, 14_627_328, (144_709_824, 155_046_240))],
)
def test_log_files_of_early_eights_have_the_exported_limits(
    threads: int, margin: int, raised: tuple[int, int]
) -> None:
    """With 200 MiB of files ours are those of a live 8.0.15, but for its rounding, and of a live 8.0.12."""
    fifteen = log_group_limits(100 * MEBIBYTE, 2, thread_concurrency=threads)
    twelve = log_group_limits_8012(100 * MEBIBYTE, 2, thread_concurrency=threads)

    assert fifteen.concurrency_margin == margin
    assert 0 <= fifteen.raw_async - 160_376_384 < BLOCK
    assert 0 <= fifteen.raw_sync - 171_831_840 < BLOCK
    assert (twelve.flush_limit, twelve.sync_point + FLUSH_ORDER_LAG) == raised


@pytest.mark.parametrize(
    ("capacity", "threads", "page_size", "margin"),
    [
        (100 * MEBIBYTE, 1000, 16_384, 49_494_352),
        (100 * MEBIBYTE, 200, 65_536, 49_494_352),
        (8 * MEBIBYTE, 100, 16_384, 3_868_304),
    ],
)
def test_the_margin_of_very_many_threads_is_capped_as_the_server_does(
    capacity: int, threads: int, page_size: int, margin: int
) -> None:
    """At 55 % of the soft capacity, counted in payload: 496 of each 512 bytes (log_concurrency_margin)."""
    limits = redo_limits(capacity, thread_concurrency=threads, page_size=page_size)

    assert limits.concurrency_margin == margin == limits.soft * 55 // 100 // 512 * 496


@pytest.mark.parametrize(
    ("limits", "points"),
    [
        (redo_limits(512 * MEBIBYTE), (391_557_120, 421_330_836 - FLUSH_ORDER_LAG, 451_103_744)),
        (redo_limits(100 * MEBIBYTE), (None, None, 87_417_344)),
        (log_group_limits_5(256 * MEBIBYTE, 2), (None, None, 434_154_333)),
        (log_group_limits_5(32 * MEBIBYTE, 2), (46_941_190, 50_294_132, None)),
        *(
            (mariadb_limits(64 * MEBIBYTE, release=release), (46_935_385, 53_640_439, 53_640_439))
            for release in ((10, 11, 18), (11, 8, 6))
        ),
    ],
    ids=["MySQL 9.7", "Percona 8.4.6", "MySQL 5.7", "MySQL 5.6.24", "MariaDB 10.11", "MariaDB 11.8"],
)
def test_the_points_are_those_that_servers_say(limits: Points, points: tuple[int | None, ...]) -> None:
    """Flush limit, sync point and stall point to the byte, as far as a server of that family says them."""
    found = (limits.flush_limit, limits.sync_point, limits.stall_point)

    assert all(said in {None, ours} for said, ours in zip(points, found, strict=True))


def test_threads_cost_four_pages_each() -> None:
    """innodb_thread_concurrency keeps four pages a thread free, before 8.0 and in 8.0."""
    five = [log_group_limits_5(64 * MEBIBYTE, 2, thread_concurrency=one).stall_point for one in (0, 20)]
    eight = [log_group_limits(64 * MEBIBYTE, 2, thread_concurrency=one).concurrency_margin for one in (0, 20)]

    assert five[0] - five[1] == pytest.approx(0.9 * 20 * 4 * 16_384, abs=1)
    assert eight[1] - eight[0] == 20 * 4 * 16_384


def test_mariadbs_header_grew_in_10_8() -> None:
    """The log of 10.8 keeps 12288 bytes for its header where that of 10.5 keeps 2048."""
    before, since = (mariadb_limits(64 * MEBIBYTE, release=(10, one)) for one in (7, 8))

    assert before.low_water_base - since.low_water_base == pytest.approx(0.9 * 10_240, abs=1)


@given(capacity=CAPACITIES, page_size=PAGE_SIZES, threads=THREADS)
def test_the_points_come_in_their_order(capacity: int, page_size: int, threads: int) -> None:
    """With any page size and concurrency: flush limit, then stall point, then the soft capacity."""
    limits = redo_limits(capacity, page_size=page_size, thread_concurrency=threads)

    assert 0 < limits.flush_limit < limits.stall_point < limits.soft < capacity
    assert limits.sync_point < limits.stall_point
    assert limits.concurrency_margin < limits.raw_async - limits.flush_limit


@given(capacity=st.integers(40 * MEBIBYTE, LARGEST))
def test_sync_flushing_starts_between_flush_limit_and_stall(capacity: int) -> None:
    """Whichever server, from 40 MiB on: low-water mark, flush limit, sync point, stall point, capacity."""
    for limits in (
        redo_limits(capacity),
        log_group_limits(capacity // 2, 2),
        log_group_limits_5(capacity // 2, 2),
        mariadb_limits(capacity, release=(11, 8)),
    ):
        assert 0.1 * limits.low_water_base < limits.flush_limit < limits.sync_point
        assert limits.sync_point <= limits.stall_point < capacity


SIZED: list[Callable[..., Points]] = [
    redo_limits,
    partial(log_group_limits, files=2),
    partial(log_group_limits_5, files=2),
    partial(mariadb_limits, release=(10, 6)),
]


@pytest.mark.parametrize("limits_of", SIZED)
@given(size=st.integers(48 * MEBIBYTE, LARGEST), more=st.integers(MEBIBYTE, GIBIBYTE), page_size=PAGE_SIZES)
def test_more_redo_raises_every_limit(
    limits_of: Callable[..., Points], size: int, more: int, page_size: int
) -> None:
    """A larger log moves every point up, on every server."""
    small, large = (limits_of(one, page_size=page_size) for one in (size, size + more))

    assert small.flush_limit < large.flush_limit
    assert small.sync_point < large.sync_point
    assert small.stall_point < large.stall_point


@pytest.mark.parametrize(
    ("made", "said"),
    [
        (lambda: redo_limits(SMALLEST - 1), "minimum is 8388608"),
        (lambda: log_group_limits_5(262_144, 2), "innodb_log_file_size is 262144, × 2 files"),
        (lambda: mariadb_limits(262_144, release=(10, 11)), "innodb_log_file_size is 262144"),
        (lambda: log_group_limits(262_144, 2), "minimum is 4194304"),
    ],
)
def test_too_small_a_log_is_refused_by_name(made: Callable[[], Points], said: str) -> None:
    """A log that no server starts with is an error that names the setting."""
    with pytest.raises(ValueError, match=said):
        made()
