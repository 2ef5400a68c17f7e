"""What has been said about the set-point's bounds, so that each is said once while it lasts."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct
from msgspec.structs import replace

from policies.setpoint import LOWEST, NOISE, STEP
from tuner.core.spell import Spell
from tuner.records import Event

SAID = frozenset({"recovery", "shutdown", "role", "dirty_pages", "lru", "free_pages", "redo_held"})
"""Bounds that are news when they decide; the others are everyday."""

OVER_SECONDS = 30.0
"""A bound that has not decided for so long is over."""

BUDGET_SECONDS = 300.0
"""What is said about a budget has been so for as long, and so has its end."""

SETTING = {"recovery": "max_recovery_seconds", "shutdown": "max_shutdown_seconds"}


class Announced(Struct, frozen=True):
    """What stands as said.

    Attributes:
        deciding: bounds said to decide, each with the time when it last did, seconds.
        wished: the set-point that a person asked for by then; None where nobody did.
        exceeded: for each budget whether it is said not to be kept.
    """

    deciding: tuple[tuple[str, float], ...] = ()
    wished: float | None = None
    exceeded: tuple[tuple[str, Spell], ...] = ()


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
        age_ratio: x; far below the set-point it says little about the budgets there.
        set_point: f in force.
        source: which bound or person decided it.
        wished: the set-point that a person asks for; None where nobody does.
        now: monotonic time, seconds.
        wall: Unix time, seconds.
    """
    state, events = _follow_deciding(state, set_point=set_point, source=source, now=now, wall=wall)
    before = dict(state.exceeded) if state.wished == wished else {}
    limit = min(LOWEST if wished is None else wished, age_ratio + NOISE)
    telling = age_ratio >= LOWEST - NOISE
    after = {
        name: before.get(name, Spell()).see(
            begins=telling and bound < limit,
            ends=telling and bound >= limit + STEP,
            now=now,
            seconds=BUDGET_SECONDS,
        )
        for name, bound in budgets.items()
    }
    events.extend(
        _exceeded(name, budgets[name], wished=wished, wall=wall)
        for name, spell in after.items()
        if spell.on and not before.get(name, Spell()).on
    )
    return replace(state, wished=wished, exceeded=tuple(after.items())), events


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


def _exceeded(name: str, bound: float, *, wished: float | None, wall: float) -> Event:
    """Return the event that says of a budget that it is not kept, and why."""
    if wished is None:
        message = (
            f"{SETTING[name]} cannot be kept even at the lowest set-point, {LOWEST:.2f}; "
            "less redo capacity or a larger budget would help"
        )
        return Event(wall=wall, code="budget_out_of_reach", message=message)
    message = (
        f"the set-point {wished:.2f} that a person asked for stands, although {SETTING[name]} is used up "
        f"at {max(0.0, bound):.2f}"
    )
    return Event(wall=wall, code="budget_overruled", message=message)
