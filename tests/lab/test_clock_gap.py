"""The whole loop beside a simulated server that lives on for 300 s while the daemon's clock stands still."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace

from lab.plant.clock import EPOCH, SimClock
from lab.plant.server import SimulatedServer
from lab.scenarios.load import parse_scenario
from tests.core.audits import ClockAudit
from tuner.core.step import start
from tuner.loop import drive
from tuner.records import Capacity, Command, DecisionKind, Facts, Missed, Receipt, Sample, Window
from tuner.settings import Mode, Settings

if TYPE_CHECKING:
    from tuner.core.state import State
    from tuner.records import TickRecord

STILL = 300.0
BEFORE, AFTER = 900.0, 90.0
"""Seconds by the daemon's clock until its clock stands still, and after that."""

SCENARIO = """
name = "steady"
description = "for tests: a load that goes on"
seconds = 3600
measured_from = 600
[server]
redo_capacity = 104_857_600
[disk]
timeline = [{{ at = 0, write_iops = 1200 }}]
[load]
timeline = [{{ at = 0, threads = {threads} }}]
"""


class Lagging:
    """The daemon's clock, which lost seconds, the server as it sees it by that, and its inbox.

    Attributes:
        lost: seconds that the clock did not count.
        lost_wall: seconds that the wall clock did not count either.
        deaf_until: until when the server's answers do not come, by the daemon's clock.
    """

    def __init__(self, threads: int) -> None:
        scenario = parse_scenario(SCENARIO.format(threads=threads), source="test")
        self.sim = SimClock()
        self.server = SimulatedServer(scenario.plant, self.sim, seed=scenario.seed)
        self.lost = self.lost_wall = 0.0
        self.deaf_until = 0.0
        self.commands: list[Command] = []

    def monotonic(self) -> float:
        """Return the seconds that were counted."""
        return self.sim.monotonic() - self.lost

    def wall(self) -> float:
        """Return Unix time, seconds."""
        return self.sim.wall() - self.lost_wall

    def facts(self) -> Facts:
        """Return what the server is."""
        return self.server.facts()

    def read(self) -> Sample | Missed:
        """Return a reading at the daemon's times."""
        if self.monotonic() < self.deaf_until:
            return Missed(self.monotonic(), self.wall(), "did not answer within 1 s")
        return replace(self.server.read(), monotonic=self.monotonic(), wall=self.wall())

    def apply(self, steps: tuple[tuple[str, int], ...], wanted: Capacity) -> Receipt:
        """Carry out the SETs."""
        return self.server.apply(steps, wanted)

    def close(self) -> None:
        """Do nothing."""

    def take(self, *, until: float) -> tuple[Command, ...]:
        """Wait by the daemon's clock; return what came."""
        self.sim.advance_to(until + self.lost)
        found, self.commands = tuple(self.commands), []
        return found

    def stand_still(self, *, wall: bool, deaf: float) -> None:
        """Let the server live on while the daemon's clock stands still, and then miss readings for a time."""
        self.sim.advance_to(self.sim.monotonic() + STILL)
        self.lost += STILL
        self.lost_wall += STILL if wall else 0.0
        self.deaf_until = self.monotonic() + deaf


WINDOW = Window(name="night", began=EPOCH, ends=EPOCH + 86_400.0, set_point=0.5, drain=True)
ASKED: dict[str, Command | None] = {
    "nothing": None,
    "override": Command(name="override", who="ann", value=600, ttl=3600.0),
    "drain": Command(name="drain", who="ann", value="30%", ttl=3600.0),
    "schedule": Command(name="schedule", who="schedule", windows=(WINDOW,)),
    "pause": Command(name="pause", who="ann"),
}


def run(threads: int, asked: Command | None, *, wall: bool, deaf: float, pending: bool) -> list[TickRecord]:
    """Return the ticks from the gap on, judged."""
    beside, keeper = Lagging(threads), ClockAudit()
    records: list[TickRecord] = []

    def told(state: State, record: TickRecord) -> None:
        keeper.judge(record, state)
        now = record.tick.now
        if now > BEFORE:
            records.append(record)
        if state.originals is not None and not state.originals.saved:
            beside.commands.append(Command(name="originals_saved", who="test"))
        if now == (BEFORE if pending else BEFORE - 60.0) and asked is not None:
            beside.commands.append(asked)
        if now == BEFORE:
            beside.stand_still(wall=wall, deaf=deaf)

    state = start(Settings(mode=Mode.ACTIVE), beside.facts())
    drive(beside, beside, beside, state, interval=1.0, publish=told, until=BEFORE + AFTER)
    return records


@pytest.mark.parametrize("asked", ASKED)
@pytest.mark.parametrize(
    ("threads", "wall", "deaf"),
    [
        (16, True, 12.0),
        *(pytest.param(*one, marks=pytest.mark.long) for one in ((16, False, 0.0), (1, False, 12.0))),
    ],
)
@pytest.mark.parametrize("pending", [False, True])
def test_five_minutes_that_the_clock_did_not_count_move_nothing(
    threads: int, deaf: float, asked: str, *, wall: bool, pending: bool
) -> None:
    """At a high age and a low one, whatever is asked for or pending: no emergency, and no jump of M."""
    records = run(threads, ASKED[asked], wall=wall, deaf=deaf, pending=pending)
    readings = [one.tick.reading for one in records if isinstance(one.tick.reading, Sample)]
    before = readings[0].io_capacity_max

    assert any(event.code == "clock_gap" for one in records for event in one.events)
    assert DecisionKind.EMERGENCY not in {one.decision.kind for one in records}
    highest = max(one.io_capacity_max for one in readings[:30])
    assert highest <= max(600 if asked == "override" else 0, 4 * before)
