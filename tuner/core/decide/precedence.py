"""Who is heard at this tick: the whole precedence, from top to bottom of two functions.

What each of them asks for is in its own room: the last writes in ``leaving``, an emergency in ``emergency``,
all else in ``wishes``. What becomes of the wish that wins is in ``carry_out``.
"""

from __future__ import annotations

from tuner.core.decide import carry_out, emergency, proving, wishes
from tuner.core.decide.wishes import Wish
from tuner.core.estimate.window import warm
from tuner.core.holds import given_back
from tuner.core.leaving import lowwater, park, restore
from tuner.core.ownership import transitions
from tuner.core.ownership.transitions import kept
from tuner.core.state import State
from tuner.records import Decision, DecisionKind, Estimate, Reason, Sample
from tuner.settings import Mode


def decide(state: State, sample: Sample | None, *, now: float) -> tuple[State, Decision]:
    """Return what this tick does; the steps are empty wherever nothing may be written.

    A park that is owed goes first, then MariaDB's low-water mark where no emergency may be met instead, then
    a restore, then the wishes.
    """
    estimate = state.estimate
    mark = None
    if sample is not None and state.park_owed is None:
        mark = lowwater.due(state, sample, now=now)
    if sample is None or estimate is None:
        return _without_rates(state, sample, mark, now=now)
    if state.park_owed is not None:
        called = emergency.called_for(state, sample, estimate)
        needed = None if called is None else called.io_capacity_max
        return park.park(state, state.park_owed, sample, needed=needed, now=now)
    state, wish = _first_wish(state, sample, estimate, now=now)
    urgent = wish.kind is DecisionKind.EMERGENCY and carry_out.may_not_write(state) is None
    if mark is not None and not urgent:
        return lowwater.write(state, sample, mark, now=now)
    if state.mode is Mode.ACTIVE and state.restoring and given_back(state, sample):
        return _restore(state, sample, estimate, now=now)
    if wish.reason is Reason.TRIAL:
        return proving.write(state, sample, now=now)
    return carry_out.guard_and_plan(state, wish, sample.capacity, estimate, now=now)


def _restore(state: State, sample: Sample, estimate: Estimate, *, now: float) -> tuple[State, Decision]:
    """Go on to the originals, in an emergency as fast as that is met without a restore.

    A trial ends with the safer side: what needs more than the originals ends a restore that it began.
    """
    called, originals = emergency.called_for(state, sample, estimate), state.originals
    needed: restore.Needed | None = None
    if called is not None and originals is not None:
        wish = wishes.of_emergency(called)
        pair = carry_out.emergency_pair(state, wish, sample.capacity, estimate, now=now)
        needed = None if pair is None else restore.Needed(pair, called.detail)
        more = pair is not None and pair.io_capacity_max > originals.capacity.io_capacity_max
        if more and state.restoring == transitions.TRIAL and carry_out.may_not_write(state) is None:
            state = transitions.give_way(state)
            return carry_out.guard_and_plan(state, wish, sample.capacity, estimate, now=now)
    return restore.restore(state, sample, needed=needed, now=now)


def _without_rates(
    state: State, sample: Sample | None, mark: int | None, *, now: float
) -> tuple[State, Decision]:
    """Put a low-water mark back that is owed, as at a stop right after the park; else write nothing."""
    if sample is not None and mark is not None and lowwater.owed(state, now=now):
        return lowwater.write(state, sample, mark, now=now)
    if sample is None:
        base = kept(state, None, Reason.MISSED, "no reading at this tick")
    else:
        base = kept(state, sample.capacity, Reason.NO_ESTIMATE, "rates need a second good reading")
    return carry_out.nothing(state, base, now=now)


def _first_wish(  # noqa: PLR0911 - one return for each that is heard
    state: State, sample: Sample, estimate: Estimate, *, now: float
) -> tuple[State, Wish]:
    """Return the first wish there is: emergency, override, drain, trial, rest, way back, relief, policy."""
    state, proposal, situation = wishes.ask_policy(state, sample, estimate, now=now)
    raised = wishes.raised(state, sample, estimate, now=now)
    if raised is not None:
        return state, raised
    if state.override is not None and now < state.override.ends:
        return state, wishes.overridden(state.override, now=now)
    if not warm(state.estimator.window):
        return state, wishes.WARMING_UP
    if state.drain is not None:
        return state, wishes.drained(state, state.drain, sample, estimate, now=now)
    if proving.asked_for(state, sample, estimate) is not None:
        return state, wishes.TRIAL
    if state.returning is not None:
        proposal = wishes.way_back(state, state.returning, situation, sample, estimate)
    elif state.unanswered.until is not None:
        return state, wishes.at_rest(state, sample, estimate, state.unanswered.until, now=now)
    change = wishes.relief_change(state, sample, estimate, now=now)
    if change is not None and change.io_capacity_max <= 0.0:
        state, change = wishes.relieved(state, change, sample.capacity, estimate, now=now), None
    return state, wishes.of_policy(state, proposal, situation, sample, estimate, change=change)
