"""What the loop waits on."""

from __future__ import annotations

import contextlib
import queue
import threading
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


class Mailbox:
    """Commands in the order they came in. Any thread and any signal handler may put; one thread takes."""

    def __init__(self) -> None:
        """Make an empty one."""
        self._commands: queue.SimpleQueue[Command] = queue.SimpleQueue()
        self._news = threading.Lock()
        """Held while nothing has come since the last wait."""
        self._news.acquire()

    def put(self, command: Command) -> None:
        """Hand over a command and wake who waits; never blocks."""
        self._commands.put(command)
        with contextlib.suppress(RuntimeError):  # it was released before, and nobody has waited since
            self._news.release()

    def take(self, timeout: float = 0.0) -> tuple[Command, ...]:
        """Return all that is there; where nothing is, wait so many seconds for it.

        A wake-up for what was taken before ends a wait early, with nothing: ask again until the deadline.
        """
        if self._commands.empty() and timeout > 0.0:
            self._news.acquire(timeout=timeout)
        return tuple(self._commands.get_nowait() for _ in range(self._commands.qsize()))
