"""Reasons not to write, worked out afresh at every tick from what was seen and what is latched."""

from __future__ import annotations

from policies.registry import LAWS
from tuner.core import degraded
from tuner.core.gate import NEEDED, NEEDED_QUIET
from tuner.core.limits import contradiction
from tuner.core.ownership.foreign import counted_down
from tuner.core.ownership.handover import read_only
from tuner.core.state import State
from tuner.records import STRANGER, Hold, HoldCode, Sample

PARKED_ON_ENTRY = frozenset({HoldCode.PAUSED, HoldCode.INERT, HoldCode.RESIZING, HoldCode.MODEL_MISMATCH})
"""Holds that leave a parked setting behind, where the values in force are our own."""

CANNOT_WRITE = frozenset({HoldCode.NOT_WRITER, HoldCode.PRIVILEGE_LOST})
"""Holds under which the server takes no write of ours at all."""

NEVER_PARKED = CANNOT_WRITE | {HoldCode.FOREIGN_CHANGE, HoldCode.RESTARTED}
"""Holds on which nothing is written, a park neither."""

CARRIED = frozenset({HoldCode.INERT, HoldCode.RESIZING, HoldCode.NOT_WRITER})
"""Holds that only a reading can end."""


def current_holds(state: State, sample: Sample | None, *, now: float) -> tuple[Hold, ...]:
    """Return every hold in force at this tick; ``since`` is kept from the tick that entered it."""
    since = {hold.code: hold.since for hold in state.holds}
    found: list[Hold] = []

    def hold(code: HoldCode, reason: str, clears: str) -> None:
        found.append(Hold(code=code, since=since.get(code, now), reason=reason, clears=clears))

    latches = state.latches
    foreign = latches.foreign and counted_down(state, latches.foreign, now=now)
    found.extend(
        latched
        for latched in (latches.paused, foreign, latches.restarted, latches.refused)
        if latched is not None
    )
    if state.last_good is None or now - state.last_good > state.settings.stale_seconds:
        age = (
            "no good sample yet"
            if state.last_good is None
            else f"last good sample {now - state.last_good:.0f} s ago"
        )
        hold(HoldCode.STALE, f"{age}: {state.missed}" if state.missed else age, "a good sample")
    if sample is None:
        found.extend(old for old in state.holds if old.code in CARRIED and old not in found)
    else:
        inert = inert_reason(state, sample)
        if inert:
            hold(HoldCode.INERT, inert, inert_end(state, sample))
        if sample.resizing:
            hold(HoldCode.RESIZING, "a redo capacity change is under way", "the server, when it is done")
        bars = (*not_writer(state, sample), *_no_room(state))
        if bars and (latches.refused is None or latches.refused.code is not HoldCode.NOT_WRITER):
            hold(
                HoldCode.NOT_WRITER,
                "; ".join(reason for reason, _ in bars),
                "; ".join(clears for _, clears in bars),
            )
    doubt = law_in_doubt(state)
    if doubt is not None:
        hold(HoldCode.MODEL_MISMATCH, *doubt)
    return tuple(found)


def not_writer(state: State, sample: Sample) -> tuple[tuple[str, str], ...]:
    """Return each reason why this server is not ours to write, with what clears it."""
    bars = []
    if state.unrecorded:
        bars.append((state.unrecorded, "a restart of the daemon"))
    if not sample.writer:
        bars.append(_beside(sample))
    if state.facts.managed:
        refused = f"{state.facts.managed} takes no SET GLOBAL of innodb_io_capacity"
        bars.append((refused, "nothing: it is for the provider's own way, which innobrim advise prints"))
    variable = read_only(state, sample)
    if variable:
        whose = "ours" if state.writes.own == sample.capacity else "not ours"
        left = f"{variable} is ON; left at {sample.capacity}, {whose}"
        bars.append((left, "read_only OFF, or loop.allow_read_only_writes"))
    return tuple(bars)


def _beside(sample: Sample) -> tuple[str, str]:
    """Return who has the writer lock, with what gives it back."""
    lock = "this server's writer lock"
    if sample.stranger:
        holder = sample.lock.removeprefix(STRANGER)
        return f"{holder}, which is no InnoBrim, holds {lock}", "the end of that connection"
    named = f": {sample.lock}" if sample.lock else ""
    return f"another InnoBrim holds {lock}{named}", "the other one's end"


def barred_by_stranger(state: State, sample: Sample, found: tuple[Hold, ...]) -> bool:
    """Tell whether all that bars a write is a writer lock that is held by a session that is no InnoBrim's.

    Nobody steers this server then: an emergency is met all the same.
    """
    alone = [hold.code for hold in found] == [HoldCode.NOT_WRITER] and state.latches.refused is None
    return alone and sample.stranger and len(not_writer(state, sample)) == 1 and not _no_room(state)


def _no_room(state: State) -> tuple[tuple[str, str], ...]:
    """Return why no M may be set at all, with what clears it; the originals may be, which no limit binds."""
    why = contradiction(state.settings, state.facts)
    if not why:
        return ()
    return ((why, "other limits in the configuration, or a procedure made anew by innobrim setup-sql"),)


def given_back(state: State, sample: Sample) -> bool:
    """Tell whether the originals may be written back where somebody asked for it."""
    refused = state.latches.refused
    return not not_writer(state, sample) and (refused is None or refused.code not in CANNOT_WRITE)


def unparkable(state: State, sample: Sample | None) -> tuple[str, ...]:
    """Return why no park may be written now, one reason for each hold that never parks; empty where one may.

    Args:
        state: with the holds of the last tick.
        sample: this tick's reading; None where it was missed.
    """
    latches = state.latches
    found = [
        hold.reason
        for hold in (latches.foreign, latches.restarted, latches.refused)
        if hold is not None and hold.code in NEVER_PARKED
    ]
    if sample is not None:
        return (*found, *(reason for reason, _ in (*not_writer(state, sample), *_no_room(state))))
    old = [hold.reason for hold in state.holds if hold.code is HoldCode.NOT_WRITER]
    return tuple(dict.fromkeys([*found, *old]))


BLIND = (
    "InnoDB's counters are off, and without them only SHOW ENGINE INNODB STATUS shows an age here, "
    "too seldom to steer by"
)
"""Why a server before 8.0.30 is not written to while its counters are off."""


def law_in_doubt(state: State) -> tuple[str, str] | None:
    """Return why the flush law is not known to hold here, and what clears that; None where it is."""
    last = state.estimator.last
    blind = last is not None and last.degraded
    if state.facts.unverified and not state.settings.accept_unverified:
        why = f"the flush law cannot be verified: {state.facts.unverified}"
        return why, "an upgrade of the server, or loop.accept_unverified = true in the configuration"
    if blind and state.facts.ages_need_counters:
        return BLIND, degraded.ENABLE
    if state.gate.mismatched:
        low, high = state.gate.expected
        reason = f"the server's flush percentage is not the {low} to {high} that its law predicts"
        again = "readings that match again"
        return reason, f"{again}, after {degraded.ENABLE}" if blind else again
    if blind:
        unproven = degraded.unproven(state)
        return (unproven, degraded.ENABLE) if unproven else None
    if state.gate.verified or not LAWS[state.facts.flush_law].authority:
        return None
    seen = (
        f"{state.gate.telling} of {NEEDED} readings with flushing by age, "
        f"{state.gate.quiet} of {NEEDED_QUIET} without"
    )
    return f"the flush law is not verified yet: {seen}", "matching readings under load"


def inert_end(state: State, sample: Sample) -> str:
    """Return what gives C and M their effect back."""
    if state.facts.blockers:
        return "the server itself, when that changes"
    if not sample.redo_enabled:
        return "ALTER INSTANCE ENABLE INNODB REDO_LOG"
    return "SET GLOBAL innodb_adaptive_flushing = ON"


def inert_reason(state: State, sample: Sample) -> str:
    """Return why C and M have no effect on this server now; empty when they have."""
    if state.facts.blockers:
        return "; ".join(state.facts.blockers)
    if not sample.redo_enabled:
        return "redo logging is disabled (ALTER INSTANCE DISABLE INNODB REDO_LOG)"
    if not sample.adaptive_flushing:
        return "innodb_adaptive_flushing is OFF: the flush law ignores the age"
    return ""
