"""What becomes of the wish that won: parks and restores that are owed, then its guards, then the SETs.

Which wish wins is in ``precedence``; no kind of decision gets past its row of ``writes.guards.TABLE``.
"""

from __future__ import annotations

from msgspec.structs import replace

from tuner.core.decide import emergency
from tuner.core.decide.precedence import Wanted, emergency_from, policy_of, relieved, wanted_now
from tuner.core.estimate.trends import AUTHORITY_LOST
from tuner.core.holds import barred_by_stranger, given_back
from tuner.core.leaving import lowwater, park_restore
from tuner.core.limits import bounds, floor, home_of
from tuner.core.ownership import transitions
from tuner.core.ownership.transitions import kept, written
from tuner.core.state import State
from tuner.core.writes import guards
from tuner.core.writes.plan import plan
from tuner.records import Capacity, Decision, DecisionKind, Estimate, Hold, Lifecycle, Reason, Sample
from tuner.settings import Mode

UNPAID_SECONDS = 60.0
"""A park that is owed on leaving active mode waits so long for a reading, then it is given up."""

TOO_LOW_SECONDS = 300.0
"""How long the policy goes no lower than a little above an M that an emergency found too low."""

BARS = frozenset({Reason.ADVISORY, Reason.HELD})  # Why nothing is written whatever is wanted


def decide(
    state: State, sample: Sample | None, holds: tuple[Hold, ...], *, now: float
) -> tuple[State, Decision]:
    """Return what this tick does; the steps are empty wherever nothing may be written."""
    if sample is None:
        missed = kept(state, None, Reason.MISSED, "no reading at this tick")
        return _unpaid(state, now=now), _barred(state, missed, holds)
    current = sample.capacity
    found = state.estimate
    mark = None if state.park_owed is not None else lowwater.due(state, sample, holds, now=now)
    if found is None:
        return _without_estimate(state, sample, mark, holds, now=now)
    if state.park_owed is not None:
        called = emergency.called_for(state, sample, found)
        needed = None if called is None else called.io_capacity_max
        return park_restore.park(state, state.park_owed, sample, holds, needed=needed, now=now)
    state, wanted = wanted_now(state, sample, found, now=now)
    urgent = wanted.kind is DecisionKind.EMERGENCY and _may_not_write(state, holds) is None
    if mark is not None and not urgent:
        return lowwater.write(state, sample, mark, now=now)
    if state.mode is Mode.ACTIVE and state.restoring and given_back(state, sample):
        return park_restore.restore(state, sample, now=now)
    return _carry_out(state, wanted, current, found, holds, now=now)


def _without_estimate(
    state: State, sample: Sample, mark: int | None, holds: tuple[Hold, ...], *, now: float
) -> tuple[State, Decision]:
    """Put a low-water mark back that is owed, as at a stop right after the park; else write nothing."""
    if mark is not None and lowwater.owed(state, now=now):
        return lowwater.write(state, sample, mark, now=now)
    blind = kept(state, sample.capacity, Reason.NO_ESTIMATE, "rates need a second good reading")
    return _unpaid(state, now=now), _barred(state, blind, holds)


def _carry_out(
    state: State,
    wanted: Wanted,
    current: Capacity,
    found: Estimate,
    holds: tuple[Hold, ...],
    *,
    now: float,
) -> tuple[State, Decision]:
    """Pass the winning wish through guards, mode and holds; plan its SETs when it gets through."""
    base = kept(state, current, wanted.reason, wanted.detail)
    base = replace(base, source=wanted.source, terms=wanted.terms, policy=policy_of(state).name)
    if wanted.kind is DecisionKind.KEEP:
        return state, _barred(state, base, holds)
    wish = _guarded(state, wanted, current, found, now=now)
    base = replace(base, guards=wish.touched)
    if wish.refused:
        base = replace(base, reason=wish.refused, detail=f"{wanted.detail}; {wish.detail}")
        return state, _barred(state, base, holds)
    target = wish.pair
    if target is None or target == current:
        return state, _barred(state, base, holds)
    if target == state.writes.adjusted and current == state.writes.own:
        base = replace(base, reason=Reason.ADJUSTED, detail=f"{wanted.detail}; the server makes this of it")
        return state, _barred(state, base, holds)
    last = state.estimator.last
    urgent = wanted.kind is DecisionKind.EMERGENCY
    passes = urgent and last is not None and barred_by_stranger(state, last, holds)
    why = _may_not_write(state, () if passes else holds)
    if why is not None:
        reason, detail = why
        return state, replace(base, reason=reason, detail=f"{detail}; would: {wanted.detail}", would=target)
    raised_from = emergency_from(state, current)
    back = guards.leads_back(raised_from, current, target.io_capacity_max)
    counts = wanted.kind in {DecisionKind.DRAIN, DecisionKind.RELIEF} or (
        wanted.kind is DecisionKind.SET and not back
    )
    pays = counts and wanted.kind is not DecisionKind.DRAIN and state.returning is None
    if back and wanted.kind is DecisionKind.SET:
        base = replace(base, reason=Reason.WAY_BACK)
    state = written(state, target, now=now, counts=counts, pays=pays)
    state = _after_emergency(state, wanted, current, target, before=raised_from, now=now)
    if wanted.kind is DecisionKind.EMERGENCY:
        state = transitions.end_override(state)
    if wanted.relief is not None:
        state = relieved(state, wanted.relief, current, found, now=now)
    if wanted.kind in {DecisionKind.SET, DecisionKind.RELIEF} and state.returning is None:
        state = replace(state, policy=policy_of(state).wrote(state.policy, target.io_capacity_max))
    return state, replace(base, kind=wanted.kind, target=target, steps=plan(current, target))


def _after_emergency(
    state: State, wanted: Wanted, current: Capacity, target: Capacity, *, before: int, now: float
) -> State:
    """Note where an emergency came from, and that an M of ours was too low, until M is back."""
    writes = state.writes
    too_low, until = writes.too_low, writes.too_low_until
    if wanted.kind is DecisionKind.EMERGENCY:
        low = current.io_capacity_max
        if before == 0 and writes.own == current:
            too_low, until = low, now + TOO_LOW_SECONDS
        return transitions.raised(state, raised_from=before or low, too_low=too_low, too_low_until=until)
    on_its_way = guards.back_to(before) < target.io_capacity_max < current.io_capacity_max
    back = before if wanted.kind is DecisionKind.SET and on_its_way else 0
    if wanted.kind is DecisionKind.RELIEF:
        too_low = 0
    return transitions.raised(state, raised_from=back, too_low=too_low, too_low_until=until)


def _too_low(state: State, *, now: float) -> int:
    writes = state.writes
    if state.settings.policy == "fixed" or now >= writes.too_low_until:
        return 0
    return round(guards.RETURN_MARGIN * writes.too_low)


def _guarded(state: State, wanted: Wanted, current: Capacity, found: Estimate, *, now: float) -> guards.Wish:
    wish = guards.Wish(kind=wanted.kind, io_capacity_max=wanted.io_capacity_max)
    lowest, highest = bounds(state)
    in_force = current.io_capacity_max
    floors = (floor(state, in_force), _too_low(state, now=now))
    least = min(max(floors), in_force) if wanted.kind is DecisionKind.SET else 0
    context = guards.GuardContext(
        now=now,
        settings=state.settings,
        current=current,
        lowest=min(highest, max(lowest, least)),
        highest=highest,
        last_write=state.writes.last,
        changes=len(state.writes.counted),
        authority=found.authority,
        sustained_capacity=None if _named(state, wanted) else _given(state, wanted, found),
        demand=found.demand,
        coupling=found.coupling,
        home=home_of(state, current),
        floor=least,
        raised_from=emergency_from(state, current),
        reserved=state.relief.reserved(now=now),
        sync_stalls=state.facts.sync_stalls,
    )
    return guards.guard(wish, context)


def _named(state: State, wanted: Wanted) -> bool:
    """Tell whether a person has named this M in the configuration: then the device does not bound it."""
    return wanted.kind is DecisionKind.SET and state.settings.policy == "fixed"


def _given(state: State, wanted: Wanted, found: Estimate) -> float | None:
    """Return what the device gives at most, pages/s; while a backup slows it that is less than D.

    It bounds a policy as long as there is evidence of it, a drain only while the device is the limit.
    """
    if found.authority >= AUTHORITY_LOST or found.flush_rate <= 0.0:
        minds = wanted.kind is not DecisionKind.DRAIN and state.estimator.trends.shown
        return found.sustained_capacity if minds else None
    return min(found.flush_rate, found.sustained_capacity or found.flush_rate)


def _may_not_write(state: State, holds: tuple[Hold, ...]) -> tuple[Reason, str] | None:
    if state.mode is not Mode.ACTIVE:
        return Reason.ADVISORY, "advisory mode writes nothing"
    if state.lifecycle is Lifecycle.STOPPING:
        return Reason.STOPPING, "nobody would look after a change any more"
    if holds:
        return Reason.HELD, "; ".join(f"{hold.code.value}: {hold.reason}" for hold in holds)
    if state.originals is None or not state.originals.saved:
        return Reason.ORIGINALS_PENDING, "originals are not on disk yet"
    return None


def _barred(state: State, base: Decision, holds: tuple[Hold, ...]) -> Decision:
    """Return a decision to write nothing as what it is where nothing could be written either.

    What is decided about a pace or a dead band would read there as if a write were coming.
    """
    why = _may_not_write(state, holds)
    if why is None or why[0] not in BARS:
        return base
    reason, detail = why
    return replace(base, reason=reason, detail=f"{detail}; would keep M ({base.reason}): {base.detail}")


def _unpaid(state: State, *, now: float) -> State:
    """Keep a park that is owed on leaving active mode and cannot be done now, but for a minute at most.

    Advisory mode writes nothing, and whoever asked for it long ago does not expect a write any more.
    """
    if state.mode is not Mode.ADVISORY or state.park_owed is None:
        return state
    return transitions.park_waits(state, now=now, longest=UNPAID_SECONDS)


def given_up(state: State, sample: Sample | None) -> str:
    """Return in words that a park is given up, why, and what stays in force as far as that is known."""
    why = "the server does not answer" if sample is None else "its readings give no estimate"
    pair = state.writes.expected if sample is None else sample.capacity
    left = "what is in force is unknown" if pair is None else f"{pair} is in force"
    return f"not parked: {why}; {left}"
