"""The disk and the clients: what limits them, and how long commits take."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lab.plant.latency import Latencies
from lab.plant.parameters import (
    Credits,
    DiskChange,
    DiskParameters,
    LoadChange,
    LoadParameters,
)
from tests.lab.plant.support import plant, rate, readings, stopping, watched, with_iops

if TYPE_CHECKING:
    pass

STATIC = {"io_capacity": 300, "io_capacity_max": 600}


def commits(disk: DiskParameters, load: LoadParameters | None = None, **server: int) -> float:
    """Return commits/s of the last two minutes of five."""
    samples = readings(300, disk=disk, load=load, **(STATIC | server))
    return rate(samples[180:], "commits")


def test_small_doublewrite_batches_cost_writes() -> None:
    """With 4 pages in a doublewrite batch instead of 128 the same disk commits less."""
    assert commits(DiskParameters(), doublewrite_pages=4) < 0.8 * commits(DiskParameters())


def test_bandwidth_limits_as_operations_do() -> None:
    """A disk of any number of operations but 10 MB/s writes at most 305 pages of twice 16 KiB a second."""
    disk = with_iops(1e6, megabytes_per_second=10.0)
    samples = readings(300, disk=disk, **STATIC)
    assert rate(samples[180:], "pages_adaptive") <= 306.0


def test_latency_slows_commits_on_a_disk_that_is_not_full() -> None:
    """Sixteen threads that wait 2 ms for each commit do fewer than 16 / 2 ms."""
    fast = DiskParameters(timeline=(DiskChange(0.0, 1e6),))
    slow = with_iops(1e6, latency=0.001, fsync_seconds=0.001)
    assert commits(slow) < 8_000.0 < commits(fast)


def test_credits_end() -> None:
    """A disk with credits is fast until they are used up, and as fast as its baseline from then on."""
    disk = with_iops(600.0, credits=Credits(burst_iops=3_000.0, most=400_000.0))
    samples = readings(600, disk=disk, **STATIC)
    assert rate(samples[60:150], "commits") > 2.0 * rate(samples[300:600], "commits")
    assert rate(samples[300:600], "commits") < 1.1 * commits(
        DiskParameters(timeline=(DiskChange(0.0, 600.0),))
    )


def test_saved_credits_come_back_when_the_disk_is_idle() -> None:
    """Operations that are not used are saved up again, and no more than there is room for."""
    disk = with_iops(600.0, credits=Credits(burst_iops=3_000.0, most=100_000.0))
    load = stopping(200.0)
    server, _ = watched(plant(disk=disk, load=load, **STATIC), 100)
    assert server.engine.disk.data.saved < 1.0
    server, _ = watched(plant(disk=disk, load=load, **STATIC), 600)
    assert server.engine.disk.data.saved == 100_000.0


def test_an_offered_rate_is_served_where_the_disk_allows() -> None:
    """A load of 1000 transactions/s commits 1000/s, and its commits take less than a full disk's."""
    load = LoadParameters(timeline=(LoadChange(0.0, 16, 1_000.0),))
    server, samples = watched(plant(load=load, **STATIC), 300)
    full, _ = watched(plant(**STATIC), 300)
    assert rate(samples[60:], "commits") == pytest.approx(1_000.0, rel=0.005)
    assert server.engine.latencies.percentile(50) < full.engine.latencies.percentile(50)


def test_a_rate_that_the_disk_does_not_serve_piles_up() -> None:
    """A load of twice what the disk serves waits longer and longer, and says so in its latency."""
    load = LoadParameters(timeline=(LoadChange(0.0, 16, 6_000.0),))
    server, samples = watched(plant(load=load, **STATIC), 300)
    served = rate(samples[60:], "commits")
    assert served < 4_000.0
    waiting = 300.0 - samples[-1].commits / 6_000.0
    assert server.engine.latencies.percentile(99) == pytest.approx(waiting, rel=0.1)


def test_a_closed_loads_latency_is_littles_law() -> None:
    """Threads over commits/s is the mean time of a commit, whatever the server did meanwhile."""
    server, samples = watched(plant(**STATIC), 300)
    mean = 16.0 * 300.0 / samples[-1].commits
    found = server.engine.latencies
    assert found.total / found.count == pytest.approx(mean, rel=0.05)


def test_a_stall_is_somebodys_latency() -> None:
    """The slowest commits of a server that stalls waited as long as it stalled."""
    parameters = plant(m=200, flush_sync=False)
    server, _ = watched(parameters, 300)
    assert server.engine.stalled > 10.0
    assert server.engine.latencies.percentile(99.9) > 0.2


@given(times=st.lists(st.floats(1e-4, 100.0), min_size=1, max_size=200))
def test_a_percentile_is_right_to_a_twentieth(times: list[float]) -> None:
    """The histogram's median is that of the times themselves, to the width of a bin."""
    found = Latencies()
    for seconds in times:
        found.add(seconds, 1.0)
    exact = sorted(times)[(len(times) + 1) // 2 - 1]
    assert found.percentile(50) == pytest.approx(exact, rel=0.051)
    assert found.total / found.count == pytest.approx(sum(times) / len(times))


WRITES = ("pages_adaptive", "pages_sync", "pages_background", "pages_lru")


def test_a_redo_log_of_its_own_device_commits_more() -> None:
    """With the redo log on another device page writes and commits do not wait for each other."""
    found = []
    for apart in (False, True):
        disk = DiskParameters(redo_apart=apart)
        samples = readings(300, disk=disk, m=600)
        found.append(rate(samples[180:], "commits"))
    assert found[1] > 1.2 * found[0]


@pytest.mark.parametrize(("apart", "write_iops"), [(False, 1200.0), (True, 1200.0), (True, 300.0)])
def test_no_device_does_more_than_it_can(*, apart: bool, write_iops: float) -> None:
    """Page writes, those for free pages included, and commits stay within the operations of their device."""
    parameters = plant(
        disk=with_iops(write_iops, redo_apart=apart),
        load=LoadParameters(
            timeline=(LoadChange(0.0, 64),), hot_pages=200_000.0, distribution="hot_set", noise=0.0
        ),
        buffer_pool_pages=12_000,
        m=200,
        doublewrite_pages=4,
    )
    _, samples = watched(parameters, 600)
    counted = samples[200:]
    pages = sum(rate(counted, name) for name in WRITES) * parameters.disk.page_operations(4)
    commits = rate(counted, "commits") * parameters.load.group_operations / 64
    assert rate(counted, "pages_lru") > 10.0
    if apart:
        assert pages <= 1.02 * write_iops
        assert commits <= 1.01 * write_iops
    else:
        assert pages + commits <= 1.02 * write_iops


def test_each_device_has_credits_of_its_own() -> None:
    """Commits on a device of their own use up its credits, and leave those of the data files alone."""
    disk = with_iops(
        600.0,
        credits=Credits(burst_iops=3_000.0, most=100_000.0),
        redo_apart=True,
    )
    server, _ = watched(plant(disk=disk, m=200), 90)
    assert server.engine.disk.redo.saved < 1.0
    assert server.engine.disk.data.saved > 50_000.0
