"""A park asked for over a tail that is thin: the simulated server, left alone from then on."""

from __future__ import annotations

import pytest

from lab.plant.clock import SimClock
from lab.plant.parameters import LoadChange, LoadParameters
from lab.plant.server import SimulatedServer
from lab.simulate_loop import SimInbox
from tests.factory import ACTIVE, SAVED, command
from tests.lab.plant.support import plant, with_iops
from tuner.core.state import State
from tuner.core.step import start
from tuner.loop import drive
from tuner.records import Sample, TickRecord

BEGINS, OVER = 200, 420
"""When the load begins, and the end of the run, seconds."""

PLANT = plant(
    m=400,
    disk=with_iops(20_000.0),
    load=LoadParameters(
        commit_seconds=0.008,
        timeline=(
            LoadChange(0.0, 1, redo_bytes_per_commit=12_000.0),  # few pages for much redo
            LoadChange(float(BEGINS), 16, appended_pages=0.3),
        ),
    ),
)


@pytest.mark.parametrize("after", [4, 12])
def test_a_park_leaves_room_for_what_a_load_that_has_begun_makes_dirty(after: int) -> None:
    """Its pages are at the tail only when nobody looks any more; the age stays clear of sync flushing."""
    clock = SimClock()
    server, inbox = SimulatedServer(PLANT, clock, seed=1), SimInbox(clock)
    ratios: list[float] = []

    def publish(_: State, record: TickRecord) -> None:
        assert isinstance(record.tick.reading, Sample)
        ratios.append(record.tick.reading.age_ratio)
        if len(ratios) == 1:
            inbox.put(SAVED)
        if len(ratios) == BEGINS + after:
            inbox.put(command("park"))

    drive(server, clock, inbox, start(ACTIVE, server.facts()), interval=1.0, publish=publish, until=OVER)

    assert max(ratios[BEGINS:]) < 0.8
