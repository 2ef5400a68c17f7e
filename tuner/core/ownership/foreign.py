"""C and M changed by somebody else: the loop yields, and takes back only what was declared beforehand."""

from __future__ import annotations

from msgspec.structs import replace

from tuner.core.ownership import transitions
from tuner.core.state import State, Writes
from tuner.core.writes.guards import HOUR
from tuner.core.writes.plan import on_the_way
from tuner.records import Capacity, Event, Facts, Hold, HoldCode, Sample
from tuner.settings import Mode, Settings

WHO_CHANGED = (
    "SELECT variable_name, set_user, set_host, set_time FROM performance_schema.variables_info "
    "WHERE variable_name LIKE 'innodb_io_capacity%'"
)
"""Tells who set C and M last, and when."""

NOBODY_KNOWS = "this server does not keep which account set a variable; its audit or general log may"

COOLDOWN_SECONDS = 300.0
"""The baseline is taken over again once it has been left alone for so long: a tool's run is over by then."""

READOPTIONS = 3
"""Times in an hour that the baseline is taken over again; beyond that somebody is at it on purpose."""


def compare(state: State, sample: Sample, *, now: float, wall: float) -> tuple[State, list[Event]]:
    """See whether somebody else changed C or M, and whether the baseline has been left alone long enough."""
    expected = state.writes.expected
    if expected == sample.capacity:
        return _readopt(state, sample.capacity, now=now, wall=wall)
    before = state.writes
    if expected is None:
        ours = before.own == sample.capacity or sample.capacity in (*before.left, *_left_by(before))
        state = transitions.see(state, sample.capacity, ours=ours)
        if ours or not before.known or sample.capacity in {*before.known, baseline(state.settings)}:
            return state, []
        left = before.known[0]
        change = f"C/M were left at {left} and are {sample.capacity}"
        message = f"{change}: somebody else changed them while no daemon ran"
    else:
        message = f"C/M were {expected} and are {sample.capacity}, and it was not us"
        state = transitions.see(state, sample.capacity, ours=None)
    state, held, hold = transitions.lost_own(state), state.latches.foreign, None
    if state.mode is Mode.ACTIVE and (held is None or state.settings.baseline is not None):
        hold = Hold(
            code=HoldCode.FOREIGN_CHANGE,
            since=now,
            reason=message,
            clears=_clears(state, sample.capacity, now=now, since=now),
        )
    state = transitions.yielded(state, hold)
    told = f"{message}; who: {who_changed(state.facts)}"
    return state, [Event(wall=wall, code="foreign_change", message=told, who="somebody else")]


def who_changed(facts: Facts) -> str:
    """Return the statement that tells who set C and M last, or in words that the server does not."""
    return WHO_CHANGED if facts.names_setters else NOBODY_KNOWS


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


def counted_down(state: State, hold: Hold, *, now: float) -> Hold:
    """Return the hold with what is left of the baseline's cool-down."""
    found = None if state.low_water.foreign else state.writes.expected
    return hold if found is None else replace(hold, clears=_clears(state, found, now=now, since=hold.since))


def _clears(state: State, capacity: Capacity, *, now: float, since: float) -> str:
    if capacity != baseline(state.settings):
        return "innobrim resume"
    if len(_lately(state, now)) >= READOPTIONS:
        return f"innobrim resume: the baseline was taken over {READOPTIONS} times within the hour already"
    left = max(0.0, COOLDOWN_SECONDS - (now - since))
    return f"{left:.0f} s{' more' if now > since else ''} of the baseline left alone, or innobrim resume"


def _lately(state: State, now: float) -> tuple[float, ...]:
    return tuple(at for at in state.readopted if now - at < HOUR)


def _readopt(state: State, capacity: Capacity, *, now: float, wall: float) -> tuple[State, list[Event]]:
    """Take the baseline over again where it has been left alone for the cool-down."""
    held = state.latches.foreign
    if (
        held is None
        or state.low_water.foreign
        or capacity != baseline(state.settings)
        or now - held.since < COOLDOWN_SECONDS
    ):
        return state, []
    lately = _lately(state, now)
    if len(lately) >= READOPTIONS:
        return state, []
    state = replace(transitions.unlatch(state, HoldCode.FOREIGN_CHANGE), readopted=(*lately, now))
    message = f"baseline {capacity} taken over again, {len(lately) + 1} of {READOPTIONS} in the hour"
    return state, [Event(wall=wall, code="baseline", message=message)]
