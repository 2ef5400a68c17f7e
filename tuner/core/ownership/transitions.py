"""Whose values are in force, and may the loop write: each change of that by its name.

The one writer of mode, writes, originals, override, owed park and restore; a start of the daemon, of mysqld
or of another server aside, which begins a state anew. ``tests/core/test_owners.py`` holds it.
"""

from __future__ import annotations

from msgspec.structs import replace

from tuner.core.state import OriginalPair, Override, OwedPark, ParkFor, State, Writes
from tuner.core.writes.guards import HOUR
from tuner.core.writes.restore_pace import RestorePace
from tuner.records import Capacity, Decision, DecisionKind, Hold, HoldCode, Lifecycle, Reason, Receipt
from tuner.settings import Mode

BASELINE_GUARD, TRIAL = "the baseline guard", "the trial"  # Whom a restore is for that no person asked for


def kept(state: State, current: Capacity | None, reason: Reason, detail: str) -> Decision:
    """Return the decision that leaves the pair in force as it is, with its reason."""
    return Decision(
        kind=DecisionKind.KEEP,
        reason=reason,
        detail=detail,
        target=current,
        policy=state.settings.policy,
        set_point=state.set_point,
        set_point_source=state.set_point_by,
        source="policy",
    )


def written(state: State, target: Capacity, *, now: float | None, counts: bool, pays: bool = False) -> State:
    """Return the state with a write under way.

    Args:
        now: when, monotonic seconds; None for a write that no pace applies to.
        counts: it counts for the hourly budget.
        pays: it is the policy's own, and is paid from its tokens.
    """
    writes = state.writes
    at = writes.last if now is None else now
    counted = (*writes.counted, now) if counts and now is not None else writes.counted
    tokens = writes.tokens
    if pays and now is not None:
        tokens = tokens.take(now=now, budget=state.settings.max_changes_per_hour)
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


def wrote_aside(state: State, *, now: float) -> State:
    """Return the state with a write of another variable, which counts among the changes of the hour."""
    writes = state.writes
    return replace(state, writes=replace(writes, last=now, counted=(*writes.counted, now)))


def forget_old_writes(state: State, *, now: float) -> State:
    """Drop the writes that are older than the hourly budget looks."""
    counted = state.writes.counted
    if not counted or now - counted[0] < HOUR:
        return state
    kept_ones = tuple(at for at in counted if now - at < HOUR)
    return replace(state, writes=replace(state.writes, counted=kept_ones))


def take_receipt(state: State, receipt: Receipt) -> State:
    """Note what the last write of C and M left in force."""
    writes = state.writes
    unread = receipt.in_force is None
    adjusted = not receipt.error and not unread and receipt.in_force != receipt.requested
    writes = replace(
        writes,
        adjusted=receipt.requested if adjusted else None,
        expected=receipt.in_force,
        own=receipt.in_force if receipt.done and not unread else writes.own,
        pending=receipt.requested if unread else None,
        failures=writes.failures + 1 if receipt.error else 0,
    )
    return replace(state, writes=writes)


def adopt(state: State, pair: Capacity) -> State:
    """Return the state with a pair in force as ours, where more is known than the journal has."""
    return replace(state, writes=replace(state.writes, own=pair))


def see(state: State, pair: Capacity, *, ours: bool | None) -> State:
    """Return the state with a pair that a reading shows and nobody expected.

    Args:
        ours: whether it is our own, where this is the first reading since that was not known; None where
            somebody else changed it.
    """
    writes = replace(state.writes, expected=pair, pending=None)
    if ours is not None:
        writes = replace(writes, own=pair if ours else None, left=(), known=())
    return replace(state, writes=writes)


def yielded(state: State, hold: Hold | None) -> State:
    """Return the state in which somebody else's values stay; with a hold no override comes back either.

    Args:
        hold: of the foreign change; None where the loop does not write anyway, or one stands already.
    """
    state = replace(state, park_owed=None, restoring="")
    return state if hold is None else replace(latch(state, hold), override=None)


def lost_own(state: State) -> State:
    """Return the state in which nothing of ours is in force."""
    return replace(state, writes=replace(state.writes, own=None))


def raised(state: State, *, raised_from: int, too_low: int, too_low_until: float) -> State:
    """Note where an emergency came from, and an M of ours that it found too low; see ``Writes``."""
    writes = replace(state.writes, raised_from=raised_from, too_low=too_low, too_low_until=too_low_until)
    return replace(state, writes=writes)


def note_originals(state: State, pair: Capacity) -> State:
    """Note what the server was set to before us."""
    return replace(state, originals=OriginalPair(capacity=pair))


def originals_saved(state: State) -> State:
    """Note that the originals are durably on disk."""
    kept_ones = state.originals
    return state if kept_ones is None else replace(state, originals=replace(kept_ones, saved=True))


def ask_for_lock(state: State) -> State:
    """Ask for the writer lock in active mode, and no more in another."""
    active = state.mode is Mode.ACTIVE
    return state if state.lock_asked is active else replace(state, lock_asked=active)


def latch(state: State, hold: Hold) -> State:
    """Enter a hold that stays until somebody or something clears it."""
    return replace(state, latches=replace(state.latches, **{SLOTS[hold.code]: hold}))


def unlatch(state: State, *codes: HoldCode) -> State:
    """Clear such holds."""
    return replace(state, latches=replace(state.latches, **{SLOTS[code]: None for code in codes}))


SLOTS = {
    HoldCode.PAUSED: "paused",
    HoldCode.FOREIGN_CHANGE: "foreign",
    HoldCode.RESTARTED: "restarted",
    HoldCode.NOT_WRITER: "refused",
    HoldCode.PRIVILEGE_LOST: "refused",
}
"""Holds that can stay, by what keeps them."""


def change_mode(state: State, mode: Mode, why: str, *, by_person: bool = False) -> State:
    """Return the state in another mode; what is owed on leaving active is owed here."""
    if state.baseline_guard.returned is not None:
        restoring = "" if state.restoring == BASELINE_GUARD else state.restoring
        state = replace(state, baseline_guard=state.baseline_guard.forgiven(), restoring=restoring)
    advisory = mode is Mode.ADVISORY
    state = replace(
        state,
        advisory_until_said=advisory,
        active_until_said=by_person and not advisory,
        why_advisory=why if advisory else "",
    )
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


def staged(state: State) -> State:
    """Return the state in the mode of a stage of ``[fleet]``: what a person or the guard said stays.

    A restore goes on, and leaves it advisory.
    """
    said = state.active_until_said or state.restoring or state.mode is state.settings.mode
    return state if said else reconfigured(state)


def reconfigured(state: State) -> State:
    """Return the state in the configuration's new mode: what a person or the guard keeps advisory stays."""
    return state if state.advisory_until_said else _unsaid(state, state.settings.mode)


def as_configured(state: State) -> State:
    """Return the state in the mode of a person who said active, else of configuration and stage."""
    said = state.active_until_said
    return _unsaid(state, Mode.ACTIVE if said else state.settings.mode, by_person=said)


def _unsaid(state: State, mode: Mode, *, by_person: bool = False) -> State:
    return replace(change_mode(state, mode, "", by_person=by_person), advisory_until_said=False)


def resumed(state: State, in_force: Capacity | None) -> State:
    """Return the state in which a person ended all holds that waited for one.

    Args:
        in_force: the pair read at this tick; None where the next reading shows whether it is still our own.
    """
    own = state.writes.own if in_force in {None, state.writes.own} else None
    writes = replace(state.writes, expected=in_force, own=own, known=(), failures=0)
    state = unlatch(state, HoldCode.PAUSED, HoldCode.FOREIGN_CHANGE, HoldCode.NOT_WRITER)
    return replace(state, writes=writes, park_owed=None)


def running(state: State) -> State:
    """Return the state of a daemon that has begun to steer."""
    return replace(state, lifecycle=Lifecycle.RUNNING)


def stopping(state: State, *, parks: bool, why: str) -> State:
    """Return the state in which the daemon leaves.

    Args:
        parks: a park is owed.
        why: why the loop is advisory from now on; empty where it stays what it is.
    """
    if why:
        state = replace(state, mode=Mode.ADVISORY, advisory_until_said=True, why_advisory=why)
    owed = OwedPark(ParkFor.STOPPING, "stopping") if parks else None
    return replace(state, lifecycle=Lifecycle.STOPPING, park_owed=owed, override=None, restoring="")


def override(state: State, wanted: Override) -> State:
    """Keep a person's M for a time, in place of whatever was under way."""
    return replace(state, override=wanted, restoring="")


def end_override(state: State) -> State:
    """End an override."""
    return replace(state, override=None)


def give_way(state: State) -> State:
    """End an override and a restore, as a person asks for something else."""
    return replace(state, override=None, restoring="")


def owe_park(state: State, owed: OwedPark | None, *, role_at: float | None = None) -> State:
    """Owe a park at the next reading that allows it; None for none any more.

    Args:
        role_at: where it is for another role, when that was seen, monotonic seconds.
    """
    handed_over = state.handed_over if role_at is None else role_at
    return replace(state, park_owed=owed, handed_over=handed_over)


def park_after_crash(state: State) -> State:
    """Return the state that parks at the next reading, in place of a daemon that is gone."""
    owed = OwedPark(ParkFor.CRASH, "in place of a daemon that is gone")
    return replace(state, mode=Mode.ACTIVE, park_owed=owed)


def park_waits(state: State, *, now: float, longest: float) -> State:
    """Note that an owed park cannot be written now; it is given up after ``longest`` seconds."""
    since = now if state.unpaid_since is None else state.unpaid_since
    if now - since < longest:
        return replace(state, unpaid_since=since)
    return replace(state, park_owed=None, unpaid_since=None)


def begin_restore(state: State, who: str, *, now: float) -> State:
    """Begin the way back to the originals; one under way goes on at its pace."""
    pace = state.pace if state.restoring and state.pace else RestorePace(begun=now)
    return replace(state, restoring=who, pace=pace, override=None, park_owed=None)


def pace_restore(state: State, pace: RestorePace) -> State:
    """Note what a restore knows of the latency."""
    return replace(state, pace=pace)


def given_back(state: State, why: str) -> State:
    """End a restore: the server is its operator's, and the loop advisory until a person says otherwise."""
    return replace(
        lost_own(state),
        restoring="",
        mode=Mode.ADVISORY,
        originals=None,
        advisory_until_said=True,
        active_until_said=state.active_until_said and state.restoring == BASELINE_GUARD,
        why_advisory=why,
    )
