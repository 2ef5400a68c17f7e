"""The whole loop on a simulated server: the baseline that it goes by, and a page cleaner that wakes late."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from lab.plant.clock import SimClock
from lab.plant.parameters import DiskChange, DiskParameters, LoadChange
from lab.plant.server import SimulatedServer
from lab.scenarios import load_scenario
from lab.scenarios.load import parse_scenario
from lab.scenarios.schema import Scenario
from lab.simulate_loop import SimInbox, run_policy
from tuner.core.state import State
from tuner.core.step import start
from tuner.loop import drive
from tuner.records import Capacity, Command, Sample, TickRecord
from tuner.settings import Mode, Settings

LEVER = Settings(mode=Mode.ACTIVE, low_water_mark=True)
ADVISORY = Settings(mode=Mode.ADVISORY)


def mariadb(mark: float) -> Scenario:
    """Return a MariaDB with that ``innodb_max_dirty_pages_pct_lwm``, percent."""
    scenario = load_scenario("mariadb-lwm0")
    server = replace(scenario.server, max_dirty_pages_pct_lwm=mark)
    return replace(scenario, seconds=1200, measured_from=600, server=server)


def short_pool() -> Scenario:
    """Return a server whose LRU does three quarters of the flushing."""
    scenario = load_scenario("h10-short-pool")
    server = replace(scenario.server, io_capacity=200, io_capacity_max=400)
    return replace(scenario, seconds=2000, measured_from=600, server=server)


def longest(scenario: Scenario, settings: Settings, name: str) -> float:
    """Return the highest value, within the last two minutes, of a figure of the estimate."""
    records: list[TickRecord] = []
    run_policy(scenario, settings, publish=records.append)
    return max(getattr(record.estimate, name) for record in records[-120:])


@pytest.mark.parametrize(
    ("scenario", "settings"),
    [(mariadb(0.0), LEVER), (mariadb(20.0), LEVER), (short_pool(), ADVISORY)],
    ids=["no age counted", "the age counted late", "the LRU flushes"],
)
def test_the_baseline_is_what_the_server_does_that_is_left_alone(
    scenario: Scenario, settings: Settings
) -> None:
    """Recovery with the baseline settings is told as long as it is, whatever mark of ours is in force."""
    alone = longest(scenario, ADVISORY, "recovery_seconds")

    assert longest(scenario, settings, "recovery_at_baseline") == pytest.approx(alone, rel=0.08)


GOOD = Capacity(225, 450)
MINUTES_BEFORE, MINUTES_AFTER = 25, 50

SCENARIO = """
name = "well-set"
description = "for tests: somebody had found a good value"
seconds = 4500
measured_from = 900
[server]
redo_capacity = 104_857_600
io_capacity = 225
io_capacity_max = 450
[disk]
timeline = [{ at = 0, write_iops = 1200 }]
[load]
timeline = [{ at = 0, threads = 16 }]
"""


def run(settings: Settings) -> tuple[list[tuple[float, str]], list[int], Mode]:
    """Let a loop look on, then be active; return what the guard said, each M in force, and the last mode."""
    scenario = parse_scenario(SCENARIO, source="test")
    clock = SimClock()
    server = SimulatedServer(scenario.plant, clock, seed=scenario.seed)
    inbox = SimInbox(clock)
    said: list[tuple[float, str]] = []
    seen: list[int] = []
    modes: list[Mode] = []

    def told(state: State, record: TickRecord) -> None:
        reading = record.tick.reading
        if isinstance(reading, Sample):
            seen.append(reading.io_capacity_max)
        said.extend((record.tick.now, one.code) for one in record.events if one.code.startswith("baseline_"))
        modes.append(record.mode)
        if record.tick.number == 1:
            inbox.put(Command(name="mode", who="ann", value="advisory"))
        if record.tick.number == 60 * MINUTES_BEFORE:
            inbox.put(Command(name="mode", who="ann", value="active"))
        if state.originals is not None and not state.originals.saved:
            inbox.put(Command(name="originals_saved", who="test"))

    until = 60.0 * (MINUTES_BEFORE + MINUTES_AFTER)
    drive(server, clock, inbox, start(settings, server.facts()), interval=1.0, publish=told, until=until)
    return said, seen, modes[-1]


def test_a_good_value_comes_back_where_the_loop_is_kept_from_it() -> None:
    """With limits that allow only a high M pages are flushed too early: the good pair comes back for good."""
    said, seen, mode = run(Settings(mode=Mode.ACTIVE, min_io_capacity_max=4000))

    assert max(seen) >= 4000
    assert [code for _, code in said] == ["baseline_back"]
    assert seen[-1] == GOOD.io_capacity_max
    assert mode is Mode.ADVISORY


def test_a_loop_that_does_as_well_keeps_its_values() -> None:
    """Beside the same good value a loop with its usual limits does no worse, and goes on."""
    said, _, mode = run(Settings(mode=Mode.ACTIVE))

    assert said == []
    assert mode is Mode.ACTIVE


FILE = Path(__file__).parents[1] / "fixtures" / "scenarios" / "first-waking.toml"
"""What docs/decisions/emergency.md has its figures from."""


@pytest.mark.parametrize(("rate", "write_iops"), [(3600.0, 20_000.0), (1200.0, 4_000.0)])
def test_nobody_waits_when_it_wakes(rate: float, write_iops: float) -> None:
    """Between the waking and the point where writers wait are some seconds: the raise comes in time."""
    scenario = load_scenario(str(FILE))
    load = replace(scenario.load, timeline=(LoadChange(0.0, 16, rate),))
    disk = DiskParameters(
        timeline=(DiskChange(0.0, write_iops),), operations_per_page=scenario.disk.operations_per_page
    )
    found = run_policy(replace(scenario, load=load, disk=disk), Settings(mode=Mode.ACTIVE))

    assert found.outcome.age_ratio_max > 1.03
    assert (found.outcome.stall_seconds, found.outcome.sync_flush_seconds) == (0.0, 0)
