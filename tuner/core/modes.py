"""From one mode to the other, on somebody's word."""

from __future__ import annotations

from msgspec.structs import replace

from tuner.core.state import OwedPark, ParkFor, State, Writes
from tuner.records import HoldCode
from tuner.settings import Mode

WHO = "the baseline guard"
"""Whom a restore is for that no person asked for."""


def change_mode(state: State, mode: Mode, why: str) -> State:
    """Return the state in another mode; what is owed on leaving active is owed here.

    Args:
        state: before.
        mode: wanted.
        why: whose word it is.
    """
    if state.noharm.returned is not None:
        restoring = "" if state.restoring == WHO else state.restoring
        state = replace(state, noharm=state.noharm.forgiven(), restoring=restoring)
    advisory = mode is Mode.ADVISORY
    state = replace(state, advisory_until_said=advisory, why_advisory=why if advisory else "")
    if mode is state.mode:
        return state
    if mode is Mode.ADVISORY:
        held = any(hold.code is not HoldCode.STALE for hold in state.holds)
        owed = None
        if state.writes.own is not None and not held:
            owed = OwedPark(ParkFor.LEAVING, "leaving active mode")
        return replace(state, mode=mode, park_owed=owed, unpaid_since=None, override=None, restoring="")
    before = state.writes
    writes = Writes(
        own=before.own,
        left=before.left,
        pending=before.pending,
        before=before.before,
        last=before.last,
        counted=before.counted,
    )
    return replace(state, mode=mode, writes=writes, park_owed=None, lock_asked=False)
