"""What an earlier daemon left, and a server to restore."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from tests.api.factory import FACTS, START, record, sample
from tuner.journal.writer import JournalWriter
from tuner.records import Capacity, Facts, Receipt, Sample
from tuner.servers.port import Unreachable
from tuner.settings import Settings

Run = Callable[..., Result]


def write_journal(folder: Path, *, originals: Capacity | None = None) -> None:
    """Leave behind the journal of a daemon that is gone."""
    journal = JournalWriter(folder, keep_ticks=3600, on_error=pytest.fail)
    journal.start()
    journal.begin_run(settings=Settings(), facts=FACTS, state=b"", tick_number=0, wall=START)
    journal.record(record(1))
    if originals is not None:
        saved = threading.Event()
        journal.save_originals(FACTS.identity, originals, FACTS.started, FACTS.version, START, saved.set)
        assert saved.wait(5.0)
    journal.close(5.0)


class FakeServer:
    """A server that takes every write, or does not answer at all."""

    def __init__(self, facts: Facts | None) -> None:
        self.capacity = Capacity(225, 450)
        self.claims_writer = False
        self.closed = False
        self._facts = facts

    def facts(self) -> Facts:
        """Return what this server is."""
        if self._facts is None:
            raise Unreachable("127.0.0.1:3306 refused the connection")
        return self._facts

    def read(self) -> Sample:
        """Return a reading with the pair in force."""
        return sample(1, io_capacity=self.capacity.io_capacity, io_capacity_max=self.capacity.io_capacity_max)

    def apply(self, steps: tuple[tuple[str, int], ...], wanted: Capacity) -> Receipt:
        """Take a write; only a holder of the writer lock may."""
        assert self.claims_writer
        self.capacity = wanted
        return Receipt(1.0, wanted, wanted, len(steps), 0.01)

    def close(self) -> None:
        """Note that the connection was given back."""
        self.closed = True
