"""What has been said about the set-point's bounds, so that each is said once while it lasts."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from msgspec import Struct
from msgspec.structs import replace

from policies.setpoint import LOWEST, NOISE, STEP, SetPointSource
from tuner.core.setpoint.budgets import KEYS, Budget
from tuner.core.setpoint.debounce import Debounced
from tuner.records import Event
from tuner.system.amounts import share

NEWS = frozenset(
    {SetPointSource.RECOVERY, SetPointSource.SHUTDOWN, SetPointSource.ROLE, SetPointSource.FREE_PAGES}
)
"""Bounds that are news when they decide; the others are everyday."""

DECIDED_BY: Mapping[str, str] = MappingProxyType(
    {
        SetPointSource.PERSON: "set by a person",
        SetPointSource.SCHEDULE: "set by the schedule",
        SetPointSource.OPTIMISER: "set by the optimiser",
        SetPointSource.HEADROOM: "leaves room for this load's bursts",
        SetPointSource.ALARM: "limited by max_checkpoint_age_ratio",
        SetPointSource.HIGHEST: "the highest there is",
        SetPointSource.RECOVERY: "limited by max_recovery_seconds",
        SetPointSource.SHUTDOWN: "limited by max_shutdown_seconds",
        SetPointSource.DEGRADED: "lower because InnoDB's counters are off",
        SetPointSource.FLUSH_LAW: "limited by the server's flush law",
        SetPointSource.FREE_PAGES: "lower because sessions wait for free pages",
        SetPointSource.ROLE: "limited by max_replica_set_point",
    }
)
"""What decides the set-point, in words."""

OVER_SECONDS = 30.0  # A bound that has not decided for so long is over

BUDGET_SECONDS = 300.0
"""What is said about a budget on the way to the set-point has been so for as long, and so has its end."""

SOON = 10.0
"""The same once the age is where the set-point wants it, or lower: it will not become less by itself."""


class Announced(Struct, frozen=True):
    """What stands as said."""

    # bounds said to decide, each with the time when it last did, seconds
    deciding: tuple[tuple[str, float], ...] = ()
    # the set-point that was asked for by then, None where nobody did, and the budgets
    asked: tuple[float | None, ...] = ()
    exceeded: tuple[tuple[str, Debounced], ...] = ()  # for each budget whether it is said not to be kept
    unkept: tuple[str, ...] = ()  # of those that are, what would keep them, in words, as of the last reading
    # for each budget whether the lowest set-point does not keep it, so that it bounds nothing
    dropped: tuple[tuple[str, Debounced], ...] = ()


def update(
    state: Announced,
    budgets: Mapping[str, Budget],
    *,
    age_ratio: float,
    set_point: float,
    source: SetPointSource | None,
    wished: tuple[float, str] | None,
    now: float,
) -> tuple[Announced, list[Event]]:
    """Return what is said by now, and the events that say it.

    Args:
        age_ratio: x; far below the set-point it says little about the budgets there.
        source: which bound, person or window decided it.
        wished: the set-point that a person or the schedule asks for, and who; None where nobody does.
    """
    wanted, who = (None, "") if wished is None else wished
    deciding, events = _follow_deciding(state, set_point=set_point, source=source, who=who, now=now)
    asked = (wanted, *(one.allowed for one in budgets.values()))
    before = dict(state.exceeded) if state.asked == asked else {}
    unkept: list[str] = []
    after: list[tuple[str, Debounced]] = []
    for name, one in budgets.items():
        was = before.get(name, Debounced())
        aim = max(LOWEST, one.baseline) if wanted is None else wanted
        seen = _see(was, one, age_ratio=age_ratio, aim=aim, now=now)
        if seen.on:
            event = _exceeded(name, one, wished=wished, set_point=set_point)
            unkept += [event.message] if wished is not None or not one.kept else []
            events += [] if was.on else [event]
        after.append((name, seen))
    told = Announced(deciding, asked, exceeded=tuple(after), unkept=tuple(unkept), dropped=state.dropped)
    return told, events


def drop(state: Announced, budgets: Mapping[str, Budget], *, now: float) -> Announced:
    """Return which budgets bound nothing: those that no set-point keeps, for minutes or by far."""
    if not budgets and not state.dropped:
        return state
    before = dict(state.dropped)
    after = [
        (
            name,
            before.get(name, Debounced()).see(
                begins=not one.in_reach,
                ends=one.near,
                now=now,
                seconds=0.0 if one.far and not before.get(name, Debounced()).on else BUDGET_SECONDS,
            ),
        )
        for name, one in budgets.items()
    ]
    return replace(state, dropped=tuple(after))


def _see(was: Debounced, budget: Budget, *, age_ratio: float, aim: float, now: float) -> Debounced:
    there = budget.exceeded and age_ratio <= aim + NOISE
    far = budget.exceeded and budget.far
    telling = age_ratio >= LOWEST - NOISE
    limit = min(aim, age_ratio + NOISE)
    return was.see(
        begins=far or (there and budget.ratio < aim) or (telling and budget.ratio < limit),
        ends=telling and budget.ratio >= limit + STEP,
        now=now,
        seconds=SOON if (there or far) and not was.on else BUDGET_SECONDS,
    )


def _follow_deciding(
    state: Announced, *, set_point: float, source: SetPointSource | None, who: str, now: float
) -> tuple[tuple[tuple[str, float], ...], list[Event]]:
    """Return the bounds that stand as said to decide, and the events that say what is new."""
    if source not in NEWS and not state.deciding:
        return (), []
    deciding, events = dict(state.deciding), []
    if source is not None and source in NEWS:
        if source not in deciding:
            message = f"the set-point is now {share(set_point)}: {DECIDED_BY[source]}"
            events.append(Event(code=f"bound_{source}", message=message))
        deciding[source] = now
    for name, at in state.deciding:
        if name != source and now - at >= OVER_SECONDS:
            del deciding[name]
            how = who
            if source is not SetPointSource.SCHEDULE:
                how = DECIDED_BY.get(source, source) if source else "nothing bounds it"
            message = (
                f"the set-point is now {share(set_point)}: {how}. No longer: {DECIDED_BY.get(name, name)}"
            )
            events.append(Event(code=f"unbound_{name}", message=message))
    return tuple(deciding.items()), events


def _exceeded(name: str, budget: Budget, *, wished: tuple[float, str] | None, set_point: float) -> Event:
    """Return the event that says of a budget that it is not kept, by how much, and what would be right."""
    key, now, least = KEYS[name], budget.figures(name), budget.right(name, set_point=set_point)
    if wished is None:
        how = "cannot be kept" if not budget.in_reach else "is not kept"
        code = "budget_not_kept" if budget.in_reach else "budget_out_of_reach"
        return Event(code=code, message=f"{key} {how}: {now}; {least}")
    ratio, who = wished
    whose = "" if who == "person" else f" of {who}"
    in_force = "" if set_point == ratio else f" ({set_point:.2f} in force)"
    held = f"set_point = {ratio:g}{whose} counts{in_force}"
    right = f"a set_point of at most {budget.ratio:.2f} keeps it" if budget.in_reach else least
    message = f"{held} and {key} is not kept: {now}; {right}"
    return Event(code="budget_overruled", message=message)
