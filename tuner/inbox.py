"""What the loop waits on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from tuner.clock import Clock
from tuner.records import Command


class Inbox(Protocol):
    """The loop's only wait."""

    def take(self, *, until: float) -> tuple[Command, ...]:
        """Wait until the deadline on the loop's clock, or until a command comes; return what came."""
        ...


class TimedInbox:
    """An inbox that tells how long each tick took: the loop is at work whenever it does not wait."""

    def __init__(self, inbox: Inbox, clock: Clock, tell: Callable[[float], None]) -> None:
        """Stand in front of an inbox; the first tick begins now.

        Args:
            inbox: the loop's wait.
            clock: the loop's.
            tell: called at the end of each tick with its duration, seconds; must never block.
        """
        self._inbox = inbox
        self._clock = clock
        self._tell = tell
        self._woke = clock.monotonic()

    def take(self, *, until: float) -> tuple[Command, ...]:
        """Wait as the inbox does; return what came."""
        self._tell(self._clock.monotonic() - self._woke)
        found = self._inbox.take(until=until)
        self._woke = self._clock.monotonic()
        return found
