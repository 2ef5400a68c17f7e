"""Restores: the originals come back in steps that cause no flush storm, and the mode is advisory then."""

from __future__ import annotations

import math
from typing import NamedTuple

from msgspec.structs import replace

from tuner.core.holds import holds_needing_resume
from tuner.core.ownership import transitions
from tuner.core.ownership.transitions import kept, written
from tuner.core.state import State
from tuner.core.writes import restore_pace
from tuner.core.writes.plan import near, plan
from tuner.records import CAPACITY_MINIMUM, Capacity, Decision, DecisionKind, Reason, RestoreProgress, Sample

RESTORE_FACTOR = 1.25  # Restoring moves M by no more than this in a step; ``restore_pace`` says how often
LONGEST_RESTORE = 200  # No way back to the originals has as many steps


class Needed(NamedTuple):
    """What an emergency needs at this tick."""

    pair: Capacity
    why: str  # in words


def restore_step(current: Capacity, originals: Capacity, *, factor: float = RESTORE_FACTOR) -> Capacity:
    """Return the next pair on the way back to the originals; the originals themselves at the end.

    M goes by ``factor``, and C as far towards its original as M towards its own, as nearly as whole
    multiples and the server's minimum for C allow.
    """
    wanted, now = originals.io_capacity_max, current.io_capacity_max
    low, high = now / factor, now * factor
    if low <= wanted <= high:
        return originals
    following = high if wanted > now else low
    way = math.log(following / now) / math.log(wanted / now)
    aim = current.io_capacity * (originals.io_capacity / current.io_capacity) ** way
    low_c, high_c = sorted((current.io_capacity, originals.io_capacity))

    def amiss(ratio: int) -> tuple[float, float]:
        """Return by what factor C leaves both ends with such a ratio, and how far it is from its aim."""
        capacity = following / ratio
        return max(1.0, capacity / high_c, low_c / capacity), abs(math.log(capacity / aim))

    most = max(1, int(following) // CAPACITY_MINIMUM)
    whole = math.floor(following / aim)
    ratio = min((max(1, min(most, one)) for one in (whole, whole + 1)), key=amiss)
    capacity = math.floor(following / ratio) if wanted > now else math.ceil(following / ratio)
    return Capacity(io_capacity=capacity, io_capacity_max=capacity * ratio)


def restore_steps(current: Capacity, originals: Capacity) -> int:
    """Return how many steps lead back to the originals; 0 where they are in force."""
    taken = 0
    while current != originals and taken < LONGEST_RESTORE:
        current = restore_step(current, originals)
        taken += 1
    return taken


def restore(state: State, sample: Sample, *, needed: Needed | None, now: float) -> tuple[State, Decision]:
    """Go one step back to the originals where the server bears it; advisory when they are reached.

    Args:
        needed: what an emergency needs; where it is on the way, the step goes so far, and at once.
    """
    who, originals, current = state.restoring, state.originals, sample.capacity
    pace = restore_pace.see(state.pace or restore_pace.RestorePace(begun=now), sample)
    state = transitions.pace_restore(state, pace)
    base = kept(state, current, Reason.RESTORE, f"restoring for {who}")
    if originals is None or current == originals.capacity:
        return _given_back(state, base, "they are in force")
    up = originals.capacity.io_capacity_max > current.io_capacity_max
    state, made = step_back(
        state,
        current,
        originals.capacity,
        base,
        kind=DecisionKind.RESTORE,
        now=now,
        needed=needed if up else None,
    )
    if made.reason is Reason.ADJUSTED:
        return _given_back(state, base, f"the server turns them into {current.in_words}")
    return state, replace(made, source="restore") if made.steps else made


def step_back(
    state: State,
    current: Capacity,
    originals: Capacity,
    base: Decision,
    *,
    kind: DecisionKind,
    now: float,
    needed: Needed | None = None,
    limits: tuple[int, int] | None = None,
) -> tuple[State, Decision]:
    """Go one step back to the originals where the server bears it, by the pace that was seen at this tick.

    Args:
        needed: what an emergency needs; the step waits for nothing then, and goes so far at least.
        limits: least and most M of a step, pages/s, between which the originals are; None where none count.
    """
    pace, last, what = state.pace or restore_pace.RestorePace(begun=now), state.writes.last, base.detail
    verdict = restore_pace.judge(pace, now=now, hidden=restore_pace.HIDDEN in state.facts.unseen)
    if needed is not None:
        verdict = restore_pace.Verdict(go=True, why=f"as far as an emergency needs, {needed.why}")
    elif last is not None and now - last < restore_pace.STEP_SECONDS:
        return state, replace(base, detail=f"{what}: waiting between steps")
    if not verdict.go:
        return state, replace(base, detail=f"{what}: {verdict.why}")
    target = originals if state.writes.adjusted else restore_step(current, originals)
    if needed is not None and target.io_capacity_max < needed.pair.io_capacity_max:
        target = needed.pair if needed.pair.io_capacity_max < originals.io_capacity_max else originals
    if limits is not None and not limits[0] <= target.io_capacity_max <= limits[1]:
        target = near(
            target.io_capacity_max,
            home=target.io_capacity,
            ratio=None,
            lowest=limits[0],
            highest=limits[1],
        )
    if target == state.writes.adjusted:
        return state, replace(
            base, reason=Reason.ADJUSTED, detail=f"{what}: the server changed the value that was written"
        )
    state = written(state, target, now=now, counts=False)
    state = transitions.pace_restore(state, restore_pace.stepped(pace, now=now))
    return state, replace(
        base, kind=kind, detail=f"{what}: {verdict.why}", target=target, steps=plan(current, target)
    )


def progress(state: State, sample: Sample | None, *, now: float) -> RestoreProgress | None:
    """Return how far a restore is; None without one."""
    pace = state.pace
    if not state.restoring or state.originals is None:
        return None
    asked = state.writes.pending or (sample.capacity if sample is not None else state.writes.expected)
    left = 0 if asked is None else restore_steps(asked, state.originals.capacity)
    since = now - pace.stepped if pace is not None and pace.stepped is not None else 0.0
    seconds = left * restore_pace.STEP_SECONDS - min(since, restore_pace.STEP_SECONDS) if left else 0.0
    return RestoreProgress(
        who=state.restoring,
        step=pace.steps if pace is not None else 0,
        steps_left=left,
        seconds_left=seconds,
        latency=pace.latency if pace is not None else None,
        latency_limit=pace.limit if pace is not None else None,
    )


def _given_back(state: State, base: Decision, how: str) -> tuple[State, Decision]:
    held, returned = holds_needing_resume(state), state.baseline_guard.returned
    why = (
        f"the originals were restored for {state.restoring}{'' if returned is None else f': {returned.why}'}"
    )
    state = transitions.given_back(state, why)
    still = f", still held ({held})" if held else ""
    return state, replace(
        base, reason=Reason.RESTORED, detail=f"originals: {how}; the mode is advisory now{still}"
    )
