"""Which M brings the checkpoint age down to a target and keeps it there, and how low it can go.

The flush rate wanted is the pages that have to go until the age is there, those that the load
dirties meanwhile among them, over the time that is left. Which M gives it at the age of the
moment is the server's own law turned round: its LSN part has to ask for ``2 F - P``, since the
law takes a third of the sum of that part, of the rate flushed so far (F, soon) and of the
pages that the age needs (P). So M rises as the age falls, and the age ends at its rest.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from msgspec import Struct

from policies.equilibrium import FARTHEST_AGE, rate_at_rest
from policies.flushlaw import FlushLaw
from policies.registry import LAWS
from policies.setpoint import FLUSH_ORDER_LAG, SAWTOOTH_SECONDS
from tuner.core import estimator
from tuner.core.ages import said
from tuner.core.state import Drain, State
from tuner.core.targets import bounds
from tuner.records import Estimate, Sample

DRAIN_SECONDS = 120.0
"""What a drain takes where the device allows it."""

DEVICE_SHARE = 0.95
LEAST_SHARE = 1.05
"""A drain takes this share of the sustained capacity at most, but this share of the load's demand at least:
what the load gives way is known by trying alone."""

AIM = 0.9
"""Share of the target that the age is brought to, so that what it wanders stays below the target."""

LOOP_SECONDS = 2.0
"""Redo of this time lies between the age where flushing by age stops and the lowest one it can hold."""

SHORTEST, LONGEST = 30.0, 120.0
"""Bounds of the time in which a small error at the end is to go, seconds."""

NEWS = 0.14
"""Difference in ln M that is worth a write on the way and on arrival."""

ARRIVED, LEFT, LOW = 1.08, 1.3, 0.7
"""Shares of the aim: on the way until there, on the way again from there, too low from there."""

SETTLING = 60.0
"""A write has at least so long to show what it does, and twice the time that the redo up to the aim takes."""

TRIM = 0.7
"""Share of the error that one write of those takes out."""

HALVINGS = 50


class Course(Struct, frozen=True):
    """The M that a drain wants now.

    Attributes:
        io_capacity_max: pages/s.
        act: it differs enough from the one in force.
        detail: where the drain is, in words.
        terms: the named parts of the answer.
    """

    io_capacity_max: float
    act: bool
    detail: str
    terms: dict[str, float]


def course(state: State, drain: Drain, sample: Sample, found: Estimate, *, now: float) -> Course:
    """Return the M that brings the age to its aim in the time left, or keeps it there."""
    aim = aim_of(state, drain, sample, found)
    wish, act, terms = (
        _on_the_way(state, drain, sample, found, now=now)
        if drain.arrived is None
        else _there(state, drain.arrived, aim, sample, found, now=now)
    )
    return Course(
        io_capacity_max=wish,
        act=act,
        detail=f"{drain.who} wants a checkpoint age of at most {said(drain.target)} "
        f"for {drain.ends - now:.0f} s more; it is {said(found.checkpoint_age)}",
        terms={"target": float(drain.target), "aim": aim} | terms,
    )


def _on_the_way(
    state: State, drain: Drain, sample: Sample, found: Estimate, *, now: float
) -> tuple[float, bool, dict[str, float]]:
    """Aim at the end of the time left, but at no more than the pages up to the aim: a tail may be thin."""
    law, aim, age = LAWS[state.facts.flush_law], aim_of(state, drain, sample, found), found.modified_age
    closing = min(LONGEST, max(SHORTEST, 0.5 * aim / max(found.redo_rate, 1.0)))
    horizon = max(closing, drain.begun + DRAIN_SECONDS - now)
    wanted = min(
        _pages(state, sample, found, found.redo_rate * seconds + age - aim) / seconds
        for seconds in (horizon, closing)
    )
    if found.sustained_capacity is not None:
        wanted = min(wanted, max(LEAST_SHARE * found.demand, DEVICE_SHARE * found.sustained_capacity))
    asked = law.asking(max(age, aim) / sample.flush_limit, max(0.0, 2.0 * wanted - found.demand))
    wish = max(wanted, asked)
    terms = {"flush_rate_wanted": wanted, "horizon": horizon}
    return wish, _is_news(wish, sample), terms


def _there(
    state: State, since: float, aim: float, sample: Sample, found: Estimate, *, now: float
) -> tuple[float, bool, dict[str, float]]:
    """Write the M with which the age rests; correct that when it has had its time and did not do."""
    last = state.writes.last
    landed = last is not None and last >= since
    settling = max(SETTLING, 2.0 * aim / max(found.redo_rate, 1.0))
    lasted = now - (last if landed and last is not None else since)
    if not landed and lasted < settling:
        rest = _needed(LAWS[state.facts.flush_law], sample, found, aim)
        return rest, _is_news(rest, sample), {"rest": rest}
    share = max(found.modified_age, 1.0) / aim
    exponent = LAWS[state.facts.flush_law].exponent + found.combining_exponent
    wish = sample.io_capacity_max * math.pow(share, TRIM * exponent)
    return wish, lasted >= settling and not LOW <= share <= ARRIVED, {"share": share, "settling": settling}


def _is_news(wish: float, sample: Sample) -> bool:
    return abs(math.log(max(wish, 1.0) / sample.io_capacity_max)) >= NEWS


def lowest_target(state: State, sample: Sample, found: Estimate) -> tuple[float, str]:
    """Return the lowest checkpoint age that can be held at the present load, bytes, and what bounds it."""
    law, (_, highest) = LAWS[state.facts.flush_law], bounds(state)
    lowest, low_water = _floor(sample, found), sample.adaptive_flushing_lwm
    by_law = _least(lowest, sample, lambda age: _needed(law, sample, found, age) <= highest)
    not_by_age = f"below innodb_adaptive_flushing_lwm ({low_water:g} %) the server does not flush by age"
    limits = (
        (lowest, not_by_age),
        (by_law, f"it would take more than the max_io_capacity_max of {highest} pages/s"),
    )
    age, why = max(limits, key=lambda limit: limit[0])
    return age / AIM + lag_of(state), why


def lag_of(state: State) -> float:
    """Return what the checkpoint age may exceed the modified age by, bytes."""
    trends = state.estimator.trends
    rate = trends.rate_mean if state.drain is None else state.drain.redo_rate
    return FLUSH_ORDER_LAG + max(SAWTOOTH_SECONDS, trends.checkpoint_seconds) * rate


def aim_of(state: State, drain: Drain, sample: Sample, found: Estimate) -> float:
    """Return the modified age to rest at, bytes: the target's, above where flushing by age stops."""
    wanted = max(_floor(sample, found), AIM * (drain.target - lag_of(state)))
    return wanted if state.set_point is None else min(wanted, state.set_point * sample.flush_limit)


def _pages(state: State, sample: Sample, found: Estimate, span: float) -> float:
    """Return the pages in the oldest ``span`` bytes of redo, those that are still to come among them."""
    known = min(span, float(sample.modified_age))
    return estimator.pages_ahead(state.estimator, sample, known) + found.new_density * max(0.0, span - known)


def _resting(found: Estimate, age: float) -> float:
    """Return the pages/s that hold an age, from write combining and from how the load answers flushing."""
    ratio = max(found.modified_age, 1.0) / age
    ratio = min(FARTHEST_AGE, max(1.0 / FARTHEST_AGE, ratio))
    density = found.new_density * math.pow(ratio, found.combining_exponent)
    return density * rate_at_rest(
        redo_rate=found.redo_rate,
        flush_rate=found.flush_rate,
        density=density,
        response=found.flush_response,
    )


def _needed(law: FlushLaw, sample: Sample, found: Estimate, age: float) -> float:
    return law.gain_over_demand(age / sample.flush_limit) * _resting(found, age)


def _floor(sample: Sample, found: Estimate) -> float:
    """Return the lowest modified age that the server's flushing by age can hold, bytes."""
    low_water = sample.adaptive_flushing_lwm / 100.0 * sample.stall_point
    return low_water + LOOP_SECONDS * found.redo_rate


def _least(lowest: float, sample: Sample, fits: Callable[[float], bool]) -> float:
    """Return the lowest age that fits; the flush limit where none does. Fits are monotonic in the age."""
    low, high = lowest, float(sample.flush_limit)
    if fits(low):
        return low
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if fits(middle) else (middle, high)
    return high
