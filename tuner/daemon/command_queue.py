"""The commands that wait for the loop."""

from __future__ import annotations

import contextlib
import queue
import threading

from tuner.records import Command


class CommandQueue:
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
