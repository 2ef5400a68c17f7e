"""The clocks a loop can live on."""

from __future__ import annotations

import time
from typing import Protocol


class Clock(Protocol):
    """Time as the loop sees it."""

    def monotonic(self) -> float:
        """Return seconds that never go back."""
        ...

    def wall(self) -> float:
        """Return Unix time in seconds; may jump."""
        ...


class SystemClock:
    """The machine's own time."""

    def monotonic(self) -> float:
        """Return seconds since an arbitrary start."""
        return time.monotonic()

    def wall(self) -> float:
        """Return Unix time in seconds."""
        return time.time()
