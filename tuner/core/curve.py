"""What a higher age has been seen to save, over hours: pages newly dirtied per redo byte, by age ratio.

The fit that steers (``tuner.core.load``) forgets within minutes, and an age that is held tells nothing of
other ages. Whether the brim is worth its risk is asked of all ages of the last hours, each of which speaks
once, however long the age stayed there.
"""

from __future__ import annotations

import math

from msgspec import Struct
from msgspec.structs import replace

CLASSES = 16
"""Classes that the age ratios from LEAST to MOST are divided into, evenly in their logarithm."""

LEAST, MOST = 0.1, 1.1
MEAN_SECONDS = 120.0
"""Span of the mean in a class."""

MEMORY_SECONDS = 4 * 3600.0
EVERY_SECONDS = 10.0
"""One reading in so many seconds is enough."""

TRUSTED_SECONDS = 300.0
"""A class that was seen for so long has half the weight that it can have."""

PRIOR = 0.5
SPREAD = 0.1
"""The prior of b weighs as much as one class that was seen for long, whose ln(age) is off by this."""


class Curve(Struct, frozen=True):
    """The mean of the last hours in each class of age ratios.

    Attributes:
        densities: ln(pages newly dirtied per redo byte), one for a class.
        seconds: how long that was seen, fading; 0 for a class that was not.
        combining_exponent: b over all ages that were seen, 0 to 1; the prior while they were all alike.
        unheard: time since the last reading that was taken in, seconds.
    """

    densities: tuple[float, ...] = (0.0,) * CLASSES
    seconds: tuple[float, ...] = (0.0,) * CLASSES
    combining_exponent: float = PRIOR
    unheard: float = EVERY_SECONDS

    def see(self, *, ratio: float, density: float, elapsed: float) -> Curve:
        """Return the curve with ``elapsed`` seconds more.

        Args:
            ratio: age over flush limit, above 0.
            density: pages newly dirtied per redo byte, above 0.
            elapsed: seconds that these stand for.
        """
        unheard = self.unheard + elapsed
        if unheard < EVERY_SECONDS:
            return replace(self, unheard=unheard)
        index = _class_of(ratio)
        keep = math.exp(-unheard / MEMORY_SECONDS)
        seconds = [one * keep for one in self.seconds]
        seconds[index] += unheard
        weight = min(1.0, unheard / min(MEAN_SECONDS, seconds[index]))
        densities = list(self.densities)
        densities[index] += weight * (math.log(density) - densities[index])
        return Curve(tuple(densities), tuple(seconds), _exponent(densities, seconds), unheard=0.0)

    @property
    def sound(self) -> bool:
        """Tell whether what was kept can be true."""
        whole = len(self.densities) == CLASSES == len(self.seconds)
        numbers = (*self.densities, *self.seconds, self.combining_exponent, self.unheard)
        return whole and all(map(math.isfinite, numbers)) and min(*self.seconds, self.unheard) >= 0.0


def _exponent(densities: list[float], seconds: list[float]) -> float:
    """Return minus the slope of the line through the classes, drawn to the prior, within 0 and 1."""
    weights = [one / (one + TRUSTED_SECONDS) for one in seconds]
    total = sum(weights)
    mean_x = sum(w * x for w, x in zip(weights, _MIDDLES, strict=True)) / total
    mean_y = sum(w * y for w, y in zip(weights, densities, strict=True)) / total
    variance = covariance = 0.0
    for w, x, y in zip(weights, _MIDDLES, densities, strict=True):
        variance += w * (x - mean_x) ** 2
        covariance += w * (x - mean_x) * (y - mean_y)
    slope = (covariance - PRIOR * SPREAD**2) / (variance + SPREAD**2)
    return min(1.0, max(0.0, -slope))


_WIDTH = math.log(MOST / LEAST) / CLASSES
_MIDDLES = tuple(math.log(LEAST) + (one + 0.5) * _WIDTH for one in range(CLASSES))


def _class_of(ratio: float) -> int:
    return min(CLASSES - 1, max(0, int(math.log(ratio / LEAST) / _WIDTH)))
