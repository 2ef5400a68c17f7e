"""Writes of the low-water mark: one at a time, and never at a tick that writes C or M."""

from __future__ import annotations

from msgspec.structs import replace

from tuner.core.holds import NEVER_PARKED
from tuner.core.mark import LEAVING_SECONDS, wanted
from tuner.core.markbars import bars
from tuner.core.state import State
from tuner.records import LOW_WATER_MARK, Decision, DecisionKind, Hold, Sample, percent
from tuner.settings import Mode


def left_active(state: State, *, now: float) -> State:
    """Return the state that just left active mode: the operator's mark may be put back for a while."""
    if state.mark.own is None and state.mark.asked is None:
        return state
    return replace(state, mark=replace(state.mark, leaving=now + LEAVING_SECONDS))


def act(
    state: State, sample: Sample | None, decision: Decision, holds: tuple[Hold, ...], *, now: float
) -> tuple[State, Decision]:
    """Return the decision with a write of the mark in the place of none, where one is due and allowed."""
    mark, aim = state.mark, wanted(state)
    if aim is None or sample is None or sample.low_water_mark is None or decision.steps:
        return state, decision
    ours = mark.own == sample.low_water_mark
    back = aim == mark.original
    if aim == sample.low_water_mark or mark.asked is not None or (back and not ours):
        return state, decision
    if not (_may_go_back(state, holds, now=now) if back else _may_try(state, sample, decision, now=now)):
        return state, decision
    counted = (*state.writes.counted, now)
    state = replace(
        state,
        mark=replace(mark, asked=aim),
        writes=replace(state.writes, last=now, counted=counted),
    )
    why = "as it was found" if back else f"{percent(mark.original or 0)} was found; a trial, or what it won"
    return state, replace(
        decision,
        kind=DecisionKind.LOW_WATER,
        reason="low_water_back" if back else "low_water",
        detail=f"{LOW_WATER_MARK} → {percent(aim)}: {why}",
        target=sample.capacity,
        steps=((LOW_WATER_MARK, aim),),
        would=None,
        source="optimiser",
        guards=(),
    )


def _may_try(state: State, sample: Sample, decision: Decision, *, now: float) -> bool:
    """Tell whether another mark than the operator's may be written now: never where a trial may not go on."""
    last, settings = state.writes.last, state.settings
    return (
        not bars(state, sample, decision, now=now)
        and not state.holds
        and state.mark.saved
        and state.mark.failures == 0
        and state.originals is not None
        and state.originals.saved
        and (last is None or now - last >= settings.dwell_seconds)
        and len(state.writes.counted) < settings.max_changes_per_hour
    )


def _may_go_back(state: State, holds: tuple[Hold, ...], *, now: float) -> bool:
    """Tell whether the operator's mark may be put back now; like a park it waits for no pace or budget."""
    leaving = state.mark.leaving
    if state.mode is not Mode.ACTIVE and (leaving is None or now >= leaving):
        return False
    return now >= state.mark.retry_at and not {hold.code for hold in holds} & NEVER_PARKED
