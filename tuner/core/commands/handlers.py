"""What people, signals and parts of the daemon ask, carried into the state or refused with the reason."""

from __future__ import annotations

import math
from collections.abc import Callable

from msgspec.structs import replace

from tuner.core.ages import EXPECTED, LOWEST, bytes_of
from tuner.core.commands import overlay, schedule
from tuner.core.commands.context import ADVISORY, CommandContext, Outcome, cannot_write, refused
from tuner.core.decide import proving
from tuner.core.decide.drain import begun, called_off, refusal, unsteered, way_of
from tuner.core.decide.trajectory import lowest_safe_target
from tuner.core.estimate.window import warm
from tuner.core.holds import (
    BY_GROUP,
    Obstacle,
    holds_needing_resume,
    latched,
    listed,
    of_group,
    unparkable,
)
from tuner.core.leaving import lowwater, park
from tuner.core.leaving.lowwater import asked_again, saved_name
from tuner.core.limits import bounds, contradiction, home_of
from tuner.core.ownership import transitions
from tuner.core.ownership.standing import why_advisory
from tuner.core.ownership.transitions import change_mode
from tuner.core.state import Drain, Override, OwedPark, ParkFor, State
from tuner.core.trials import optimising
from tuner.core.writes.plan import near
from tuner.records import LOW_WATER_MARK, Acknowledgement, Capacity, Estimate, Event, Hold, HoldCode, Remedy
from tuner.settings import Mode
from tuner.system.amounts import duration, share, size

PAUSED_BY_GROUP = f"paused by {BY_GROUP}"


def originals_name(identity: str, capacity: Capacity) -> str:
    """Return how ``originals_saved`` names a pair: news of one server's must not pass for another's."""
    return f"{identity} {capacity}"


def handle_command(
    state: State,
    context: CommandContext,
) -> tuple[State, Acknowledgement, tuple[Event, ...]]:
    """Apply one command; never raises."""
    command = context.command
    handler = HANDLERS.get(command.name)
    outcome = handler(state, context) if handler else refused(state, f"no command is called {command.name!r}")
    if (ends := proving.ended_by(outcome.state)) and not proving.ended_by(state):
        outcome = replace(outcome, message=f"{outcome.message}; {ends}")
    events: tuple[Event, ...] = ()
    if outcome.event:
        said = f"{outcome.message}: {command.reason}" if command.reason else outcome.message
        remedies = outcome.remedies
        events = (Event(code=outcome.event, message=said, who=command.who, remedies=remedies),)
    answer = Acknowledgement(command.number, outcome.accepted, outcome.message, outcome.remedies)
    return outcome.state, answer, events


def _mode(state: State, context: CommandContext) -> Outcome:
    try:
        mode = Mode(str(context.command.value))
    except ValueError:
        return refused(state, f"mode {context.command.value!r} is not one of: {', '.join(Mode)}")
    who, reason, held = context.command.who, context.command.reason, holds_needing_resume(state)
    why = f"{who} said so: {reason}" if reason else f"{who} said so"
    still = f"; still held ({held})" if held and mode is Mode.ACTIVE else ""
    remedies = (Remedy.RESUME,) if still else ()
    if state.settings.outside_stage and mode is Mode.ACTIVE:
        still = f"; the server is outside its stage: this lasts until the daemon ends{still}"
    if state.group_paused and mode is Mode.ACTIVE:
        still, remedies = f"{still}; still {PAUSED_BY_GROUP}", (*remedies, Remedy.GROUP_GOES_ON)
    if mode is Mode.ADVISORY and state.mode is Mode.ACTIVE:
        barred = "; ".join(unparkable(state, context.sample))
        still = f"; no park was written: {barred}" if barred else ""
    changed = change_mode(state, mode, why, by_person=True)
    if changed.restoring:
        still += "; the restore goes on, and the mode is advisory when it is done"
    return Outcome(
        changed,
        f"mode {state.mode} → {mode}{still}",
        event="mode" if mode != state.mode else "",
        remedies=remedies,
    )


def _settings(state: State, context: CommandContext) -> Outcome:
    settings = context.command.settings
    if settings is None:
        return refused(state, "no settings were given")
    state = asked_again(state)
    before = overlay.configured(state)
    if settings == before:
        return Outcome(state, "settings unchanged")
    changed = [
        name for name in settings.__struct_fields__ if getattr(settings, name) != getattr(before, name)
    ]
    said = ", ".join(f"{name} {getattr(before, name)} → {getattr(settings, name)}" for name in changed)
    in_force, kept, gone = overlay.over(state, settings)
    said += f"; these changes end with the new configuration: {gone}" if gone else ""
    state = overlay.adopt(state, in_force, configured=settings, overlay=kept)
    if settings.outside_stage is not before.outside_stage:
        state = transitions.staged(state)
    elif settings.mode is not before.mode:
        state = transitions.reconfigured(state)
    return Outcome(state, f"settings changed: {said}", event="settings")


def _originals_saved(state: State, context: CommandContext) -> Outcome:
    if state.originals is None or state.originals.saved:
        return Outcome(state, "no originals were waiting")
    about, waiting = context.command.value, originals_name(state.facts.identity, state.originals.capacity)
    if about is not None and about != waiting:
        return refused(state, f"{about} is on disk, but {waiting} was expected")
    return Outcome(
        transitions.originals_saved(state),
        "the originals are on disk",
        event="originals_saved",
    )


def _low_water_saved(state: State, context: CommandContext) -> Outcome:
    low_water = state.low_water
    if low_water.original is None or low_water.saved:
        return Outcome(state, "no low-water mark was waiting")
    about, waiting = context.command.value, saved_name(state.facts.identity, low_water.original)
    if about is not None and about != waiting:
        return refused(state, f"{about} is on disk, and {waiting} is waited for")
    return Outcome(lowwater.saved(state), "the low-water mark found is on disk")


def _redo_growth(state: State, context: CommandContext) -> Outcome:
    """Have it in log, journal and events what becomes of ``redo.grow_to``; the loop does nothing for it."""
    return Outcome(state, str(context.command.value), event="redo_growth")


def _worker_died(state: State, context: CommandContext) -> Outcome:
    why = (
        f"the daemon's thread {context.command.value!r} is dead: neither originals nor decisions can be kept"
    )
    return Outcome(replace(state, unrecorded=why), why, event="worker_died")


def _stop(state: State, context: CommandContext) -> Outcome:
    leaves = context.command.value == "leave"
    return Outcome(park.stop(state, leaves=leaves, now=context.now), "stopping", event="stopping")


def _pause(state: State, context: CommandContext) -> Outcome:
    """Park, by entering a hold that only a person ends."""
    held, who = state.latches.paused, context.command.who
    if held is not None and (who == BY_GROUP or not of_group(held)):
        return refused(state, f"already paused: {held.reason}")
    reason = f"paused by {who}" + (f": {context.command.reason}" if context.command.reason else "")
    hold = Hold(code=HoldCode.PAUSED, since=context.now, reason=reason)
    left = _left_in_force(state, context)
    state = transitions.give_way(transitions.latch(state, hold))
    return Outcome(state, f"paused{left}; nothing is written until resumed", event="paused")


def _fleet(state: State, context: CommandContext) -> Outcome:
    """Pause where ``[fleet]`` says so, and end that pause, and no other one, where it says so no more."""
    held, state = state.latches.paused, replace(state, group_paused=bool(context.command.value))
    if context.command.value and held is None:
        return _pause(state, context)
    if context.command.value or held is None or not of_group(held):
        return Outcome(state, "nothing changes")
    return Outcome(transitions.unlatch(state, HoldCode.PAUSED), f"{BY_GROUP} pauses no more", event="resumed")


def _left_in_force(state: State, context: CommandContext) -> str:
    """Return what a pause leaves, and whose it is; empty without a reading."""
    if context.sample is None:
        return ""
    pair, ours = context.sample.capacity, state.writes.own == context.sample.capacity
    parks = ours and state.mode is Mode.ACTIVE and not state.holds and not state.restoring
    kept = "a parked pair replaces it, unless it is safe already" if parks else "it stays in force"
    return f"; in force: {pair.in_words}, {'set' if ours else 'not set'} by InnoBrim; {kept}"


def _resume(state: State, context: CommandContext) -> Outcome:
    """End all that a person ends; what the group's file pauses stays paused."""
    if not state.group_paused:
        return _resume_here(state, context)
    held = state.latches.paused
    if held is None or not of_group(held):
        held = Hold(code=HoldCode.PAUSED, since=context.now, reason=PAUSED_BY_GROUP)
    outcome = _resume_here(state, context)
    said = (
        f"{outcome.message}; still {PAUSED_BY_GROUP}"
        if outcome.accepted
        else f"not resumed: {PAUSED_BY_GROUP}"
    )
    return replace(
        outcome,
        state=transitions.latch(outcome.state, held),
        message=said,
        remedies=(*outcome.remedies, Remedy.GROUP_GOES_ON) if outcome.accepted else (Remedy.GROUP_GOES_ON,),
    )


def _resume_here(state: State, context: CommandContext) -> Outcome:
    """End the holds that wait for a person, a drain, and what the baseline guard said.

    Without a reading the next one shows whether the values in force are still our own. A low-water mark that
    the server refused is written once more.
    """
    cleared, refusal = holds_needing_resume(state), state.low_water.refused
    state = asked_again(state)
    if state.unheard:
        by_that_alone = state.mode is not state.settings.mode and not state.advisory_until_said
        state = change_mode(state, Mode.ACTIVE, "") if by_that_alone else state
        state = replace(state, unheard="")
    if state.baseline_guard.returned is not None:
        state = transitions.as_configured(state)
        if not cleared and state.drain is None:
            ends = _advisory(state) or "; InnoBrim tries its values again"
            return Outcome(state, f"resumed{ends}", event="resumed", remedies=_to_write(state))
    if not cleared and state.drain is None and refusal:
        return Outcome(
            state, f"resumed; InnoBrim tries {LOW_WATER_MARK} again{_advisory(state)}", event="resumed"
        )
    if not cleared and state.drain is None:
        nothing = "nothing to resume: not paused, and no hold waits for a person"
        return refused(state, f"{nothing}{_advisory(state)}", *_to_write(state))
    if state.drain is not None:
        state = _called_off(state, state.drain, f"resumed by {context.command.who}")
    if not cleared:
        return Outcome(state, "resumed; the drain is over", event="resumed")
    in_force = context.sample.capacity if context.sample is not None else None
    state = lowwater.resumed(transitions.resumed(state, in_force))
    said_of_it = f"resumed; cleared {cleared}{_advisory(state)}"
    return Outcome(state, said_of_it, event="resumed", remedies=_to_write(state))


def _advisory(state: State) -> str:
    """Return why the loop does not write all the same; empty in active mode."""
    why = why_advisory(state)
    return f"; the mode is advisory: {why}" if why else ""


def _to_write(state: State) -> tuple[Remedy, ...]:
    """Return what else is needed for the loop to write; nothing in active mode."""
    return (Remedy.MODE_ACTIVE,) if why_advisory(state) else ()


def _override(state: State, context: CommandContext) -> Outcome:
    command, settings = context.command, state.settings
    wanted, ttl = command.value, command.ttl
    if not isinstance(wanted, int) or ttl is None or not ttl > 0:
        return refused(state, "an override needs io_capacity_max (pages/s) and a time to live (seconds)")
    if state.mode is not Mode.ACTIVE:
        return refused(state, ADVISORY, Remedy.MODE_ACTIVE)
    held = _held(state, "override")
    if held is not None:
        return refused(state, held.why)
    low, high = settings.min_io_capacity_max, settings.max_io_capacity_max
    if not low <= wanted <= high:
        return refused(state, f"io_capacity_max {wanted} is outside the limits {low} to {high}")
    override = Override(io_capacity_max=wanted, ends=context.now + ttl, who=command.who)
    lowest, highest = bounds(state)
    current = state.writes.expected if context.sample is None else context.sample.capacity
    home = wanted if current is None else home_of(state, current)
    made = near(wanted, home=home, ratio=settings.ratio, lowest=lowest, highest=highest)
    was = "" if current is None else f", from {current.io_capacity_max}"
    why = "" if made.io_capacity_max == wanted else f": the nearest whole multiple, {made}"
    why += "; the restore under way ends" if state.restoring else ""
    return Outcome(
        transitions.override(state, override),
        f"override to {made.io_capacity_max} for {ttl:.0f} s{was}{why}",
        event="override",
    )


def _cancel_override(state: State, context: CommandContext) -> Outcome:  # noqa: ARG001 - a handler's signature
    if state.override is None:
        return refused(state, "no override is in force")
    message = f"override to {state.override.io_capacity_max} cancelled"
    return Outcome(transitions.end_override(state), message, event="override_cancelled")


def _drain(state: State, context: CommandContext) -> Outcome:
    command, estimate, sample = context.command, state.estimate, context.sample
    bar = cannot_write(state, context) or _held(state, "drain")
    if bar is not None:
        return refused(state, bar.why, *bar.remedies)
    if estimate is None or sample is None or not warm(state.estimator.window):
        return refused(state, "rates need ten seconds of readings; ask again then")
    ttl = command.ttl
    if not isinstance(command.value, str) or ttl is None or not ttl > 0:
        return refused(state, f"a drain needs a checkpoint age ({EXPECTED}) and a time to live (seconds)")
    lowest, bound = command.value == LOWEST, ""
    try:
        if lowest:
            why = unsteered(state)
            target, limit = lowest_safe_target(state, sample, estimate)
            bound = f", the lowest that is safe ({limit})"
        else:
            target = bytes_of(command.value, redo_capacity=sample.redo_capacity)
            why = refusal(state, sample, estimate, target)
            of_log = f"{share(target / sample.redo_capacity)} of the redo capacity"
            bound = f" ({of_log})" if command.value.endswith("%") else ""
    except ValueError as error:
        return refused(state, str(error))
    if why:
        return refused(state, why)
    made = begun(state, sample, estimate, target, who=command.who, now=context.now, ttl=ttl, lowest=lowest)
    cost = _dearer(state, estimate, target)
    return Outcome(
        transitions.give_way(replace(state, drain=made)),
        f"{way_of(made)}{bound}, for {duration(ttl)}; then back to the set-point{cost}",
        event="drain",
    )


def _dearer(state: State, estimate: Estimate, target: float) -> str:
    """Return in words what a lower age costs, as pages combine fewer changes there; empty for nothing."""
    if not 0.0 < target < estimate.modified_age:
        return ""
    exponent, error = state.estimator.load.exponent_and_error()
    low, high = (
        math.pow(estimate.modified_age / target, min(1.0, max(0.0, exponent + by)))
        for by in (-2 * error, 2 * error)
    )
    return (
        f". At so low an age this load writes {low:.1f} to {high:.1f} times as many pages; where the device "
        "cannot write that many, it commits less"
    )


def _held(state: State, asked: str) -> Obstacle | None:
    """Return why a hold does not permit it; None without one, entered in this very tick or before."""
    before = {hold.code for hold in state.holds}
    held = listed((*state.holds, *(hold for hold in latched(state) if hold.code not in before)))
    return Obstacle(f"held ({held}); a hold permits no {asked}") if held else None


def _cancel_drain(state: State, context: CommandContext) -> Outcome:
    if state.drain is None:
        return refused(state, "no drain is in force")
    windows = ", ".join(one.who for one in state.schedule if one.drain)
    until = f" until the end of {windows}" if windows else ""
    message = f"drain to {size(state.drain.target)} cancelled; back to the set-point{until}"
    return Outcome(_called_off(state, state.drain, f"cancelled by {context.command.who}"), message)


def _called_off(state: State, under_way: Drain, why: str) -> State:
    """Return the state with a drain that ends in this tick; no window that is active drains again."""
    windows = called_off(state.schedule, why)
    return replace(state, drain=replace(under_way, cancelled=why), schedule=windows)


def _park(state: State, context: CommandContext) -> Outcome:
    """Leave a safe setting behind, then keep hands off."""
    bar = cannot_write(state, context)
    if bar is not None:
        return refused(state, bar.why, *bar.remedies)
    why = contradiction(state.settings, state.facts)
    if why:
        return refused(state, why)
    pair = state.park_target
    if pair is None:
        return refused(state, "there is no estimate yet, so no parked setting is known")
    reason = f"parked by {context.command.who}"
    hold = Hold(code=HoldCode.PAUSED, since=context.now, reason=reason)
    state = transitions.owe_park(transitions.latch(state, hold), OwedPark(ParkFor.PERSON, reason))
    state = transitions.give_way(state)
    return Outcome(state, f"parking at {pair.in_words}; then nothing is written until resumed", event="park")


def _restore(state: State, context: CommandContext) -> Outcome:
    bar = cannot_write(state, context)
    if bar is not None:
        offline = (Remedy.RESTORE_OFFLINE,) if state.mode is Mode.ADVISORY else ()
        return refused(state, bar.why, *bar.remedies, *offline)
    assert state.originals is not None  # noqa: S101 - checked above; tells the type checker
    pair = state.originals.capacity
    return Outcome(
        transitions.begin_restore(state, context.command.who, now=context.now),
        f"restoring {pair.in_words} in steps; then the mode is advisory until a person says otherwise",
        event="restore",
    )


Handler = Callable[[State, CommandContext], Outcome]

HANDLERS: dict[str, Handler] = {
    "pause": _pause,
    "resume": _resume,
    "override": _override,
    "cancel_override": _cancel_override,
    "drain": _drain,
    "cancel_drain": _cancel_drain,
    "park": _park,
    "restore": _restore,
    "fleet": _fleet,
    "mode": _mode,
    "settings": _settings,
    "overlay": overlay.put,
    "cancel_overlay": overlay.cancel,
    "originals_saved": _originals_saved,
    "low_water_saved": _low_water_saved,
    "redo_growth": _redo_growth,
    "schedule": schedule.take,
    "stop": _stop,
    "worker_died": _worker_died,
    "suggest": optimising.suggest,
    "trial": proving.begin,
    "stop_trial": proving.stop,
}
