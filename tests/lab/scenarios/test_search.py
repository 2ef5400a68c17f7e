"""The search for the best static setting: as good as trying everything, and cheap enough to wait for."""

from __future__ import annotations

import math

import pytest
from msgspec.structs import replace

from lab.plant.clock import SimClock
from lab.plant.parameters import DiskChange, DiskParameters, LoadChange, LoadParameters, PlantParameters
from lab.plant.server import SimulatedServer
from lab.scenarios import Scenario
from lab.scenarios.search import Caps, calm, caps_of, coarse, past_the_best, search, slowest_flush
from lab.scenarios.static import run_static
from lab.scenarios.trace import Outcome, Trace
from tuner.records import Capacity
from tuner.settings import Settings

SHORT = Scenario(name="short", description="for tests", seconds=480, measured_from=300)
CAPS = Caps(0.78)


@pytest.mark.long
def test_the_search_finds_what_trying_everything_finds() -> None:
    """By each rule its winner gives as much as the best of all M that are 3 % apart, in at most 40 runs."""
    everything: dict[int, Outcome] = {}
    most = 100.0
    while most <= 20_000:
        everything[round(most / 2) * 2] = run_static(SHORT, 2, round(most / 2) * 2)
        most *= 1.03
    outcomes = everything.values()
    wanted = [
        max(one.throughput_mean for one in outcomes if calm(one) and CAPS.keep(one)),
        max(one.throughput_mean for one in outcomes if calm(one)),
        max(one.throughput_mean for one in outcomes),
    ]
    found = search(SHORT, ratio=2, caps=CAPS)
    for winner, best in zip((found.best, found.without_cap, found.unconstrained), wanted, strict=True):
        assert winner is not None
        assert winner.throughput_mean > 0.995 * best
    assert found.runs <= 40


@pytest.mark.parametrize(
    ("throughputs", "winners", "ended"),
    [
        ([900.0, 1000.0, 980.0, 960.0, 940.0], [1000.0, 1000.0, 1000.0], True),
        ([900.0, 1000.0, 980.0, 960.0, 940.0], [None, 1000.0, 1000.0], False),
        ([900.0, 1000.0, 980.0, 960.0, 955.0], [1000.0, 1000.0, 1000.0], False),
        ([2000.0, 1000.0, 980.0, 960.0, 940.0], [940.0, 2000.0, 2000.0], False),
        ([1000.0, 980.0, 900.0, 901.0, 700.0], [1000.0, 1000.0, 1000.0], False),
        ([1000.0, 900.0, 800.0], [1000.0, 1000.0, 1000.0], False),
    ],
    ids=["falls", "a rule without winner", "hardly less", "one rule may still win", "a rise", "too few"],
)
def test_the_climb_ends_where_throughput_only_falls(
    throughputs: list[float], winners: list[float | None], *, ended: bool
) -> None:
    """Higher values are left out after three falls in a row to plainly less than every rule's winner."""
    assert past_the_best(throughputs, winners) is ended


def test_where_no_setting_is_calm_the_whole_range_is_tried() -> None:
    """As long as a rule has no winner a higher M may be the first: no coarse step is left out."""
    found = search(SHORT, ratio=2, caps=Caps(0.01))
    assert found.best is None
    assert found.runs > len(coarse(2))


def test_seconds_that_do_not_count_are_not_read() -> None:
    """An outcome is the same to the last bit where only the counted seconds are read."""
    read_all = Trace(SHORT.measured_from)
    clock = SimClock()
    server = SimulatedServer(SHORT.plant, clock, seed=SHORT.seed)
    read_all.add(server.read(), 0.0, server.engine.latencies)
    server.apply((("innodb_io_capacity", 200), ("innodb_io_capacity_max", 400)), Capacity(200, 400))
    for second in range(1, SHORT.seconds + 1):
        clock.advance_to(float(second))
        read_all.add(server.read(), server.engine.stalled, server.engine.latencies)
    assert run_static(SHORT, 2, 400) == read_all.outcome(SHORT.measured_from)


DISKS = {
    "operations": DiskParameters(timeline=(DiskChange(0.0, 1200.0),)),
    "bandwidth": DiskParameters(timeline=(DiskChange(0.0, 5000.0),), megabytes_per_second=10.0),
    "latency": DiskParameters(timeline=(DiskChange(0.0, 5000.0),), latency=0.05, queued_pages=10.0),
    "server": DiskParameters(timeline=(DiskChange(0.0, 5000.0),), pages_per_second=300.0),
}


@pytest.mark.parametrize("limit", DISKS)
def test_the_shutdown_budget_is_of_the_rate_that_the_disk_really_has(limit: str) -> None:
    """Whatever limits the device, the dirty pages allowed are those that it flushes without load in time."""
    disk = DISKS[limit]
    load = LoadParameters(timeline=(LoadChange(0.0, 16), LoadChange(30.0, 0)))
    clock = SimClock()
    server = SimulatedServer(PlantParameters(disk=disk, load=load), clock)
    server.apply((("innodb_io_capacity", 100), ("innodb_io_capacity_max", 100)), Capacity(100, 100))
    clock.advance_to(29.0)
    server.read()
    server.apply(
        (("innodb_io_capacity_max", 20_000), ("innodb_io_capacity", 20_000)), Capacity(20_000, 20_000)
    )
    clock.advance_to(34.0)
    before = server.read().pages_dirty
    clock.advance_to(38.0)
    flushed = (before - server.read().pages_dirty) / 4.0
    scenario = replace(SHORT, disk=disk)

    assert slowest_flush(disk, 128) == pytest.approx(flushed, rel=0.03)
    budget = Settings(max_shutdown_seconds=300.0)
    assert caps_of(budget, scenario).pages_dirty == pytest.approx(300.0 * flushed, rel=0.03)


def test_what_nobody_set_caps_no_static_setting() -> None:
    """A static setting may take as long to recover and to shut down as the policy may, which is any time."""
    caps = caps_of(Settings(), SHORT)

    assert (caps.recovery_seconds, caps.pages_dirty) == (math.inf, math.inf)


def test_at_an_offered_load_the_fewest_pages_win() -> None:
    """Where every M serves the same transactions, the best is the one that writes fewest pages for each."""
    load = LoadParameters(timeline=(LoadChange(0.0, 16, rate=930.0),))
    offered = replace(SHORT, load=load)
    found = search(offered, ratio=2, caps=CAPS)
    default = run_static(offered, 2, 20_000)

    assert found.best is not None
    assert found.best.throughput_mean == pytest.approx(default.throughput_mean, rel=0.01)
    assert found.best.pages_per_commit < 0.5 * default.pages_per_commit
    assert found.best.io_capacity_max < 400
