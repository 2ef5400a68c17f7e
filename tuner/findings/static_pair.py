"""The one pair of C and M that suits the busiest minute of a time, and no device beyond what it has given."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from tuner.core.laws import law_of
from tuner.core.leaving.park import pair_for
from tuner.core.limits import bounds
from tuner.core.state import State
from tuner.findings.load import SHORT_SECONDS
from tuner.records import Capacity, Estimate, Sample

MINUTE, STEP = 60, 10
"""Readings of a minute, and how many later the next one begins of which the busiest is looked for."""


class StaticPair(Struct, frozen=True):
    """A pair to be set once, and what it stands on."""

    pair: Capacity
    demand: float  # of the busiest minute, pages/s
    short: bool  # fewer readings than a minute has
    bound_by: str = ""  # why M is lower than the demand asks for, in words


def static_pair(
    estimates: Sequence[Estimate], sample: Sample, state: State, *, age_ratio: float
) -> StaticPair:
    """Return the pair with which the age rests there in the busiest minute of a time.

    M is never above what the device was seen to keep up, where that is known, and never raised by less than
    a minute of readings. Where no M moves the age a lower one is none either.

    Args:
        estimates: of that time, in order, one a second; at least one.
        sample: the newest reading.
        state: of which law and settings count.
        age_ratio: age ratio that the pair is to lead to.
    """
    (lowest, highest), law, in_force = bounds(state), law_of(state), sample.io_capacity_max
    means, short = minutes(estimates), len(estimates) < SHORT_SECONDS
    keeps = lowest if law.m_moves_age else in_force

    def suiting(most: int) -> Capacity:
        pairs = (
            pair_for(
                one.demand,
                one,
                law,
                state.settings,
                slack=1.0,
                age_ratio=age_ratio,
                current=keeps,
                lowest=lowest,
                highest=most,
                home=sample.io_capacity,
            )
            for one in means
        )
        return max(pairs, key=lambda one: one.io_capacity_max)

    wanted, busiest = suiting(highest), max(one.demand for one in means)
    reached = [one.sustained_capacity for one in estimates if one.sustained_capacity is not None]
    bounded = []
    if reached:
        most = max(statistics.median(reached), *(one.flush_rate for one in means))
        bounded.append(
            (most, f"the value is no higher because the device never kept up more than {most:.0f} pages/s")
        )
    if short:
        bounded.append(
            (in_force, "less than a minute is too short a watch for raising innodb_io_capacity_max")
        )
    most, why = min(bounded, default=(highest, ""))
    most = max(keeps, math.floor(most))
    if wanted.io_capacity_max <= most:
        return StaticPair(wanted, busiest, short)
    return StaticPair(suiting(most), busiest, short, why)


def minutes(estimates: Sequence[Estimate]) -> list[Estimate]:
    """Return the means of each minute; that of all where they are none."""
    last = max(0, len(estimates) - MINUTE)
    return [mean_of(estimates[begin : begin + MINUTE]) for begin in range(0, last + 1, STEP)]


def mean_of(estimates: Sequence[Estimate]) -> Estimate:
    """Return the last of some with the mean age, demand and flush rate of all."""
    return replace(
        estimates[-1],
        age_ratio=statistics.fmean(one.age_ratio for one in estimates),
        demand=statistics.fmean(one.demand for one in estimates),
        flush_rate=statistics.fmean(one.flush_rate for one in estimates),
    )
