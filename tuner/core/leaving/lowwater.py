"""MariaDB's low-water mark of dirty pages, which ``loop.low_water_mark`` lets the loop set.

With 0, MariaDB's default, the age does not count below the flush limit and no M moves it; with 0.001 it
counts at all times. In active mode the mark is set to that once, as soon as the operator's own is on disk.
That comes back whenever active mode ends in order, after C and M are parked: see ``owed``.
"""

from __future__ import annotations

from msgspec.structs import replace

from tuner.core.holds import NEVER_PARKED
from tuner.core.ownership import transitions
from tuner.core.ownership.transitions import kept
from tuner.core.state import LowWater, State
from tuner.records import (
    LOW_WATER_MARK,
    LOWEST_ABOVE_ZERO,
    SET_LOW_WATER,
    Decision,
    DecisionKind,
    Event,
    EventCode,
    Facts,
    Hold,
    HoldCode,
    Lifecycle,
    LowWaterMark,
    Reason,
    Receipt,
    Sample,
    percent,
)
from tuner.settings import Mode

RETRY_SECONDS, LONGEST_RETRY = 60.0, 3600.0
"""A mark that could not be put back is tried again so long after; doubled with each failure."""

LEAVING_SECONDS = 60.0
"""Who has left active mode may put the mark back for so long; later nobody expects a write any more."""

NOT_BACK = "low_water_not_back"  # The event that says that ours stays in force after active mode


def may_be_written(state: State) -> bool:
    """Tell whether the mark is on the list of what may be written: with the option, or to be put back."""
    return state.settings.low_water_mark or state.low_water.original is not None


def saved_name(identity: str, mark: int) -> str:
    """Return how ``low_water_saved`` names a mark: news of one server's must not pass for another's."""
    return f"{identity} {percent(mark)}"


def unfit(facts: Facts, operator: int | None) -> str:
    """Return why the mark cannot be set on this server by this account; empty where it can.

    Args:
        operator: the mark that would come back, millionths of a percent; None where it decides nothing.
    """
    if operator is None:
        return f"on this server {LOW_WATER_MARK} does not decide whether the age counts"
    if facts.procedure is None or operator == LOWEST_ABOVE_ZERO:
        return ""
    if not facts.sets_low_water:
        return f"the account writes through procedures, and none of them is {SET_LOW_WATER}"
    if operator != 0:
        return f"{SET_LOW_WATER} sets 0 and 0.001 alone, and could not put {percent(operator)} back"
    return ""


def progress(state: State, sample: Sample | None) -> LowWaterMark | None:
    """Return what a watcher may want to know; None without the option where nothing of ours is in force."""
    low_water = state.low_water
    if not may_be_written(state):
        return None
    seen = sample or state.estimator.last
    in_force = None if seen is None else seen.low_water_mark
    operator = in_force if low_water.original is None else low_water.original
    why = "" if seen is None else unfit(state.facts, operator) or low_water.refused
    return LowWaterMark(in_force=in_force, operator=operator, ours=low_water.ours, why=why)


def _wanted(state: State) -> bool:
    """Tell whether ours is to be in force, once it may be written."""
    steers = state.mode is Mode.ACTIVE and state.lifecycle is not Lifecycle.STOPPING
    given_up = bool(state.restoring) or state.latches.paused is not None
    return state.settings.low_water_mark and steers and not given_up


def owed(state: State, *, now: float) -> bool:
    """Tell whether ours is or may be in force and the operator's is to come back now.

    In active mode that is so with the option turned off, in a restore, and after a park or a pause by a
    person; else for a minute after ``left_active``, which a stop that leaves all as it is does not call.
    """
    low_water = state.low_water
    if state.mode is Mode.ACTIVE and state.lifecycle is not Lifecycle.STOPPING:
        return low_water.ours and not _wanted(state)
    return low_water.ours and low_water.until is not None and now < low_water.until


def left_active(state: State, *, now: float) -> State:
    """Return the state in which active mode ended in order."""
    return replace(state, low_water=replace(state.low_water, until=now + LEAVING_SECONDS))


def asked_again(state: State) -> State:
    """Return the state in which a server that refused ours is asked for it once more."""
    low_water = state.low_water
    if not low_water.refused:
        return state
    return replace(state, low_water=replace(low_water, refused="", failures=0, retry_at=0.0))


def see_end(state: State, sample: Sample | None, *, now: float) -> tuple[State, list[Event]]:
    """Say that ours stays in force, and why, where active mode is left and the operator's cannot come back.

    A stop gives it up at once where nothing may be written; an advisory daemon after its minute.
    """
    low_water, stops = state.low_water, state.lifecycle is Lifecycle.STOPPING
    if low_water.until is None:
        return state, []
    if state.mode is Mode.ACTIVE and not stops:
        return replace(state, low_water=replace(low_water, until=None)), []
    if not low_water.ours:
        return state, []
    barred = [hold.reason for hold in state.holds if hold.code in NEVER_PARKED]
    if stops and sample is None:
        why = "the server does not answer"
    elif stops and barred:
        why = "; ".join(barred)
    elif now >= low_water.until:
        why = "; ".join(barred) or f"it could not be written within {LEAVING_SECONDS:.0f} s"
    else:
        return state, []
    said = (
        f"{LOW_WATER_MARK} = {percent(LOWEST_ABOVE_ZERO)} was set by InnoBrim and stays in force: {why}; "
        f"a park or a restore sets the original, {percent(low_water.original or 0)}, again"
    )
    state = replace(state, low_water=replace(low_water, until=None))
    return state, [Event(code=NOT_BACK, message=said)]


def resumed(state: State) -> State:
    """Return the state in which a person let the mark be tried again."""
    state = asked_again(state)
    return replace(state, low_water=replace(state.low_water, foreign=False, failures=0))


def saved(state: State) -> State:
    """Note that the operator's mark is on disk."""
    return replace(state, low_water=replace(state.low_water, saved=True))


def due(state: State, sample: Sample, *, now: float) -> int | None:
    """Return the mark to be written at this tick, millionths of a percent; None for none.

    Putting the operator's back waits, as a park does, for no pace and no budget; at a stop not for its retry.
    """
    low_water, in_force = state.low_water, sample.low_water_mark
    if owed(state, now=now):
        waits = now < low_water.retry_at and state.lifecycle is not Lifecycle.STOPPING
        barred = waits or {hold.code for hold in state.holds} & NEVER_PARKED
        return low_water.original if low_water.own == in_force != low_water.original and not barred else None
    if in_force in {None, LOWEST_ABOVE_ZERO} or state.holds or not _wanted(state):
        return None
    originals, last, settings = state.originals, state.writes.last, state.settings
    free = (
        low_water.saved
        and not low_water.refused
        and now >= low_water.retry_at
        and originals is not None
        and originals.saved
        and (last is None or now - last >= settings.dwell_seconds)
        and len(state.writes.counted) < settings.max_changes_per_hour
        and not unfit(state.facts, low_water.original)
    )
    return LOWEST_ABOVE_ZERO if free else None


def write(state: State, sample: Sample, mark: int, *, now: float) -> tuple[State, Decision]:
    """Write the mark, alone at its tick; it counts among the changes of the hour."""
    back = mark == state.low_water.original
    why = "as it was found" if back else f"{percent(sample.low_water_mark or 0)} was found"
    state = replace(state, low_water=replace(state.low_water, asked=mark))
    state = transitions.wrote_aside(state, now=now)
    base = kept(
        state,
        sample.capacity,
        Reason.LOW_WATER_BACK if back else Reason.LOW_WATER,
        f"{LOW_WATER_MARK} → {percent(mark)}: {why}",
    )
    return state, replace(base, kind=DecisionKind.LOW_WATER, steps=((LOW_WATER_MARK, mark),), source="person")


def take_receipt(state: State, receipt: Receipt, *, now: float) -> tuple[State, list[Event]]:
    """Note what became of a write of the mark; a refusal is said once."""
    low_water, in_force = state.low_water, receipt.low_water_mark
    failed = receipt.error
    if not failed and in_force not in {None, receipt.low_water_asked}:
        failed = f"the server made it {percent(in_force or 0)}"
    if not failed:
        if in_force is not None:
            low_water = replace(low_water, own=in_force, asked=None, failures=0)
        return replace(state, low_water=low_water), []
    failures = low_water.failures + 1
    wait = min(LONGEST_RETRY, RETRY_SECONDS * 2.0 ** min(10, failures - 1))
    if in_force is not None:
        ours = receipt.done > 0 or low_water.own == in_force
        refused = failed if receipt.low_water_asked == LOWEST_ABOVE_ZERO else low_water.refused
        low_water = replace(low_water, asked=None, own=in_force if ours else None, refused=refused)
    state = replace(state, low_water=replace(low_water, failures=failures, retry_at=now + wait))
    said = f"{LOW_WATER_MARK} = {percent(receipt.low_water_asked or 0)} failed: {failed}"
    return state, [Event(code=EventCode.WRITE_FAILED, message=said)] if failures == 1 else []


def take_sample(state: State, sample: Sample, *, now: float) -> tuple[State, list[Event]]:
    """See whose mark is in force; note the operator's, and forget it once it is back."""
    state, events = _compared(state, sample, now=now)
    low_water, in_force = state.low_water, sample.low_water_mark
    wanted = _wanted(state)
    if low_water.original is None:
        known = state.originals is not None and not (low_water.foreign or low_water.refused)
        if (
            wanted
            and known
            and in_force not in {None, LOWEST_ABOVE_ZERO}
            and not unfit(state.facts, in_force)
        ):
            state = replace(state, low_water=replace(low_water, original=in_force, saved=False))
    elif not wanted and in_force == low_water.original and low_water.asked is None:
        if low_water.own is not None:
            said = f"{LOW_WATER_MARK} = {percent(low_water.original)} again, as it was found"
            events = [*events, Event(code="low_water_back", message=said)]
        state = replace(state, low_water=_forgotten(low_water))
    return state, events


def _compared(state: State, sample: Sample, *, now: float) -> tuple[State, list[Event]]:
    """See whether somebody else changed the mark while ours was, or could have been, in force."""
    low_water, in_force = state.low_water, sample.low_water_mark
    if low_water.original is None:
        return state, []
    if in_force is None:
        return _given_up(state, "it decides nothing on this server now")
    if low_water.left:
        low_water = replace(low_water, left=False, own=in_force if in_force == LOWEST_ABOVE_ZERO else None)
        state = replace(state, low_water=low_water)
    untouched = low_water.own is None and low_water.asked is None
    expected = {low_water.original if low_water.own is None else low_water.own}
    if low_water.asked is not None:
        expected |= {low_water.asked, low_water.original}
        if in_force == low_water.asked:
            low_water = replace(low_water, own=in_force, failures=0, retry_at=0.0)
        low_water = replace(low_water, asked=None)
        state = replace(state, low_water=low_water)
    if in_force in expected:
        return state, []
    if untouched:
        return _given_up(state, f"it is {percent(in_force)} now, which InnoBrim did not set, so it stays")
    return _yielded(state, in_force, now=now)


def _yielded(state: State, in_force: int, *, now: float) -> tuple[State, list[Event]]:
    """Yield as where C or M was changed: the mark is now that of whoever changed it."""
    own = state.low_water.own
    was = "as it was found" if own is None else percent(own)
    message = f"{LOW_WATER_MARK} was {was} and is {percent(in_force)}, and InnoBrim did not change it"
    state, hold = replace(state, low_water=_forgotten(state.low_water)), None
    if state.mode is Mode.ACTIVE and state.latches.foreign is None:
        hold = Hold(code=HoldCode.FOREIGN_CHANGE, since=now, reason=message)
        state = replace(state, low_water=replace(state.low_water, foreign=True))
    event = Event(code=EventCode.FOREIGN_CHANGE, message=message, who="somebody else")
    return transitions.yielded(state, hold), [event]


def _given_up(state: State, why: str) -> tuple[State, list[Event]]:
    """Forget an operator's mark that there is nothing to go back to any more."""
    message = f"{LOW_WATER_MARK} was {percent(state.low_water.original or 0)} before InnoBrim: {why}"
    state = replace(state, low_water=_forgotten(state.low_water))
    return state, [Event(code="low_water_left", message=message)]


def _forgotten(low_water: LowWater) -> LowWater:
    """Return the slice with nothing of ours in force; what the server refused it goes on refusing."""
    return LowWater(refused=low_water.refused, foreign=low_water.foreign)
