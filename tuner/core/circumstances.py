"""What a tick means to the policy, to relief and to rest: their inputs, gathered from the state."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from policies.registry import LAWS, make_policy
from policies.types import Policy, Situation, horizon
from tuner.core import optimising, relief, scheduled, unanswered
from tuner.core.estimate.window import flushed_share, warm
from tuner.core.laws import asleep, law_of
from tuner.core.state import State
from tuner.core.unanswered import Unanswered
from tuner.core.writes.plan import gain
from tuner.records import Capacity, Estimate, Sample

RAISED_SECONDS = 600.0
"""How long an emergency's M may be in force before rates are learned from again."""

IDLE_HOURS = 2.0
"""Below one flush limit of redo in this time there is nothing to tune."""


def situation_of(state: State, sample: Sample, found: Estimate, *, now: float) -> Situation:
    set_point = state.set_point if state.set_point is not None else 0.5
    ahead = horizon(set_point=set_point, flush_limit=sample.flush_limit, redo_rate=found.redo_rate)
    span = found.redo_rate * ahead + found.modified_age - set_point * sample.flush_limit
    stops_early = LAWS[state.facts.flush_law].stops_early
    share = flushed_share(state.estimator.window) if stops_early else 1.0
    return Situation(
        now=now,
        age=found.modified_age,
        flush_limit=float(sample.flush_limit),
        sync_point=float(sample.sync_point),
        set_point=set_point,
        redo_rate=found.redo_rate,
        age_slope=found.age_slope,
        demand=found.demand,
        horizon=ahead,
        age_ahead=state.estimator.tail.age_ahead(sample, found, ahead, flushed_share=share),
        pages_due=state.estimator.tail.pages_ahead(sample, span),
        combining_exponent=found.combining_exponent,
        new_density=found.new_density,
        flush_response=found.flush_response,
        flush_rate=found.flush_rate,
        authority=found.authority,
        io_capacity_max=gain(sample.capacity),
        sustained_capacity=found.sustained_capacity,
        learns=scheduled.learns(state, sample.monotonic) and not _raised(state, sample.capacity, now=now),
        row_rate=found.row_rate,
        hold_gain=optimising.hold_gain(state, sample),
        moved_from=state.trials.moved_from,
        saving=state.writes.tokens.saves(now=now, budget=state.settings.max_changes_per_hour),
        steady=state.estimator.trends.steady,
    )


def relief_change(state: State, sample: Sample, found: Estimate, *, now: float) -> relief.Change | None:
    """Return the change of M that begins or ends a relief of the device; None where there is none."""
    if not LAWS[state.facts.flush_law].authority or state.settings.policy == "fixed":
        return None
    if state.returning is not None:
        return None
    return relief.called_for(
        state.relief,
        state.estimator.window,
        sample,
        found,
        set_point=state.set_point if state.set_point is not None else 0.5,
        last_write=state.writes.last,
        now=now,
    )


def relieved(state: State, change: relief.Change, current: Capacity, found: Estimate, *, now: float) -> State:
    """Return the state with a relief begun or ended."""
    known, memory = relief.switched(
        state.relief,
        change,
        policy_of(state),
        state.policy,
        current=current,
        found=found,
        settled=emergency_from(state, current),
        now=now,
    )
    return replace(state, relief=known, policy=memory)


def answered(state: State, sample: Sample, found: Estimate, *, now: float) -> Unanswered:
    """Return what is known of how the age answers to M, with this reading."""
    counts = (
        law_of(state).authority
        and state.settings.policy != "fixed"
        and warm(state.estimator.window)
        and scheduled.learns(state, sample.monotonic)
        and not (state.holds or state.drain or state.returning or state.override)
        and not _raised(state, sample.capacity, now=now)
        and not idle(state, sample, found)
    )
    beside = unanswered.Circumstances(
        set_point=state.set_point if state.set_point is not None else 0.5,
        lru_share=state.caution.lru_share,
        lru_rules=state.caution.lru.on,
        counts=counts,
    )
    return unanswered.follow(state.unanswered, sample, found, beside, now=now)


def emergency_from(state: State, current: Capacity) -> int:
    """Return the M before the emergency that made the pair in force, pages/s; 0 where none of ours did.

    Where a person names the M there is no better one to come back to than that.
    """
    ours = state.writes.own == current and state.settings.policy != "fixed"
    return state.writes.raised_from if ours else 0


def _raised(state: State, current: Capacity, *, now: float) -> bool:
    """Tell whether an emergency's M is in force, and not for so long that the load of now is the load."""
    last = state.writes.last
    return emergency_from(state, current) > 0 and last is not None and now - last < RAISED_SECONDS


def idle(state: State, sample: Sample, found: Estimate) -> str:
    """Return why there is nothing to tune just now; empty where there is."""
    sleeps = asleep(state)
    if sleeps:
        return sleeps
    if found.redo_rate < sample.flush_limit / (IDLE_HOURS * 3600.0):
        return state.occurrences.silences(sample.monotonic) or "next to no redo is written"
    return state.occurrences.silences(sample.monotonic)


def policy_of(state: State) -> Policy[Any]:
    """Return the decision law that the settings name."""
    settings = state.settings
    return make_policy(
        settings.policy,
        flush_law=state.facts.flush_law,
        fixed_io_capacity_max=settings.fixed_io_capacity_max,
        need_share=state.estimator.trends.need_share,
    )
