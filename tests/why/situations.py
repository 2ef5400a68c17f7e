"""Loops on the simulated server that went through something, kept in journals to ask why about."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest

from lab.plant.clock import SimClock
from lab.plant.parameters import PlantParameters
from lab.plant.server import SimulatedServer
from lab.scenarios import load_scenario
from tests.factory import SAVED
from tuner.core.state import State
from tuner.core.step import start
from tuner.journal.items import RunItem
from tuner.journal.writer import JournalWriter
from tuner.loop import drive
from tuner.records import Command, TickRecord
from tuner.settings import Mode, Settings

EPOCH = 1_767_225_600.0
FLUSH_TICKS = 400
SOON = 20.0

Deeds = Mapping[int, Command]
"""What is asked for, by the second from the start."""


class DeedInbox:
    """The loop's wait on simulated time, in which people ask for things."""

    def __init__(self, clock: SimClock, deeds: Deeds) -> None:
        self._clock, self._deeds = clock, {0: SAVED} | dict(deeds)

    def take(self, *, until: float) -> tuple[Command, ...]:
        """Move the clock to the deadline; return what was asked for by then."""
        self._clock.advance_to(until)
        due = [at for at in self._deeds if at <= until]
        return tuple(self._deeds.pop(at) for at in due)


def lived(
    directory: Path,
    *,
    seconds: float,
    deeds: Deeds | None = None,
    scenario: str | None = None,
    **settings: Any,  # noqa: ANN401 - any setting
) -> Path:
    """Let a loop live for so long beside a simulated server; return the directory of its journal.

    Args:
        directory: where the journal goes.
        seconds: simulated.
        deeds: what is asked for.
        scenario: its name; None for the simulator's own load and disk.
        settings: other than the defaults in active mode.
    """
    clock = SimClock()
    plant = PlantParameters() if scenario is None else load_scenario(scenario).plant
    beside = SimulatedServer(plant, clock, seed=1)
    state = start(Settings(**({"mode": Mode.ACTIVE} | settings)), beside.facts())
    records: list[TickRecord] = []

    def publish(_: State, record: TickRecord) -> None:
        records.append(record)

    drive(beside, clock, DeedInbox(clock, deeds or {}), state, interval=1.0, publish=publish, until=seconds)
    return kept(directory, state, records)


def kept(directory: Path, state: State, records: Iterable[TickRecord]) -> Path:
    """Keep the ticks of a loop that began with a state in a journal; return its directory."""
    journal = JournalWriter(directory, keep_ticks=86_400, on_error=pytest.fail)
    journal.start()
    journal.put(RunItem(state.settings, state.facts, b"", 0, EPOCH))
    for record in records:
        journal.record(record)
        if record.tick.number % FLUSH_TICKS == 0:
            assert journal.flush(SOON)
    assert journal.close(SOON)
    return directory
