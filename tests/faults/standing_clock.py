"""A daemon whose monotonic clock stands still while a file is there, as on a machine that is suspended.

Run as a program in place of ``innobrim``: ``python tests/faults/standing_clock.py FILE run …``. The machine's
clock is never touched, and the daemon's wall clock goes on.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path


def standing(now: Callable[[], float], still: Path) -> Callable[[], float]:
    """Return a clock that stands still while a file is there, and goes on from there without it."""
    lost = 0.0
    stood: float | None = None
    alone = threading.RLock()  # each thread of the daemon looks at the clock, signal handlers in between

    def read() -> float:
        nonlocal lost, stood
        with alone:
            counted = now()
            if still.exists():
                stood = counted if stood is None else stood
                return stood - lost
            if stood is not None:
                lost, stood = lost + counted - stood, None
            return counted - lost

    return read


if __name__ == "__main__":
    clock = standing(time.monotonic, Path(sys.argv[1]))
    time.monotonic = clock
    time.clock_gettime = lambda _: clock()
    sys.argv[1:] = sys.argv[2:]
    from tuner.cli.main import main  # after the clock is another one

    main()
