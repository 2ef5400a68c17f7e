"""What a tick comes to, and what another mode owes: the values in force kept, written or given back."""

from __future__ import annotations

from msgspec.structs import replace

from tuner.core.state import OwedPark, ParkFor, State, Writes
from tuner.records import Capacity, Decision, DecisionKind, HoldCode
from tuner.settings import Mode


def kept(state: State, current: Capacity | None, reason: str, detail: str) -> Decision:
    """Return the decision that leaves the pair in force as it is, with its reason."""
    return Decision(
        kind=DecisionKind.KEEP,
        reason=reason,
        detail=detail,
        target=current,
        policy=state.settings.policy,
        set_point=state.set_point,
        set_point_source=state.set_point_source,
        source="policy",
    )


def written(state: State, target: Capacity, *, now: float | None, counts: bool, pays: bool = False) -> State:
    """Return the state with a write under way.

    Args:
        state: before the write.
        target: the pair asked for.
        now: when, monotonic seconds; None for a write that no pace applies to.
        counts: it counts for the hourly budget.
        pays: it is the policy's own, and is paid from its tokens.
    """
    writes = state.writes
    at = writes.last if now is None else now
    counted = (*writes.counted, now) if counts and now is not None else writes.counted
    tokens = writes.tokens
    if pays and now is not None:
        tokens = tokens.pay(now=now, budget=state.settings.max_changes_per_hour)
    writes = replace(
        writes,
        pending=target,
        before=writes.expected,
        last=at,
        counted=counted,
        tokens=tokens,
        expected=None,
        raised_from=0,
    )
    return replace(state, writes=writes)


BASELINE_GUARD = "the baseline guard"
"""Whom a restore is for that no person asked for."""


def change_mode(state: State, mode: Mode, why: str) -> State:
    """Return the state in another mode; what is owed on leaving active is owed here.

    Args:
        state: before.
        mode: wanted.
        why: whose word it is.
    """
    if state.noharm.returned is not None:
        restoring = "" if state.restoring == BASELINE_GUARD else state.restoring
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
