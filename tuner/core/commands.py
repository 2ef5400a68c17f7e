"""What people, signals and parts of the daemon ask, carried into the state or refused with the reason."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct
from msgspec.structs import replace

from tuner.core.holds import not_writer
from tuner.core.state import Override, State, Writes
from tuner.records import Acknowledgement, Capacity, Command, Event, Hold, HoldCode, Lifecycle, Sample
from tuner.settings import Mode

PERSON = "parked by "
"""How a park begins that a person asked for: it is owed whoever made the values in force."""

ADVISORY = "the mode is advisory, which writes nothing; innobrim mode active changes that"
"""Why override, park and restore are refused in advisory mode."""


class Outcome(Struct, frozen=True):
    """The state after a command, and what to say about it.

    Attributes:
        state: the next state.
        message: what happened or why it was refused.
        accepted: False leaves the state as it was.
        event: code of the event to record; empty for none.
    """

    state: State
    message: str
    accepted: bool = True
    event: str = ""


class Asked(Struct, frozen=True):
    """A command and what it may look at.

    Attributes:
        command: who asks what.
        sample: this tick's reading, None when it was missed.
        now: monotonic time, seconds.
    """

    command: Command
    sample: Sample | None
    now: float


def originals_name(identity: str, capacity: Capacity) -> str:
    """Return how ``originals_saved`` names a pair: news of one server's must not pass for another's."""
    return f"{identity} {capacity.io_capacity}/{capacity.io_capacity_max}"


def carry_out(state: State, asked: Asked, *, wall: float) -> tuple[State, Acknowledgement, tuple[Event, ...]]:
    """Apply one command; never raises."""
    command = asked.command
    handler = HANDLERS.get(command.name)
    outcome = handler(state, asked) if handler else _refused(state, f"no command is called {command.name!r}")
    events: tuple[Event, ...] = ()
    if outcome.event:
        said = f"{outcome.message}: {command.reason}" if command.reason else outcome.message
        events = (Event(wall=wall, code=outcome.event, message=said, who=command.who),)
    answer = Acknowledgement(number=command.number, accepted=outcome.accepted, message=outcome.message)
    return outcome.state, answer, events


def _refused(state: State, why: str) -> Outcome:
    return Outcome(state, why, accepted=False)


def _pause(state: State, asked: Asked) -> Outcome:
    if state.latches.paused is not None:
        return _refused(state, f"already paused: {state.latches.paused.reason}")
    reason = f"paused by {asked.command.who}" + (f": {asked.command.reason}" if asked.command.reason else "")
    hold = Hold(code=HoldCode.PAUSED, since=asked.now, reason=reason, clears="innobrim resume")
    state = replace(state, latches=replace(state.latches, paused=hold), override=None, restoring="")
    return Outcome(state, "paused; hands off until resumed", event="paused")


def _resume(state: State, asked: Asked) -> Outcome:
    latches = state.latches
    if latches.paused is None and latches.foreign is None and latches.refused is None:
        return _refused(state, "nothing to resume: not paused, and no hold waits for a person")
    cleared = [
        hold.code.value for hold in (latches.paused, latches.foreign, latches.refused) if hold is not None
    ]
    expected = asked.sample.capacity if asked.sample is not None else None
    own = state.writes.own if state.writes.own == expected else None
    state = replace(
        state,
        latches=replace(latches, paused=None, foreign=None, refused=None),
        writes=replace(state.writes, expected=expected, own=own, failures=0),
        park_owed="",
    )
    return Outcome(state, f"resumed; cleared {', '.join(cleared)}", event="resumed")


def _override(state: State, asked: Asked) -> Outcome:
    command, settings = asked.command, state.settings
    wanted, ttl = command.value, command.ttl
    if not isinstance(wanted, int) or ttl is None or not ttl > 0:
        return _refused(state, "an override needs io_capacity_max (pages/s) and a time to live (seconds)")
    if state.mode is not Mode.ACTIVE:
        return _refused(state, ADVISORY)
    if state.holds:
        held = "; ".join(f"{hold.code.value}: {hold.reason}" for hold in state.holds)
        return _refused(state, f"held ({held}); a hold permits no override")
    low, high = settings.min_io_capacity_max, settings.max_io_capacity_max
    if not low <= wanted <= high:
        return _refused(state, f"io_capacity_max {wanted} is outside the limits {low} to {high}")
    override = Override(io_capacity_max=wanted, ends=asked.now + ttl, who=command.who)
    return Outcome(
        replace(state, override=override, restoring=""),
        f"override to {wanted} for {ttl:.0f} s",
        event="override",
    )


def _cancel_override(state: State, asked: Asked) -> Outcome:  # noqa: ARG001 - a handler's signature
    if state.override is None:
        return _refused(state, "no override is in force")
    message = f"override to {state.override.io_capacity_max} cancelled"
    return Outcome(replace(state, override=None), message, event="override_cancelled")


def _park(state: State, asked: Asked) -> Outcome:
    why = _cannot_write(state, asked)
    if why:
        return _refused(state, why)
    if state.park_target is None:
        return _refused(state, "no estimate yet, so no parked setting is known")
    hold = Hold(
        code=HoldCode.PAUSED,
        since=asked.now,
        reason=f"parked by {asked.command.who}",
        clears="innobrim resume",
    )
    state = replace(
        state,
        latches=replace(state.latches, paused=hold),
        park_owed=f"{PERSON}{asked.command.who}",
        override=None,
        restoring="",
    )
    pair = state.park_target
    assert pair is not None  # noqa: S101 - checked above; tells the type checker
    return Outcome(
        state, f"parking at {pair.io_capacity}/{pair.io_capacity_max}; hands off until resumed", event="park"
    )


def _restore(state: State, asked: Asked) -> Outcome:
    why = _cannot_write(state, asked)
    if why == ADVISORY:
        return _refused(state, f"{why}, or stop the daemon and use innobrim restore without it")
    if why:
        return _refused(state, why)
    assert state.originals is not None  # noqa: S101 - checked above; tells the type checker
    pair = state.originals.capacity
    state = replace(state, restoring=asked.command.who, override=None, park_owed="")
    return Outcome(
        state,
        f"restoring {pair.io_capacity}/{pair.io_capacity_max} in steps; advisory when done",
        event="restore",
    )


def _cannot_write(state: State, asked: Asked) -> str:
    if state.mode is not Mode.ACTIVE:
        return ADVISORY
    if asked.sample is None:
        return "the server does not answer"
    bars = not_writer(state, asked.sample)
    if bars:
        return "; ".join(f"{reason}; cleared by {clears}" for reason, clears in bars)
    if state.latches.refused is not None:
        return f"{state.latches.refused.reason}; innobrim resume when that is mended"
    if state.originals is None or not state.originals.saved:
        return "the originals are not on disk yet, and nothing is written before they are"
    return ""


def _mode(state: State, asked: Asked) -> Outcome:
    try:
        mode = Mode(str(asked.command.value))
    except ValueError:
        return _refused(state, f"mode {asked.command.value!r} is not one of: {', '.join(Mode)}")
    return Outcome(
        change_mode(state, mode), f"mode {state.mode} → {mode}", event="mode" if mode != state.mode else ""
    )


def change_mode(state: State, mode: Mode) -> State:
    """Return the state in another mode; what is owed on leaving active is owed here."""
    state = replace(state, advisory_until_said=mode is Mode.ADVISORY)
    if mode is state.mode:
        return state
    if mode is Mode.ADVISORY:
        held = any(hold.code is not HoldCode.STALE for hold in state.holds)
        owed = "leaving active mode" if state.writes.own is not None and not held else ""
        return replace(state, mode=mode, park_owed=owed, override=None, restoring="")
    writes = Writes(last=state.writes.last, counted=state.writes.counted)
    return replace(state, mode=mode, writes=writes, park_owed="")


def _settings(state: State, asked: Asked) -> Outcome:
    settings = asked.command.settings
    if settings is None:
        return _refused(state, "no settings were given")
    before = state.settings
    if settings == before:
        return Outcome(state, "settings unchanged")
    if settings.policy != before.policy or settings.fixed_io_capacity_max != before.fixed_io_capacity_max:
        state = replace(state, policy=None)
    changed = [
        name for name in settings.__struct_fields__ if getattr(settings, name) != getattr(before, name)
    ]
    said = ", ".join(f"{name} {getattr(before, name)} → {getattr(settings, name)}" for name in changed)
    state = replace(state, settings=settings, set_point=None, park_target=None)
    if settings.mode is not before.mode:
        state = change_mode(state, settings.mode)
    return Outcome(state, f"settings changed: {said}", event="settings")


def _originals_saved(state: State, asked: Asked) -> Outcome:
    if state.originals is None or state.originals.saved:
        return Outcome(state, "no originals were waiting")
    about, waiting = asked.command.value, originals_name(state.facts.identity, state.originals.capacity)
    if about is not None and about != waiting:
        return _refused(state, f"{about} is on disk, and {waiting} is waited for")
    return Outcome(
        replace(state, originals=replace(state.originals, saved=True)),
        "originals are on disk",
        event="originals_saved",
    )


def _stop(state: State, asked: Asked) -> Outcome:
    owed = "stopping" if state.mode is Mode.ACTIVE and asked.command.value != "leave" else ""
    if state.restoring:
        state, owed = replace(state, mode=Mode.ADVISORY, advisory_until_said=True), ""
    return Outcome(
        replace(state, lifecycle=Lifecycle.STOPPING, park_owed=owed, override=None, restoring=""),
        "stopping",
        event="stopping",
    )


Handler = Callable[[State, Asked], Outcome]

HANDLERS: dict[str, Handler] = {
    "pause": _pause,
    "resume": _resume,
    "override": _override,
    "cancel_override": _cancel_override,
    "park": _park,
    "restore": _restore,
    "mode": _mode,
    "settings": _settings,
    "originals_saved": _originals_saved,
    "stop": _stop,
}
