"""What changes by itself while the server runs: load, disk, redo size, once or again and again."""

from __future__ import annotations

import heapq
import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

Change = tuple[float, int, "Callable[[], None]", float]
"""When, an order among those at the same time, what, and after how long again (0: never)."""


class Timeline:
    """Changes in order of time.

    Attributes:
        next: when the next one is due, seconds since the start; infinite when there is none.
    """

    __slots__ = ("_changes", "_number", "next")

    def __init__(self) -> None:
        """Start without any."""
        self._changes: list[Change] = []
        self._number = 0
        self.next = math.inf

    def add(
        self, moments: Sequence[tuple[float, Callable[[], None]]], *, repeat: float | None = None
    ) -> None:
        """Add changes; those at 0 only happen again, as the start has their values."""
        for at, change in moments:
            if at > 0.0:
                self._push(at, change, repeat or 0.0)
            elif repeat:
                self._push(repeat, change, repeat)

    def pass_to(self, now: float) -> None:
        """Let everything happen that is due."""
        while self.next <= now:
            at, _, change, repeat = heapq.heappop(self._changes)
            change()
            if repeat > 0.0:
                self._push(at + repeat, change, repeat)
            self.next = self._changes[0][0] if self._changes else math.inf

    def _push(self, at: float, change: Callable[[], None], repeat: float) -> None:
        self._number += 1
        heapq.heappush(self._changes, (at, self._number, change, repeat))
        self.next = self._changes[0][0]
