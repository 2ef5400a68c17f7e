"""The simulated device and clients: what limits them, and how long commits take."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lab.plant.engine import Timeline
from lab.plant.latency import Begun, Latencies
from lab.plant.parameters import Credits, DiskChange, DiskParameters, LoadChange, LoadParameters
from tests.lab.plant.support import plant, rate, watched

STATIC = {"io_capacity": 300, "io_capacity_max": 600}


def commits(disk: DiskParameters, load: LoadParameters | None = None, **server: int) -> float:
    """Return commits/s of the last two minutes of five."""
    _, samples = watched(plant(disk=disk, load=load, **(STATIC | server)), 300)
    return rate(samples[180:], "commits")


def test_small_doublewrite_batches_cost_writes() -> None:
    """With 4 pages in a doublewrite batch instead of 128 the same disk commits less."""
    assert commits(DiskParameters(), doublewrite_pages=4) < 0.8 * commits(DiskParameters())


def test_bandwidth_limits_as_operations_do() -> None:
    """A disk of any number of operations but 10 MB/s writes at most 305 pages of twice 16 KiB a second."""
    disk = DiskParameters(timeline=(DiskChange(0.0, 1e6),), megabytes_per_second=10.0)
    _, samples = watched(plant(disk=disk, **STATIC), 300)
    assert rate(samples[180:], "pages_adaptive") <= 306.0


def test_latency_slows_commits_on_a_disk_that_is_not_full() -> None:
    """Sixteen threads that wait 2 ms for each commit do fewer than 16 / 2 ms."""
    fast = DiskParameters(timeline=(DiskChange(0.0, 1e6),))
    slow = DiskParameters(timeline=(DiskChange(0.0, 1e6),), latency=0.001, fsync_seconds=0.001)
    assert commits(slow) < 8_000.0 < commits(fast)


def test_credits_end() -> None:
    """A disk with credits is fast until they are used up, and as fast as its baseline from then on."""
    disk = DiskParameters(
        timeline=(DiskChange(0.0, 600.0),), credits=Credits(burst_iops=3_000.0, most=400_000.0)
    )
    _, samples = watched(plant(disk=disk, **STATIC), 600)
    assert rate(samples[60:150], "commits") > 2.0 * rate(samples[300:600], "commits")
    assert rate(samples[300:600], "commits") < 1.1 * commits(
        DiskParameters(timeline=(DiskChange(0.0, 600.0),))
    )


def test_saved_credits_come_back_when_the_disk_is_idle() -> None:
    """Operations that are not used are saved up again, and no more than there is room for."""
    disk = DiskParameters(
        timeline=(DiskChange(0.0, 600.0),), credits=Credits(burst_iops=3_000.0, most=100_000.0)
    )
    load = LoadParameters(timeline=(LoadChange(0.0, 16), LoadChange(200.0, 0)))
    server, _ = watched(plant(disk=disk, load=load, **STATIC), 100)
    assert server.engine.disk.saved < 1.0
    server, _ = watched(plant(disk=disk, load=load, **STATIC), 600)
    assert server.engine.disk.saved == 100_000.0


def test_one_thread_thinks_and_then_waits_for_the_disk() -> None:
    """One client commits once in the time that it thinks and the disk writes, and never faster."""
    load = LoadParameters(timeline=(LoadChange(0.0, 1),), pages_per_commit=0.0, noise=0.0)
    server, samples = watched(plant(load=load), 60)
    alone = load.commit_seconds + load.group_operations / 1200.0
    assert rate(samples[1:], "commits") == pytest.approx(1.0 / alone, rel=1e-3)
    assert server.engine.latencies.percentile(50) == pytest.approx(alone, rel=0.06)


def test_many_threads_fill_the_disk() -> None:
    """Sixteen clients keep the disk busy: as many groups of commits as it can write, and no fewer."""
    load = LoadParameters(pages_per_commit=0.0, noise=0.0)
    _, samples = watched(plant(load=load), 60)
    assert rate(samples[1:], "commits") == pytest.approx(1200.0 * 16.0 / load.group_operations, rel=1e-3)


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
    assert server.engine.latencies.mean == pytest.approx(mean, rel=0.05)


def test_a_stall_is_somebodys_latency() -> None:
    """The slowest commits of a server that stalls waited as long as it stalled."""
    parameters = plant(io_capacity=100, io_capacity_max=200, flush_sync=False)
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
    assert found.mean == pytest.approx(sum(times) / len(times))


def test_times_can_be_counted_from_a_moment_on() -> None:
    """What came before a copy was made counts no more."""
    found = Latencies()
    found.add(5.0, 100.0)
    before = found.copy()
    found.add(0.1, 10.0)
    assert found.since(before).percentile(99) == pytest.approx(0.1, rel=0.05)
    assert found.since(before).count == 10.0


def test_transactions_end_in_the_order_in_which_they_began() -> None:
    """The fifth of ten that began evenly over ten seconds began in the middle of them."""
    begun = Begun()
    begun.begin(10.0, 10.0)
    begun.begin(20.0, 20.0)
    assert begun.of(5.0) == pytest.approx(5.0)
    assert begun.of(20.0) == pytest.approx(15.0)


def test_a_timeline_repeats_where_it_should() -> None:
    """What is repeated happens in every round, its first entry from the second one on; the rest once."""
    seen: list[tuple[str, float]] = []
    now = 0.0
    timeline = Timeline()
    timeline.add(
        [(0.0, lambda: seen.append(("low", now))), (6.0, lambda: seen.append(("high", now)))], repeat=10.0
    )
    timeline.add([(0.0, lambda: seen.append(("start", now))), (7.0, lambda: seen.append(("once", now)))])
    for second in range(1, 28):
        now = float(second)
        timeline.pass_to(now)
    assert seen == [
        ("high", 6.0),
        ("once", 7.0),
        ("low", 10.0),
        ("high", 16.0),
        ("low", 20.0),
        ("high", 26.0),
    ]
