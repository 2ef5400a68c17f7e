"""Which wish wins, and what becomes of it: precedence in one place, guards after it, always.

Limits > person > schedule > budgets > optimiser > policy. Emergency comes before all wishes
and is bounded by the limits alone.
"""

from __future__ import annotations

from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from policies.registry import make_policy
from policies.types import Policy, Situation, horizon
from tuner.core import estimator, guards, parking
from tuner.core.commands import PERSON
from tuner.core.holds import CANNOT_WRITE, NEVER_PARKED
from tuner.core.observe import bounds
from tuner.core.plan import Steps, plan
from tuner.core.state import State
from tuner.core.window import RATE_SECONDS
from tuner.records import Capacity, Decision, DecisionKind, Estimate, Hold, Lifecycle, Sample
from tuner.settings import Mode

EMERGENCY_RELIEF_SECONDS = 10.0
"""An emergency raise asks for the pages that bring the age to the set-point in this time."""

PARKED_BEFORE = frozenset({"stopping", "leaving active mode"})
"""Parks that a hold in force has already done on its entry."""

EMERGENCY_LEAST_FACTOR = 1.5
IDLE_HOURS = 2.0
"""Below one flush limit of redo in this time there is nothing to tune."""


class Wanted(Struct, frozen=True):
    """The winning wish.

    Attributes:
        kind: what asks.
        io_capacity_max: wanted M, pages/s.
        reason: stable code.
        detail: the same in words.
        source: emergency, person or policy.
        terms: the law's named parts.
    """

    kind: DecisionKind
    io_capacity_max: float
    reason: str
    detail: str
    source: str
    terms: dict[str, float] = {}


def decide(
    state: State, sample: Sample | None, holds: tuple[Hold, ...], *, now: float
) -> tuple[State, Decision]:
    """Return what this tick does; the steps are empty wherever nothing may be written."""
    if sample is None:
        return _unpaid(state), _keep(state, None, "missed", "no reading at this tick")
    current = sample.capacity
    found = state.estimate
    if found is None:
        return _unpaid(state), _keep(state, current, "no_estimate", "rates need a second good reading")
    if state.park_owed:
        return _park(state, sample, holds)
    state, wanted = _wanted(state, sample, found, now=now)
    refused = any(hold.code in CANNOT_WRITE for hold in holds)
    if state.mode is Mode.ACTIVE and state.restoring and not refused:
        return _restore(state, current, now=now)
    return _carry_out(state, wanted, current, found, holds, now=now)


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
    base = _keep(state, current, wanted.reason, wanted.detail)
    base = replace(base, source=wanted.source, terms=wanted.terms)
    if wanted.kind is DecisionKind.KEEP:
        return state, base
    wish = _guarded(state, wanted, current, found, now=now)
    base = replace(base, guards=wish.touched)
    if wish.refused:
        return state, replace(base, reason=wish.refused, detail=f"{wanted.detail}; {wish.detail}")
    target = Capacity(round(wish.io_capacity_max) // state.settings.ratio, round(wish.io_capacity_max))
    if target == current:
        return state, base
    if target == state.writes.adjusted and current == state.writes.own:
        return state, replace(base, reason="adjusted", detail=f"{wanted.detail}; the server makes this of it")
    why = _may_not_write(state, holds)
    if why is not None:
        reason, detail = why
        return state, replace(base, reason=reason, detail=f"{detail}; would: {wanted.detail}", would=target)
    counts = wanted.kind in {DecisionKind.SET, DecisionKind.EMERGENCY}
    state = _written(state, target, now=now, counts=counts)
    if wanted.kind is DecisionKind.EMERGENCY:
        state = replace(state, override=None)
    if wanted.kind is DecisionKind.SET:
        state = replace(state, policy=_policy(state).wrote(state.policy, target.io_capacity_max))
    return state, replace(base, kind=wanted.kind, target=target, steps=plan(current, target))


def _wanted(state: State, sample: Sample, found: Estimate, *, now: float) -> tuple[State, Wanted]:
    """Ask in the order of precedence; the policy is always asked, so that its state goes on."""
    policy = _policy(state)
    situation = _situation(state, sample, found, now=now)
    memory = policy.start() if state.policy is None else state.policy
    memory, proposal = policy.propose(memory, situation)
    state = replace(state, policy=memory)
    emergency = _emergency(state, sample, found)
    if emergency is not None:
        return state, emergency
    if state.override is not None and now < state.override.ends:
        override = state.override
        return state, Wanted(
            kind=DecisionKind.OVERRIDE,
            io_capacity_max=float(override.io_capacity_max),
            reason="override",
            detail=f"{override.who} holds M at {override.io_capacity_max} "
            f"for {override.ends - now:.0f} s more",
            source="person",
        )
    x, f = found.age_ratio, situation.set_point
    where = f"age ratio {x:.3f}, set-point {f:.3f}"
    window = state.estimator.window
    if window[-1].at - window[0].at < RATE_SECONDS - 1.0:
        return state, Wanted(
            DecisionKind.KEEP,
            sample.io_capacity_max,
            "warming_up",
            "rates need ten seconds of readings",
            "policy",
        )
    if found.redo_rate < sample.flush_limit / (IDLE_HOURS * 3600.0):
        return state, Wanted(
            DecisionKind.KEEP, sample.io_capacity_max, "idle", "next to no redo is written", "policy"
        )
    if not proposal.act:
        reason = "within_band" if abs(situation.error_ahead) <= abs(situation.error) + 0.05 else "approaching"
        return state, Wanted(
            DecisionKind.KEEP,
            proposal.io_capacity_max,
            reason,
            f"{where}: on course",
            "policy",
            proposal.terms,
        )
    up = proposal.io_capacity_max > sample.io_capacity_max
    return state, Wanted(
        kind=DecisionKind.SET,
        io_capacity_max=proposal.io_capacity_max,
        reason="raise" if up else "lower",
        detail=f"{where}, heading for {f + situation.error_ahead:.3f}: "
        f"{policy.name} wants M at {proposal.io_capacity_max:.0f}",
        source="policy",
        terms=proposal.terms,
    )


def _situation(state: State, sample: Sample, found: Estimate, *, now: float) -> Situation:
    set_point = state.set_point if state.set_point is not None else 0.5
    ahead = horizon(set_point=set_point, flush_limit=sample.flush_limit, redo_rate=found.redo_rate)
    span = found.redo_rate * ahead + found.modified_age - set_point * sample.flush_limit
    return Situation(
        now=now,
        age=found.modified_age,
        flush_limit=float(sample.flush_limit),
        sync_point=float(sample.sync_point),
        set_point=set_point,
        redo_rate=found.redo_rate,
        age_slope=found.age_slope,
        demand=found.demand,
        horizon=ahead,
        age_ahead=estimator.age_ahead(state.estimator, sample, found, ahead),
        pages_due=estimator.pages_ahead(state.estimator, sample, span),
        combining_exponent=found.combining_exponent,
        new_density=found.new_density,
        flush_response=found.flush_response,
        flush_rate=found.flush_rate,
        authority=found.authority,
        io_capacity_max=sample.io_capacity_max,
        sustained_capacity=found.sustained_capacity,
    )


def _emergency(state: State, sample: Sample, found: Estimate) -> Wanted | None:
    """Return a raise where sync flushing or a stall is only seconds away; None otherwise."""
    near = [
        (seconds, name)
        for seconds, name in ((found.seconds_to_sync, "sync point"), (found.seconds_to_stall, "stall point"))
        if seconds is not None and seconds < state.settings.emergency_seconds
    ]
    set_point = state.set_point if state.set_point is not None else 0.5
    if not near or found.age_ratio <= set_point or found.age_slope <= 0:
        return None
    seconds, name = min(near)
    span = found.redo_rate * EMERGENCY_RELIEF_SECONDS + found.modified_age - set_point * sample.flush_limit
    rate = estimator.pages_ahead(state.estimator, sample, span) / EMERGENCY_RELIEF_SECONDS
    wanted = max(rate, EMERGENCY_LEAST_FACTOR * found.demand)
    if wanted <= sample.io_capacity_max * (1.0 + state.settings.dead_band):
        return None
    return Wanted(
        kind=DecisionKind.EMERGENCY,
        io_capacity_max=wanted,
        reason="emergency",
        detail=f"{name} in {seconds:.0f} s at age ratio {found.age_ratio:.3f}",
        source="emergency",
        terms={"seconds_left": seconds, "flush_rate_wanted": rate},
    )


def _guarded(state: State, wanted: Wanted, current: Capacity, found: Estimate, *, now: float) -> guards.Wish:
    wish = guards.Wish(kind=wanted.kind, io_capacity_max=wanted.io_capacity_max)
    lowest, highest = bounds(state)
    context = guards.Context(
        now=now,
        settings=state.settings,
        current=current,
        lowest=lowest,
        highest=highest,
        last_write=state.writes.last,
        changes=len(state.writes.counted),
        authority=found.authority,
        sustained_capacity=found.sustained_capacity,
    )
    return guards.guard(wish, context)


def _may_not_write(state: State, holds: tuple[Hold, ...]) -> tuple[str, str] | None:
    if state.mode is not Mode.ACTIVE:
        return "advisory", "advisory mode writes nothing"
    if state.lifecycle is Lifecycle.STOPPING:
        return "stopping", "nobody would look after a change any more"
    if holds:
        return "held", "; ".join(f"{hold.code.value}: {hold.reason}" for hold in holds)
    if state.originals is None or not state.originals.saved:
        return "originals_pending", "originals are not on disk yet"
    return None


def _unpaid(state: State) -> State:
    """Drop a park that is owed on leaving active mode and cannot be done now: advisory writes nothing."""
    return replace(state, park_owed="") if state.mode is Mode.ADVISORY else state


def _park(state: State, sample: Sample, holds: tuple[Hold, ...]) -> tuple[State, Decision]:
    """Leave a safe setting behind, once, where the values in force are our own or a person asked."""
    owed, current = state.park_owed, sample.capacity
    state = replace(state, park_owed="")
    base = _keep(state, current, "park", owed)
    codes = {hold.code for hold in holds}
    asked = owed.startswith(PERSON)
    if not sample.writer or (codes & NEVER_PARKED and not asked):
        return state, replace(base, detail=f"{owed}; the values in force are not ours to change")
    if not asked and state.writes.own != current:
        return state, replace(base, detail=f"{owed}; nothing of ours is in force")
    if owed in PARKED_BEFORE and codes:
        return state, replace(base, detail=f"{owed}; parked when the hold began")
    target = state.park_target
    if target is None:
        return replace(state, park_owed=owed), replace(base, detail=f"{owed}; waiting for a second reading")
    if target == current:
        return state, replace(base, detail=f"{owed}; already safe")
    steps: Steps = plan(current, target)
    state = _written(state, target, now=None, counts=False)
    return state, replace(base, kind=DecisionKind.PARK, target=target, steps=steps, source="park")


def _restore(state: State, current: Capacity, *, now: float) -> tuple[State, Decision]:
    """Go one step back to the originals; advisory when they are reached."""
    who, originals = state.restoring, state.originals
    base = _keep(state, current, "restore", f"restoring for {who}")
    if originals is None or current == originals.capacity:
        return _given_back(state, base, "they are in force")
    last = state.writes.last
    if last is not None and now - last < parking.RESTORE_SECONDS:
        return state, replace(base, detail=f"restoring for {who}: waiting between steps")
    adjusted = state.writes.adjusted
    target = originals.capacity if adjusted else parking.restore_step(current, originals.capacity)
    if target == adjusted:
        return _given_back(
            state, base, f"the server makes {current.io_capacity}/{current.io_capacity_max} of them"
        )
    state = _written(state, target, now=now, counts=False)
    return state, replace(
        base, kind=DecisionKind.RESTORE, target=target, steps=plan(current, target), source="restore"
    )


def _given_back(state: State, base: Decision, how: str) -> tuple[State, Decision]:
    """End a restore: the server is its operator's again."""
    given_back = replace(state.writes, own=None)
    state = replace(state, restoring="", mode=Mode.ADVISORY, writes=given_back, originals=None)
    return state, replace(base, reason="restored", detail=f"originals: {how}; advisory now")


def _written(state: State, target: Capacity, *, now: float | None, counts: bool) -> State:
    writes = state.writes
    at = writes.last if now is None else now
    counted = (*writes.counted, now) if counts and now is not None else writes.counted
    writes = replace(writes, pending=target, before=writes.expected, last=at, counted=counted, expected=None)
    return replace(state, writes=writes)


def _policy(state: State) -> Policy[Any]:
    settings = state.settings
    return make_policy(
        settings.policy,
        flush_law=state.facts.flush_law,
        fixed_io_capacity_max=settings.fixed_io_capacity_max,
    )


def _keep(state: State, current: Capacity | None, reason: str, detail: str) -> Decision:
    return Decision(
        kind=DecisionKind.KEEP,
        reason=reason,
        detail=detail,
        target=current,
        policy=state.settings.policy,
        set_point=state.set_point,
        set_point_source=state.set_point_source,
        source="policy",
    )
