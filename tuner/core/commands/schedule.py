"""What the active windows of the schedule change: set-point and budgets.

Which windows are active comes in as a command, since it is a matter of the wall clock; what they ask for is
weighed here, and beside a person's word in ``setpoint.choose`` and ``decide.drain``.
"""

from __future__ import annotations

from msgspec.structs import replace

from tuner.core.commands.context import CommandContext, Outcome
from tuner.core.state import State
from tuner.records import Event, Window, effects, winners
from tuner.records.window import said
from tuner.settings import Settings

BUDGETS = {"recovery": "max_recovery_seconds", "shutdown": "max_shutdown_seconds"}
"""Which effect is which budget's."""


def take(state: State, context: CommandContext) -> Outcome:
    """Note which windows are active; what a person said about one that stays so is kept."""
    before = {one.name: one for one in state.schedule}
    windows = tuple(_as_it_was(before.get(one.name), one) for one in context.command.windows)
    names = ", ".join(one.name for one in windows) or "none"
    return Outcome(replace(state, schedule=windows), f"active windows of the schedule: {names}")


def changes(before: tuple[Window, ...], after: tuple[Window, ...], *, wall: float) -> list[Event]:
    """Return the events that say which windows ended and began; one whose effects changed does both."""
    if before == after:
        return []
    ended = [one for one in before if not any(_same(one, other) for other in after)]
    begun = [one for one in after if not any(_same(one, other) for other in before)]
    deciding = winners(after)
    return [
        *(
            Event(code="schedule_ends", message=f"{one.who} ends: {_listed(one)}", who=one.who)
            for one in ended
        ),
        *(
            Event(
                code="schedule_begins",
                message=f"{one.who} begins, for {(one.ends - wall) / 60.0:.0f} minutes: {_listed(one)}"
                f"{_overruled(one, deciding)}",
                who=one.who,
            )
            for one in begun
        ),
    ]


def settings_of(settings: Settings, windows: tuple[Window, ...]) -> Settings:
    """Return the settings with the budgets that active windows put in their place."""
    if not windows:
        return settings
    deciding = winners(windows)
    changed = {name: getattr(deciding[name], name) for name in BUDGETS.values() if name in deciding}
    return replace(settings, **changed) if changed else settings


def _as_it_was(before: Window | None, now: Window) -> Window:
    if before is None or not _same(before, now):
        return now
    return replace(now, drain_off=before.drain_off, drain_waits=before.drain_waits)


def _same(one: Window, other: Window) -> bool:
    return one.name == other.name and effects(one) == effects(other)


def _listed(window: Window) -> str:
    return ", ".join(said(effect, value) for effect, value in effects(window).items())


def _overruled(window: Window, deciding: dict[str, Window]) -> str:
    """Return which of a window's effects do not count, and beside whose; empty where all do."""
    lost = [
        f"{effect} comes from {deciding[effect].who}"
        for effect, value in effects(window).items()
        if getattr(deciding[effect], effect) != value
    ]
    return "; ".join(["", *lost])
