"""What each page cleaner does: its law against the inverse of it, sync flushing, and an idle server."""

from __future__ import annotations

import itertools
import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from lab.plant.cleaner import Batch, Cleaner
from lab.plant.flavour import FLAVOURS, FlavourName
from lab.plant.flush_list import FlushList
from lab.plant.load import Stream
from lab.plant.parameters import (
    DiskChange,
    DiskParameters,
    LoadChange,
    LoadParameters,
    RedoChange,
    ServerParameters,
)
from lab.plant.redo import Redo
from lab.scenarios.load import load_scenario
from lab.simulate_loop import run_policy
from policies.flushlaw import LEGACY
from policies.registry import LAWS
from tests.lab.plant.support import mean_ratio, plant, rate, readings, stopping, watched
from tuner.records import Capacity, Sample
from tuner.settings import Mode, Settings


def _cleaner(
    io_capacity: int, io_capacity_max: int, *, age_ratio: float, pages: float
) -> tuple[Cleaner, Redo, FlushList]:
    """Return a cleaner over a log whose dirty pages lie evenly up to an age."""
    parameters = ServerParameters(io_capacity=io_capacity, io_capacity_max=io_capacity_max)
    redo = Redo(capacity=parameters.redo_capacity, lsn=1e9, now=0.0)
    flush_list = FlushList([Stream(1e9, 1.0)], lsn=1e9)
    cleaner = Cleaner(parameters, redo, flush_list, now=0.0)
    redo.lsn += age_ratio * redo.flush_limit
    flush_list.update(commits=pages, lsn=redo.lsn)
    return cleaner, redo, flush_list


@given(
    age_ratio=st.floats(0.12, 1.0),
    io_capacity=st.integers(100, 20_000),
    gain=st.floats(1.0, 12.0),
)
def test_percentage_agrees_with_the_policies_law(age_ratio: float, io_capacity: int, gain: float) -> None:
    """The percentage that the simulated server reports is the one that the model gate expects, within one."""
    io_capacity_max = int(io_capacity * gain)
    cleaner, redo, flush_list = _cleaner(io_capacity, io_capacity_max, age_ratio=age_ratio, pages=1000.0)
    cleaner.wake(1.0, 1.0)
    expected = LEGACY.percentage(
        age=redo.lsn - flush_list.oldest(redo.lsn),
        flush_limit=redo.flush_limit,
        io_capacity=io_capacity,
        io_capacity_max=io_capacity_max,
    )
    assert abs(cleaner.pct_for_lsn - expected) <= 1


@given(io_capacity=st.integers(100, 3000), gain=st.integers(1, 6), age_ratio=st.floats(0.2, 1.04))
def test_adaptive_flushing_never_asks_for_more_than_m(io_capacity: int, gain: int, age_ratio: float) -> None:
    """Below the sync point M is the most that one loop asks for."""
    cleaner, redo, _ = _cleaner(io_capacity, gain * io_capacity, age_ratio=age_ratio, pages=2e5)
    for second in range(1, 70):
        cleaner.wake(float(second), float(second))
        assert cleaner.batch is Batch.ADAPTIVE
        assert cleaner.requested <= cleaner.io_capacity_max
        cleaner.finish(second + 0.5)
        redo.lsn += 1.0


def test_sync_rounds_follow_each_other_and_are_at_least_c() -> None:
    """Over the sync point the cleaner flushes C to 2 M pages a round and does not sleep in between."""
    cleaner, redo, flush_list = _cleaner(300, 600, age_ratio=1.10, pages=30_000.0)
    cleaner.wake(1.0, 1.0)
    rounds = 0
    now = 1.0
    while cleaner.batch is Batch.SYNC and cleaner.left > 0.0:
        assert 300 <= cleaner.requested <= 1200
        taken = flush_list.take(cleaner.left)
        cleaner.wrote(taken)
        now += 0.01
        cleaner.finish(now)
        assert cleaner.wake_at == now
        cleaner.wake(now, 1.0)
        rounds += 1
    assert rounds >= 2
    assert redo.lsn - flush_list.oldest(redo.lsn) <= redo.sync_trigger
    assert cleaner.wake_at == 2.0


def test_an_idle_server_flushes_c_pages_a_second() -> None:
    """With no commits the cleaner flushes C pages/s, counted as background, until nothing is dirty."""
    samples = readings(
        400,
        io_capacity=200,
        io_capacity_max=2000,
        load=stopping(20.0, noise=0.0),
        disk=DiskParameters(timeline=(DiskChange(0.0, 5000.0),)),
        seed=3,
    )
    rates = [b.pages_background - a.pages_background for a, b in itertools.pairwise(samples[25:60])]
    assert all(abs(rate - 200) <= 1 for rate in rates)
    assert samples[-1].pages_dirty == 0
    assert samples[-1].modified_age == 0
    assert samples[-1].checkpoint_age == 0


def test_a_smaller_share_of_c_is_flushed_where_idle() -> None:
    """With innodb_idle_flush_pct = 29 and C = 100 an idle server flushes 28 pages/s, as PCT_IO rounds."""
    samples = readings(100, io_capacity=100, io_capacity_max=2000, idle_flush_pct=29, load=stopping(60.0))
    assert samples[90].pages_background - samples[70].pages_background == pytest.approx(28 * 20, abs=28)


@pytest.mark.parametrize("flavour", ["mysql-9.7", "mysql-8.0.28", "mysql-5.7", "mysql-5.6"])
def test_an_idle_mysql_writes_a_checkpoint_every_second(flavour: FlavourName) -> None:
    """At work checkpoints are seven seconds apart, without commits one, as long as pages are flushed."""
    samples = readings(
        140,
        flavour=flavour,
        io_capacity=100,
        io_capacity_max=2000,
        flush_neighbors=False,
        load=stopping(120.0),
        disk=DiskParameters(timeline=(DiskChange(0.0, 1200.0), DiskChange(120.0, 200.0))),
    )
    moments = [
        after.monotonic
        for before, after in itertools.pairwise(samples)
        if after.lsn_checkpoint != before.lsn_checkpoint and after.pages_dirty > 0
    ]
    gaps = [(earlier, later - earlier) for earlier, later in itertools.pairwise(moments)]
    assert {gap for earlier, gap in gaps if earlier < 110.0} == {7.0}
    assert {gap for earlier, gap in gaps if earlier > 123.0} == {1.0}


ON_AGE: dict[FlavourName, float | None] = {
    "mysql-9.7": None,
    "mysql-8.0.28": None,
    "mysql-5.7": None,
    "mysql-5.6": None,
    "percona-8.4": None,
    "percona-5.7": None,
    "mariadb-11.8": 0.001,
    "mariadb-10.5": 0.0,
}
"""The servers whose age M decides, with the innodb_max_dirty_pages_pct_lwm that it takes."""


@pytest.mark.parametrize("io_capacity_max", [2000, 3000])
@pytest.mark.parametrize("flavour", list(ON_AGE))
def test_fixed_point_is_the_inverse_laws(flavour: FlavourName, io_capacity_max: int) -> None:
    """Without write combining each server's age settles where the daemon's inverse of its law says."""
    samples = readings(
        900,
        flavour=flavour,
        io_capacity=io_capacity_max // 10,
        io_capacity_max=io_capacity_max,
        max_dirty_pages_pct_lwm=ON_AGE[flavour],
        buffer_pool_pages=10**7,
        load=LoadParameters(timeline=(LoadChange(0.0, 16, 1000.0),), hot_pages=1e9, noise=0.0),
        disk=DiskParameters(timeline=(DiskChange(0.0, 50_000.0),)),
        seed=3,
    )
    window = samples[600:]
    settled = sum(sample.age_ratio for sample in window) / len(window)
    law = LAWS[FLAVOURS[flavour].law.name]
    below, above = (1000.0 * law.gain_over_demand(settled + off) for off in (-0.02, 0.02))

    assert above < io_capacity_max < below


@pytest.mark.parametrize("io_capacity_max", [600, 1200, 2400])
def test_fixed_point_holds_with_write_combining(io_capacity_max: int) -> None:
    """On the measured load too, the settled age is the inverse law's for the pages/s really flushed."""
    samples = readings(
        1200,
        io_capacity=io_capacity_max // 2,
        io_capacity_max=io_capacity_max,
        load=LoadParameters(noise=0.0),
        seed=3,
    )
    window = samples[800:]
    demand = (window[-1].pages_adaptive - window[0].pages_adaptive) / (len(window) - 1)
    settled = sum(sample.age_ratio for sample in window) / len(window)
    below, above = (demand * LEGACY.gain_over_demand(settled + off) for off in (-0.02, 0.02))

    assert above < io_capacity_max < below


def stalls(flavour: FlavourName, io_capacity_max: int) -> tuple[float, list[Sample]]:
    """Return the seconds that writers waited with an M, and the readings of the last five minutes."""
    own = None if flavour.startswith("mariadb") else False  # pages that are due one by one
    server, samples = watched(
        plant(
            flavour=flavour,
            io_capacity=io_capacity_max // 2,
            io_capacity_max=io_capacity_max,
            flush_neighbors=own,
        ),
        600,
    )
    return server.engine.stalled, samples[300:]


@pytest.mark.parametrize("flavour", list(FLAVOURS))
def test_a_server_says_which_it_is(flavour: FlavourName) -> None:
    """The daemon knows the flush law of every simulated server, and sees that it is none."""
    server, _ = watched(plant(flavour=flavour), 1)
    facts = server.facts()
    assert facts.flush_law in LAWS
    assert facts.family == "simulated"
    assert flavour in facts.version_comment


@pytest.mark.parametrize(("flavour", "least"), [("mysql-5.6", 30.0), ("mysql-5.7", 1.0)])
def test_before_8_0_writers_wait_for_sync_flushing(flavour: FlavourName, least: float) -> None:
    """With M far below the demand MySQL 5 stops its writers again and again, at the sync point."""
    seconds, samples = stalls(flavour, 200)
    assert seconds > least
    assert mean_ratio(samples) == pytest.approx(1.05, abs=0.05)
    assert rate(samples, "pages_sync") > 100.0
    assert max(sample.modified_age for sample in samples) <= samples[0].stall_point


@pytest.mark.parametrize("flavour", ["mysql-9.7", "mysql-8.0.28"])
def test_from_8_0_on_writers_go_on_while_it_sync_flushes(flavour: FlavourName) -> None:
    """MySQL from 8.0 on sync-flushes with the same M and lets nobody wait."""
    seconds, samples = stalls(flavour, 200)
    assert seconds == 0.0
    assert max(sample.age_ratio for sample in samples) < 1.12
    assert rate(samples, "pages_sync") > 100.0


@pytest.mark.parametrize("io_capacity_max", [1200, 2000])
def test_mariadb_goes_to_the_flush_limit_whatever_m(io_capacity_max: int) -> None:
    """With innodb_max_dirty_pages_pct_lwm = 0 and M above the demand the age ends at the flush limit."""
    seconds, samples = stalls("mariadb-11.8", io_capacity_max)
    assert 1.0 < max(sample.age_ratio for sample in samples) < 1.05
    assert seconds < 0.1
    assert rate(samples, "pages_background") > 100.0
    assert rate(samples, "pages_sync") == 0.0


def test_mariadb_with_m_below_the_demand_is_furious() -> None:
    """With M below the demand the age goes on to where writers wait, and rounds of M pages follow."""
    seconds, samples = stalls("mariadb-11.8", 200)
    assert seconds > 0.0
    assert max(sample.age_ratio for sample in samples) > 1.1
    assert rate(samples, "pages_sync") > 50.0


@pytest.mark.parametrize(
    ("before", "rests"), [(800, 0.885), (400, 1.005)], ids=["from below", "from the limit"]
)
def test_mariadb_stays_at_the_flush_limit_where_it_has_been(before: int, rests: float) -> None:
    """The same M holds an age below the limit, and the limit itself where another M has brought it there."""
    parameters = plant(
        flavour="mariadb-11.8",
        max_dirty_pages_pct_lwm=0.001,
        io_capacity=before // 2,
        io_capacity_max=before,
        load=LoadParameters(redo_bytes_per_commit=440.0, group_operations=5.58),
        disk=DiskParameters(operations_per_page=1.017),
    )
    server, _ = watched(parameters, 900)
    server.engine.cleaner.io_capacity, server.engine.cleaner.io_capacity_max = 250, 500
    ratios = []
    for second in range(901, 1601):
        server.engine.advance_to(float(second))
        age = server.engine.redo.lsn - server.engine.flush_list.oldest(server.engine.redo.lsn)
        ratios.append(age / server.engine.redo.flush_limit)

    assert statistics.fmean(ratios[-300:]) == pytest.approx(rests, abs=0.03)


def test_mariadb_raises_m_with_c() -> None:
    """A C above M makes M twice the C, and an M below C lowers C, as MariaDB does."""
    server, _ = watched(plant(flavour="mariadb-11.8"), 1)
    raised = server.apply((("innodb_io_capacity", 5_000),), Capacity(5_000, 10_000))
    assert raised.in_force == Capacity(5_000, 10_000)
    lowered = server.apply((("innodb_io_capacity_max", 300),), Capacity(300, 300))
    assert lowered.in_force == Capacity(300, 300)


def test_a_larger_log_is_there_at_once() -> None:
    """When the redo log grows all limits grow with it, and the age ratio falls in the same second."""
    samples = readings(260, m=600, resizes=(RedoChange(200.0, 209_715_200),))
    assert samples[202].redo_capacity == 209_715_200
    assert samples[202].age_ratio < 0.55 * samples[199].age_ratio
    assert not samples[202].resizing


@pytest.mark.parametrize("wanted", [67_108_864, 419_430_400])
def test_mariadb_resizes_its_log_once_all_that_is_older_is_flushed(wanted: int) -> None:
    """Larger or smaller, the limits change once, without sync flushing, and writers go on meanwhile."""
    parameters = plant(
        flavour="mariadb-11.8",
        max_dirty_pages_pct_lwm=0.001,
        m=600,
        redo_capacity=209_715_200,
        resizes=(RedoChange(300.0, wanted),),
    )
    server, samples = watched(parameters, 400)
    resizing = [sample for sample in samples if sample.resizing]
    assert len(resizing) > 10
    assert {sample.redo_capacity for sample in resizing} == {209_715_200}
    assert resizing[-1].lsn_checkpoint < samples[300].lsn_current
    assert samples[-1].redo_capacity == wanted
    assert samples[-1].pages_sync == 0
    assert server.engine.stalled == 0.0
    assert rate(resizing, "commits") > 0.5 * rate(samples[250:300], "commits")


@pytest.mark.parametrize("low_water", [0.001, 20.0])
def test_an_idle_mariadb_with_a_low_water_mark_flushes_everything(low_water: float) -> None:
    """With innodb_max_dirty_pages_pct_lwm above 0 nothing is dirty a few minutes after the load has gone."""
    load = stopping(100.0)
    samples = readings(400, flavour="mariadb-11.8", load=load, max_dirty_pages_pct_lwm=low_water)
    assert samples[100].pages_dirty > 1000
    assert samples[-1].pages_dirty == 0
    assert samples[-1].checkpoint_age == 0


def test_an_idle_mariadb_without_low_water_mark_flushes_nothing() -> None:
    """With its defaults MariaDB leaves dirty pages alone when the load has gone."""
    load = stopping(20.0)
    samples = readings(60, flavour="mariadb-11.8", load=load)
    assert samples[-1].pages_dirty == samples[25].pages_dirty > 0


def test_5_7_with_m_far_too_low_commits_in_every_second() -> None:
    """With M at half the demand 5.7 sync-flushes in waves; writers wait for moments, not for the batch."""
    alone = plant(flavour="mysql-5.7", m=200, flush_neighbors=False)
    server, samples = watched(alone, 600)
    window = samples[300:]
    assert 0.0 < server.engine.stalled < 0.02 * 600
    assert rate(window, "pages_sync") > 100.0
    assert min(later.commits - earlier.commits for earlier, later in itertools.pairwise(window)) > 0
    assert mean_ratio(window) == pytest.approx(1.04, abs=0.03)


@pytest.mark.parametrize("flavour", ["mysql-5.7", "percona-5.7"])
def test_5_7_without_flush_sync_flushes_m_pages_a_second_while_writers_wait(flavour: FlavourName) -> None:
    """With innodb_flush_sync off M is a limit: no sync flushing, the age at the sync point, few commits."""
    own = {"flavour": flavour, "io_capacity": 100, "io_capacity_max": 200, "flush_neighbors": False}
    free, _ = watched(plant(**own), 400)
    server, samples = watched(plant(**own, flush_sync=False), 400)
    window = samples[200:]
    assert samples[-1].pages_sync == 0
    assert rate(window, "pages_adaptive") == pytest.approx(200.0, abs=2.0)
    assert mean_ratio(window) == pytest.approx(15 / 14, abs=0.01)
    assert server.engine.stalled > 100.0
    assert free.engine.stalled < 10.0
    assert server.engine.commits < 0.7 * free.engine.commits


def test_an_idle_5_6_flushes_c_pages_again_and_again() -> None:
    """Without commits 5.6 makes no pause between batches of C pages, where 5.7 flushes C pages a second."""
    rates = {}
    for flavour in ("mysql-5.6", "mysql-5.7"):
        parameters = plant(
            flavour=flavour,
            io_capacity=100,
            io_capacity_max=2000,
            load=stopping(60.0, noise=0.0),
            disk=DiskParameters(timeline=(DiskChange(0.0, 2000.0),)),
        )
        _, samples = watched(parameters, 80)
        rates[flavour] = rate(samples[62:65], "pages_background")
    assert rates["mysql-5.6"] > 1000.0
    assert rates["mysql-5.7"] == pytest.approx(100.0, abs=1.0)


@pytest.mark.parametrize(("hot_pages", "io_capacity"), [(300.0, 100), (5000.0, 1000), (5000.0, 5000)])
def test_an_idle_5_6_rests_when_nothing_is_left_to_flush(hot_pages: float, io_capacity: int) -> None:
    """A 5.6 whose clients are gone flushes what is dirty, then looks once a second until they are back."""
    samples = readings(
        450,
        flavour="mysql-5.6",
        io_capacity=io_capacity,
        io_capacity_max=2 * io_capacity,
        load=LoadParameters(
            timeline=(LoadChange(0.0, 16), LoadChange(100.0, 0), LoadChange(400.0, 16)), hot_pages=hot_pages
        ),
    )
    assert samples[390].pages_dirty <= 0.001 * hot_pages
    assert samples[390].modified_age == 0
    assert samples[390].pages_background == samples[300].pages_background
    assert rate(samples[420:], "commits") > 1000.0


def test_an_older_mariadb_sleeps_until_the_flush_limit_and_flushes_all_that_is_dirty() -> None:
    """From the limit the age falls to next to nothing where M allows it, and no page goes before the next."""
    samples = readings(400, flavour="mariadb-10.5", m=4000)
    ratios = [sample.age_ratio for sample in samples]
    peak = next(second for second, ratio in enumerate(ratios) if ratio > 1.0)
    low = peak + min(range(30), key=lambda second: ratios[peak + second])
    assert samples[peak - 1].pages_background == 0
    assert ratios[low] < 0.1
    again = next(second for second in range(low, len(ratios)) if ratios[second] > 0.9)
    assert samples[again].pages_background == samples[low + 2].pages_background
    assert samples[again].pages_adaptive == samples[low + 2].pages_adaptive


def test_the_loop_steers_an_older_mariadb() -> None:
    """Left alone its throughput falls to a twentieth each time it wakes; with the loop only at first."""
    scenario = replace(load_scenario("mariadb-lwm0"), server=ServerParameters(flavour="mariadb-10.5"))
    found = run_policy(scenario, Settings(mode=Mode.ACTIVE)).outcome
    alone = run_policy(scenario, Settings()).outcome
    assert alone.throughput_p1 < 0.1 * alone.throughput_median
    assert found.throughput_p1 > 0.8 * found.throughput_median
    assert found.stall_seconds == 0.0
