"""How many pages a load dirties for each byte of redo, and how that falls as the age grows.

Two fits: ``Load`` steers, forgets within minutes, and where an age is held learns nothing of other ages.
``Curve`` says what a higher age is worth: in it all ages of the last hours speak once each, however long the
age stayed there.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import astuple, replace

CLASSES = 16  # Classes that the age ratios from LEAST to MOST are divided into, evenly in their logarithm

LEAST, MOST = 0.1, 1.1
MEAN_SECONDS = 120.0
"""Span of the mean in a class."""

CURVE_MEMORY_SECONDS = 4 * 3600.0
EVERY_SECONDS = 10.0
"""One reading in so many seconds is enough."""

TRUSTED_SECONDS = 300.0  # A class that was seen for so long has half the weight that it can have

PRIOR = 0.5
SPREAD = 0.1
"""The prior of b weighs as much as one class that was seen for long, whose ln(age) is off by this."""

PRIOR_ERROR = 0.25  # Standard error of b where all ages were alike: it lies between 0 and 1
LEAST_ERROR = 0.03  # Of b where they were not: the power law is none exactly

_WIDTH = math.log(MOST / LEAST) / CLASSES
_MIDDLES = tuple(math.log(LEAST) + (one + 0.5) * _WIDTH for one in range(CLASSES))

MEMORY_SECONDS = 900.0
COMBINING_PRIOR = 0.5
COMBINING_SPREAD = 0.1
"""The prior of b weighs as much as readings whose ln(age) varies by this."""

RESPONSE_SECONDS = 60.0  # Span of the means that a move of F and R is told from

RESPONSE_SPREAD = 0.1
RESPONSE_PRIOR_SECONDS = 10.0
"""The prior of no response weighs as much as an F that is off its mean by this share for so long."""

RESPONSE_KNOWN = 20.0
"""What was seen weighs at most so many times as much: newer moves replace it, and no time does."""

STEEPEST = 10.0  # A response is not believed beyond this elasticity, d ln R / d ln F


class Regression(Struct, frozen=True):
    """Weighted means and central moments of pairs (x, y), older ones fading."""

    mean_x: float = 0.0  # weighted mean of x
    mean_y: float = 0.0  # weighted mean of y
    covariance: float = 0.0  # mean of (x - mean_x) * (y - mean_y)
    variance: float = 0.0  # mean of (x - mean_x) ** 2
    weight: float = 0.0  # seconds that the means stand for

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

    @property
    def valid(self) -> bool:
        """Tell whether what was kept can be true."""
        return all(map(math.isfinite, astuple(self))) and min(self.variance, self.weight) >= 0.0

    def slope(self, *, prior: float, spread: float) -> float:
        """Return dy/dx, drawn to ``prior`` as if x had been seen to vary by ``spread`` with that slope."""
        certainty = spread * spread
        if self.variance + certainty <= 0.0:
            return prior
        return (self.covariance + prior * certainty) / (self.variance + certainty)


class Curve(Struct, frozen=True):
    """The mean of the last hours in each class of age ratios."""

    densities: tuple[float, ...] = (0.0,) * CLASSES  # ln(pages newly dirtied per redo byte), one for a class
    # how long that was seen, fading; 0 for a class that was not
    seconds: tuple[float, ...] = (0.0,) * CLASSES
    # b over all ages that were seen, 0 to 1; the prior while they were all alike
    combining_exponent: float = PRIOR
    unheard: float = EVERY_SECONDS  # time since the last reading that was taken in, seconds

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
        keep = math.exp(-unheard / CURVE_MEMORY_SECONDS)
        seconds = [one * keep for one in self.seconds]
        seconds[index] += unheard
        weight = min(1.0, unheard / min(MEAN_SECONDS, seconds[index]))
        densities = list(self.densities)
        densities[index] += weight * (math.log(density) - densities[index])
        return Curve(tuple(densities), tuple(seconds), _exponent(densities, seconds), unheard=0.0)

    def shifted(self, log_ratio: float) -> Curve:
        """Return the curve with all ages so much farther up, in ln(age ratio), to the nearest class."""
        by = round(log_ratio / _WIDTH)

        def moved(each: tuple[float, ...]) -> tuple[float, ...]:
            return tuple(each[one - by] if 0 <= one - by < CLASSES else 0.0 for one in range(CLASSES))

        seconds = moved(self.seconds)
        if not by or not any(seconds):
            return Curve() if by else self
        densities = moved(self.densities)
        exponent = _exponent(densities, seconds)
        return replace(self, densities=densities, seconds=seconds, combining_exponent=exponent)

    @property
    def error(self) -> float:
        """Return the standard error of the exponent."""
        seen = any(one > 0.0 for one in self.seconds)
        return _error(_moments(self.densities, self.seconds)[1] if seen else 0.0)

    @property
    def valid(self) -> bool:
        """Tell whether what was kept can be true."""
        whole = len(self.densities) == CLASSES == len(self.seconds)
        numbers = (*self.densities, *self.seconds, self.combining_exponent, self.unheard)
        return whole and all(map(math.isfinite, numbers)) and min(*self.seconds, self.unheard) >= 0.0


def _exponent(densities: Sequence[float], seconds: Sequence[float]) -> float:
    """Return minus the slope of the line through the classes, drawn to the prior, within 0 and 1."""
    covariance, variance = _moments(densities, seconds)
    slope = (covariance - PRIOR * SPREAD**2) / (variance + SPREAD**2)
    return min(1.0, max(0.0, -slope))


def _moments(densities: Sequence[float], seconds: Sequence[float]) -> tuple[float, float]:
    """Return covariance and variance of the classes' ln(age), each times the weight of all of them."""
    weights = [one / (one + TRUSTED_SECONDS) for one in seconds]
    total = sum(weights)
    mean_x = sum(w * x for w, x in zip(weights, _MIDDLES, strict=True)) / total
    mean_y = sum(w * y for w, y in zip(weights, densities, strict=True)) / total
    variance = covariance = 0.0
    for w, x, y in zip(weights, _MIDDLES, densities, strict=True):
        variance += w * (x - mean_x) ** 2
        covariance += w * (x - mean_x) * (y - mean_y)
    return covariance, variance


def _error(variance: float) -> float:
    """Return the standard error of an exponent that was told from ages of such a variance of ln(age)."""
    return PRIOR_ERROR * SPREAD / math.sqrt(variance + SPREAD**2)


def _class_of(ratio: float) -> int:
    return min(CLASSES - 1, max(0, int(math.log(ratio / LEAST) / _WIDTH)))


class Response(Struct, frozen=True):
    """How R answers to F: a closed load shares its device with the flushing.

    At rest neither moves and nothing is learned, so nothing is forgotten either.
    """

    flush_rate: float = 0.0  # F, pages/s, mean of ``RESPONSE_SECONDS``; 0 before the first reading
    redo_rate: float = 0.0  # R, bytes/s, likewise
    covariance: float = 0.0  # sum of dF * dR * seconds
    variance: float = 0.0  # sum of dF ** 2 * seconds

    def see(self, flush_rate: float, redo_rate: float, elapsed: float) -> Response:
        """Return it with ``elapsed`` seconds more."""
        if self.flush_rate <= 0.0:
            return replace(self, flush_rate=flush_rate, redo_rate=redo_rate)
        df, dr = flush_rate - self.flush_rate, redo_rate - self.redo_rate
        weight = 1.0 - math.exp(-elapsed / RESPONSE_SECONDS)
        mean = self.flush_rate + weight * df
        covariance, variance = self.covariance + df * dr * elapsed, self.variance + df * df * elapsed
        keep = min(1.0, RESPONSE_KNOWN * _prior(mean) / variance) if variance > 0.0 else 1.0
        return Response(mean, self.redo_rate + weight * dr, keep * covariance, keep * variance)

    def redo_for_a_page(self, *, redo_rate: float, flush_rate: float) -> float:
        """Return the redo that the load gives up for each page flushed, bytes; 0 for an open load."""
        if flush_rate <= 0.0 or self.flush_rate <= 0.0:
            return 0.0
        slope = self.covariance / (self.variance + _prior(self.flush_rate))
        return min(max(0.0, -slope), STEEPEST * redo_rate / flush_rate)

    @property
    def valid(self) -> bool:
        """Tell whether what was kept can be true."""
        return all(map(math.isfinite, astuple(self))) and self.variance >= 0.0


def _prior(flush_rate: float) -> float:
    return (RESPONSE_SPREAD * flush_rate) ** 2 * RESPONSE_PRIOR_SECONDS


class Load(Struct, frozen=True):
    """What has been learned of the load."""

    # ln(pages newly dirtied per redo byte) over ln(age ratio); its slope is -b
    combining: Regression = Regression()
    answer: Response = Response()  # how R answers to F
    curve: Curve = Curve()  # the first over hours, by age ratio

    def see(
        self, *, ratio: float, density: float, redo_rate: float, flush_rate: float, elapsed: float
    ) -> Load:
        """Return the load with ``elapsed`` seconds more of it seen.

        Args:
            ratio: age over flush limit.
            density: pages newly dirtied per redo byte.
            elapsed: seconds that these stand for.
        """
        answer = self.answer.see(flush_rate, redo_rate, elapsed)
        if density <= 0.0 or ratio <= 0.0:
            return replace(self, answer=answer)
        x, y = math.log(ratio), math.log(density)
        return Load(
            answer=answer,
            combining=self.combining.add(x, y, elapsed=elapsed, memory=MEMORY_SECONDS),
            curve=self.curve.see(ratio=ratio, density=density, elapsed=elapsed),
        )

    def shifted(self, log_ratio: float) -> Load:
        """Return it with all ages so much farther up, in ln(age ratio): they are bytes over another limit."""
        middle = self.combining.mean_x + log_ratio if self.combining.weight > 0.0 else 0.0
        return replace(
            self, combining=replace(self.combining, mean_x=middle), curve=self.curve.shifted(log_ratio)
        )

    @property
    def combining_exponent(self) -> float:
        """Return b, 0 to 1."""
        return min(1.0, max(0.0, -self.combining.slope(prior=-COMBINING_PRIOR, spread=COMBINING_SPREAD)))

    def exponent_and_error(self) -> tuple[float, float]:
        """Return b by both fits, each by how well it is known, and its standard error.

        The error is that of the better fit, and half of what the two are apart.
        """
        late, hours = self.combining_exponent, self.curve.combining_exponent
        late_error, hours_error = _error(self.combining.variance), self.curve.error
        weight = late_error**-2 / (late_error**-2 + hours_error**-2)
        error = math.hypot(min(late_error, hours_error), 0.5 * (late - hours), LEAST_ERROR)
        return hours + weight * (late - hours), error

    def density_at(self, log_ratio: float, combining_exponent: float) -> float:
        """Return the pages newly dirtied per redo byte at ln(age ratio), from the mean of late."""
        away = log_ratio - self.combining.mean_x
        return math.exp(self.combining.mean_y - combining_exponent * away)

    def flush_response(self, *, redo_rate: float, flush_rate: float) -> float:
        """Return the redo that the load gives up for each page flushed, bytes; 0 for an open load."""
        return self.answer.redo_for_a_page(redo_rate=redo_rate, flush_rate=flush_rate)
