"""Where the age comes to rest: the M that holds the set-point, from what the load shows at any age.

In the steady state as many pages leave the flush list as enter it: ``F = rho * R``, with rho
the pages newly dirtied per redo byte. Two things move when the age moves. Write combining
changes rho: ``rho(f) = rho(x) * (x / f) ** b``. And a closed load shares its device with the
flushing, so that R answers F: ``R = R0 - c * F``, with c the redo given up for a page flushed.
Both solved for F at the set-point::

    F = rho(f) * R0 / (1 + c * rho(f)),  with  R0 = R + c * F

R0 and rho(f) hardly change when M does, so they can be averaged over minutes, across writes;
that is what makes the answer steady enough to be written once and left alone.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from policies.flushlaw import FlushLaw
from policies.types import Situation

FARTHEST_AGE = 4.0  # Write combining is not reckoned with over more than this ratio of ages


def rate_at_rest(*, redo_rate: float, flush_rate: float, density: float, response: float) -> float:
    """Return the R, bytes/s, that a load comes to when as many pages are flushed as it makes dirty.

    Args:
        redo_rate: R as it was seen, bytes/s.
        flush_rate: F as it was seen with it, pages/s.
        density: pages newly dirtied per redo byte.
        response: redo that the load gives up for each page flushed, bytes; 0 for an open load.
    """
    return (redo_rate + response * flush_rate) / (1.0 + response * density)


@dataclass(frozen=True, slots=True)
class Equilibrium:
    """Averages of what the load shows."""

    redo_rate: float = 0.0  # R, bytes/s; 0 before the first reading
    flush_rate: float = 0.0  # F, pages/s
    density: float = 0.0  # rho at the set-point, pages/byte

    def updated(self, situation: Situation, weight: float) -> Equilibrium:
        """Return the averages with this tick in them.

        Args:
            weight: share of this tick in the new averages, 0 to 1.
        """
        ratio = min(FARTHEST_AGE, max(1.0 / FARTHEST_AGE, situation.age_ratio / situation.set_point))
        density = situation.new_density * math.pow(ratio, situation.combining_exponent)
        weight = weight if self.redo_rate > 0.0 else 1.0
        return Equilibrium(
            redo_rate=self.redo_rate + weight * (situation.redo_rate - self.redo_rate),
            flush_rate=self.flush_rate + weight * (situation.flush_rate - self.flush_rate),
            density=self.density + weight * (density - self.density),
        )

    def moved(self, law: FlushLaw, situation: Situation) -> tuple[Equilibrium, float]:
        """Return the averages at a set-point that was moved on purpose, and what it adds to ln M."""
        ratio = min(FARTHEST_AGE, max(1.0 / FARTHEST_AGE, situation.moved_from / situation.set_point))
        after = replace(self, density=self.density * math.pow(ratio, situation.combining_exponent))
        old = self.io_capacity_max(law, situation._replace(set_point=situation.moved_from))
        new = after.io_capacity_max(law, situation)
        return after, math.log(new / old) if old > 0.0 and new > 0.0 else 0.0

    def io_capacity_max(self, law: FlushLaw, situation: Situation) -> float:
        """Return the M, pages/s, with which the age comes to rest at the set-point."""
        resting = rate_at_rest(
            redo_rate=self.redo_rate,
            flush_rate=self.flush_rate,
            density=self.density,
            response=situation.flush_response,
        )
        return law.resting_gain(situation.set_point) * self.density * resting
