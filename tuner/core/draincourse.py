"""Which M takes the checkpoint age to where it is to be, in a time that is left, and keeps it there.

The flush rate wanted is the pages that have to go until the age is there, those that the load
dirties meanwhile among them, over the time that is left; near the end and after it, over a time
that is always left, so that the age comes to rest there. ``flushing`` says which M gives that rate.
"""

from __future__ import annotations

import math

from msgspec import Struct

from policies.registry import LAWS
from tuner.core import flushing
from tuner.core.drainreach import floor_of
from tuner.core.state import State
from tuner.core.trends import MeanRates
from tuner.records import Estimate, Sample

WAY_SECONDS = 120.0
"""What the way takes where the device allows it."""

SHORTEST, LONGEST = 30.0, 120.0
"""Bounds of the time that is always left, seconds; half a residence time where that lies between them."""

DEVICE_SHARE = 0.95
LEAST_SHARE = 1.05
"""This share of the sustained capacity is flushed at most, but this share of the load's demand may be:
what the load gives way is known by trying alone."""

CLIMB_FLOOR = 0.4
"""Share of the demand that is flushed at least while the age has to grow."""

NEWS, FINE_NEWS = 0.1, 0.03
"""Difference in ln M that is worth a write, and where each percent counts: at the cap, or far off."""

DRIFT, FAR = 0.02, 0.04
"""Nor is it worth one before the age ratio would end so far from its place with the rate asked for now."""


class Course(Struct, frozen=True):
    """The M that is wanted now.

    Attributes:
        io_capacity_max: pages/s.
        act: it differs enough from the one in force.
        terms: the named parts of the answer.
    """

    io_capacity_max: float
    act: bool
    terms: dict[str, float]


def course(
    state: State,
    sample: Sample,
    found: Estimate,
    rates: MeanRates,
    *,
    aim: float,
    arrival: float,
    now: float,
) -> Course:
    """Return the M that brings the modified age to its aim, and keeps it there.

    Args:
        state: the loop's.
        sample: the newest reading.
        found: rates.
        rates: their means.
        aim: modified age to rest at, bytes.
        arrival: time when it is to be there, seconds.
        now: seconds.
    """
    law = LAWS[state.facts.flush_law]
    cleaner = flushing.cleaner(law, state.estimator.window, sample, found, wrote=state.writes.last)
    closing = closing_seconds(aim, rates.redo_rate)
    horizon = max(closing, arrival - now)
    wanted = _flush_rate(state, sample, found, rates, aim=aim, horizon=horizon, closing=closing)
    lowest = max(floor_of(sample, found), 0.5 * aim)
    wish = cleaner.capacity_for(
        law,
        flush_rate=wanted,
        ratio=max(found.modified_age, lowest) / sample.flush_limit,
    )
    density = max(found.demand_density, 1e-12)
    drift = (wanted - cleaner.asked) * horizon / density / sample.flush_limit
    news = abs(math.log(max(wish, 1.0) / sample.io_capacity_max))
    least = FINE_NEWS if wish <= wanted or abs(drift) >= FAR else NEWS
    return Course(
        io_capacity_max=wish,
        act=news >= least and abs(drift) >= DRIFT,
        terms={
            "aim": aim,
            "flush_rate_wanted": wanted,
            "horizon": horizon,
            "mean_rate": cleaner.mean_rate,
            "drift": drift,
        },
    )


def seconds_left(
    *, age: float, aim: float, goal: float, fall: float, horizon: float, closing: float
) -> float:
    """Return the time until an age comes by, falling evenly first and ever more slowly near its aim.

    Args:
        age: where it is, bytes.
        aim: where it comes to rest, bytes.
        goal: what it is to come by, above the aim, bytes.
        fall: how fast it falls, bytes/s; as planned where that is not positive.
        horizon: seconds in which it is planned to be at its aim.
        closing: seconds in which what is left goes by a factor of e near the aim.
    """
    way, rest = age - aim, max(goal - aim, 1.0)
    if way <= rest:
        return 0.0
    pace = fall if fall > 0.0 else way / horizon
    near = min(way, max(rest, pace * closing))
    return (way - near) / pace + closing * math.log(near / rest)


def closing_seconds(aim: float, redo_rate: float) -> float:
    """Return the time in which what is left of the way goes by a factor of e, at its end, seconds."""
    return min(LONGEST, max(SHORTEST, 0.5 * aim / max(redo_rate, 1.0)))


def _flush_rate(
    state: State,
    sample: Sample,
    found: Estimate,
    rates: MeanRates,
    *,
    aim: float,
    horizon: float,
    closing: float,
) -> float:
    """Return the pages/s wanted: down at no more than the pages up to the aim, for a tail may be thin."""
    away = found.modified_age - aim
    times = (horizon, closing) if away > 0.0 else (horizon,)
    due = [_answered(state, sample, found, rates, away=away, seconds=seconds) for seconds in times]
    wanted = max(min(due), CLIMB_FLOOR * found.demand)
    if found.sustained_capacity is None:
        return wanted
    return min(wanted, max(LEAST_SHARE * found.demand, DEVICE_SHARE * found.sustained_capacity))


def _answered(
    state: State, sample: Sample, found: Estimate, rates: MeanRates, *, away: float, seconds: float
) -> float:
    """Return the pages/s that are due in this time, with the redo that the load gives up for them, or adds.

    Means, and the answer of the load at its usual rate: else each write would chase the load's answer to
    the one before it.
    """
    span = max(0.0, rates.redo_rate * seconds + away)
    pages = _pages(state, sample, found, span)
    usual = max(rates.redo_rate, state.estimator.trends.rate_mean)
    response = state.estimator.load.flush_response(redo_rate=usual, flush_rate=rates.flush_rate)
    answer = response * pages / max(span, 1.0)
    return (pages / seconds + answer * rates.flush_rate) / (1.0 + answer)


def _pages(state: State, sample: Sample, found: Estimate, span: float) -> float:
    """Return the pages in the oldest ``span`` bytes of redo, those that are still to come among them."""
    known = min(span, float(sample.modified_age))
    return state.estimator.tail.pages_ahead(sample, known) + found.new_density * max(0.0, span - known)
