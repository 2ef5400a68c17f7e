"""How the redo rate wanders by itself since the age has landed, and when it is another load's."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

MEDIUM_SECONDS = 30.0  # Span of the R whose disturbance counts: shorter swings do not move the age

DISTURBANCE_SECONDS = 300.0

LANDED_SECONDS = 1800.0  # Span of the mean of R that a shift of the load is told from
KNOWN_SECONDS = 120.0  # How long R has to be watched before a shift of it is told from its disturbance

SHIFT = 0.15
SHIFT_DISTURBANCE = 3.0
"""R that leaves its mean by this share and so many standard deviations is another load."""


@dataclass(frozen=True, slots=True)
class Disturbance:
    """What is known of R since the landing."""

    medium_rate: float = 0.0  # R over half a minute, bytes/s
    landed_rate: float = 0.0  # mean of R since the landing, bytes/s
    variance: float = 0.0  # of the former around the mean of two minutes, relative

    @classmethod
    def begun(cls, redo_rate: float) -> Disturbance:
        """Return what is known at first of a load with this R, bytes/s."""
        return cls(medium_rate=redo_rate, landed_rate=redo_rate)

    @property
    def deviation(self) -> float:
        """Return the relative standard deviation of R over half a minute."""
        return math.sqrt(self.variance)

    def updated(self, redo_rate: float, *, elapsed: float, lasted: float) -> Disturbance:
        """Return it with both means moved on by one tick.

        Args:
            lasted: seconds since the landing.
        """
        span = min(LANDED_SECONDS, max(MEDIUM_SECONDS, lasted))
        return replace(
            self,
            medium_rate=_moved(self.medium_rate, redo_rate, elapsed / MEDIUM_SECONDS),
            landed_rate=_moved(self.landed_rate, redo_rate, elapsed / span),
        )

    def is_another_load(self, lasted: float) -> bool:
        """Tell whether R of late, so many seconds after the landing, is no longer what was landed with."""
        shifted = abs(self.medium_rate / max(1.0, self.landed_rate) - 1.0)
        return lasted > KNOWN_SECONDS and shifted > max(SHIFT, SHIFT_DISTURBANCE * self.deviation)

    def around(self, mean_rate: float, *, elapsed: float, lasted: float) -> Disturbance:
        """Return it with the variance moved on by one tick.

        Args:
            mean_rate: R over two minutes, bytes/s.
            lasted: seconds since the landing.
        """
        away = self.medium_rate / max(1.0, mean_rate) - 1.0
        span = min(DISTURBANCE_SECONDS, max(MEDIUM_SECONDS, lasted))
        return replace(self, variance=_moved(self.variance, away * away, elapsed / span))


def _moved(mean: float, value: float, weight: float) -> float:
    return mean + min(1.0, weight) * (value - mean)
