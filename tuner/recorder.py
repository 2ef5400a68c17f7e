"""A trace of any server: an advisory run of the loop whose journal is a file of its own.

Nothing is written to the server: no variable, no counter is turned on, and the writer lock is left to
whoever has it, so that a daemon beside it goes on as before.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from tuner.core.state import State, encode_state
from tuner.core.step import start
from tuner.journal.items import EndItem, RunItem
from tuner.journal.tables import LOCK_SUFFIX, Snapshot
from tuner.journal.writer import JournalWriter
from tuner.loop import Inbox, drive
from tuner.records import Facts, Sample, TickRecord
from tuner.servers.port import Server
from tuner.settings import Mode, Settings
from tuner.system.clock import Clock

SNAPSHOT_TICKS = 600
"""After so many ticks the state is kept, for a replay to begin there."""

KEEP_TICKS = 1 << 40
"""A trace forgets nothing."""

READY_SECONDS = 10.0
"""How long the disk may take to make the file, and at the end to take what is left."""


class RecordError(Exception):
    """A trace that cannot be kept; the message names the file and the reason."""


class Recorded(Struct, frozen=True):
    """What was recorded.

    Attributes:
        readings: that the server answered.
        missed: that it did not.
        why: the last reason why one was missed; empty where none was.
        lost: ticks that the disk did not take.
    """

    readings: int
    missed: int
    why: str
    lost: int


class Recorder:
    """One trace, from one server into one file."""

    def __init__(self, path: Path, server: Server, clock: Clock) -> None:
        """Mean this file; it is made by ``run``.

        Args:
            path: where there is nothing yet, in a directory that can be written to.
            server: what is sampled; its owner closes it.
            clock: whose time it is.
        """
        self._path = path
        self._server = server
        self._clock = clock
        self._trouble = ""
        self._readings = self._missed = 0
        self._why = ""

    def run(
        self,
        settings: Settings,
        facts: Facts,
        inbox: Inbox,
        *,
        seconds: float,
        interval: float,
        told: Callable[[TickRecord, float], None],
    ) -> Recorded:
        """Record until the time is over or a ``stop`` comes; everything read until then is kept.

        Args:
            settings: what the loop would go by; advisory whatever they say.
            facts: the server.
            inbox: the loop's only wait.
            seconds: how long.
            interval: seconds between two readings.
            told: called once a tick, with the seconds left.

        Raises:
            RecordError: the file cannot be written, so that there is no trace.
        """
        state = start(replace(settings, mode=Mode.ADVISORY), facts)
        journal = JournalWriter(
            self._path.parent, keep_ticks=KEEP_TICKS, on_error=self._note, file_name=self._path.name
        )
        journal.start()
        try:
            self._begin(journal, state)
            ends = self._clock.monotonic() + seconds

            def publish(now: State, record: TickRecord) -> None:
                self._take(journal, now, record)
                told(record, max(0.0, ends - record.tick.now))

            drive(self._server, self._clock, inbox, state, interval=interval, publish=publish, until=ends)
            journal.put(EndItem(self._clock.wall()))
        finally:
            whole = journal.close(READY_SECONDS)
            self._path.with_suffix(LOCK_SUFFIX).unlink(missing_ok=True)
        if not whole:
            raise RecordError(
                f"{self._path}: what was read last is not on disk: "
                f"{self._trouble or f'it took nothing within {READY_SECONDS:.0f} s'}"
            )
        return Recorded(self._readings, self._missed, self._why, journal.dropped)

    def _begin(self, journal: JournalWriter, state: State) -> None:
        journal.put(
            RunItem(
                settings=state.settings,
                facts=state.facts,
                state=encode_state(state),
                tick=0,
                wall=self._clock.wall(),
            )
        )
        if not journal.flush(READY_SECONDS):
            why = self._trouble or f"the disk took nothing within {READY_SECONDS:.0f} s"
            raise RecordError(f"{self._path}: cannot be made: {why}")

    def _take(self, journal: JournalWriter, state: State, record: TickRecord) -> None:
        reading = record.tick.reading
        if isinstance(reading, Sample):
            self._readings += 1
        else:
            self._missed += 1
            self._why = reading.reason
        journal.record(record)
        if record.tick.number % SNAPSHOT_TICKS == 0:
            journal.put(Snapshot(record.tick.number, encode_state(state)))

    def _note(self, message: str) -> None:
        self._trouble = message
