"""What the loop aims at: the set-point, what a park would leave behind, and the limits of both."""

from __future__ import annotations

from msgspec.structs import replace

from policies.equilibrium import rate_at_rest
from policies.registry import LAWS
from policies.setpoint import Headroom, follow, highest_ratio
from tuner.core import parking
from tuner.core.state import State
from tuner.records import Capacity, Estimate, Sample


def bounds(state: State) -> tuple[int, int]:
    """Return the lowest and highest M allowed by settings and server, pages/s."""
    settings, facts = state.settings, state.facts
    lowest = max(settings.min_io_capacity_max, facts.capacity_minimum * settings.ratio)
    return lowest, max(lowest, min(settings.max_io_capacity_max, facts.capacity_maximum))


def follow_targets(state: State, sample: Sample) -> State:
    """Work out the set-point and what would be left behind; both must be ready before they are needed."""
    found = state.estimate
    if found is None:
        return state
    target = _park_target(state, sample, found)
    if state.settings.set_point is not None:
        return replace(
            state, park_target=target, set_point=state.settings.set_point, set_point_source="person"
        )
    resting = rate_at_rest(
        redo_rate=found.redo_rate,
        flush_rate=found.flush_rate,
        density=found.new_density,
        response=found.flush_response,
    )
    derived, source = highest_ratio(
        Headroom(
            flush_limit=sample.flush_limit,
            sync_point=sample.sync_point,
            redo_capacity=sample.redo_capacity,
            checkpoint_lag=found.checkpoint_lag,
            redo_rate=max(state.estimator.trends.rate_mean, resting),
            burst_bytes=found.burst_bytes,
            max_checkpoint_age_ratio=state.settings.max_checkpoint_age_ratio,
        )
    )
    return replace(
        state, park_target=target, set_point=follow(state.set_point, derived), set_point_source=source
    )


def _park_target(state: State, sample: Sample, found: Estimate) -> Capacity:
    """Return what a park would leave behind; once one is owed, what was promised with it."""
    if state.park_owed and state.park_target is not None:
        return state.park_target
    lowest, highest = bounds(state)
    return parking.parked(
        found,
        LAWS[state.facts.flush_law],
        state.settings,
        current=sample.io_capacity_max if state.writes.own == sample.capacity else lowest,
        lowest=lowest,
        highest=highest,
    )
