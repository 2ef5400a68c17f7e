"""A server beside which a daemon was killed, with the journal that it left."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import msgspec
import pytest
from msgspec.structs import replace

from tests.bench import Bench, FakeServer
from tests.factory import ACTIVE, DEFAULT, EPOCH
from tuner.core.ownership.standing import Standing, standing_of
from tuner.core.state import encode_state
from tuner.daemon.predecessors import look
from tuner.journal.ending import Ending, ending
from tuner.journal.items import RunItem, StandingItem
from tuner.journal.tables import Originals
from tuner.journal.writer import JournalWriter
from tuner.settings import Mode
from tuner.without_daemon import park_offline

SOON = 10.0
PAIRED = replace(ACTIVE, ratio=2)
"""Settings under which every write takes two SETs, so that a kill can come between them."""

ADVISORY = replace(PAIRED, mode=Mode.ADVISORY)


class ServerClock:
    """The server's own time, which passes only while it is waited."""

    def __init__(self, server: FakeServer) -> None:
        self._server = server

    def monotonic(self) -> float:
        """Return seconds that never go back."""
        return 1000.0 + self._server.now

    def wall(self) -> float:
        """Return Unix time."""
        return EPOCH + self._server.now


class Crash(NamedTuple):
    """A server beside which a daemon was killed, and the state directory that it left."""

    server: FakeServer
    directory: Path

    def park(self, *, unattended: bool = True) -> str:
        """Park as the command does, in no real time."""
        clock = ServerClock(self.server)
        facts = self.server.facts()
        left = look(self.directory, quietly=True)
        assert left.originals_of(facts) == DEFAULT
        notes = JournalWriter(self.directory, keep_ticks=3600, on_error=pytest.fail)
        try:
            return park_offline(
                self.server,
                clock,
                left.begin(ADVISORY, facts, now=clock.monotonic()),
                self.ending,
                standing=left.stood(facts) or Standing(facts.identity, facts.started),
                notes=notes,
                began=clock.monotonic(),
                unattended=unattended,
                wait=lambda seconds: self.server.live(1.01 * seconds),  # no wait is exact
            )
        finally:
            assert notes.close(SOON)

    @property
    def ending(self) -> Ending:
        """Return what the journal knows."""
        found = ending(self.directory)
        assert found is not None
        return found


def crash(directory: Path, bench: Bench) -> Crash:
    """Leave behind what a daemon had on disk that was killed after the last tick."""
    journal = JournalWriter(directory, keep_ticks=3600, on_error=pytest.fail)
    journal.start()
    facts = bench.server.facts()
    journal.put(RunItem(settings=PAIRED, facts=facts, state=encode_state(bench.state), tick=0, wall=EPOCH))
    for record in bench.records:
        journal.record(record)
    standing = msgspec.json.encode(standing_of(bench.state)).decode()
    journal.put(StandingItem(facts.identity, standing))
    journal.put(Originals(facts.identity, DEFAULT, facts.started, facts.version, EPOCH))
    assert journal.close(SOON)
    return Crash(bench.server, directory)
