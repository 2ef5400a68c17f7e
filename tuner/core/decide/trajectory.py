"""The way to an age in a time that is asked for, and back: the M of each moment.

The flush rate wanted is the pages that have to go until the age is there, those that the load dirties
meanwhile among them, over the time that is left; near the end and after it, over a time that is always left,
so that the age comes to rest there. ``Cleaner`` says which M gives that rate, from what the server's flush
law remembers just now.

A round of the page cleaner asks for ``n = min(M, (PCT + F' + min(p, 2 M)) / 3)``: PCT is what the law asks
for at this age, in proportion to M; F' the mean rate of the flushing so far, and p the pages that the mean
redo rate needs (``Adaptive_flush::page_recommendation`` in MySQL 9.7, storage/innobase/buf/buf0flu.cc). How
many terms there are, and how far p counts, is the law's. Both means are renewed every
``innodb_flushing_avg_loops`` seconds by half. So they are far above the need for minutes after a bulk load,
when M alone bounds n, and still at the old rate when the load has changed. The server exports n, PCT and p:
F' is what is left.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from msgspec import Struct

from policies.equilibrium import FARTHEST_AGE, rate_at_rest
from policies.flushlaw import FlushLaw
from policies.registry import LAWS
from tuner.core.estimate.tail import CAPPED_SHARE
from tuner.core.estimate.trends import MeanRates
from tuner.core.estimate.window import Window, idled
from tuner.core.laws import law_of
from tuner.core.limits import bounds
from tuner.core.state import Drain, State
from tuner.records import Estimate, Sample

AIM = 0.9  # Share of the target that the age is brought to, so that what it wanders stays below the target

LOOP_SECONDS = 2.0
"""Redo of this time lies between the age where flushing by age stops and the lowest one it can hold."""

LEAST_AGE = 1.0  # Bytes; below it a law would have to divide by nothing

HALVINGS = 50

REQUEST_SECONDS = 5.0
"""Rounds of this time are averaged: one round's request follows the disturbance of the load."""

ANSWER_SECONDS = 1.5  # A round that began before a write still asks by the old M
WAY_SECONDS = 120.0  # What the way takes where the device allows it

SHORTEST, LONGEST = 30.0, 120.0
"""Bounds of the time that is always left, seconds; half a residence time where that lies between them."""

DEVICE_SHARE = 0.95
LEAST_SHARE = 1.05
"""This share of the sustained capacity is flushed at most, but this share of the load's demand may be:
what the load gives way is known by trying alone."""

CLIMB_FLOOR = 0.4  # Share of the demand that is flushed at least while the age has to grow

NEWS, FINE_NEWS = 0.1, 0.03
"""Difference in ln M that is worth a write, and where each percent counts: at the cap, or far off."""

DRIFT, FAR = 0.02, 0.04
"""Nor is it worth one before the age ratio would end so far from its place with the rate asked for now."""

OVERDUE_DRIFT = 0.005
"""The same where the age should be there by now: ``DRIFT`` is more than a low target leaves room for."""


def lowest_target(state: State, sample: Sample, estimate: Estimate) -> tuple[float, str]:
    """Return the lowest checkpoint age that can be held at the present load, bytes, and what bounds it."""
    law, (_, highest) = law_of(state), bounds(state)
    lowest, low_water = floor_of(sample, estimate), sample.adaptive_flushing_lwm
    by_law = _least(lowest, sample, lambda age: _needed(law, sample, estimate, age) <= highest)
    not_by_age = f"below innodb_adaptive_flushing_lwm ({low_water:g} %) the server does not flush by age"
    limits = (
        (lowest, not_by_age),
        (by_law, f"it would take more than the max_io_capacity_max of {highest} pages/s"),
    )
    age, why = max(limits, key=lambda limit: limit[0])
    return age / AIM + lag_of(state), why


def lowest_safe_target(state: State, sample: Sample, estimate: Estimate) -> tuple[int, str]:
    """Return the checkpoint age that a drain to no certain age goes to, bytes, and what bounds it.

    It is one that can be held, and where the load's demand leaves the device some: below that a drain would
    take from the load what it flushes.
    """
    age, why = lowest_target(state, sample, estimate)
    if estimate.sustained_capacity is not None:
        most = DEVICE_SHARE * estimate.sustained_capacity
        lowest = floor_of(sample, estimate)
        by_device = _least(lowest, sample, lambda one: _resting(estimate, one) <= most) / AIM + lag_of(state)
        if by_device > age:
            age, why = by_device, f"it would take more than the {most:.0f} pages/s that the device has for it"
    return round(age) + 1, why


def holding(state: State, sample: Sample, estimate: Estimate) -> float:
    """Return the M, pages/s, that holds the age at the set-point under the load of now."""
    age = max(floor_of(sample, estimate), state.set_point_now * sample.flush_limit)
    return _needed(law_of(state), sample, estimate, age)


def lag_of(state: State) -> float:
    """Return what the checkpoint age may exceed the modified age by, bytes."""
    trends = state.estimator.trends
    rate = trends.rate_mean if state.drain is None else state.drain.redo_rate
    return state.facts.flush_order_lag + max(state.facts.sawtooth_seconds, trends.checkpoint_seconds) * rate


def aim_of(state: State, drain: Drain, sample: Sample, estimate: Estimate) -> float:
    """Return the modified age to rest at, bytes: the target's, above where flushing by age stops."""
    wanted = max(floor_of(sample, estimate), AIM * (drain.target - lag_of(state)))
    return wanted if state.set_point is None else min(wanted, state.set_point * sample.flush_limit)


def floor_of(sample: Sample, estimate: Estimate) -> float:
    """Return the lowest modified age that the server's flushing by age can hold, bytes; never none at all.

    With ``innodb_adaptive_flushing_lwm`` at 0 and no load there is nothing else above 0.
    """
    return max(LEAST_AGE, sample.low_water_age + LOOP_SECONDS * estimate.redo_rate)


def _resting(estimate: Estimate, age: float) -> float:
    """Return the pages/s that hold an age, from write combining and from how the load answers flushing."""
    ratio = max(estimate.modified_age, 1.0) / age
    ratio = min(FARTHEST_AGE, max(1.0 / FARTHEST_AGE, ratio))
    density = estimate.new_density * math.pow(ratio, estimate.combining_exponent)
    return density * rate_at_rest(
        redo_rate=estimate.redo_rate,
        flush_rate=estimate.flush_rate,
        density=density,
        response=estimate.flush_response,
    )


def _needed(law: FlushLaw, sample: Sample, estimate: Estimate, age: float) -> float:
    return law.resting_gain(age / sample.flush_limit) * _resting(estimate, age)


def _least(lowest: float, sample: Sample, fits: Callable[[float], bool]) -> float:
    """Return the lowest age that fits; the flush limit where none does. Fits are monotonic in the age."""
    low, high = lowest, float(sample.flush_limit)
    if fits(low):
        return low
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if fits(middle) else (middle, high)
    return high


class Cleaner(Struct, frozen=True):
    """What the last rounds show of the page cleaner."""

    asked: float  # n, pages/s
    mean_rate: float  # F', pages/s; at the cap, where n shows only the least it can be, that or the rate now
    by_age: float  # p, pages/s

    def capacity_for(self, law: FlushLaw, *, flush_rate: float, ratio: float) -> float:
        """Return the M, pages/s, with which the server flushes at a rate; never less than that rate.

        Args:
            flush_rate: wanted, pages/s.
        """
        if law.alone and ratio >= 1.0:
            return max(flush_rate, law.asking(ratio, flush_rate))
        rest = max(0.0, law.terms * flush_rate - self.mean_rate)
        need_is_capped = rest / (1.0 / law.asking(ratio, 1.0) + law.need_cap)
        if law.need_cap * need_is_capped <= self.by_age:
            return max(flush_rate, need_is_capped)
        return max(flush_rate, law.asking(ratio, max(0.0, rest - self.by_age)))


def cleaner(
    law: FlushLaw, window: Window, sample: Sample, estimate: Estimate, *, wrote: float | None
) -> Cleaner:
    """Return what the page cleaner does; as if at rest where the server does not say, or is idle.

    Args:
        wrote: time of the last write, seconds; None before the first.
    """
    if idled(window) or sample.degraded or sample.flush_requested <= 0:
        return Cleaner(asked=estimate.flush_rate, mean_rate=estimate.flush_rate, by_age=estimate.demand)
    since = sample.monotonic - REQUEST_SECONDS
    if wrote is not None:
        since = max(since, wrote + ANSWER_SECONDS)
    rounds = [point.requested for point in window if point.at > since] or [sample.flush_requested]
    asked, highest = sum(rounds) / len(rounds), float(sample.io_capacity_max)
    by_law = sample.io_capacity * sample.flush_percentage / 100.0
    mean_rate = law.terms * asked - by_law - min(float(sample.flush_by_age), law.need_cap * highest)
    if asked >= CAPPED_SHARE * highest:
        mean_rate = max(mean_rate, estimate.flush_rate)
    return Cleaner(asked=asked, mean_rate=max(0.0, mean_rate), by_age=float(sample.flush_by_age))


class Heading(Struct, frozen=True):
    """The M that is wanted now."""

    io_capacity_max: float  # pages/s
    act: bool  # it differs enough from the one in force
    terms: dict[str, float]  # the named parts of the answer


def towards(
    state: State,
    sample: Sample,
    estimate: Estimate,
    rates: MeanRates,
    *,
    aim: float,
    arrival: float,
    now: float,
    drift_allowed: float = DRIFT,
) -> Heading:
    """Return the M that brings the modified age to its aim, and keeps it there.

    Args:
        aim: modified age to rest at, bytes.
        arrival: time when it is to be there, seconds.
        drift_allowed: what the age ratio may end away from its place by without a write.
    """
    law = LAWS[state.facts.flush_law]
    flusher = cleaner(law, state.estimator.window, sample, estimate, wrote=state.writes.last)
    closing = closing_seconds(aim, rates.redo_rate)
    horizon = max(closing, arrival - now)
    wanted = _flush_rate(state, sample, estimate, rates, aim=aim, horizon=horizon, closing=closing)
    lowest = max(floor_of(sample, estimate), 0.5 * aim)
    wish = flusher.capacity_for(
        law,
        flush_rate=wanted,
        ratio=max(estimate.modified_age, lowest) / sample.flush_limit,
    )
    density = max(estimate.demand_density, 1e-12)
    drift = (wanted - flusher.asked) * horizon / density / sample.flush_limit
    news = abs(math.log(max(wish, 1.0) / sample.io_capacity_max))
    least = FINE_NEWS if wish <= wanted or abs(drift) >= FAR else NEWS
    return Heading(
        io_capacity_max=wish,
        act=news >= least and abs(drift) >= drift_allowed,
        terms={
            "aim": aim,
            "flush_rate_wanted": wanted,
            "horizon": horizon,
            "mean_rate": flusher.mean_rate,
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
    estimate: Estimate,
    rates: MeanRates,
    *,
    aim: float,
    horizon: float,
    closing: float,
) -> float:
    """Return the pages/s wanted: down at no more than the pages up to the aim, for a tail may be thin."""
    away = estimate.modified_age - aim
    times = (horizon, closing) if away > 0.0 else (horizon,)
    due = [_answered(state, sample, estimate, rates, away=away, seconds=seconds) for seconds in times]
    wanted = max(min(due), CLIMB_FLOOR * estimate.demand)
    if estimate.sustained_capacity is None:
        return wanted
    return min(wanted, max(LEAST_SHARE * estimate.demand, DEVICE_SHARE * estimate.sustained_capacity))


def _answered(
    state: State, sample: Sample, estimate: Estimate, rates: MeanRates, *, away: float, seconds: float
) -> float:
    """Return the pages/s that are due in this time, with the redo that the load gives up for them, or adds.

    Means, and the answer of the load at its usual rate: else each write would chase the load's answer to
    the one before it.
    """
    span = max(0.0, rates.redo_rate * seconds + away)
    pages = _pages(state, sample, estimate, span)
    usual = max(rates.redo_rate, state.estimator.trends.rate_mean)
    response = state.estimator.load.flush_response(redo_rate=usual, flush_rate=rates.flush_rate)
    answer = response * pages / max(span, 1.0)
    return (pages / seconds + answer * rates.flush_rate) / (1.0 + answer)


def _pages(state: State, sample: Sample, estimate: Estimate, span: float) -> float:
    """Return the pages in the oldest ``span`` bytes of redo, those that are still to come among them."""
    known = min(span, float(sample.modified_age))
    return state.estimator.tail.pages_ahead(sample, known) + estimate.new_density * max(0.0, span - known)
