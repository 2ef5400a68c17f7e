"""The clocks a loop can live on."""

from __future__ import annotations

import time
from typing import Protocol

from msgspec import Struct

_WHILE_SUSPENDED = getattr(time, "CLOCK_BOOTTIME", None)
"""Linux's clock that goes on while the machine is suspended, as ``time.monotonic`` does not."""


class Clock(Protocol):
    """Time as the loop sees it."""

    def monotonic(self) -> float:
        """Return seconds that never go back."""
        ...

    def wall(self) -> float:
        """Return Unix time in seconds; may jump."""
        ...


class SystemClock:
    """The machine's own time; while it is suspended time goes on, as it does for a server on another one."""

    def __init__(self) -> None:
        self._before = _counted() - time.monotonic()

    def monotonic(self) -> float:
        """Return seconds from where ``time.monotonic`` began, suspensions of the machine among them."""
        return _counted() - self._before

    def wall(self) -> float:
        """Return Unix time in seconds."""
        return time.time()


def _counted() -> float:
    """Return seconds that no setting of the clock changes, with suspensions where the system counts them."""
    return time.monotonic() if _WHILE_SUSPENDED is None else time.clock_gettime(_WHILE_SUSPENDED)


class Beat(Struct, frozen=True, gc=False):
    """One sign of life.

    Attributes:
        at: when it was given, on ``time.monotonic``.
        within: seconds that the step begun then may take in the server's hands; 0 for a step of our own.
    """

    at: float
    within: float = 0.0


class Pulse:
    """The loop's newest beat. The loop's thread beats, any other reads; neither waits for the other."""

    def __init__(self) -> None:
        """Begin without one."""
        self.newest: Beat | None = None

    def beat(self, within: float = 0.0) -> None:
        """Begin a step of a tick.

        Args:
            within: seconds that the server may keep us waiting in it, such as a statement's time limit.
        """
        self.newest = Beat(time.monotonic(), within)
