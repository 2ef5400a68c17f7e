"""When the loop last gave a sign of life, and how long what it does now may take."""

from __future__ import annotations

import time

from msgspec import Struct


class Beat(Struct, frozen=True, gc=False):
    """One sign of life.

    Attributes:
        at: when it was given, on ``time.monotonic``.
        within: seconds that the step begun then may take in the server's hands; 0 for a step of our own.
    """

    at: float
    within: float = 0.0


class Pulse:
    """The loop's newest beat. The loop's thread beats, any other reads; neither waits for the other."""

    def __init__(self) -> None:
        """Begin without one."""
        self.newest: Beat | None = None

    def beat(self, within: float = 0.0) -> None:
        """Begin a step of a tick.

        Args:
            within: seconds that the server may keep us waiting in it, such as a statement's time limit.
        """
        self.newest = Beat(time.monotonic(), within)
