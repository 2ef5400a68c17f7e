"""The raise that comes before all wishes: sync flushing or a stall is only seconds away."""

from __future__ import annotations

from msgspec import Struct

from policies.flushlaw import FlushLaw
from policies.registry import LAWS
from tuner.core.estimate.window import list_rate_since
from tuner.core.laws import asleep, catches_up, slept
from tuner.core.state import State
from tuner.core.writes.guards import DEAD_BAND, EMERGENCY_SPACING
from tuner.records import Estimate, Sample
from tuner.system.amounts import share

RECOVER_SECONDS = 10.0  # A raise asks for the pages that bring the age to the set-point in this time
LEAST_FACTOR = 1.5  # A raise asks for so many times the demand at least
MOST_HURRY = 2.0  # A load of the last seconds is believed to be at most so many times that of the last ten
AWAKE = 0.5  # Share of M from which on a server that slept until its flush limit flushes as fast as M lets it
FULL = 0.9  # Share of M from which on nothing but M limits the flushing

LEAST_RAISE = 2.0
"""Where M is all that limits the flushing, and no M moves the age, a raise is to so many times M at least."""


class Raise(Struct, frozen=True):
    """One that is called for."""

    io_capacity_max: float  # wanted M, pages/s
    detail: str  # why, in words
    seconds_left: float  # until what it is to prevent


def called_for(state: State, sample: Sample, estimate: Estimate) -> Raise | None:
    """Return a raise where sync flushing or a stall is only seconds away; None otherwise."""
    if not state.clocks.believes(state.estimator.window):
        return None
    law = LAWS[state.facts.flush_law]
    points = [(estimate.seconds_to_stall, "a stall")]
    if not catches_up(state):  # the sync point is where that began
        points.append((estimate.seconds_to_sync, "sync flushing"))
    near = [
        (seconds, name)
        for seconds, name in points
        if seconds is not None and seconds < state.settings.emergency_seconds
    ]
    ratio, growing = estimate.age_ratio, estimate.age_slope > 0
    if sample.degraded:
        ratio, growing = estimate.checkpoint_age / sample.flush_limit, True
    if not near or ratio <= state.set_point_now or not growing:
        return None
    flushed = estimate.flush_rate
    if not law.m_moves_age:
        flushed = list_rate_since(state.estimator.window, EMERGENCY_SPACING)
    woken = not law.m_moves_age or slept(state)
    if asleep(state) or (woken and flushed < AWAKE * sample.io_capacity_max):
        return None  # the server has only just woken at its flush limit, or will: M is not what it lacks
    seconds, name = min(near)
    demand = estimate.demand * _hurry(law, estimate)
    wanted = max(LEAST_FACTOR * demand, _beyond(state, law, sample, estimate, flushed=flushed))
    if wanted <= sample.capacity.gain * (1.0 + DEAD_BAND):
        return None
    detail = f"{name} in {seconds:.0f} s; age {share(ratio)} of the flush limit"
    return Raise(io_capacity_max=wanted, detail=detail, seconds_left=seconds)


def _hurry(law: FlushLaw, estimate: Estimate) -> float:
    """Return by how much the demand is more by now than its mean of ten seconds says, as a factor."""
    if not law.m_moves_age or estimate.redo_rate <= 0.0:
        return 1.0
    return min(MOST_HURRY, max(1.0, estimate.redo_rate_now / estimate.redo_rate))


def _beyond(state: State, law: FlushLaw, sample: Sample, estimate: Estimate, *, flushed: float) -> float:
    """Return the M that does more than keep up, pages/s; 0 where keeping up has to do.

    Where the age rests at its limit whatever M, keeping up is all that M can do. But what that takes is known
    badly where pages of an area leave together: where all that M allows is flushed and the age runs on, M is
    too small.
    """
    if not law.m_moves_age:
        return LEAST_RAISE * sample.io_capacity_max if flushed >= FULL * sample.io_capacity_max else 0.0
    span = (
        estimate.redo_rate * RECOVER_SECONDS
        + estimate.modified_age
        - state.set_point_now * sample.flush_limit
    )
    return state.estimator.tail.pages_ahead(sample, span) / RECOVER_SECONDS
