"""A server's flush law: which share of C an age asks for, written from its source and not from ``policies``.

Source: ``Adaptive_flush::get_pct_for_lsn`` of MySQL 9.7 and ``af_get_pct_for_lsn`` before and elsewhere
(storage/innobase/buf/buf0flu.cc).
"""

from __future__ import annotations

import math

from msgspec import Struct


class Law(Struct, frozen=True):
    """A server's flush percentage by age, and what its request is the mean of.

    Attributes:
        name: what the daemon calls it.
        exponent: power of the age, 1.5 or 2.5.
        divisor: what that is divided by.
        truncates_percentage: the age percentage is an integer.
        ignores_averages_at_limit: from the flush limit on nothing but this percentage counts.
    """

    name: str
    exponent: float = 1.5
    divisor: float = 7.5
    truncates_percentage: bool = False
    ignores_averages_at_limit: bool = False

    def percentage(self, age: float, flush_limit: float, io_capacity: int, io_capacity_max: int) -> int:
        """Return the percentage of C that an age asks for, in the server's integer arithmetic."""
        percent = age * 100.0 / flush_limit
        if self.truncates_percentage:
            percent = float(int(percent))
        power = percent * math.sqrt(percent)
        if self.exponent > 2.0:  # noqa: PLR2004 - the two exponents there are
            power *= percent
        return int(io_capacity_max // io_capacity * power / self.divisor)
