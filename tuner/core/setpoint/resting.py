"""What the server would do with the settings that it was found with: the baseline."""

from __future__ import annotations

import math
from collections.abc import Callable

from policies.equilibrium import rate_at_rest
from policies.flushlaw import SOFT_LIMIT, FlushLaw
from tuner.records import MILLIONTHS, Capacity, Sample

LEAST_RATIO, MOST_RATIO = 0.02, 1.2  # Age ratios between which a resting place is looked for
HALVINGS = 16  # Of that range, which leaves less than a thousandth of it
MOST_COMBINING = 0.9  # Write combining is not reckoned with beyond this where dirty pages tell an age


def baseline_law(law: FlushLaw, operator: int | None) -> FlushLaw:
    """Return the flush law with the low-water mark that the server was found with.

    Args:
        operator: that mark, millionths of a percent, while ours is in force; None where that one is.
    """
    return SOFT_LIMIT if operator == 0 else law


def heeded_from(sample: Sample, operator: int | None, *, combining_exponent: float) -> float:
    """Return the age ratio at which as many pages are dirty as the mark found says: below it no age counts.

    Args:
        sample: the reading; with more dirty pages the age is as much higher as write combining says.
        operator: as for ``baseline_law``.
    """
    if not operator or sample.pages_dirty <= 0:
        return 0.0
    times = operator / (100.0 * MILLIONTHS) * sample.pages_total / sample.pages_dirty
    exponent = 1.0 / (1.0 - min(MOST_COMBINING, combining_exponent))
    return min(MOST_RATIO, sample.age_ratio * math.pow(times, exponent))


def resting_ratio(
    law: FlushLaw,
    density_at: Callable[[float], float],
    *,
    pair: Capacity,
    redo_rate: float,
    flush_rate: float,
    response: float,
    heeded: float = 0.0,
) -> float:
    """Return the age ratio at which the age rests with a fixed C and M, by the law and by write combining.

    At rest as many pages are flushed as become dirty: ``K / law.resting_gain(x) = rho(x) * R(x)``, of which
    the left side rises with x and the right one falls. Where no age counts, ``2 * P = C + min(P, M / 3)``.

    Args:
        law: the server's, from ``heeded`` on.
        density_at: rho, pages that the flush list has to write per redo byte, at ln(age ratio).
        redo_rate: R, mean of minutes, bytes/s.
        flush_rate: F, likewise, pages/s.
        response: redo that the load gives up for each page flushed, bytes.
        heeded: age ratio from which on the age counts.

    Returns:
        At least ``LEAST_RATIO``, and ``MOST_RATIO`` where M is too small to hold any age.
    """

    def pages(log_ratio: float) -> float:
        density = density_at(log_ratio)
        return density * rate_at_rest(
            redo_rate=redo_rate, flush_rate=flush_rate, density=density, response=response
        )

    whole, third = pair.gain, pair.io_capacity_max / 3.0
    if heeded > LEAST_RATIO:
        blind = pair.io_capacity if pair.io_capacity <= third else 0.5 * (pair.io_capacity + third)
        if heeded > MOST_RATIO or blind >= pages(math.log(heeded)):  # at rest below, where no age counts
            return _lowest(lambda at: blind >= pages(at))
    by_law = _lowest(lambda at: whole / law.resting_gain(math.exp(at)) >= pages(at))
    return max(heeded, by_law)


def _lowest(holds: Callable[[float], bool]) -> float:
    """Return the lowest age ratio whose age is held, as told of its logarithm; higher ones are as well."""
    low, high = math.log(LEAST_RATIO), math.log(MOST_RATIO)
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if holds(middle) else (middle, high)
    return math.exp(high)
