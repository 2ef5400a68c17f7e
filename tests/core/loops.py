"""Loops that several tests begin with, what a person or a window asks of them, and what a tick saw."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from policies.flushlaw import LEGACY
from tests.bench import Bench, FakeServer
from tests.factory import ACTIVE, DEFAULT, EPOCH, MEBIBYTE, A, command
from tuner.records import Capacity, Command, Sample, TickRecord, Window
from tuner.settings import Mode, PolicyName, Settings

HIGH = replace(ACTIVE, set_point=0.8)
TARGET = "40MiB"
BYTES = 40 * MEBIBYTE
RATE, DENSITY = 1e6, 0.0004
"""Redo of a load, bytes/s, and the pages that it dirties for each byte."""

LATER = EPOCH + 1_000_000.0
"""The end of a window that no test outlasts."""


def drain(age: str = TARGET, ttl: float = 600.0, **more: Any) -> Command:  # noqa: ANN401 - any field
    """Return what a person asks."""
    return command("drain", value=age, ttl=ttl, **more)


def age_of(record: TickRecord) -> int:
    """Return the checkpoint age that a tick saw."""
    assert isinstance(record.tick.reading, Sample)
    return record.tick.reading.checkpoint_age


def at_rest(policy: PolicyName, set_point: float) -> Bench:
    """Return a loop beside a server that rests at its set-point."""
    wanted = round(RATE * DENSITY * LEGACY.gain_over_demand(set_point) / 2.0)
    server = FakeServer(Capacity(wanted, 2 * wanted), redo_rate=RATE)
    server.density = DENSITY
    server.oldest = server.lsn - set_point * A
    settings = Settings(mode=Mode.ACTIVE, policy=policy, set_point=set_point, max_changes_per_hour=3600)
    bench = Bench(settings, server, originals=DEFAULT)
    bench.turns(60)
    return bench


def window(name: str = "nightly", *, ends: float = LATER, **asked: Any) -> Window:  # noqa: ANN401 - any effect
    """Return an active window that asks for something."""
    return Window(name=name, began=EPOCH, ends=ends, **asked)


def active(*windows: Window) -> Command:
    """Return what tells the loop that these windows are active, and no other."""
    return command("schedule", who="schedule", windows=windows)
