"""What becomes of the wish that won: its guards, then whether anything may be written, then the SETs.

Which wish wins is in ``precedence``; no kind of decision gets past its row of ``writes.guards.TABLE``.
"""

from __future__ import annotations

from msgspec.structs import replace

from tuner.core.decide.wishes import Wish, emergency_from, policy_of, relieved
from tuner.core.estimate.trends import AUTHORITY_LOST
from tuner.core.holds import barred_by_stranger, listed
from tuner.core.leaving import park
from tuner.core.limits import bounds, floor, home_of
from tuner.core.ownership import transitions
from tuner.core.ownership.transitions import kept, written
from tuner.core.state import State
from tuner.core.writes import guards
from tuner.core.writes.lowest import TOO_LOW_SECONDS
from tuner.core.writes.plan import plan
from tuner.records import Capacity, Decision, DecisionKind, Estimate, Lifecycle, Reason
from tuner.settings import Mode

"""How long the policy goes no lower than a little above an M that an emergency found too low."""

BARS = frozenset({Reason.ADVISORY, Reason.HELD})  # Why nothing is written whatever is wanted


def nothing(state: State, base: Decision, *, now: float) -> tuple[State, Decision]:
    """Return the decision of a tick at which the rates are not known; a park that is owed goes on waiting."""
    return park.await_rates(state, now=now), barred(state, base)


def guard_and_plan(
    state: State,
    wish: Wish,
    current: Capacity,
    estimate: Estimate,
    *,
    now: float,
) -> tuple[State, Decision]:
    """Pass the winning wish through guards, mode and holds; plan its SETs when it gets through."""
    base = kept(state, current, wish.reason, wish.detail)
    base = replace(base, source=wish.source, terms=wish.terms, policy=policy_of(state).name)
    if wish.kind is DecisionKind.KEEP:
        return state, barred(state, base)
    guarded = _guarded(state, wish, current, estimate, now=now)
    terms = {**wish.terms, "wanted": wish.io_capacity_max}
    base = replace(base, guards=guarded.touched, terms=terms)
    if guarded.refused:
        base = replace(base, reason=guarded.refused, detail=f"{wish.detail}; {guarded.detail}")
        return state, barred(state, base)
    target = guarded.pair
    if target is None or target == current:
        return state, barred(state, base)
    if target == state.writes.adjusted and current == state.writes.own:
        base = replace(
            base,
            reason=Reason.ADJUSTED,
            detail=f"{wish.detail}; the server turns that into the pair in force",
        )
        return state, barred(state, base)
    last = state.estimator.last
    urgent = wish.kind is DecisionKind.EMERGENCY
    passes = urgent and last is not None and barred_by_stranger(state, last)
    why = may_not_write(state, despite_holds=passes)
    if why is not None:
        reason, detail = why
        return state, replace(base, reason=reason, detail=f"{detail}; otherwise: {wish.detail}", would=target)
    raised_from = emergency_from(state, current)
    back = guards.leads_back(raised_from, current, target.io_capacity_max)
    counts = wish.kind in {DecisionKind.DRAIN, DecisionKind.RELIEF} or (
        wish.kind is DecisionKind.SET and not back
    )
    pays = counts and wish.kind is not DecisionKind.DRAIN and state.returning is None
    if back and wish.kind is DecisionKind.SET:
        base = replace(base, reason=Reason.WAY_BACK)
    state = written(state, target, now=now, counts=counts, pays=pays)
    state = _after_emergency(state, wish, current, target, before=raised_from, now=now)
    if wish.kind is DecisionKind.EMERGENCY:
        state = transitions.end_override(state)
    if wish.relief is not None:
        state = relieved(state, wish.relief, current, estimate, now=now)
    if wish.kind in {DecisionKind.SET, DecisionKind.RELIEF} and state.returning is None:
        state = replace(state, policy=policy_of(state).wrote(state.policy, target.io_capacity_max))
    return state, replace(base, kind=wish.kind, target=target, steps=plan(current, target))


def emergency_pair(
    state: State, wish: Wish, current: Capacity, estimate: Estimate, *, now: float
) -> Capacity | None:
    """Return the pair that an emergency comes to after its guards; None where they refuse it."""
    guarded = _guarded(state, wish, current, estimate, now=now)
    return None if guarded.refused else guarded.pair


def _after_emergency(
    state: State, wish: Wish, current: Capacity, target: Capacity, *, before: int, now: float
) -> State:
    """Note where an emergency came from, and that an M of ours was too low, until M is back."""
    writes = state.writes
    too_low, until = writes.too_low, writes.too_low_until
    if wish.kind is DecisionKind.EMERGENCY:
        low = current.io_capacity_max
        if before == 0 and writes.own == current:
            too_low, until = low, now + TOO_LOW_SECONDS
        return transitions.raised(state, raised_from=before or low, too_low=too_low, too_low_until=until)
    on_its_way = guards.back_to(before) < target.io_capacity_max < current.io_capacity_max
    back = before if wish.kind is DecisionKind.SET and on_its_way else 0
    if wish.kind is DecisionKind.RELIEF:
        too_low = 0
    return transitions.raised(state, raised_from=back, too_low=too_low, too_low_until=until)


def _too_low(state: State, *, now: float) -> int:
    writes = state.writes
    if state.settings.policy == "fixed" or now >= writes.too_low_until:
        return 0
    return round(guards.RETURN_MARGIN * writes.too_low)


def _guarded(
    state: State, wish: Wish, current: Capacity, estimate: Estimate, *, now: float
) -> guards.GuardedWish:
    asked = guards.GuardedWish(kind=wish.kind, io_capacity_max=wish.io_capacity_max)
    lowest, highest = bounds(state)
    in_force = current.io_capacity_max
    floors = (floor(state, in_force), _too_low(state, now=now))
    least = min(max(floors), in_force) if wish.kind is DecisionKind.SET else 0
    context = guards.GuardContext(
        now=now,
        settings=state.settings,
        current=current,
        lowest=min(highest, max(lowest, least)),
        highest=highest,
        last_write=state.writes.last,
        changes=len(state.writes.counted),
        authority=estimate.authority,
        sustained_capacity=None if _named(state, wish) else _given(state, wish, estimate),
        demand=estimate.demand,
        coupling=estimate.coupling,
        home=home_of(state, current),
        floor=least,
        raised_from=emergency_from(state, current),
        reserved=state.relief.reserved(now=now),
        sync_stalls=state.facts.sync_stalls,
    )
    return guards.guard(asked, context)


def _named(state: State, wish: Wish) -> bool:
    """Tell whether a person has named this M in the configuration: then the device does not bound it."""
    return wish.kind is DecisionKind.SET and state.settings.policy == "fixed"


def _given(state: State, wish: Wish, estimate: Estimate) -> float | None:
    """Return what the device gives at most, pages/s; while a backup slows it that is less than D.

    It bounds a policy as long as there is evidence of it, a drain only while the device is the limit.
    """
    if estimate.authority >= AUTHORITY_LOST or estimate.flush_rate <= 0.0:
        minds = wish.kind is not DecisionKind.DRAIN and state.estimator.trends.shown
        return estimate.sustained_capacity if minds else None
    return min(estimate.flush_rate, estimate.sustained_capacity or estimate.flush_rate)


def may_not_write(state: State, *, despite_holds: bool = False) -> tuple[Reason, str] | None:
    """Return why nothing may be written, whatever is wanted; None where it may."""
    if state.mode is not Mode.ACTIVE:
        return Reason.ADVISORY, "advisory mode writes nothing"
    if state.lifecycle is Lifecycle.STOPPING:
        return Reason.STOPPING, "the daemon is stopping, so nobody would watch what a change does"
    if state.holds and not despite_holds:
        return Reason.HELD, listed(state.holds)
    if state.originals is None or not state.originals.saved:
        return Reason.ORIGINALS_PENDING, "the originals are not on disk yet"
    return None


def barred(state: State, base: Decision) -> Decision:
    """Return a decision to write nothing as what it is where nothing could be written either.

    What is decided about a pace or a dead band would read there as if a write were coming.
    """
    why = may_not_write(state)
    if why is None or why[0] not in BARS:
        return base
    reason, detail = why
    return replace(base, reason=reason, detail=f"{detail}; otherwise no change either: {base.detail}")
