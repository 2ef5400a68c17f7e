"""What a tick comes to: kept, or written; both in one form."""

from __future__ import annotations

from msgspec.structs import replace

from tuner.core.state import State
from tuner.records import Capacity, Decision, DecisionKind


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
