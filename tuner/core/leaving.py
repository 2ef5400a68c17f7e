"""What is left behind on purpose: a parked setting, or the originals."""

from __future__ import annotations

from msgspec.structs import replace

from tuner.core import parking
from tuner.core.commands import PERSON
from tuner.core.handover import ROLE_CHANGE
from tuner.core.holds import NEVER_PARKED, not_writer
from tuner.core.outcome import kept, written
from tuner.core.plan import Steps, plan
from tuner.core.state import State
from tuner.records import Capacity, Decision, DecisionKind, Hold, Sample
from tuner.settings import Mode

PARKED_BEFORE = frozenset({"stopping", "leaving active mode"})
"""Parks that a hold in force has already done on its entry."""


def park(state: State, sample: Sample, holds: tuple[Hold, ...], *, now: float) -> tuple[State, Decision]:
    """Leave a safe setting behind, once, where the values in force are our own or a person asked.

    After one for another role the loop goes on, but not before the dwell is over.
    """
    owed, current = state.park_owed, sample.capacity
    state = replace(state, park_owed="")
    base = kept(state, current, "park", owed)
    codes = {hold.code for hold in holds}
    asked = owed.startswith(PERSON)
    if not_writer(state, sample) or (codes & NEVER_PARKED and not asked):
        return state, replace(base, detail=f"{owed}; the values in force are not ours to change")
    if not asked and state.writes.own != current:
        return state, replace(base, detail=f"{owed}; nothing of ours is in force")
    if owed in PARKED_BEFORE and codes:
        return state, replace(base, detail=f"{owed}; parked when the hold began")
    target = state.park_target
    if target is None:
        return replace(state, park_owed=owed), replace(base, detail=f"{owed}; waiting for a second reading")
    if target == current:
        return state, replace(base, detail=f"{owed}; already safe")
    steps: Steps = plan(current, target)
    paced = now if owed.startswith(ROLE_CHANGE) else None
    state = written(state, target, now=paced, counts=False)
    return state, replace(base, kind=DecisionKind.PARK, target=target, steps=steps, source="park")


def restore(state: State, current: Capacity, *, now: float) -> tuple[State, Decision]:
    """Go one step back to the originals; advisory when they are reached."""
    who, originals = state.restoring, state.originals
    base = kept(state, current, "restore", f"restoring for {who}")
    if originals is None or current == originals.capacity:
        return _given_back(state, base, "they are in force")
    last = state.writes.last
    if last is not None and now - last < parking.RESTORE_SECONDS:
        return state, replace(base, detail=f"restoring for {who}: waiting between steps")
    adjusted = state.writes.adjusted
    target = originals.capacity if adjusted else parking.restore_step(current, originals.capacity)
    if target == adjusted:
        return _given_back(
            state, base, f"the server makes {current.io_capacity}/{current.io_capacity_max} of them"
        )
    state = written(state, target, now=now, counts=False)
    return state, replace(
        base, kind=DecisionKind.RESTORE, target=target, steps=plan(current, target), source="restore"
    )


def _given_back(state: State, base: Decision, how: str) -> tuple[State, Decision]:
    """End a restore: the server is its operator's again."""
    given_back = replace(state.writes, own=None)
    state = replace(state, restoring="", mode=Mode.ADVISORY, writes=given_back, originals=None)
    state = replace(state, advisory_until_said=True)
    return state, replace(base, reason="restored", detail=f"originals: {how}; advisory now")
