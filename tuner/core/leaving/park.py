"""Parks: the pair that is left behind with room for more load, when one is owed, and what becomes of it."""

from __future__ import annotations

from msgspec.structs import replace

from policies.flushlaw import FlushLaw
from policies.pace import AIM
from tuner.core.estimate.window import telling, warm
from tuner.core.holds import NEVER_PARKED, not_writer
from tuner.core.laws import law_of
from tuner.core.leaving import lowwater
from tuner.core.limits import bounds, contradiction, home_of
from tuner.core.ownership import transitions
from tuner.core.ownership.standing import cut_short
from tuner.core.ownership.transitions import kept, written
from tuner.core.state import OwedPark, ParkFor, State
from tuner.core.writes.guards import DEAD_BAND
from tuner.core.writes.plan import Steps, near, plan
from tuner.records import (
    Capacity,
    Decision,
    DecisionKind,
    Estimate,
    Reason,
    Receipt,
    Sample,
    TickRecord,
)
from tuner.settings import Mode, Settings

PARKED_RATIO = 0.70  # Age ratio that a parked setting leads to under the load it leaves room for

UNPAID_SECONDS = 60.0
"""A park that is owed on leaving active mode waits so long for a reading, then it is given up."""


def parked(
    estimate: Estimate,
    law: FlushLaw,
    settings: Settings,
    *,
    current: int,
    lowest: int,
    highest: int,
    home: int,
) -> Capacity:
    """Return the pair that holds a load ``park_slack`` times as high clear of sync flushing.

    What is made dirty now counts as a demand, too: it comes to the tail when nobody looks any more.

    Args:
        current: M that it is not to be below, pages/s.
    """
    return pair_for(
        max(highest_demand(estimate), estimate.dirty_rate),
        estimate,
        law,
        settings,
        slack=settings.park_slack,
        age_ratio=PARKED_RATIO,
        current=current,
        lowest=lowest,
        highest=highest,
        home=home,
    )


def highest_demand(estimate: Estimate) -> float:
    """Return the highest of the demand now, the one ahead, and what is flushed, pages/s."""
    return max(estimate.demand, estimate.demand_ahead, estimate.flush_rate)


def pair_for(
    demand: float,
    estimate: Estimate,
    law: FlushLaw,
    settings: Settings,
    *,
    slack: float,
    age_ratio: float,
    current: int,
    lowest: int,
    highest: int,
    home: int,
) -> Capacity:
    """Return the pair with which ``slack`` times such a demand rests at an age ratio.

    The demand there follows from write combining, ``P * (x / age_ratio) ** b``; the gain from the server's
    own law. Where no M moves the age the demand is that of now, and the gain is the pace's.

    Args:
        demand: at the age of now, pages/s.
        estimate: where the age is now, and how it combines writes.
        slack: how many times as high the load may be.
        age_ratio: age ratio that the pair leads to.
        current: M that it is not to be below, pages/s.
    """
    gain = law.resting_gain(age_ratio)
    if not law.m_moves_age:
        gain = AIM
    elif 0 < estimate.age_ratio < age_ratio:
        demand *= (estimate.age_ratio / age_ratio) ** estimate.combining_exponent
    elif estimate.age_ratio > age_ratio:
        demand *= estimate.age_ratio / age_ratio
    wanted = slack * gain * demand
    return near(max(wanted, float(current)), home=home, ratio=settings.ratio, lowest=lowest, highest=highest)


def keep_ready(state: State, sample: Sample) -> State:
    """Return the state with the pair that a park would leave; once one is owed, what was promised with it.

    The first seconds' rates are no reason to lower what somebody else had set, and those of two readings
    that came at nearly the same time are none at all. Where no M moves the age a lower one is none either.
    """
    estimate, window = state.estimate, state.estimator.window
    promised = state.park_owed is not None and state.park_target is not None and state.clocks.gap is None
    if estimate is None or promised:
        return state
    if not telling(window):
        return replace(state, park_target=None)
    (lowest, highest), law = bounds(state), law_of(state)
    keep = state.writes.own == sample.capacity or not warm(window) or not law.m_moves_age
    pair = parked(
        estimate,
        law,
        state.settings,
        current=sample.io_capacity_max if keep else lowest,
        home=home_of(state, sample.capacity),
        lowest=lowest,
        highest=highest,
    )
    return replace(state, park_target=pair)


PARKED_BEFORE = frozenset({ParkFor.STOPPING, ParkFor.LEAVING})
"""Parks that a hold in force has already done on its entry."""

NOW_OR_NEVER = frozenset({ParkFor.STOPPING, ParkFor.CRASH})  # Parks that nobody is there to write later


def stop(state: State, *, leaves: bool, now: float) -> State:
    """Return the state in which the daemon leaves.

    Args:
        leaves: all is left as it is.
    """
    owing = state.mode is Mode.ACTIVE or state.park_owed is not None
    parks = owing and not state.restoring and not leaves
    if parks:
        state = lowwater.left_active(state, now=now)
    return transitions.stopping(state, parks=parks, why=cut_short(state.restoring) if state.restoring else "")


def once_more(state: State, record: TickRecord, receipt: Receipt | None) -> bool:
    """Tell whether a stop takes one tick more: C and M are parked, and the low-water mark is not back yet."""
    tick = record.tick
    went_well = isinstance(tick.reading, Sample) and (receipt is None or not receipt.error)
    put_back = record.decision.kind is DecisionKind.LOW_WATER
    return went_well and not put_back and lowwater.owed(state, now=tick.now)


def await_rates(state: State, *, now: float) -> State:
    """Keep a park that is owed on leaving active mode and cannot be done now, but for a minute at most.

    Advisory mode writes nothing, and whoever asked for it long ago does not expect a write any more.
    """
    if state.mode is not Mode.ADVISORY or state.park_owed is None:
        return state
    return transitions.park_waits(state, now=now, longest=UNPAID_SECONDS)


def given_up(state: State, sample: Sample | None) -> str:
    """Return in words that a park is given up, why, and what stays in force as far as that is known."""
    why = "the server does not answer" if sample is None else "its readings give no estimate"
    pair = state.writes.expected if sample is None else sample.capacity
    left = "what is in force is unknown" if pair is None else f"in force: {pair.in_words}"
    return f"not parked: {why}; {left}"


def park(
    state: State,
    owed: OwedPark,
    sample: Sample,
    *,
    needed: float | None,
    now: float,
) -> tuple[State, Decision]:
    """Leave a safe setting behind, once, where the values in force are our own or a person asked.

    After one for another role the loop goes on, but not before the dwell is over.

    Args:
        needed: M that an emergency asks for at this tick, pages/s; None without one.
    """
    why, current = owed.why, sample.capacity
    state = transitions.owe_park(state, None)
    base = kept(state, current, Reason.PARK, why)
    codes = {hold.code for hold in state.holds}
    asked = owed.kind is ParkFor.PERSON
    beside = contradiction(state.settings, state.facts)
    if beside or not_writer(state, sample) or (codes & NEVER_PARKED and not asked):
        return state, replace(
            base, detail=f"{why}; {beside or 'the values in force are not for InnoBrim to change'}"
        )
    if not asked and state.writes.own != current:
        return state, replace(base, detail=f"{why}; the values in force were not set by InnoBrim")
    if owed.kind in PARKED_BEFORE and codes:
        return state, replace(base, detail=f"{why}; already parked when the hold began")
    whole = target = state.park_target
    owed = replace(owed, in_steps=owed.in_steps or state.clocks.gap is not None)
    if whole is not None and owed.in_steps:
        target = _as_far(state, owed, sample, whole, needed)
    if target is None:
        awaited = "a second reading" if whole is None else "ten seconds of readings after a gap in time"
        return transitions.owe_park(state, owed), replace(base, detail=f"{why}; waiting for {awaited}")
    goes_on = target not in {whole, current} and owed.kind not in NOW_OR_NEVER
    if _as_safe(current, target):
        slack = f"it has room for {state.settings.park_slack:g} times the load"
        return state, replace(
            base, detail=f"{why}; {current.in_words} is safe already, as {slack}: nothing is written"
        )
    steps: Steps = plan(current, target)
    paced = now if owed.kind is ParkFor.ROLE else None
    state = written(state, target, now=paced, counts=False)
    state = transitions.owe_park(state, owed if goes_on else None)
    return state, replace(base, kind=DecisionKind.PARK, target=target, steps=steps, source="park")


def _as_far(
    state: State, owed: OwedPark, sample: Sample, target: Capacity, needed: float | None
) -> Capacity | None:
    """Return how far a park that was owed across a gap in time goes now; None where it can wait for rates.

    As much of it as one step allows, or as an emergency needs where that is more: where the readings since
    the gap foretell that the age is about to reach the sync or the stall point.
    """
    current = sample.capacity
    if state.clocks.gap is not None and needed is None and owed.kind not in NOW_OR_NEVER:
        return None
    most = int(max(state.settings.step_factor * current.io_capacity_max, needed or 0.0))
    if target.io_capacity_max <= most:
        return target
    lowest, highest = bounds(state)
    pair = near(
        float(most),
        home=home_of(state, current),
        ratio=state.settings.ratio,
        lowest=lowest,
        highest=max(lowest, min(highest, most)),
    )
    return pair if pair.gain > current.gain else current


def _as_safe(current: Capacity, target: Capacity) -> bool:
    """Tell whether a pair in force is as good as what a park would leave: hardly lower, of the same k."""
    ratio = target.io_capacity_max // target.io_capacity
    like = current.io_capacity_max == ratio * current.io_capacity
    room = target.io_capacity_max / current.io_capacity_max - 1.0
    return target == current or (like and 0.0 <= room < DEAD_BAND)
