"""Why the other low-water mark cannot be tried, may not be just now, or was not safe."""

from __future__ import annotations

from tuner.core import optimising, scheduled
from tuner.core.mark import VALUES, Mark, other, settles
from tuner.core.setpoint import budgets
from tuner.core.state import State
from tuner.core.targets import headroom_of
from tuner.records import (
    LOW_WATER_MARK,
    SET_LOW_WATER,
    Decision,
    DecisionKind,
    Estimate,
    Facts,
    HoldCode,
    Sample,
    percent,
)

SWINGS = frozenset({"fading"})
"""What with 0 the load does every time that the server flushes: whether it is another one its blocks tell."""

NOT_HERE = f"on this server {LOW_WATER_MARK} does not decide whether the age counts"
BY_HAND = "innobrim setup-sql --low-water-mark makes one, and a restart of the daemon has it found"


def impossible(state: State, sample: Sample, found: Estimate) -> str:
    """Return why the other mark is not for this server, account or configuration; empty where it is."""
    mark, seen = state.mark, sample.low_water_mark
    operator = seen if mark.original is None else mark.original
    why = unfit(state.facts, None if seen is None else operator)
    if not why and mark.refused:
        why = f"the server did not take it: {mark.refused}"
    if why or operator is None:
        return why
    return _too_high(state, sample, found) if other(operator) == 0 else ""


def unfit(facts: Facts, operator: int | None) -> str:
    """Return why no other mark can be tried on this server by this account; empty where one can.

    Args:
        facts: the server.
        operator: the mark that would come back; None where it does not decide whether the age counts.
    """
    if operator is None:
        return NOT_HERE
    if facts.procedure is None:
        return ""
    if not facts.sets_low_water:
        return f"the account writes through procedures, and none of them is {SET_LOW_WATER}: {BY_HAND}"
    if operator not in VALUES:
        return f"{SET_LOW_WATER} sets 0 and 0.001 alone, and could not put {percent(operator)} back"
    return ""


def _too_high(state: State, sample: Sample, found: Estimate) -> str:
    """Return which bound of the age 0 would not heed, with which it goes to the flush limit; else empty."""
    settings = scheduled.settings_of(state.settings, state.schedule)
    rests = sample.flush_limit / sample.redo_capacity
    if rests > settings.max_checkpoint_age_ratio:
        key = f"loop.max_checkpoint_age_ratio = {settings.max_checkpoint_age_ratio:g}"
        return f"with 0 the age goes to {rests:.2f} of the redo capacity, beyond {key}"
    allowed = budgets.ratios(state.estimator.recovery, headroom_of(state, sample, found), settings)
    for name, ratio in allowed.items():
        if ratio < 1.0:
            return f"with 0 the age goes to where {budgets.KEYS[name]} is not kept"
    return ""


def bars(state: State, sample: Sample, decision: Decision, *, now: float) -> str:
    """Return why no trial of it may go on; empty where one may.

    The model gate is open again some seconds after the law became another one by our own doing.
    """
    holds = tuple(
        hold
        for hold in state.holds
        if not (hold.code is HoldCode.MODEL_MISMATCH and state.mark.running and settles(state, now=now))
    )
    why = optimising.bars(state, sample, decision, holds=holds, idle=optimising.IDLE - SWINGS)
    if not why and state.trials.running is not None:
        return "a trial of a suggestion is under way"
    return why


def fault(state: State, decision: Decision) -> str:
    """Return which guard of the age fired, whichever mark is in force; empty where none did."""
    if decision.kind is DecisionKind.EMERGENCY:
        return f"emergency: {decision.detail}"
    found = state.estimate
    return "the server sync-flushes" if found is not None and found.sync_rate > 0.0 else ""


def alarm(state: State, sample: Sample) -> str:
    """Return that the checkpoint age is beyond what is allowed, with a mark of ours; empty where it is not.

    An age that was there before the mark went into force is given the time to come down.
    """
    mark = state.mark
    allowed = state.settings.max_checkpoint_age_ratio * sample.redo_capacity
    if sample.checkpoint_age <= allowed or not _counts(mark):
        return ""
    return f"the checkpoint age passed {allowed / sample.redo_capacity:.2f} of the redo capacity"


def _counts(mark: Mark) -> bool:
    return mark.below or (mark.running is not None and mark.running.start is not None)


def unverified(state: State, *, now: float) -> str:
    """Return that the law of a mark of ours is not known to hold; empty while there is time for that."""
    doubted = any(hold.code is HoldCode.MODEL_MISMATCH for hold in state.holds)
    return "the flush law with it could not be verified" if doubted and not settles(state, now=now) else ""
