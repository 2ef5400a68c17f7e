"""What the loop aims at: the set-point, what a park would leave behind, and the limits of both."""

from __future__ import annotations

from msgspec.structs import replace

from policies.equilibrium import rate_at_rest
from policies.registry import LAWS
from policies.setpoint import LOWEST, Headroom, follow, guarded, highest_ratio
from tuner.core import budgets, caution, degraded, parking
from tuner.core.announced import update
from tuner.core.role import role_of
from tuner.core.state import State
from tuner.core.window import telling, warm
from tuner.records import Capacity, Estimate, Event, Sample


def bounds(state: State) -> tuple[int, int]:
    """Return the lowest and highest M allowed by settings and server, pages/s."""
    settings, facts = state.settings, state.facts
    lowest = max(settings.min_io_capacity_max, facts.capacity_minimum * settings.ratio)
    return lowest, max(lowest, min(settings.max_io_capacity_max, facts.capacity_maximum))


def follow_targets(state: State, sample: Sample, *, now: float, wall: float) -> tuple[State, list[Event]]:
    """Work out the set-point and what would be left behind; both must be ready before they are needed.

    Precedence: a person's set-point comes before the budgets; the role's limit and the guards come after
    whoever decided. Where no M moves the age it rests at the flush limit, whoever wants it elsewhere.
    """
    found = state.estimate
    if found is None:
        return state, []
    wished = state.settings.set_point
    headroom = headroom_of(state, sample, found)
    standing = budgets.look(state.estimator.recovery, headroom, state.settings, sample)
    derived = highest_ratio(headroom, {name: one.ratio for name, one in standing.items()})
    if sample.degraded:
        derived = max(LOWEST, derived[0] - degraded.MARGIN), "degraded"
    if wished is not None:
        derived = wished, "person"
    cap = state.settings.max_replica_set_point if role_of(sample) == "replica" else 1.0
    wanted, source = guarded(*derived, caution.bounds(state.caution, sample), role_cap=cap)
    if not LAWS[state.facts.flush_law].authority:
        wanted, source, cap = 1.0, "flush_law", 1.0
    as_it_is = source in {"person", "flush_law"} or source in caution.SLIDING
    set_point = wanted if as_it_is else min(cap, follow(state.set_point, wanted))
    announced, events = update(
        state.announced,
        standing,
        age_ratio=sample.age_ratio,
        set_point=set_point,
        source=source,
        wished=wished,
        now=now,
        wall=wall,
    )
    state = replace(
        state,
        park_target=_park_target(state, sample, found),
        set_point=set_point,
        set_point_source=source,
        announced=announced,
    )
    return state, events


def headroom_of(state: State, sample: Sample, found: Estimate) -> Headroom:
    """Return what load, server and alarm leave of the age."""
    resting = rate_at_rest(
        redo_rate=found.redo_rate,
        flush_rate=found.flush_rate,
        density=found.new_density,
        response=found.flush_response,
    )
    return Headroom(
        flush_limit=sample.flush_limit,
        sync_point=sample.sync_point,
        redo_capacity=sample.redo_capacity,
        checkpoint_lag=found.checkpoint_lag,
        redo_rate=max(state.estimator.trends.rate_mean, resting),
        burst_bytes=found.burst_bytes,
        max_checkpoint_age_ratio=state.settings.max_checkpoint_age_ratio,
        flush_order_lag=state.facts.flush_order_lag,
        sawtooth_seconds=state.facts.sawtooth_seconds,
        sync_stalls=state.facts.sync_stalls and sample.sync_point > sample.flush_limit,
        combining_exponent=state.estimator.load.curve.combining_exponent,
    )


def _park_target(state: State, sample: Sample, found: Estimate) -> Capacity | None:
    """Return what a park would leave behind; once one is owed, what was promised with it.

    The first seconds' rates are no reason to lower what somebody else had set, and those of two readings
    that came at nearly the same time are none at all.
    """
    if state.park_owed is not None and state.park_target is not None:
        return state.park_target
    if not telling(state.estimator.window):
        return None
    lowest, highest = bounds(state)
    keep = state.writes.own == sample.capacity or not warm(state.estimator.window)
    return parking.parked(
        found,
        LAWS[state.facts.flush_law],
        state.settings,
        current=sample.io_capacity_max if keep else lowest,
        lowest=lowest,
        highest=highest,
    )
