"""Time that passes only when the runner says so."""

from __future__ import annotations

EPOCH = 1_767_225_600.0
"""Unix time at the start of every simulated run: 2026-01-01 00:00:00 UTC."""


class SimClock:
    """A clock that the runner moves; the loop and the plant only read it."""

    def __init__(self, *, start: float = 0.0, epoch: float = EPOCH) -> None:
        """Start at ``start`` seconds, which is ``epoch`` as Unix time."""
        self._now = start
        self._wall_offset = epoch - start

    def monotonic(self) -> float:
        """Return simulated seconds that never go back."""
        return self._now

    def wall(self) -> float:
        """Return simulated Unix time in seconds."""
        return self._now + self._wall_offset

    def advance_to(self, moment: float) -> None:
        """Move to a moment, seconds on this clock; one that is past leaves the clock alone."""
        self._now = max(self._now, moment)
