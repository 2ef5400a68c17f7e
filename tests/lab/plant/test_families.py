"""What the simulated servers do that MySQL 9.7 does not."""

from __future__ import annotations

import itertools
import statistics

import pytest

from lab.plant.flavour import FLAVOURS, FlavourName
from lab.plant.parameters import DiskParameters, LoadChange, LoadParameters, RedoChange
from policies.registry import LAWS
from tests.lab.plant.support import mean_ratio, plant, rate, watched
from tuner.records import Capacity, Sample


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


def test_5_7_flushes_more_at_once_than_5_6() -> None:
    """5.7 flushes three seconds' redo beyond what is too much, 5.6 next to nothing: the one's age swings."""
    swing = {}
    for flavour in ("mysql-5.6", "mysql-5.7"):
        _, samples = stalls(flavour, 200)
        ratios = [sample.age_ratio for sample in samples]
        swing[flavour] = max(ratios) - min(ratios)
    assert swing["mysql-5.7"] > 2.0 * swing["mysql-5.6"]


def test_from_8_0_on_writers_go_on_while_it_sync_flushes() -> None:
    """MySQL 8.0 sync-flushes with the same M and lets nobody wait."""
    seconds, samples = stalls("mysql-8.0.28", 200)
    assert seconds == 0.0
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


def test_mariadb_with_a_low_water_mark_heeds_the_age() -> None:
    """With innodb_max_dirty_pages_pct_lwm above 0 the age rests lower the larger M is."""
    ratios = []
    for io_capacity_max in (1200, 1600, 2000):
        parameters = plant(
            flavour="mariadb-11.8",
            max_dirty_pages_pct_lwm=0.001,
            io_capacity=200,
            io_capacity_max=io_capacity_max,
        )
        ratios.append(mean_ratio(watched(parameters, 600)[1][300:]))
    assert all(after < before for before, after in itertools.pairwise(ratios))
    assert ratios[0] < 0.9


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


def test_furious_mariadb_commits_next_to_nothing() -> None:
    """From the stall point on few commits get through, until the age is back near the flush limit."""
    parameters = plant(
        flavour="mariadb-11.8", max_dirty_pages_pct_lwm=0.001, io_capacity=100, io_capacity_max=200
    )
    _, samples = watched(parameters, 300)
    ratios = [sample.age_ratio for sample in samples]
    peak = next(second for second, ratio in enumerate(ratios) if ratio > 1.1)
    assert 0.8 < min(ratios[peak : peak + 60]) < 1.05
    assert rate(samples[peak + 2 : peak + 12], "commits") < 0.3 * rate(samples[peak - 10 : peak], "commits")


def test_mariadb_with_few_dirty_pages_flushes_above_the_low_water_mark() -> None:
    """Fewer dirty pages than innodb_max_dirty_pages_pct_lwm says do not let the age go to the flush limit."""
    parameters = plant(
        flavour="mariadb-11.8",
        max_dirty_pages_pct_lwm=50.0,
        io_capacity=1000,
        io_capacity_max=2000,
        load=LoadParameters(timeline=(LoadChange(0.0, 16, 500.0),)),
    )
    _, samples = watched(parameters, 600)
    assert max(sample.age_ratio for sample in samples[300:]) < 0.3
    assert rate(samples[300:], "pages_adaptive") > 50.0


def test_mariadb_without_flush_sync_flushes_m_pages_a_second_while_writers_wait() -> None:
    """With innodb_flush_sync = OFF M is the most that is flushed at the stall point too, and writers wait."""
    parameters = plant(flavour="mariadb-11.8", flush_sync=False, io_capacity=100, io_capacity_max=200)
    server, samples = watched(parameters, 300)
    flushed = [
        after.pages_background - before.pages_background for before, after in itertools.pairwise(samples)
    ]
    assert max(flushed) <= 202
    assert samples[-1].pages_sync == 0
    assert server.engine.stalled > 60.0


def test_below_the_low_water_mark_mariadb_flushes_c_pages_a_second() -> None:
    """With a low-water mark of dirty pages it flushes C pages a second from the start, whatever the age."""
    parameters = plant(
        flavour="mariadb-11.8", max_dirty_pages_pct_lwm=0.001, io_capacity=200, io_capacity_max=2000
    )
    _, samples = watched(parameters, 4)
    assert samples[-1].modified_age < samples[-1].low_water
    assert samples[-1].pages_adaptive - samples[-2].pages_adaptive == pytest.approx(200, abs=1)


def test_mariadb_writes_a_checkpoint_every_second() -> None:
    """The checkpoint of MariaDB stays within two seconds' redo of the oldest modification."""
    parameters = plant(
        flavour="mariadb-11.8", max_dirty_pages_pct_lwm=0.001, io_capacity=600, io_capacity_max=1200
    )
    _, samples = watched(parameters, 300)
    assert mean_ratio(samples[200:]) < 0.95
    for sample in samples[200:]:
        assert sample.lsn_oldest - sample.lsn_checkpoint <= 2 * rate(samples[200:], "lsn_current")


def test_mariadb_raises_m_with_c() -> None:
    """A C above M makes M twice the C, and an M below C lowers C, as MariaDB does."""
    server, _ = watched(plant(flavour="mariadb-11.8"), 1)
    raised = server.apply((("innodb_io_capacity", 5_000),), Capacity(5_000, 10_000))
    assert raised.in_force == Capacity(5_000, 10_000)
    lowered = server.apply((("innodb_io_capacity_max", 300),), Capacity(300, 300))
    assert lowered.in_force == Capacity(300, 300)


def test_a_larger_log_is_there_at_once() -> None:
    """When the redo log grows all limits grow with it, and the age ratio falls in the same second."""
    _, samples = watched(
        plant(io_capacity=300, io_capacity_max=600, resizes=(RedoChange(200.0, 209_715_200),)), 260
    )
    assert samples[202].redo_capacity == 209_715_200
    assert samples[202].age_ratio < 0.55 * samples[199].age_ratio
    assert not samples[202].resizing


@pytest.mark.parametrize("wanted", [67_108_864, 419_430_400])
def test_mariadb_resizes_its_log_once_all_that_is_older_is_flushed(wanted: int) -> None:
    """Larger or smaller, the limits change once, without sync flushing, and writers go on meanwhile."""
    parameters = plant(
        flavour="mariadb-11.8",
        max_dirty_pages_pct_lwm=0.001,
        io_capacity=300,
        io_capacity_max=600,
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
    load = LoadParameters(timeline=(LoadChange(0.0, 16), LoadChange(100.0, 0)))
    _, samples = watched(plant(flavour="mariadb-11.8", load=load, max_dirty_pages_pct_lwm=low_water), 400)
    assert samples[100].pages_dirty > 1000
    assert samples[-1].pages_dirty == 0
    assert samples[-1].checkpoint_age == 0


def test_an_idle_mariadb_without_low_water_mark_flushes_nothing() -> None:
    """With its defaults MariaDB leaves dirty pages alone when the load has gone."""
    load = LoadParameters(timeline=(LoadChange(0.0, 16), LoadChange(20.0, 0)))
    _, samples = watched(plant(flavour="mariadb-11.8", load=load), 60)
    assert samples[-1].pages_dirty == samples[25].pages_dirty > 0
