"""A daemon whose wall clock jumps: it is off by as many seconds as a file says.

Run as a program in place of ``innobrim``: ``python tests/faults/jumping_clock.py FILE run …``. The machine's
clock is never touched, and the daemon's monotonic clock neither, as when a clock is set.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path

NANOSECONDS = 1_000_000_000


def jumping(now: Callable[[], float], seconds: Path) -> Callable[[], float]:
    """Return a clock that is off by what a file says; without the file it is right."""

    def read() -> float:
        try:
            return now() + float(seconds.read_text(encoding="ascii"))
        except (OSError, ValueError):
            return now()

    return read


if __name__ == "__main__":
    wall = jumping(time.time, Path(sys.argv[1]))
    time.time = wall
    time.time_ns = lambda: int(wall() * NANOSECONDS)
    sys.argv[1:] = sys.argv[2:]
    from tuner.cli.main import main  # after the clock is off

    main()
