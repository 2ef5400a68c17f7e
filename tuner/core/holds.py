"""Reasons not to write: one table of what sets each, what ends it, and what it stops besides writes.

They are worked out afresh at every tick by ``update_holds``, from what is latched and what was seen.
``tuner.findings.remedies`` has the words of what ends them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import NamedTuple

from msgspec.structs import replace

from policies.registry import LAWS
from tuner.core import laws
from tuner.core.gate import NEEDED, NEEDED_QUIET
from tuner.core.limits import contradiction
from tuner.core.ownership import foreign, handover, transitions
from tuner.core.ownership.handover import read_only
from tuner.core.state import OwedPark, ParkFor, State
from tuner.records import STRANGER, Event, Facts, Hold, HoldCode, Remedy, Sample
from tuner.settings import Mode

Remedies = tuple[Remedy, ...]


class Obstacle(NamedTuple):
    """Why nothing may be written, in words, and what ends that."""

    why: str
    remedies: Remedies = ()


class Rule(NamedTuple):
    """One kind of hold."""

    # tells why a tick is held; None for one that is only ever latched
    seen: Callable[[State, Sample | None, float], Obstacle | None] | None = None
    latched: Remedies = ()  # what ends it once it is latched, by a person or by ``ownership.transitions``
    resume: bool = False  # where it is latched a person ends it, with the command for that
    parks: bool = False  # a parked setting is left behind on entry, where the values in force are our own
    bars_park: bool = False  # nothing is written while it lasts, a park neither
    bars_server: bool = False  # the server takes no write of ours at all
    lasts: bool = False  # only a reading can end it, so that a missed one does not
    unsettles: bool = False  # nothing that the server shows meanwhile is counted for its baseline


BY_GROUP = "[fleet] of the configuration"
"""Who pauses where ``paused`` is set there."""

STATEMENTS = frozenset({Remedy.ENABLE_REDO_LOG, Remedy.ADAPTIVE_FLUSHING, Remedy.ENABLE_COUNTERS})
"""What an account ends by a statement that no account may run on a managed server."""


def by_owner(remedies: Remedies, facts: Facts) -> Remedies:
    """Return what ends something as events say it: on a managed server its owner does, and no statement."""
    if not facts.managed:
        return remedies
    return tuple(dict.fromkeys(Remedy.OWNER if one in STATEMENTS else one for one in remedies))


def update_holds(state: State, sample: Sample | None, *, now: float) -> tuple[State, list[Event]]:
    """Work out the holds, say what changed, and owe a park where entering or leaving one asks for it.

    A restore goes on under a hold, at its own pace: no park comes in between.
    """
    held = current_holds(state, sample, now=now)
    before, after = {hold.code for hold in state.holds}, {hold.code for hold in held}
    begun, ended = after - before, before - after
    events = [
        Event(code=f"hold_{hold.code.value}", message=f"held: {hold.reason}", remedies=hold.remedies)
        for hold in held
        if hold.code in begun
    ]
    events += [
        Event(code=f"clear_{code.value}", message=f"no longer held: {code.value}") for code in sorted(ended)
    ]
    ours = state.mode is Mode.ACTIVE and state.writes.own is not None and not state.restoring
    owed: OwedPark | None = None
    if sample is not None:
        state, changed, owed = handover.update(state, sample, now=now)
        events += changed
    for code in sorted(begun):
        if code in PARKED_ON_ENTRY:
            owed = OwedPark(ParkFor.HOLD, f"hold {code.value}")
    if HoldCode.STALE in ended:
        owed = OwedPark(ParkFor.CONTACT, "first good contact after stale samples")
    held_before = bool(before - {HoldCode.STALE})
    free = ours and not held_before and not (after & NEVER_PARKED) and state.park_owed is None
    if owed is not None and free:
        state = transitions.owe_park(state, owed, role_at=now if owed.kind is ParkFor.ROLE else None)
    return state if held == state.holds else replace(state, holds=held), events


def current_holds(state: State, sample: Sample | None, *, now: float) -> tuple[Hold, ...]:
    """Return every hold in force at this tick; ``since`` is kept from the tick that entered it."""
    since = {hold.code: hold.since for hold in state.holds}
    holds = {}
    for hold in latched(state):
        remedies, seconds = remedies_of(state, hold, now=now)
        holds[hold.code] = replace(hold, remedies=remedies, seconds=seconds)
    for code, rule in TABLE.items():
        seen = None if rule.seen is None or code in holds else rule.seen(state, sample, now)
        if seen is not None:
            holds[code] = Hold(code, since.get(code, now), seen.why, seen.remedies)
        elif sample is None and rule.lasts:
            holds |= {old.code: old for old in state.holds if old.code is code and code not in holds}
    return tuple(holds.values())


def listed(holds: Iterable[Hold]) -> str:
    """Return holds in words, each with its code; empty without one."""
    return "; ".join(f"{hold.code.value}: {hold.reason}" for hold in holds)


def latched(state: State) -> tuple[Hold, ...]:
    """Return the holds that stay until somebody or something clears them."""
    latches = state.latches
    held = (latches.paused, latches.foreign, latches.restarted, latches.refused)
    return tuple(hold for hold in held if hold is not None)


def remedies_of(state: State, hold: Hold, *, now: float) -> tuple[Remedies, float]:
    """Return what ends a latched hold, and the seconds that are left of a time that does."""
    if hold.code is HoldCode.PAUSED and state.group_paused:
        return (*(() if of_group(hold) else (Remedy.RESUME,)), Remedy.GROUP_GOES_ON), 0.0
    if hold.code is HoldCode.FOREIGN_CHANGE:
        return foreign.cleared(state, since=hold.since, now=now)
    return TABLE[hold.code].latched, 0.0


def holds_needing_resume(state: State) -> str:
    """Return the holds that a person ends, by their codes; empty without one."""
    ended = (one.code.value for one in latched(state) if TABLE[one.code].resume and not of_group(one))
    return ", ".join(ended)


def of_group(hold: Hold) -> bool:
    """Tell whether the group's file pauses, and no person."""
    return hold.code is HoldCode.PAUSED and hold.reason.startswith(f"paused by {BY_GROUP}")


def _stale(state: State, sample: Sample | None, now: float) -> Obstacle | None:  # noqa: ARG001 - as all rows
    last = state.last_good
    if last is not None and now - last <= state.settings.stale_seconds:
        return None
    age = "no good sample yet" if last is None else f"last good sample {now - last:.0f} s ago"
    return Obstacle(f"{age}: {state.missed}" if state.missed else age, (Remedy.GOOD_SAMPLE,))


def inert(state: State, sample: Sample) -> Obstacle | None:
    """Return why C and M have no effect on this server now; None when they have."""
    if state.facts.blockers:
        return Obstacle("; ".join(state.facts.blockers), (Remedy.SERVER_ITSELF,))
    if not sample.redo_enabled:
        return Obstacle("redo logging is disabled", (Remedy.ENABLE_REDO_LOG,))
    if not sample.adaptive_flushing:
        why = "innodb_adaptive_flushing is OFF: the flush law ignores the age"
        return Obstacle(why, (Remedy.ADAPTIVE_FLUSHING,))
    return None


def _resizing(state: State, sample: Sample | None, now: float) -> Obstacle | None:  # noqa: ARG001 - as all rows
    if sample is None or not sample.resizing:
        return None
    return Obstacle("a redo capacity change is under way", (Remedy.RESIZE_DONE,))


def _not_writer(state: State, sample: Sample | None, now: float) -> Obstacle | None:  # noqa: ARG001 - as all rows
    if sample is None:
        return None
    return together((*not_writer(state, sample), *_no_room(state)))


def together(obstacles: tuple[Obstacle, ...]) -> Obstacle | None:
    """Return several as one; None where there is none."""
    if not obstacles:
        return None
    remedies = tuple(remedy for one in obstacles for remedy in one.remedies)
    return Obstacle("; ".join(one.why for one in obstacles), remedies)


def not_writer(state: State, sample: Sample) -> tuple[Obstacle, ...]:
    """Return each reason why this server is not ours to write."""
    bars = []
    if state.unrecorded:
        bars.append(Obstacle(state.unrecorded, (Remedy.RESTART_DAEMON,)))
    if not sample.writer:
        bars.append(_beside(sample))
    if state.facts.managed:
        bars.append(
            Obstacle(f"{state.facts.managed} lets no account set innodb_io_capacity", (Remedy.PROVIDER,))
        )
    variable = read_only(state, sample)
    if variable:
        whose = "set" if state.writes.own == sample.capacity else "not set"
        bars.append(
            Obstacle(
                f"{variable} is ON; in force: {sample.capacity.in_words}, {whose} by InnoBrim",
                (Remedy.READ_ONLY_OFF,),
            )
        )
    return tuple(bars)


def _beside(sample: Sample) -> Obstacle:
    lock = "this server's writer lock"
    if sample.stranger:
        holder = sample.lock.removeprefix(STRANGER)
        return Obstacle(f"{holder}, which is not an InnoBrim, holds {lock}", (Remedy.LOCK_HOLDER_GONE,))
    named = f": {sample.lock}" if sample.lock else ""
    return Obstacle(f"another InnoBrim holds {lock}{named}", (Remedy.OTHER_DAEMON_GONE,))


def barred_by_stranger(state: State, sample: Sample) -> bool:
    """Tell whether all that bars a write is a writer lock that is held by a session that is no InnoBrim's.

    Nobody steers this server then: an emergency is met all the same.
    """
    alone = [hold.code for hold in state.holds] == [HoldCode.NOT_WRITER] and state.latches.refused is None
    return alone and sample.stranger and len(not_writer(state, sample)) == 1 and not _no_room(state)


def _no_room(state: State) -> tuple[Obstacle, ...]:
    """Return why no M may be set at all; the originals may be, which no limit binds."""
    why = contradiction(state.settings, state.facts)
    return (Obstacle(why, (Remedy.OTHER_LIMITS,)),) if why else ()


def given_back(state: State, sample: Sample) -> bool:
    """Tell whether the originals may be written back where somebody asked for it."""
    refused = state.latches.refused
    return not not_writer(state, sample) and (refused is None or refused.code not in CANNOT_WRITE)


def unparkable(state: State, sample: Sample | None) -> tuple[str, ...]:
    """Return why no park may be written now, one reason for each hold that bars one; empty where one may."""
    reasons = [hold.reason for hold in latched(state) if TABLE[hold.code].bars_park]
    if sample is not None:
        return (*reasons, *(bar.why for bar in (*not_writer(state, sample), *_no_room(state))))
    old = [hold.reason for hold in state.holds if hold.code is HoldCode.NOT_WRITER]
    return tuple(dict.fromkeys([*reasons, *old]))


BLIND = "so only InnoDB's status text shows an age, and that is not often enough to steer"
"""Why a server before 8.0.30 is not written to without its counters."""


def law_in_doubt(state: State) -> Obstacle | None:
    """Return why the flush law is not known to hold here; None where it is."""
    last = state.estimator.last
    blind = last is not None and last.degraded
    if state.facts.unverified and not state.settings.accept_unverified:
        why = f"the flush law cannot be verified: {state.facts.unverified}"
        return Obstacle(why, (Remedy.UPGRADE,))
    if blind and state.facts.ages_need_counters:
        return Obstacle(f"{state.facts.without_counters}, {BLIND}", laws.counters_again(state.facts))
    if state.gate.mismatched:
        low, high = state.gate.expected
        why = (
            f"the server's flush percentage (counter buffer_flush_pct_for_lsn) was {state.gate.said}, but "
            f"the flush law {state.facts.flush_law} predicts {low} to {high}"
        )
        again = laws.counters_again(state.facts) if blind else ()
        return Obstacle(why, (*again, Remedy.MATCHING_AGAIN))
    if blind:
        unproven = laws.unproven(state)
        return Obstacle(unproven, laws.counters_again(state.facts)) if unproven else None
    if state.gate.verified or not LAWS[state.facts.flush_law].m_moves_age:
        return None
    seen = (
        f"{state.gate.telling} of {NEEDED} matching readings with flushing by age, "
        f"{state.gate.quiet} of {NEEDED_QUIET} without"
    )
    return Obstacle(f"the flush law is not verified yet: {seen}", (Remedy.MATCHING_UNDER_LOAD,))


TABLE: Mapping[HoldCode, Rule] = MappingProxyType(
    {
        HoldCode.PAUSED: Rule(latched=(Remedy.RESUME,), resume=True, parks=True),
        HoldCode.FOREIGN_CHANGE: Rule(resume=True, bars_park=True, unsettles=True),
        HoldCode.RESTARTED: Rule(latched=(Remedy.SETTLED,), bars_park=True, unsettles=True),
        HoldCode.PRIVILEGE_LOST: Rule(
            latched=(Remedy.RESUME_WITH_GRANT,), resume=True, bars_park=True, bars_server=True
        ),
        HoldCode.STALE: Rule(seen=_stale, unsettles=True),
        HoldCode.INERT: Rule(
            seen=lambda state, sample, _: None if sample is None else inert(state, sample),
            parks=True,
            lasts=True,
        ),
        HoldCode.RESIZING: Rule(seen=_resizing, parks=True, lasts=True, unsettles=True),
        HoldCode.NOT_WRITER: Rule(
            seen=_not_writer,
            latched=(Remedy.RESUME_AFTER_CAUSE,),
            resume=True,
            bars_park=True,
            bars_server=True,
            lasts=True,
        ),
        HoldCode.MODEL_MISMATCH: Rule(seen=lambda state, _, __: law_in_doubt(state), parks=True),
    }
)
"""What ends a foreign change is in ``foreign.cleared``."""

PARKED_ON_ENTRY = frozenset(code for code, rule in TABLE.items() if rule.parks)
NEVER_PARKED = frozenset(code for code, rule in TABLE.items() if rule.bars_park)
CANNOT_WRITE = frozenset(code for code, rule in TABLE.items() if rule.bars_server)
UNSETTLED = frozenset(code for code, rule in TABLE.items() if rule.unsettles)
