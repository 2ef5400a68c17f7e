"""Journals of a loop beside a simulated server, which does not answer for a while."""

from __future__ import annotations

from pathlib import Path

from msgspec.structs import replace

from lab.plant.clock import SimClock
from lab.plant.server import SimulatedServer
from lab.scenarios.load import load_scenario
from lab.simulate_loop import SimInbox
from tests.factory import SAVED
from tuner.core.state import State, encode_state
from tuner.core.step import start
from tuner.daemon.schedule import Schedule, ScheduledInbox
from tuner.journal.items import RunItem
from tuner.journal.tables import FILE_NAME, Snapshot
from tuner.journal.writer import JournalWriter
from tuner.loop import Inbox, drive
from tuner.records import Missed, Sample, TickRecord
from tuner.settings import Mode, Settings

SILENT = range(200, 206)
"""Readings that fail: too few for the loop to stop, and enough to be held for."""

SOON = 30.0


class SilentServer(SimulatedServer):
    """A simulated server that does not answer at some readings."""

    silent = SILENT
    reads = 0

    def read(self) -> Sample | Missed:  # type: ignore[override] # this one may fail
        """Return a reading, or none."""
        self.reads += 1
        found = super().read()
        if self.reads in self.silent:
            return Missed(found.monotonic, found.wall, "did not answer within 1 s")
        return replace(found, write_statements=found.commits, write_time=found.commits * 0.004)


def record_loop(
    directory: Path, *, seconds: int = 400, mode: Mode = Mode.ACTIVE, schedule: Schedule | None = None
) -> Path:
    """Leave the journal of a loop that tuned, or watched, a simulated server; return its file.

    By a schedule the loop lives from a midnight on, and every reading is answered.
    """
    journal = JournalWriter(directory, keep_ticks=100_000, on_error=print)
    journal.start()
    clock = SimClock()
    server = SilentServer(load_scenario("steady-1200iops").plant, clock)
    inbox: Inbox = SimInbox(clock, SAVED)
    if schedule is not None:
        server.silent, inbox = range(0), ScheduledInbox(inbox, clock, schedule)
    settings, facts = Settings(mode=mode), server.facts()
    state = start(settings, facts)
    journal.put(RunItem(settings=settings, facts=facts, state=encode_state(state), tick=0, wall=clock.wall()))

    def publish(after: State, record: TickRecord) -> None:
        journal.record(record)
        if record.tick.number % 500 == 0:
            journal.put(Snapshot(record.tick.number, encode_state(after)))
            assert journal.flush(SOON)

    drive(server, clock, inbox, state, interval=1.0, publish=publish, until=seconds - 0.5)
    assert journal.close(SOON)
    return directory / FILE_NAME
