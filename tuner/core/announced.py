"""What has been said about the set-point's bounds, so that each is said once while it lasts."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct
from msgspec.structs import replace

from policies.setpoint import LOWEST, NOISE, STEP
from tuner.records import Event

SAID = frozenset({"recovery", "shutdown", "role", "dirty_pages", "lru", "free_pages", "redo_held"})
"""Bounds that are news when they decide; the others are everyday."""

OVER_SECONDS = 30.0
"""A bound that has not decided for so long is over."""

SETTING = {"recovery": "max_recovery_seconds", "shutdown": "max_shutdown_seconds"}


class Announced(Struct, frozen=True):
    """What stands as said.

    Attributes:
        deciding: bounds said to decide, each with the time when it last did, seconds.
        out_of_reach: budgets said not to be kept even at the lowest set-point.
        overruled: budgets said to give way to a person's set-point.
    """

    deciding: tuple[tuple[str, float], ...] = ()
    out_of_reach: tuple[str, ...] = ()
    overruled: tuple[str, ...] = ()


def update(
    state: Announced,
    budgets: Mapping[str, float],
    *,
    age_ratio: float,
    set_point: float,
    source: str,
    wished: float | None,
    now: float,
    wall: float,
) -> tuple[Announced, list[Event]]:
    """Return what is said by now, and the events that say it.

    Args:
        state: what was said before.
        budgets: age ratios at which each budget is used up.
        age_ratio: x; what is not used up there may not be farther up either.
        set_point: f in force.
        source: which bound or person decided it.
        wished: the set-point that a person asks for; None where nobody does.
        now: monotonic time, seconds.
        wall: Unix time, seconds.
    """
    state, events = _follow_deciding(state, set_point=set_point, source=source, now=now, wall=wall)
    reached = age_ratio + NOISE
    out = _beyond(budgets, min(LOWEST, reached), state.out_of_reach)
    over = () if wished is None else _beyond(budgets, min(wished, reached), state.overruled)
    events.extend(
        Event(
            wall=wall,
            code="budget_out_of_reach",
            message=f"{SETTING[name]} cannot be kept even at the lowest set-point, {LOWEST:.2f}; "
            "less redo capacity or a larger budget would help",
        )
        for name in out
        if name not in state.out_of_reach and wished is None
    )
    events.extend(
        Event(
            wall=wall,
            code="budget_overruled",
            message=f"the set-point {wished:.2f} that a person asked for stands, although "
            f"{SETTING[name]} is used up at {max(0.0, budgets[name]):.2f}",
        )
        for name in over
        if name not in state.overruled
    )
    return replace(state, out_of_reach=out, overruled=over), events


def _follow_deciding(
    state: Announced, *, set_point: float, source: str, now: float, wall: float
) -> tuple[Announced, list[Event]]:
    deciding, events = dict(state.deciding), []
    if source in SAID:
        if source not in deciding:
            message = f"the set-point is bounded by {source}: {set_point:.3f}"
            events.append(Event(wall=wall, code=f"bound_{source}", message=message))
        deciding[source] = now
    for name, at in state.deciding:
        if name != source and now - at >= OVER_SECONDS:
            del deciding[name]
            message = f"the set-point is no longer bounded by {name}: {set_point:.3f} by {source}"
            events.append(Event(wall=wall, code=f"unbound_{name}", message=message))
    return replace(state, deciding=tuple(deciding.items())), events


def _beyond(budgets: Mapping[str, float], ratio: float, said: tuple[str, ...]) -> tuple[str, ...]:
    """Return the budgets used up below a ratio; one that was said stays until it is clear of it."""
    return tuple(name for name, bound in budgets.items() if bound < (ratio + STEP if name in said else ratio))
