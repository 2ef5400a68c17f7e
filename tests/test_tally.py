"""What the daemon counts about itself while it lives."""

from __future__ import annotations

import time
from pathlib import Path

from lab.plant.clock import SimClock
from tests.life import Life
from tuner.inbox import TimedInbox
from tuner.records import Command
from tuner.settings import Mode, Settings


class Waiting:
    """A wait that takes four seconds of a simulated clock."""

    def __init__(self, clock: SimClock) -> None:
        self._clock = clock

    def take(self, *, until: float) -> tuple[Command, ...]:  # noqa: ARG002 - the protocol's
        """Wait."""
        self._clock.advance_to(self._clock.monotonic() + 4.0)
        return ()


def test_a_tick_lasts_from_one_wait_to_the_next() -> None:
    """What the loop does between two waits counts, and the waits do not."""
    clock = SimClock()
    told: list[float] = []
    inbox = TimedInbox(Waiting(clock), clock, told.append)
    for busy in (0.25, 0.5):
        clock.advance_to(clock.monotonic() + busy)
        inbox.take(until=0.0)

    assert told == [0.25, 0.5]


def test_a_daemon_times_each_tick_and_knows_when_each_stage_worked(tmp_path: Path) -> None:
    """In active mode, up to its first write; the journal on the machine's clock."""
    life = Life(tmp_path, Settings(mode=Mode.ACTIVE))
    began = time.time()

    def script() -> None:
        life.wait_for_write()
        life.wait(lambda: "journal" in life.board.tally().success)

    life.live(script)
    tally = life.board.tally()

    assert sum(tally.ticking.counts) in {tally.ticks - 1, tally.ticks}
    assert sum(tally.reading.counts) == tally.ticks - tally.missed
    assert sum(tally.setting.counts) == tally.changes + tally.failures > 0
    assert set(tally.success) == {"sample", "decide", "write", "journal"}
    assert began <= tally.success["journal"] <= time.time()
