"""The simulated server behind the loop's port."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lab.plant.clock import SimClock
from lab.plant.flavour import FLAVOURS, FlavourName
from lab.plant.parameters import (
    Credits,
    DiskChange,
    DiskParameters,
    LoadChange,
    LoadParameters,
    PlantParameters,
    RedoChange,
    ServerParameters,
)
from lab.plant.server import SimulatedServer
from tests.lab.plant.support import plant, rate, readings, watched, with_iops
from tuner.records import Capacity

if TYPE_CHECKING:
    from tuner.servers.port import Server

C = "innodb_io_capacity"
M = "innodb_io_capacity_max"
LWM = "innodb_max_dirty_pages_pct_lwm"

COUNTERS = (
    "lsn_current",
    "lsn_oldest",
    "lsn_checkpoint",
    "pages_adaptive",
    "pages_sync",
    "pages_background",
    "redo_space_waits",
    "row_changes",
    "commits",
)


SIZES = st.sampled_from([8_388_608, 16_777_216, 33_554_432, 104_857_600])


def _resizes(flavour: FlavourName) -> st.SearchStrategy[tuple[RedoChange, ...]]:
    """Return other sizes of the redo log, where the server can change it."""
    if not FLAVOURS[flavour].resizes:
        return st.just(())
    once = st.builds(RedoChange, at=st.floats(5.0, 60.0), redo_capacity=SIZES)
    again = st.builds(RedoChange, at=st.floats(61.0, 110.0), redo_capacity=SIZES)
    return st.tuples() | st.tuples(once, again)


def _unless_lacking(flavour: FlavourName, name: str, values: tuple[float, ...]) -> st.SearchStrategy[Any]:
    """Return values of a setting; None where the server has not got it."""
    return st.none() if name in FLAVOURS[flavour].lacks else st.sampled_from([None, *values])


PLANTS = st.builds(
    PlantParameters,
    server=st.sampled_from(list(FLAVOURS)).flatmap(
        lambda flavour: st.builds(
            ServerParameters,
            flavour=st.just(flavour),
            redo_capacity=SIZES,
            resizes=_resizes(flavour),
            buffer_pool_pages=st.sampled_from([320, 2_000, 131_072]),
            lru_scan_depth=st.sampled_from([100, 1024]),
            adaptive_flushing_lwm=st.sampled_from([0.0, 10.0, 70.0]),
            max_dirty_pages_pct=st.sampled_from([None, 0.0, 50.0]),
            max_dirty_pages_pct_lwm=st.sampled_from([None, 0.0, 0.001, 10.0]),
            idle_flush_pct=_unless_lacking(flavour, "idle_flush_pct", (0, 29)),
            doublewrite_pages=_unless_lacking(flavour, "doublewrite_pages", (1, 512)),
            flush_neighbors=st.sampled_from([None, True, False]),
            io_capacity=st.integers(100, 3000),
            io_capacity_max=st.integers(100, 20_000),
            flush_sync=_unless_lacking(flavour, "flush_sync", (True, False)),
            flushing_avg_loops=st.integers(1, 60),
        )
    ),
    disk=st.builds(
        DiskParameters,
        timeline=st.tuples(
            st.builds(DiskChange, at=st.just(0.0), write_iops=st.floats(20, 60_000)),
            st.builds(DiskChange, at=st.floats(1.0, 100.0), write_iops=st.floats(20, 60_000)),
        ),
        megabytes_per_second=st.sampled_from([None, 20.0]),
        latency=st.sampled_from([0.0, 0.0005, 0.1]),
        fsync_seconds=st.sampled_from([0.0, 0.002]),
        read_iops=st.sampled_from([None, 2_000.0]),
        redo_apart=st.booleans(),
        credits=st.sampled_from([None, Credits(burst_iops=5_000.0, most=50_000.0)]),
    ),
    load=st.builds(
        LoadParameters,
        timeline=st.tuples(
            st.builds(LoadChange, at=st.just(0.0), threads=st.integers(0, 200)),
            st.builds(
                LoadChange,
                at=st.floats(1.0, 100.0),
                threads=st.integers(0, 200),
                rate=st.sampled_from([None, 500.0, 5_000.0]),
                appended_pages=st.sampled_from([None, 0.05, 1.0]),
            ),
        ),
        distribution=st.sampled_from(["uniform", "zipf", "hot_set"]),
        hot_pages=st.floats(10.0, 1e6),
        pages_per_commit=st.sampled_from([0.0, 0.2, 1.0, 10.0]),
        group_limit=st.sampled_from([1, 64]),
        redo_bytes_per_commit=st.floats(50.0, 20_000.0),
    ),
)


@settings(max_examples=80, deadline=None)
@given(parameters=PLANTS, seed=st.integers(0, 10))
def test_no_load_or_setting_breaks_the_log(parameters: PlantParameters, seed: int) -> None:
    """Counters and LSNs never go back, ages stay inside the log, and no page is lost, whatever is asked."""
    server, samples = watched(parameters, 150, seed=seed)
    for before, after in itertools.pairwise(samples):
        for counter in COUNTERS:
            assert getattr(after, counter) >= getattr(before, counter), counter
    for sample in samples:
        assert sample.lsn_checkpoint <= sample.lsn_oldest <= sample.lsn_current
        # a smaller log is in force from its soft limit on, which lies above the stall point: writers wait
        assert parameters.server.resizes or sample.checkpoint_age <= sample.stall_point + 2
        assert sample.checkpoint_age < sample.redo_capacity
        assert 0 <= sample.pages_dirty <= sample.pages_total
        assert sample.flush_requested <= 2 * max(sample.io_capacity_max, sample.io_capacity)
    engine = server.engine
    flush_list, flushed = engine.flush_list, sum(engine.cleaner.totals)
    assert flush_list.evicted == pytest.approx(0.0 if engine.lru is None else engine.lru.flushed)
    assert flush_list.dirtied == pytest.approx(
        flushed + flush_list.evicted + flush_list.dirty, rel=1e-9, abs=1e-3
    )
    assert engine.latencies.count == pytest.approx(engine.commits, rel=1e-6, abs=1e-3)


@pytest.mark.parametrize("flavour", list(FLAVOURS))
def test_same_seed_same_trace(flavour: FlavourName) -> None:
    """Two runs with one seed give the same readings to the last bit; another seed gives others."""
    first, second, other = (readings(300, seed=seed, flavour=flavour, m=350) for seed in (5, 5, 6))
    assert first == second
    assert [sample.commits for sample in first] != [sample.commits for sample in other]
    assert first[0].identity == second[0].identity != other[0].identity


def test_reading_twice_changes_nothing() -> None:
    """A reading takes no simulated time and leaves the server as it was."""
    clock = SimClock()
    server = SimulatedServer(PlantParameters(), clock)
    clock.advance_to(30.0)
    assert server.read() == server.read()


def test_it_is_a_server_of_the_port() -> None:
    """The loop can use it as any server, and can see that it is none."""
    clock = SimClock()
    server: Server = SimulatedServer(PlantParameters(), clock, seed=4)
    facts = server.facts()
    assert facts.family == "simulated"
    assert facts.version == "9.7 (simulated)"
    assert facts.flush_law == "legacy"
    assert (facts.capacity_minimum, facts.capacity_maximum) == (100, 4_294_967_295)
    assert server.read().low_water == server.read().stall_point // 10
    assert facts.identity == SimulatedServer(PlantParameters(), SimClock(), seed=4).facts().identity
    server.close()
    server.close()


@pytest.mark.parametrize(
    ("steps", "in_force"),
    [
        (((C, 30_000),), (20_000, 20_000)),
        (((M, 5_000),), (10_000, 10_000)),
        (((C, 200), (M, 400)), (200, 400)),
        (((M, 400), (C, 200)), (200, 10_000)),
        (((C, 50), (M, 70)), (100, 100)),
        (((M, 5_000_000_000),), (10_000, 4_294_967_295)),
    ],
)
def test_set_clamps_as_mysql_does(steps: tuple[tuple[str, int], ...], in_force: tuple[int, int]) -> None:
    """A SET that does not fit is carried out with another value and no error, and is read back."""
    clock = SimClock()
    server = SimulatedServer(PlantParameters(), clock)
    receipt = server.apply(steps, Capacity(200, 400))
    assert receipt.in_force == Capacity(*in_force)
    assert receipt.done == len(steps)
    assert receipt.error == ""
    assert server.read().capacity == Capacity(*in_force)


def test_the_low_water_mark_of_dirty_pages_can_be_set() -> None:
    """Another innodb_max_dirty_pages_pct_lwm is another flush law from the next loop on, and back."""
    clock = SimClock()
    server = SimulatedServer(PlantParameters(server=ServerParameters(flavour="mariadb-11.8")), clock)
    clock.advance_to(40.0)
    asleep = server.read()
    receipt = server.apply(((LWM, 1_000),), asleep.capacity)
    clock.advance_to(60.0)
    awake = server.read()
    server.apply(((LWM, 0),), asleep.capacity)

    assert (receipt.error, receipt.done, receipt.in_force) == ("", 1, asleep.capacity)
    assert (asleep.flush_law, awake.flush_law, server.read().flush_law) == (
        "soft-limit",
        "mariadb",
        "soft-limit",
    )
    assert asleep.pages_adaptive == 0 < awake.pages_adaptive


def test_an_unknown_variable_is_an_error() -> None:
    """A statement that MySQL would refuse ends the sequence with its error in the receipt."""
    server = SimulatedServer(PlantParameters(), SimClock())
    receipt = server.apply(((C, 500), ("innodb_io_capactiy_max", 600), (M, 700)), Capacity(500, 700))
    assert receipt.done == 1
    assert "innodb_io_capactiy_max" in receipt.error
    assert receipt.in_force == Capacity(500, 20_000)


def test_without_sync_flushing_a_low_m_stalls_writers() -> None:
    """With innodb_flush_sync off and M below the demand, the log fills up and writers wait."""
    server, samples = watched(plant(load=LoadParameters(noise=0.0), m=200, flush_sync=False), 400)
    last = samples[-1]
    assert last.pages_sync == 0
    assert last.redo_space_waits > 0
    assert server.engine.stalled > 100.0
    assert last.checkpoint_age > 0.98 * last.stall_point
    waiting = [b.pages_adaptive - a.pages_adaptive for a, b in itertools.pairwise(samples[-60:])]
    assert max(waiting) <= 205


def test_checkpoints_are_seven_seconds_apart_and_two_mebibytes_behind() -> None:
    """Under load a checkpoint is written every 7 s, at the oldest modification less 2 MiB."""
    samples = readings(200, m=1200)
    moments = [
        after.monotonic
        for before, after in itertools.pairwise(samples)
        if after.lsn_checkpoint != before.lsn_checkpoint and after.monotonic > 60
    ]
    assert {later - earlier for earlier, later in itertools.pairwise(moments)} == {7.0}
    assert min(s.lsn_oldest - s.lsn_checkpoint for s in samples[60:]) >= 2 * 1024 * 1024


SHAPES: list[tuple[dict[str, Any], dict[str, Any], dict[str, Any]]] = [
    ({"redo_apart": True}, {"distribution": "zipf"}, {}),
    ({"latency": 0.0005, "megabytes_per_second": 50.0}, {"appended_pages": 0.05}, {}),
    ({}, {"hot_pages": 200_000.0, "distribution": "hot_set"}, {"buffer_pool_pages": 100_000}),
]
"""Of the disk, of the load, and what else is set."""


@pytest.mark.parametrize(
    ("flavour", "disk", "load", "more"),
    [
        *((flavour, {}, {}, {}) for flavour in FLAVOURS),
        *((flavour, *shape) for flavour in ("mysql-9.7", "mariadb-11.8") for shape in SHAPES),
    ],
)
def test_a_faster_disk_never_makes_a_slower_server(
    flavour: FlavourName, disk: dict[str, Any], load: dict[str, Any], more: dict[str, Any]
) -> None:
    """At the same setting a slower disk gives at most 1 % more commits, outside the regime of sync waves.

    With a pool for a few percent of the pages it can be more: what is driven out and what is flushed fall
    into step.
    """
    means = []
    for write_iops in (800.0, 1200.0, 2400.0, 4800.0):
        samples = readings(
            600,
            flavour=flavour,
            m=2000,
            disk=with_iops(write_iops, **disk),
            load=LoadParameters(**load),
            **more,
        )
        means.append(rate(samples[300:], "commits"))
    assert all(slower <= 1.01 * faster for slower, faster in itertools.pairwise(means))
