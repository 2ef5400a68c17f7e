"""A line fitted to what was seen of late: least squares that forget."""

from __future__ import annotations

import math

from msgspec import Struct


class Regression(Struct, frozen=True):
    """Weighted means and central moments of pairs (x, y), older ones fading.

    Attributes:
        mean_x: weighted mean of x.
        mean_y: weighted mean of y.
        covariance: mean of (x - mean_x) * (y - mean_y).
        variance: mean of (x - mean_x) ** 2.
        weight: seconds that the means stand for.
    """

    mean_x: float = 0.0
    mean_y: float = 0.0
    covariance: float = 0.0
    variance: float = 0.0
    weight: float = 0.0

    def add(self, x: float, y: float, *, elapsed: float, memory: float) -> Regression:
        """Return the regression with one pair more, which stands for ``elapsed`` seconds."""
        keep = math.exp(-elapsed / memory)
        weight = self.weight * keep + elapsed
        share = elapsed / weight
        dx, dy = x - self.mean_x, y - self.mean_y
        return Regression(
            mean_x=self.mean_x + share * dx,
            mean_y=self.mean_y + share * dy,
            covariance=(1.0 - share) * (self.covariance + share * dx * dy),
            variance=(1.0 - share) * (self.variance + share * dx * dx),
            weight=weight,
        )

    def slope(self, *, prior: float, spread: float) -> float:
        """Return dy/dx, drawn to ``prior`` as if x had been seen to vary by ``spread`` with that slope."""
        certainty = spread * spread
        if self.variance + certainty <= 0.0:
            return prior
        return (self.covariance + prior * certainty) / (self.variance + certainty)
