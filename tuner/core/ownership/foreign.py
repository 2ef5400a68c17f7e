"""C and M changed by somebody else: the loop yields, and takes back only what was declared beforehand."""

from __future__ import annotations

from msgspec.structs import replace

from tuner.core.ownership import transitions
from tuner.core.state import State, Writes
from tuner.core.writes.guards import HOUR
from tuner.core.writes.plan import PAIR, on_the_way
from tuner.records import Capacity, Event, EventCode, Hold, HoldCode, Remedy, Sample
from tuner.settings import Mode, Settings

NOBODY_KNOWS = "this server does not keep which account set a variable; its audit or general log may"

COOLDOWN_SECONDS = 300.0
"""The baseline is taken over again once it has been left alone for so long: a tool's run is over by then."""

READOPTIONS = 3
"""Times in an hour that the baseline is taken over again; beyond that somebody is at it on purpose."""


def compare(state: State, sample: Sample, *, now: float) -> tuple[State, list[Event]]:
    """See whether somebody else changed C or M, and whether the baseline has been left alone long enough."""
    expected = state.writes.expected
    if expected == sample.capacity:
        return _readopt(state, sample.capacity, now=now)
    before = state.writes
    if expected is None:
        ours = before.own == sample.capacity or sample.capacity in (*before.left, *_left_by(before))
        state = transitions.see(state, sample.capacity, ours=ours)
        if ours or not before.known or sample.capacity in {*before.known, baseline(state.settings)}:
            return state, []
        left = before.known[0]
        change = f"{PAIR} were left at {left} and are {sample.capacity}"
        message = f"{change}: somebody else changed them while no daemon ran"
    else:
        message = f"{PAIR} were {expected} and are {sample.capacity}: somebody else changed them"
        state = transitions.see(state, sample.capacity, ours=None)
    state, held, hold = transitions.lost_own(state), state.latches.foreign, None
    if state.mode is Mode.ACTIVE and (held is None or state.settings.baseline is not None):
        hold = Hold(code=HoldCode.FOREIGN_CHANGE, since=now, reason=message)
    state = transitions.yielded(state, hold)
    named = state.facts.names_setters
    event = Event(
        code=EventCode.FOREIGN_CHANGE,
        message=message if named else f"{message}; who: {NOBODY_KNOWS}",
        who="somebody else",
        remedies=(Remedy.SHOW_WHO_CHANGED,) if named else (),
    )
    return state, [event]


def _left_by(writes: Writes) -> tuple[Capacity, ...]:
    """Return what a write of ours may have left whose outcome could not be read."""
    if writes.pending is None or writes.before is None:
        return ()
    return on_the_way(writes.before, writes.pending)


def baseline(settings: Settings) -> Capacity | None:
    """Return the pair that was declared as the baseline; None without one."""
    if settings.baseline is None:
        return None
    low, high = settings.baseline.split("/")
    return Capacity(int(low), int(high))


def cleared(state: State, *, since: float, now: float) -> tuple[tuple[Remedy, ...], float]:
    """Return what ends the hold of a foreign change, and the seconds that are left of a time that does.

    A person does; the baseline, where it is what was set and is left alone for the cool-down, does as well.
    """
    declared = baseline(state.settings)
    if declared is None or state.low_water.foreign or state.writes.expected != declared:
        return (Remedy.RESUME,), 0.0
    if len(_lately(state, now)) >= READOPTIONS:
        return (Remedy.BASELINE_SPENT,), 0.0
    return (Remedy.BASELINE_UNTOUCHED,), max(0.0, COOLDOWN_SECONDS - (now - since))


def _lately(state: State, now: float) -> tuple[float, ...]:
    return tuple(at for at in state.readopted if now - at < HOUR)


def _readopt(state: State, capacity: Capacity, *, now: float) -> tuple[State, list[Event]]:
    """Take the baseline over again where it has been left alone for the cool-down."""
    held = state.latches.foreign
    if held is None or cleared(state, since=held.since, now=now) != ((Remedy.BASELINE_UNTOUCHED,), 0.0):
        return state, []
    lately = _lately(state, now)
    state = replace(transitions.unlatch(state, HoldCode.FOREIGN_CHANGE), readopted=(*lately, now))
    again = f"{len(lately) + 1} of {READOPTIONS} times that an hour may have"
    message = f"the baseline, {capacity.in_words}, is taken over again ({again})"
    return state, [Event(code="baseline", message=message)]
