"""The server's own adaptive flush law, forwards for one percentage and backwards for M.

Source: ``Adaptive_flush::get_pct_for_lsn`` and ``page_recommendation`` in MySQL 9.7
(storage/innobase/buf/buf0flu.cc), unchanged since 5.6 but for the type of X:
``pct = floor(k * X**1.5 / 7.5)`` with ``X = 100 * age / A`` and ``k = M // C``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class FlushLaw:
    """One server family's power law.

    Attributes:
        name: ``legacy`` upstream; other families bring their own.
        exponent: power of the age ratio.
        divisor: what the power of the age percentage is divided by.
    """

    name: str
    exponent: float
    divisor: float

    def percentage(self, *, age: float, flush_limit: float, io_capacity: int, io_capacity_max: int) -> int:
        """Return the LSN part of the flush percentage, in percent of C, as the server computes it.

        The age must be above the server's low-water mark; below it the server says 0.
        """
        gain = io_capacity_max // io_capacity
        return math.floor(gain * math.pow(100.0 * age / flush_limit, self.exponent) / self.divisor)

    @property
    def full_rate_ratio(self) -> float:
        """Return the age ratio above which the law asks for more than M, so that F = M."""
        return math.pow(self._inverse_gain, 1.0 / self.exponent)

    @property
    def _inverse_gain(self) -> float:
        """Return K/P at an age ratio of 1: PCT = K * 100**exponent * x**exponent / (100 * divisor)."""
        return 100.0 * self.divisor / math.pow(100.0, self.exponent)

    def gain_over_demand(self, ratio: float) -> float:
        """Return M/P that holds the age ratio in the steady state, never below 1.

        Steady state: the averages equal F and F = P, so PCT = P and K* = P * c / x**exponent;
        above ``full_rate_ratio`` the cap decides and M = P.
        """
        return max(1.0, self._inverse_gain / math.pow(ratio, self.exponent))

    def asking(self, ratio: float, pages: float) -> float:
        """Return the M, pages/s, with which the LSN part alone asks for so many pages a second."""
        return pages * self._inverse_gain / math.pow(ratio, self.exponent)

    def steady_ratio(self, *, demand: float, io_capacity_max: float) -> float:
        """Return the age ratio where the law alone settles; only valid below ``full_rate_ratio``."""
        return math.pow(self._inverse_gain * demand / io_capacity_max, 1.0 / self.exponent)


LEGACY = FlushLaw(name="legacy", exponent=1.5, divisor=7.5)
