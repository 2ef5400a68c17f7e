"""The clocks a loop can live on."""

from __future__ import annotations

import time
from typing import Protocol

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
