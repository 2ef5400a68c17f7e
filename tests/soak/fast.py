"""The daemon with a clock that waits for nothing: ``python -m tests.soak.fast TICKS FRAMES run …``.

A tick that is due in a second is due at once. A line every ten minutes of ticks says number of the tick,
resident memory in bytes, and number of objects; with FRAMES above 0 the last lines say where memory was taken
since the first hour.
"""

from __future__ import annotations

import gc
import os
import sys
import time
import tracemalloc
from pathlib import Path

from tuner.cli import run as command
from tuner.cli.main import main
from tuner.core.state import State
from tuner.daemon import daemon
from tuner.records import Command, TickRecord

HOUR, EVERY = 3600, 600
LOOK = 1e-4
"""Seconds that pass with each look at the clock."""

WORST = 25


class Clock:
    """A clock that is where the loop wants it to be."""

    def __init__(self) -> None:
        self.now = time.monotonic()
        self._epoch = time.time() - self.now

    def monotonic(self) -> float:
        """Return seconds that never go back."""
        self.now += LOOK
        return self.now

    def wall(self) -> float:
        """Return Unix time."""
        return self.now + self._epoch


CLOCK = Clock()


class Inbox(daemon.BoardInbox):
    """An inbox at which nobody waits."""

    def take(self, *, until: float) -> tuple[Command, ...]:
        """Let the time until the deadline pass at once; return what is there."""
        CLOCK.now = max(CLOCK.now, until)
        return super().take(until=until)


class Daemon(daemon.Daemon):
    """A daemon that says what it holds, and ends after so many ticks."""

    ticks = frames = 0
    first: tracemalloc.Snapshot | None = None

    def _publish(self, state: State, record: TickRecord) -> None:
        super()._publish(state, record)
        number = record.tick.number
        if number % EVERY == 0:
            print(number, resident(os.getpid()), len(gc.get_objects()), flush=True)
        if number == HOUR and self.frames:
            self.first = _taken()
        if number == self.ticks:
            if self.first is not None:
                for one in _taken().compare_to(self.first, "lineno")[:WORST]:
                    print(f"{one.size_diff:+} B, {one.count_diff:+}: {one.traceback[0]}", flush=True)
            self._board.commands.put(Command(name="stop", who="fast", value="park"))


def _taken() -> tracemalloc.Snapshot:
    gc.collect()
    return tracemalloc.take_snapshot()


def resident(pid: int) -> int:
    """Return a process's memory, bytes."""
    pages = Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1]
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


if __name__ == "__main__":
    Daemon.ticks, Daemon.frames = int(sys.argv[1]), int(sys.argv[2])
    sys.argv[1:] = sys.argv[3:]
    command.SystemClock = lambda: CLOCK
    command.Daemon = Daemon
    daemon.BoardInbox = Inbox
    daemon.LEARNED_SECONDS, daemon.SNAPSHOT_SECONDS = 2.0, 20.0  # as often to a tick, nearly
    if Daemon.frames:
        tracemalloc.start(Daemon.frames)
    main()
