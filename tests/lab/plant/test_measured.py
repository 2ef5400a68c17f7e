"""The simulated servers give what real ones gave: rows of the published benches, and of articles.

docs/results/plant.md has all rows and docs/lab/simulate.md says how they were measured.
"""

from __future__ import annotations

import itertools
import math
import statistics
from collections import deque
from operator import attrgetter
from typing import TYPE_CHECKING, NamedTuple

import pytest
from msgspec.structs import replace

from lab.plant.clock import SimClock
from lab.plant.neighbours import Areas, Cohort, Instances
from lab.plant.parameters import DiskChange, DiskParameters
from lab.plant.server import SimulatedServer
from lab.scenarios import load_scenario
from lab.scenarios.load import parse_scenario
from tests.lab.plant.support import plant, readings, watched
from tuner.servers.families.log_files import log_group_limits
from tuner.servers.families.redo_capacity import redo_limits

if TYPE_CHECKING:
    from lab.plant.flavour import FlavourName
    from lab.plant.parameters import PlantParameters
    from tuner.records import Sample

GIB = 2.0**30


class Row(NamedTuple):
    """A static setting of a bench: disk, C and M; then commits/s and the mean age ratio that were measured.

    ``full`` are the seconds, of ninety, in which a writer found no room in the log; None: not compared.
    """

    server: FlavourName
    write_iops: float
    io_capacity: int
    io_capacity_max: int
    commits: float
    age: float
    full: int | None = None
    dirty_lwm: float | None = None


ROWS = (
    Row("mysql-9.7", 1200, 10_000, 20_000, 1224, 0.114),
    Row("mysql-9.7", 1200, 2_000, 4_000, 1622, 0.246),
    Row("mysql-9.7", 1200, 1_200, 2_400, 1785, 0.328),
    Row("mysql-9.7", 1200, 444, 888, 2241, 0.556),
    Row("mysql-9.7", 1200, 311, 622, 2386, 0.687),
    Row("mysql-9.7", 1200, 200, 400, 2576, 0.889, full=0),
    Row("mysql-9.7", 1200, 183, 366, 2728, 1.027, full=17),
    Row("mysql-9.7", 1200, 153, 306, 2775, 1.019, full=14),
    Row("mysql-9.7", 1200, 100, 100, 2759, 1.054, full=23),
    Row("mysql-9.7", 3000, 10_000, 20_000, 3415, 0.149),
    Row("mysql-9.7", 3000, 2_000, 4_000, 4793, 0.395),
    Row("mysql-9.7", 3000, 900, 1_800, 5510, 0.628),
    Row("mysql-9.7", 3000, 650, 1_300, 5940, 0.717),
    Row("mysql-5.6", 1200, 200, 2_000, 1502, 0.447),
    Row("mysql-5.6", 1200, 312, 624, 1895, 0.846),
    Row("mysql-5.6", 1200, 263, 526, 1941, 0.951),
    Row("mysql-5.6", 1200, 221, 442, 1909, 1.025),
    Row("mariadb-11.8", 1200, 200, 2_000, 2604, 1.003, dirty_lwm=0.0),
    Row("mariadb-11.8", 1200, 143, 286, 2604, 1.036, dirty_lwm=0.0),
    Row("mariadb-11.8", 1200, 116, 232, 2667, 1.036, dirty_lwm=0.0),
    Row("mariadb-11.8", 1200, 200, 2_000, 1814, 0.438, dirty_lwm=0.001),
    Row("mariadb-11.8", 1200, 206, 412, 2579, 1.001, dirty_lwm=0.001),
    Row("mariadb-11.8", 1200, 175, 350, 2499, 1.024, dirty_lwm=0.001),
)
"""Of docs/results/bench: contenders, ladder, old-mysql, mariadb-11.8; means where a setting was repeated."""


def settled(row: Row) -> list[Sample]:
    """Return ninety seconds of readings of the simulated server, five minutes after the setting."""
    scenario = parse_scenario(
        f'name = "row"\ndescription = ""\nseconds = 420\nmeasured_from = 300\nfit = "{row.server}"',
        source="row",
    )
    parameters = plant(
        load=scenario.load,
        disk=replace(scenario.disk, timeline=(DiskChange(0.0, row.write_iops),)),
        flavour=row.server,
        io_capacity=row.io_capacity,
        io_capacity_max=row.io_capacity_max,
        max_dirty_pages_pct_lwm=row.dirty_lwm,
    )
    clock = SimClock()
    server = SimulatedServer(parameters, clock)
    at_work(server)
    found = []
    for second in range(300, 391):
        clock.advance_to(float(second))
        found.append(server.read())
    return found


SLICES = 100
"""Cohorts of a server long at work."""


def at_work(server: SimulatedServer) -> None:
    """Let the areas of a server that flushes neighbours have been flushed one by one, the first one now."""
    engine, pages = server.engine, server.engine.flush_list
    if not isinstance(pages, Areas | Instances):
        return
    begin, past = pages._end, engine.redo.flush_limit
    touches = past / engine.redo_per_commit * pages._per_commit
    engine.redo.lsn += past
    pages._touched, pages._per_byte, pages._end = touches, touches / past, engine.redo.lsn
    if isinstance(pages, Areas):
        step, more, held = past / SLICES, touches / SLICES, pages._pages / SLICES
        pages._cohorts = deque(
            Cohort(begin + i * step, begin + (i + 1) * step, (i + 0.5) * more, held) for i in range(SLICES)
        )
        pages.dirty = -sum(held * math.expm1(one.touched - touches) for one in pages._cohorts)
    else:
        for areas in pages._lists:
            for area in areas:
                share = pages._random.random()
                area.first, area.touched = begin + share * past, share * touches
            areas.sort(key=attrgetter("first"))
        pages.dirty = sum(area.dirty(touches) for areas in pages._lists for area in areas)
    pages.dirtied, pages._clean = pages.dirty, pages._pages - pages.dirty


def commits(samples: list[Sample]) -> list[int]:
    """Return the commits in each second."""
    return [after.commits - before.commits for before, after in itertools.pairwise(samples)]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.server}-{row.write_iops}-{row.io_capacity_max}")
def test_a_static_setting_gives_what_was_measured(row: Row) -> None:
    """Throughput within 7 %, age ratio within 0.05, seconds without room within six."""
    samples = settled(row)

    assert statistics.fmean(commits(samples)) == pytest.approx(row.commits, rel=0.07)
    assert statistics.fmean(one.age_ratio for one in samples[1:]) == pytest.approx(row.age, abs=0.05)
    waits = [one.redo_space_waits for one in samples]
    full = sum(after > before for before, after in itertools.pairwise(waits))
    assert row.full is None or full == pytest.approx(row.full, abs=6)


@pytest.mark.parametrize(
    ("io_capacity", "io_capacity_max", "measured", "age", "sync"),
    [
        (10_000, 20_000, 1289, 0.16, 0),
        (1_250, 2_500, 1967, 0.37, 0),
        (600, 1_200, 2252, 0.53, 0),
        (300, 600, 2657, 0.75, 0),
        (225, 450, 2829, 0.89, 0),
        (175, 350, 3023, 1.03, 130),
        (100, 100, 3008, 1.05, 381),
    ],
)
def test_the_default_parameters_give_what_was_measured(
    io_capacity: int, io_capacity_max: int, measured: float, age: float, sync: float
) -> None:
    """Of the machine that they are from: throughput within 6 %, checkpoint age within 0.06 of its limit."""
    parameters = plant(io_capacity=io_capacity, io_capacity_max=io_capacity_max)
    _, samples = watched(parameters, 240)
    samples = samples[120:]

    assert statistics.fmean(commits(samples)) == pytest.approx(measured, rel=0.06)
    limit = redo_limits(parameters.server.redo_capacity).raw_async
    assert statistics.fmean(one.checkpoint_age for one in samples) / limit == pytest.approx(age, abs=0.06)
    assert (samples[-1].pages_sync - samples[0].pages_sync) / 120 == pytest.approx(sync, abs=60)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_below_the_demand_throughput_comes_in_waves(seed: int) -> None:
    """M = 100 has a finer mean than M = 480, and is more than three times as uneven, as was measured."""
    calm, waves = (
        commits(watched(plant(io_capacity=least, io_capacity_max=most), 240, seed=seed)[1][120:])
        for least, most in ((240, 480), (100, 100))
    )

    assert statistics.fmean(waves) > statistics.fmean(calm)
    assert min(waves) < 0.7 * statistics.fmean(waves)
    assert statistics.pstdev(waves) > 3 * statistics.pstdev(calm)


@pytest.mark.parametrize(("most", "measured"), [(1000, 3212), (700, 3249), (450, 3652)])
def test_a_changing_disk_gives_what_was_measured(most: int, measured: float) -> None:
    """On a disk of 2400 and 800 writes/s in turns of 150 s the plant is within 8 % of the throughput."""
    disk = DiskParameters(timeline=tuple(DiskChange(150.0 * i, (2400.0, 800.0)[i % 2]) for i in range(4)))
    samples = readings(600, disk=disk, io_capacity=most // 2, io_capacity_max=most)

    assert statistics.fmean(commits(samples[10:])) == pytest.approx(measured, rel=0.08)


def article(name: str, io_capacity: int, io_capacity_max: int) -> PlantParameters:
    """Return the server of a scenario that stands for a published one, with another C and M."""
    parameters = load_scenario(name).plant
    changed = replace(parameters.server, io_capacity=io_capacity, io_capacity_max=io_capacity_max)
    return replace(parameters, server=changed)


@pytest.mark.parametrize(
    ("name", "most", "age", "measured"),
    [
        ("seed-sata-20g", 8000, 12.51, 7693.084),
        ("seed-sata-20g", 7000, 13.66, 7936.283),
        ("seed-sata-20g", 6500, 15.47, 8233.628),
        ("seed-sata-40g", 7000, 22.58, 9374.121),
        ("seed-sata-40g", 4500, 29.80, 9865.308),
    ],
)
def test_large_redo_logs_give_what_an_article_says(name: str, most: int, age: float, measured: float) -> None:
    """Age, GiB, and throughput are within a tenth; the first two rows were fitted on, by two parameters."""
    scenario = load_scenario(name)
    _, samples = watched(article(name, most, most), scenario.seconds)
    samples = samples[scenario.measured_from :]

    assert statistics.fmean(one.checkpoint_age for one in samples) / GIB == pytest.approx(age, rel=0.1)
    assert statistics.fmean(commits(samples)) == pytest.approx(measured, rel=0.1)


@pytest.mark.parametrize(("files", "limit"), [(10, 16.61), (20, 33.24)])
def test_an_articles_maximum_age_is_the_raw_async_limit(files: int, limit: float) -> None:
    """16.61 and 33.24 GiB follow from the redo size of 8.0.21 alone."""
    assert log_group_limits(files * 2**30, 2).raw_async / GIB == pytest.approx(limit, abs=0.01)


def test_small_doublewrite_batches_make_waves_and_large_ones_do_not() -> None:
    """20-second means swing by a tenth at 2000/4000, and by less than 1 % with larger batches at 7000."""

    def unevenness(parameters: PlantParameters) -> float:
        done = commits(watched(parameters, 3600)[1][600:])
        means = [statistics.fmean(done[at : at + 20]) for at in range(0, len(done), 20)]
        return statistics.pstdev(means) / statistics.fmean(means)

    assert unevenness(load_scenario("wave").plant) > 0.1
    assert unevenness(article("seed-sata-20g", 7000, 7000)) < 0.01


def test_more_redo_is_faster_on_mysql_56() -> None:
    """4, 8 and 16 GB of redo give more throughput each, as an article found."""
    scenario = load_scenario("seed-fusionio-56")
    rates = []
    for redo in (2**32, 2**33, 2**34):
        parameters = article(scenario.name, 10_000, 20_000)
        parameters = replace(parameters, server=replace(parameters.server, redo_capacity=redo))
        _, samples = watched(parameters, scenario.seconds)
        rates.append(statistics.fmean(commits(samples[scenario.measured_from :])))

    assert rates == sorted(rates)
    assert rates[-1] > 1.2 * rates[0]
