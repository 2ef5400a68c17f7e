"""How often a server is asked that takes connections and says nothing: it counts against the whole host."""

from __future__ import annotations

from collections.abc import Callable

SHORTEST = 1.0
LONGEST = 16.0
"""Bounds of the wait between two attempts, seconds.

mysqld counts connections that end before the login and, after ``max_connect_errors`` (100) in a row, refuses
every client of that host until somebody empties its host cache. One that hangs counts them all when it wakes
up. At this pace that takes it half an hour.
"""


class Patience:
    """Waits longer from one interrupted connection to the next: not at all, then 1, 2, 4, … seconds."""

    def __init__(self, now: Callable[[], float]) -> None:
        """Be ready to try at once; ``now`` is a monotonic clock, seconds."""
        self._now = now
        self._wait = 0.0
        self._until = float("-inf")

    @property
    def over(self) -> bool:
        """Tell whether another attempt may be made now."""
        return self._now() >= self._until

    def interrupted(self) -> None:
        """Note a connection that was open and ended before the login was answered."""
        self._until = self._now() + self._wait
        self._wait = min(LONGEST, max(SHORTEST, 2.0 * self._wait))

    def answered(self) -> None:
        """Note an answer, or a refusal that counts for nothing: the next attempt may come at once."""
        self._wait, self._until = 0.0, float("-inf")
