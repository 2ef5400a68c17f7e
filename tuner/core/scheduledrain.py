"""The drain that an active window asks for: begun when it can be, as low as can be, ended with the window.

Level-triggered as the windows are: a drain that a restart of mysqld, a pause or an override ended begins
again once that is over. A person's word comes first: their own drain replaces the window's until it ends, and
a drain that they call off stays so until the window's end.
"""

from __future__ import annotations

from msgspec.structs import replace

from policies.registry import LAWS
from tuner.core.ages import said
from tuner.core.asking import Asked, cannot_write
from tuner.core.decide import drain
from tuner.core.decide.course import lowest_target
from tuner.core.estimate.window import warm
from tuner.core.laws import without_authority
from tuner.core.state import State
from tuner.records import Command, Estimate, Event, Sample, Window
from tuner.settings import Mode

LOWER = 0.9
"""The target follows the load down once this share of it could be reached, and up as soon as it could not."""

NOT_YET = "rates need ten seconds of readings"
LOW_ALREADY = "the age is held as low already as a drain would bring it"


def wanted(windows: tuple[Window, ...]) -> Window | None:
    """Return the active window whose drain counts: the first that was not called off."""
    return next((one for one in windows if one.drain and not one.drain_off), None)


def called_off(windows: tuple[Window, ...], why: str) -> tuple[Window, ...]:
    """Return the windows with no drain any more until their ends."""
    return tuple(replace(one, drain_off=why) if one.drain else one for one in windows)


def follow(state: State, sample: Sample | None, *, now: float, wall: float) -> tuple[State, list[Event]]:
    """Begin the drain that a window asks for, keep it in step with window and load, or let it end."""
    window, under_way = wanted(state.schedule), state.drain
    if under_way is not None and not under_way.scheduled:
        return _waiting(state, "a person's drain comes first" if window is not None else "", wall=wall)
    if window is None:
        if under_way is None:
            return state, []
        over = under_way.cancelled or f"{under_way.who} is over"
        return replace(state, drain=replace(under_way, cancelled=over)), []
    ends = now + window.ends - wall
    if under_way is not None and under_way.shown != (state.mode is Mode.ADVISORY):
        return replace(state, drain=None), []  # begun anew in the other mode, at the next tick
    if under_way is not None:
        moved = replace(under_way, ends=ends, who=window.who)
        return _aimed(replace(state, drain=moved), sample), []
    return _begun(state, window, sample, ends=ends, now=now, wall=wall)


def _begun(
    state: State, window: Window, sample: Sample | None, *, ends: float, now: float, wall: float
) -> tuple[State, list[Event]]:
    """Begin a window's drain, or say why it has to wait."""
    found = state.estimate
    why = _bars(state, window, sample, now=now)
    if why or sample is None or found is None or not warm(state.estimator.window):
        return _waiting(state, why or NOT_YET, wall=wall)
    why, target = _reach(state, sample, found)
    if why:
        return _waiting(state, why, wall=wall)
    made = drain.begun(state, sample, found, target, who=window.who, now=now, ttl=ends - now)
    advisory = state.mode is Mode.ADVISORY
    state, _ = _waiting(replace(state, drain=replace(made, scheduled=True, shown=advisory)), "", wall=wall)
    way = f"{said(target)} of checkpoint age, from {said(sample.checkpoint_age)}"
    time = f"for {(ends - now) / 60.0:.0f} minutes; then back to the set-point"
    message = f"{'would drain' if advisory else 'draining'} to {way}, {time}"
    return state, [Event(wall=wall, code="drain", message=message, who=window.who)]


def _bars(state: State, window: Window, sample: Sample | None, *, now: float) -> str:
    """Return why no drain can begin now; empty where it can. Advisory mode shows one."""
    why = drain.ground_gone(state)
    if why:
        return why
    if state.holds:
        return f"held: {', '.join(hold.code.value for hold in state.holds)}"
    if state.mode is Mode.ADVISORY or sample is None:
        return ""
    return cannot_write(state, Asked(command=Command(name="drain", who=window.who), sample=sample, now=now))


def _reach(state: State, sample: Sample, found: Estimate) -> tuple[str, int]:
    """Return why no age lower than now can be held at the present load, and the lowest that can."""
    law = LAWS[state.facts.flush_law]
    if not law.authority:
        return without_authority(law), 0
    target = round(lowest_target(state, sample, found)[0]) + 1
    return (LOW_ALREADY if drain.held_as_low(state, sample, target) else ""), target


def _aimed(state: State, sample: Sample | None) -> State:
    """Return the state with a target that the present load allows."""
    under_way, found = state.drain, state.estimate
    if under_way is None or sample is None or found is None or not warm(state.estimator.window):
        return state
    target = round(lowest_target(state, sample, found)[0]) + 1
    if LOWER * under_way.target <= target <= under_way.target:
        return state
    return replace(state, drain=replace(under_way, target=target))


def _waiting(state: State, why: str, *, wall: float) -> tuple[State, list[Event]]:
    """Note why the drain that is wanted is not under way, and say it once."""
    window = wanted(state.schedule)
    if window is None or window.drain_waits == why:
        return state, []
    windows = tuple(
        replace(one, drain_waits=why if one is window else "") if one.drain else one for one in state.schedule
    )
    state = replace(state, schedule=windows)
    if why in {"", NOT_YET}:
        return state, []
    message = f"the drain of {window.who} waits: {why}"
    return state, [Event(wall=wall, code="schedule_drain_waits", message=message, who=window.who)]
