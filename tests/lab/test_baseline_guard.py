"""The whole loop on a simulated server whose own values were better than ours: they come back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lab.plant.clock import SimClock
from lab.plant.server import SimulatedServer
from lab.scenarios.load import parse_scenario
from lab.simulate_loop import SimInbox
from tuner.core.step import start
from tuner.loop import drive
from tuner.records import Capacity, Command, Sample
from tuner.settings import Mode, Settings

if TYPE_CHECKING:
    from tuner.core.state import State
    from tuner.records import TickRecord

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
