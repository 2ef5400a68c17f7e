"""A loop with ``loop.low_water_mark`` beside a server that heeds the mark."""

from __future__ import annotations

from msgspec.structs import replace

from tests.bench import Bench, FakeServer
from tests.factory import command
from tuner.records import LOW_WATER_MARK, LOWEST_ABOVE_ZERO
from tuner.settings import Mode, Settings

ON = Settings(mode=Mode.ACTIVE, low_water_mark=True)
OFF = replace(ON, low_water_mark=False)
MARK_SAVED = command("low_water_saved", who="journal")
OURS = LOWEST_ABOVE_ZERO


def beside(*, mark: int | None = 0, settings: Settings = ON) -> Bench:
    """Return a loop in control of C and M on a server with that mark, which is not on disk yet."""
    server = FakeServer()
    server.combines, server.mark = 0.5, mark
    return Bench(settings, server).in_control()


def in_force(mark: int = 0) -> Bench:
    """Return a loop with its own mark in force."""
    bench = beside(mark=mark)
    bench.turn(MARK_SAVED)
    bench.turns(15)
    assert bench.server.mark == OURS
    return bench


def marks(bench: Bench) -> list[int]:
    """Return the low-water marks written so far."""
    return [value for steps, _, _ in bench.server.applied for name, value in steps if name == LOW_WATER_MARK]
