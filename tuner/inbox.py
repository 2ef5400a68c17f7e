"""What the loop waits on."""

from __future__ import annotations

from typing import Protocol

from tuner.records import Command


class Inbox(Protocol):
    """The loop's only wait."""

    def take(self, *, until: float) -> tuple[Command, ...]:
        """Wait until the deadline on the loop's clock, or until a command comes; return what came."""
        ...
