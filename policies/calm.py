"""The mean age ratio of a long calm, which tells smaller errors than a short mean can."""

from __future__ import annotations

import math
from dataclasses import dataclass

TRIM_SETTLINGS = 5.0
"""After so many settling times without a write the mean over all of them counts, in a narrower band."""


@dataclass(frozen=True, slots=True)
class Calm:
    """The time since the last write, or a landing, has shown what it does."""

    ratio: float = 0.0  # mean age ratio
    seconds: float = 0.0  # time that this stands for

    def updated(self, age_ratio: float, elapsed: float) -> Calm:
        """Return it with one tick more, of so many seconds."""
        seconds = self.seconds + elapsed
        weight = elapsed / seconds if seconds > 0.0 else 1.0
        return Calm(ratio=self.ratio + weight * (age_ratio - self.ratio), seconds=seconds)

    def error(self, set_point: float, settling: float, band: float) -> float:
        """Return by what age ratio the mean is off; 0 where that is no more than it wanders by.

        The mean of n settling times wanders less than that of one, by the root of n, and so does the band.

        Args:
            settling: seconds after which a write has shown what it does.
            band: error of one settling time that is left alone, as an age ratio.
        """
        settlings = self.seconds / settling
        off = self.ratio - set_point
        return off if settlings >= TRIM_SETTLINGS and abs(off) > band / math.sqrt(settlings) else 0.0
