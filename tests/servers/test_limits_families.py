"""Limits of the servers with log files of a fixed size, beside values that such servers export."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tuner.servers.families.log_files import LogGroupLimits, log_group_limits, log_group_limits_5
from tuner.servers.families.mariadb import MariaDBLimits, mariadb_limits
from tuner.servers.families.redo_capacity import FLUSH_ORDER_LAG, RedoLimits, redo_limits

MEBIBYTE = 1_048_576
GIBIBYTE = 1024 * MEBIBYTE


def test_mysql_5_at_512_mib() -> None:
    """Two files of 256 MiB give the maximum and target checkpoint age that such a server prints."""
    limits = log_group_limits_5(256 * MEBIBYTE, 2)

    assert (limits.stall_point, limits.checkpoint_target) == (434_154_333, 420_587_011)


def test_mysql_5_6_24_exports_what_we_compute() -> None:
    """Two files of 32 MiB: log_max_modified_age_async and _sync of a live MySQL 5.6.24, to the byte."""
    limits = log_group_limits_5(32 * MEBIBYTE, 2)

    assert (limits.flush_limit, limits.sync_point) == (46_941_190, 50_294_132)


@pytest.mark.parametrize("release", [(10, 11, 18), (11, 8, 6)])
def test_mariadb_exports_what_we_compute(release: tuple[int, ...]) -> None:
    """64 MiB: Innodb_checkpoint_max_age and log_max_modified_age_async of live servers, to the byte."""
    limits = mariadb_limits(64 * MEBIBYTE, release=release)

    assert (limits.stall_point, limits.flush_limit) == (53_640_439, 46_935_385)
    assert limits.sync_point == limits.stall_point


@pytest.mark.parametrize("release", [(10, 5), (10, 6), (10, 11), (11, 8)])
def test_mariadb_fractions_of_a_large_log(release: tuple[int, ...]) -> None:
    """Soft limit, maximum and 10 % low-water mark as shares of a large log."""
    size = 16 * GIBIBYTE
    limits = mariadb_limits(size, release=release)

    assert limits.flush_limit / size == pytest.approx(0.708, abs=1e-3)
    assert limits.stall_point / size == pytest.approx(0.809, abs=1e-3)
    assert 0.1 * limits.low_water_base / size == pytest.approx(0.09, abs=1e-4)


def test_mariadbs_header_grew_in_10_8() -> None:
    """The log of 10.8 keeps 12288 bytes for its header where that of 10.5 keeps 2048."""
    before = mariadb_limits(64 * MEBIBYTE, release=(10, 7))
    since = mariadb_limits(64 * MEBIBYTE, release=(10, 8))

    assert before.low_water_base - since.low_water_base == pytest.approx(0.9 * 10_240, abs=1)


def test_mysql_5_fractions_of_a_large_log() -> None:
    """Flush limit, sync point, checkpoint target and maximum as shares of a large log."""
    size = 16 * GIBIBYTE
    limits = log_group_limits_5(size // 2, 2)

    shares = (limits.flush_limit, limits.sync_point, limits.checkpoint_target, limits.stall_point)
    assert [one / size for one in shares] == pytest.approx([0.709, 0.759, 0.785, 0.81], abs=6e-4)
    assert limits.low_water_base / size == pytest.approx(0.9, abs=1e-4)


@pytest.mark.parametrize(
    ("size", "flush_limit", "sync_point", "stall_point"),
    [
        (96 * MEBIBYTE, 0.694, 0.747, 0.801),
        (512 * MEBIBYTE, 0.754, 0.811, 0.869),
        (1 * GIBIBYTE, 0.767, 0.825, 0.884),
        (4 * GIBIBYTE, 0.776, 0.836, 0.895),
        (16 * GIBIBYTE, 0.779, 0.838, 0.898),
    ],
)
def test_mysql_8_0_before_30(size: int, flush_limit: float, sync_point: float, stall_point: float) -> None:
    """Shares of the log by its size, where the sync point is counted as the server does."""
    limits = log_group_limits(size // 2, 2)

    assert limits.flush_limit / size == pytest.approx(flush_limit, abs=6e-4)
    assert (limits.sync_point + FLUSH_ORDER_LAG) / size == pytest.approx(sync_point, abs=6e-4)
    assert limits.stall_point / size == pytest.approx(stall_point, abs=6e-4)
    assert limits.low_water_base == limits.stall_point


def test_mysql_8_0_30_and_later() -> None:
    """512 MiB: the points of the flush law, of sync flushing and of the stall."""
    limits = redo_limits(512 * MEBIBYTE)

    points = (limits.flush_limit, limits.sync_point + FLUSH_ORDER_LAG, limits.stall_point)
    assert points == (391_557_120, 421_330_836, 451_103_744)
    assert 0.1 * limits.low_water_base == pytest.approx(45.1e6, abs=1e5)


def test_percona_at_100_mib() -> None:
    """MySQL 8.0.46's log_max_modified_age_sync and Percona Server 8.4.6's Innodb_checkpoint_max_age."""
    limits = redo_limits(100 * MEBIBYTE)

    assert (limits.raw_sync, limits.stall_point) == (87_086_592, 87_417_344)


@pytest.mark.parametrize(
    "limits",
    [
        redo_limits(GIBIBYTE),
        log_group_limits(GIBIBYTE // 2, 2),
        log_group_limits_5(GIBIBYTE // 2, 2),
        mariadb_limits(GIBIBYTE, release=(11, 8)),
    ],
)
def test_the_points_come_in_their_order(limits: RedoLimits | LogGroupLimits | MariaDBLimits) -> None:
    """Whichever server: low-water mark, flush limit, sync point, stall point, capacity."""
    assert (
        0.1 * limits.low_water_base < limits.flush_limit < limits.sync_point <= limits.stall_point < GIBIBYTE
    )


@given(
    size=st.integers(48 * MEBIBYTE, 256 * GIBIBYTE),
    more=st.integers(MEBIBYTE, GIBIBYTE),
    page_size=st.sampled_from([4_096, 16_384, 65_536]),
)
def test_more_redo_raises_every_limit(size: int, more: int, page_size: int) -> None:
    """Larger files move every point up, on every server."""
    grown = size + more
    for small, large in (
        (log_group_limits(size, 2, page_size=page_size), log_group_limits(grown, 2, page_size=page_size)),
        (log_group_limits_5(size, 2, page_size=page_size), log_group_limits_5(grown, 2, page_size=page_size)),
        (
            mariadb_limits(size, release=(10, 6), page_size=page_size),
            mariadb_limits(grown, release=(10, 6), page_size=page_size),
        ),
    ):
        assert small.flush_limit < large.flush_limit
        assert small.sync_point < large.sync_point
        assert small.stall_point < large.stall_point


def test_threads_cost_room() -> None:
    """innodb_thread_concurrency keeps four pages a thread free, before and in 8.0."""
    assert log_group_limits_5(64 * MEBIBYTE, 2, thread_concurrency=20).stall_point < (
        log_group_limits_5(64 * MEBIBYTE, 2).stall_point
    )
    many = log_group_limits(64 * MEBIBYTE, 2, thread_concurrency=20).concurrency_margin
    assert many - log_group_limits(64 * MEBIBYTE, 2).concurrency_margin == 20 * 4 * 16_384


def test_too_small_a_log_is_refused_by_name() -> None:
    """A log that no server starts with is an error that names the setting."""
    with pytest.raises(ValueError, match="innodb_log_file_size is 262144, × 2 files"):
        log_group_limits_5(262_144, 2)
    with pytest.raises(ValueError, match="innodb_log_file_size is 262144"):
        mariadb_limits(262_144, release=(10, 11))
    with pytest.raises(ValueError, match="minimum is 4194304"):
        log_group_limits(262_144, 2)
