"""Surges: times at which the load took the checkpoint age past what the operator allows."""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

SURGE_SECONDS = 6 * 3600.0
"""How long a surge is remembered."""

SURGE = 1.02
"""Checkpoint age over the highest that is allowed from which on it is a surge, and no tip of a sawtooth."""

LONGEST_GAP = 10.5
"""Readings farther apart than this are another time's, seconds: the longest interval, and a little."""


class Surges(Struct, frozen=True):
    """What was seen of late.

    Attributes:
        at: time of the last reading, seconds; None before the first.
        since: when the readings without a gap began, seconds.
        surged: when the checkpoint age was too high last, seconds; None where it never was.
    """

    at: float | None = None
    since: float = 0.0
    surged: float | None = None

    def see(self, *, now: float, checkpoint_age: float, allowed: float) -> Surges:
        """Return it with one reading more.

        Args:
            now: time of the reading, seconds.
            checkpoint_age: bytes.
            allowed: the highest that it may get to, bytes.
        """
        surged = now if checkpoint_age > SURGE * allowed else self.surged
        goes_on = self.at is not None and 0.0 < now - self.at <= LONGEST_GAP
        return replace(self, at=now, since=self.since if goes_on else now, surged=surged)

    @property
    def calm_seconds(self) -> float:
        """Return for how long the age was watched without a surge; 0 where one is remembered."""
        if self.at is None or (self.surged is not None and self.at - self.surged < SURGE_SECONDS):
            return 0.0
        return self.at - self.since
