"""Settings that a person puts over the configuration's, none of them bolder than the file allows.

The set-point is free inside its own bounds, since budgets and caps go before it. Everything else may be
stricter than the file and never laxer. An overlay ends with the daemon: the file alone outlives it.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
from msgspec.structs import replace

from tuner.core.commands.context import CommandContext, Outcome, refused
from tuner.core.laws import decide_afresh
from tuner.core.limits import contradiction
from tuner.core.state import State
from tuner.records import Facts, Overlay
from tuner.settings import Settings

AT_LEAST = frozenset({"min_io_capacity_max", "dwell_seconds"})  # May be raised above the file's

AT_MOST = frozenset(
    {
        "max_io_capacity_max",
        "max_changes_per_hour",
        "max_checkpoint_age_ratio",
        "max_recovery_seconds",
        "max_shutdown_seconds",
    }
)
"""May be lowered below the file's; a budget may be set where the file has none."""

NAMES = frozenset({"set_point"}) | AT_LEAST | AT_MOST
ENDS = "until it is cancelled or the daemon ends; a restart goes back to the file"


def configured(state: State) -> Settings:
    """Return the settings without the overlay."""
    return state.settings if state.configured is None else state.configured


def put(state: State, context: CommandContext) -> Outcome:
    """Change some settings of the overlay; None takes one out of it."""
    base = configured(state)
    before = {} if state.overlay is None else state.overlay.values
    changes = context.command.overlay or {}
    values = {name: value for name, value in {**before, **changes}.items() if value is not None}
    if values == before:
        return Outcome(state, "settings unchanged")
    try:
        settings = laid_over(base, values, state.facts)
    except ValueError as error:
        return refused(state, str(error))
    said = _said(state.settings, settings, base)
    overlay = Overlay(values, who=context.command.who, since=context.now) if values else None
    state = adopt(state, settings, configured=base, overlay=overlay)
    return Outcome(state, f"{said}; {ENDS}" if values else f"{said}; as the file has it", event="overlay")


def cancel(state: State, context: CommandContext) -> Outcome:  # noqa: ARG001 - a handler's signature
    """Go back to the configuration's settings."""
    if state.overlay is None:
        return refused(state, "no setting was changed; all are as in the file")
    base = configured(state)
    said = _said(state.settings, base, base)
    return Outcome(
        adopt(state, base, configured=None, overlay=None),
        f"{said}; as the file has it",
        event="overlay_cancelled",
    )


def adopt(state: State, settings: Settings, *, configured: Settings | None, overlay: Overlay | None) -> State:
    """Return the state with other settings in force; what was derived from the old ones is derived anew."""
    before = state.settings
    if settings.policy != before.policy or settings.fixed_io_capacity_max != before.fixed_io_capacity_max:
        state = decide_afresh(state)
    return replace(
        state,
        settings=settings,
        configured=configured if overlay is not None else None,
        overlay=overlay,
        set_point=None,
        park_target=None,
    )


def over(state: State, base: Settings) -> tuple[Settings, Overlay | None, str]:
    """Return what is in force over another configuration: settings, overlay, and what had to go."""
    if state.overlay is None:
        return base, None, ""
    kept: dict[str, float] = {}
    gone: list[str] = []
    settings = base
    for name, value in state.overlay.values.items():
        try:
            settings = laid_over(base, {**kept, name: value}, state.facts)
        except ValueError as error:
            gone.append(str(error))
        else:
            kept[name] = value
    overlay = replace(state.overlay, values=kept) if kept else None
    return settings, overlay, "; ".join(gone)


def laid_over(base: Settings, values: Mapping[str, float], facts: Facts) -> Settings:
    """Return settings with some of them replaced.

    Raises:
        ValueError: one that cannot be changed, a value out of its bounds or laxer than the base's, or two
            that contradict each other, or leave no M on this server where the base leaves one.
    """
    unknown = sorted(set(values) - NAMES)
    if unknown:
        raise ValueError(
            f"{unknown[0]} cannot be changed while the daemon runs; these can: {', '.join(sorted(NAMES))}"
        )
    for name, value in values.items():
        limit = getattr(base, name)
        if name in AT_MOST and limit is not None and value > limit:
            raise ValueError(f"{name} {value:g} is above the file's {limit:g}; it may only be lowered")
        if name in AT_LEAST and value < limit:
            raise ValueError(f"{name} {value:g} is below the file's {limit:g}; it may only be raised")
    try:
        made = msgspec.convert({**msgspec.to_builtins(base), **values}, Settings)
    except msgspec.ValidationError as error:
        raise ValueError(str(error)) from error
    _check_limits(made)
    if (why := contradiction(made, facts)) and not contradiction(base, facts):
        raise ValueError(f"{why}; no limit was changed")
    return made


def _check_limits(made: Settings) -> None:
    lowest, highest, ratio = made.min_io_capacity_max, made.max_io_capacity_max, made.ratio or 1
    if lowest > highest:
        raise ValueError(f"min_io_capacity_max {lowest} would be above max_io_capacity_max {highest}")
    if highest // ratio * ratio < lowest:
        raise ValueError(f"no multiple of ratio {ratio} would be between {lowest} and {highest}")
    if made.policy == "fixed" and not lowest <= made.fixed_io_capacity_max <= highest:
        raise ValueError(
            f"fixed_io_capacity_max {made.fixed_io_capacity_max} would be outside of {lowest} to {highest}"
        )


def _said(before: Settings, after: Settings, base: Settings) -> str:
    """Return what changes, old → new, with the file's value where that is a third one."""
    parts = []
    for name in sorted(NAMES):
        old, new, file = getattr(before, name), getattr(after, name), getattr(base, name)
        if old != new:
            third = f" (the file has {_shown(name, file)})" if file not in {old, new} else ""
            parts.append(f"{name} {_shown(name, old)} → {_shown(name, new)}{third}")
    return ", ".join(parts)


def _shown(name: str, value: float | None) -> str:
    if value is None:
        return "derived" if name == "set_point" else "none"
    return f"{value:.10g}"
