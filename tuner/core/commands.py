"""What people, signals and parts of the daemon ask, carried into the state or refused with the reason."""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace

from tuner.core import optimising, orders, overlay, scheduled
from tuner.core.asking import Asked, Outcome, refused
from tuner.core.holds import unparkable
from tuner.core.lowwater import left_active, saved_name
from tuner.core.modes import change_mode
from tuner.core.standing import cut_short, waiting
from tuner.core.state import OwedPark, ParkFor, State
from tuner.records import Acknowledgement, Capacity, Event, Lifecycle
from tuner.settings import Mode


def originals_name(identity: str, capacity: Capacity) -> str:
    """Return how ``originals_saved`` names a pair: news of one server's must not pass for another's."""
    return f"{identity} {capacity}"


def carry_out(state: State, asked: Asked, *, wall: float) -> tuple[State, Acknowledgement, tuple[Event, ...]]:
    """Apply one command; never raises."""
    command = asked.command
    handler = HANDLERS.get(command.name)
    outcome = handler(state, asked) if handler else refused(state, f"no command is called {command.name!r}")
    events: tuple[Event, ...] = ()
    if outcome.event:
        said = f"{outcome.message}: {command.reason}" if command.reason else outcome.message
        events = (Event(wall=wall, code=outcome.event, message=said, who=command.who),)
    answer = Acknowledgement(number=command.number, accepted=outcome.accepted, message=outcome.message)
    return outcome.state, answer, events


def _mode(state: State, asked: Asked) -> Outcome:
    try:
        mode = Mode(str(asked.command.value))
    except ValueError:
        return refused(state, f"mode {asked.command.value!r} is not one of: {', '.join(Mode)}")
    who, reason, held = asked.command.who, asked.command.reason, waiting(state)
    why = f"{who} said so: {reason}" if reason else f"{who} said so"
    still = f"; still held ({held}): innobrim resume ends that" if held and mode is Mode.ACTIVE else ""
    if mode is Mode.ADVISORY and state.mode is Mode.ACTIVE:
        barred = "; ".join(unparkable(state, asked.sample))
        still = f"; no park was written: {barred}" if barred else ""
    return Outcome(
        change_mode(state, mode, why),
        f"mode {state.mode} → {mode}{still}",
        event="mode" if mode != state.mode else "",
    )


def _settings(state: State, asked: Asked) -> Outcome:
    settings = asked.command.settings
    if settings is None:
        return refused(state, "no settings were given")
    before = overlay.configured(state)
    if settings == before:
        return Outcome(state, "settings unchanged")
    changed = [
        name for name in settings.__struct_fields__ if getattr(settings, name) != getattr(before, name)
    ]
    said = ", ".join(f"{name} {getattr(before, name)} → {getattr(settings, name)}" for name in changed)
    in_force, kept, gone = overlay.over(state, settings)
    said += f"; no longer in force, beside the new configuration: {gone}" if gone else ""
    state = overlay.adopt(state, in_force, configured=settings, overlay=kept)
    if settings.mode is not before.mode:
        state = change_mode(state, settings.mode, "the configuration says so")
    return Outcome(state, f"settings changed: {said}", event="settings")


def _originals_saved(state: State, asked: Asked) -> Outcome:
    if state.originals is None or state.originals.saved:
        return Outcome(state, "no originals were waiting")
    about, waiting = asked.command.value, originals_name(state.facts.identity, state.originals.capacity)
    if about is not None and about != waiting:
        return refused(state, f"{about} is on disk, and {waiting} is waited for")
    return Outcome(
        replace(state, originals=replace(state.originals, saved=True)),
        "originals are on disk",
        event="originals_saved",
    )


def _low_water_saved(state: State, asked: Asked) -> Outcome:
    lever = state.low_water
    if lever.original is None or lever.saved:
        return Outcome(state, "no low-water mark was waiting")
    about, waiting = asked.command.value, saved_name(state.facts.identity, lever.original)
    if about is not None and about != waiting:
        return refused(state, f"{about} is on disk, and {waiting} is waited for")
    state = replace(state, low_water=replace(lever, saved=True))
    return Outcome(state, "the low-water mark found is on disk")


def _worker_died(state: State, asked: Asked) -> Outcome:
    why = f"the daemon's thread {asked.command.value!r} is dead: neither originals nor decisions can be kept"
    return Outcome(replace(state, unrecorded=why), why, event="worker_died")


def _stop(state: State, asked: Asked) -> Outcome:
    owing = state.mode is Mode.ACTIVE or state.park_owed is not None
    owed = None
    if state.restoring:
        why = cut_short(state.restoring)
        state = replace(state, mode=Mode.ADVISORY, advisory_until_said=True, why_advisory=why)
    elif owing and asked.command.value != "leave":
        owed = OwedPark(ParkFor.STOPPING, "stopping")
        state = left_active(state, now=asked.now)
    return Outcome(
        replace(state, lifecycle=Lifecycle.STOPPING, park_owed=owed, override=None, restoring=""),
        "stopping",
        event="stopping",
    )


Handler = Callable[[State, Asked], Outcome]

HANDLERS: dict[str, Handler] = {
    "pause": orders.pause,
    "resume": orders.resume,
    "override": orders.override,
    "cancel_override": orders.cancel_override,
    "drain": orders.drain,
    "cancel_drain": orders.cancel_drain,
    "park": orders.park,
    "restore": orders.restore,
    "mode": _mode,
    "settings": _settings,
    "overlay": overlay.put,
    "cancel_overlay": overlay.cancel,
    "originals_saved": _originals_saved,
    "low_water_saved": _low_water_saved,
    "schedule": scheduled.take,
    "stop": _stop,
    "worker_died": _worker_died,
    "suggest": optimising.suggest,
}
