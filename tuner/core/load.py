"""What the load answers with: write combining to age, redo to flushing; fitted, slowly forgotten."""

from __future__ import annotations

import math

from msgspec import Struct
from msgspec.structs import replace

from tuner.core.curve import Curve
from tuner.core.regression import Regression

MEMORY_SECONDS = 900.0
COMBINING_PRIOR = 0.5
COMBINING_SPREAD = 0.1
"""The prior of b weighs as much as readings whose ln(age) varies by this."""

RESPONSE_SPREAD = 0.1
"""The prior of no response weighs as much as readings whose F varies by this share of its mean."""

STEEPEST = 2.0
"""A response is not believed beyond this elasticity, d ln R / d ln F."""


class Load(Struct, frozen=True):
    """What has been learned of the load.

    Attributes:
        combining: ln(pages newly dirtied per redo byte) over ln(age ratio); its slope is -b.
        response: R, bytes/s, over F, pages/s; its slope is minus the redo given up for a page.
        curve: the first over hours, by age ratio.
    """

    combining: Regression = Regression()
    response: Regression = Regression()
    curve: Curve = Curve()

    def see(
        self, *, ratio: float, density: float, redo_rate: float, flush_rate: float, elapsed: float
    ) -> Load:
        """Return the load with ``elapsed`` seconds more of it seen.

        Args:
            ratio: age over flush limit.
            density: pages newly dirtied per redo byte.
            redo_rate: R, bytes/s.
            flush_rate: F, pages/s.
            elapsed: seconds that these stand for.
        """
        response = self.response.add(flush_rate, redo_rate, elapsed=elapsed, memory=MEMORY_SECONDS)
        if density <= 0.0 or ratio <= 0.0:
            return replace(self, response=response)
        x, y = math.log(ratio), math.log(density)
        return Load(
            response=response,
            combining=self.combining.add(x, y, elapsed=elapsed, memory=MEMORY_SECONDS),
            curve=self.curve.see(ratio=ratio, density=density, elapsed=elapsed),
        )

    @property
    def combining_exponent(self) -> float:
        """Return b, 0 to 1."""
        return min(1.0, max(0.0, -self.combining.slope(prior=-COMBINING_PRIOR, spread=COMBINING_SPREAD)))

    def density_at(self, ratio: float, combining_exponent: float) -> float:
        """Return the pages newly dirtied per redo byte at an age ratio, from the mean of late; 0 for none."""
        if self.combining.weight <= 0.0 or ratio <= 0.0:
            return 0.0
        away = math.log(ratio) - self.combining.mean_x
        return math.exp(self.combining.mean_y - combining_exponent * away)

    def flush_response(self, *, redo_rate: float, flush_rate: float) -> float:
        """Return the redo that the load gives up for each page flushed, bytes; 0 for an open load."""
        if flush_rate <= 0.0:
            return 0.0
        slope = self.response.slope(prior=0.0, spread=RESPONSE_SPREAD * self.response.mean_x)
        return min(max(0.0, -slope), STEEPEST * redo_rate / flush_rate)
