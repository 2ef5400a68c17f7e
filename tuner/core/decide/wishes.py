"""What each of those who may ask for an M asks for just now; ``precedence`` says who is heard.

Which set-point the policy holds ``setpoint.choose`` decides: person > schedule > optimiser > policy, bounded.
"""

from __future__ import annotations

from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from policies.registry import LAWS, make_policy
from policies.types import Policy, Proposal, Situation, horizon
from tuner.core.decide import emergency, trajectory
from tuner.core.decide.trajectory import aim_of
from tuner.core.estimate.trends import AUTHORITY_LOST
from tuner.core.estimate.window import flushed_share, idled, warm
from tuner.core.fallback import relief, unanswered
from tuner.core.fallback.unanswered import Unanswered
from tuner.core.laws import asleep, catches_up, law_of, why_m_moves_no_age
from tuner.core.limits import bounds
from tuner.core.state import Drain, Override, Return, State
from tuner.core.trials import optimising
from tuner.records import Capacity, DecisionKind, Estimate, Reason, Sample
from tuner.system.amounts import duration, share, size

FADING = 0.5
"""A load whose R of the last seconds is below this share of its R is going away: no M is lowered to that."""

CATCHING_UP = "the page cleaner has just woken, and flushes all pages that were dirty at the flush limit"
NEAR_FACTOR = 2.0
"""So many times what makes an emergency is near the stall point, for lowering M on the way."""

KEPT_CHANGES = 0.25
"""Share of the hour's changes that a drain leaves once the age is there: the way back needs some."""

_FADING = "the load is stopping; innodb_io_capacity_max stays as it is for when the load comes back"

ON_COURSE = 0.05
"""Age ratio off the set-point within which a policy that writes nothing is said to be on course."""

RAISED_SECONDS = 600.0  # How long an emergency's M may be in force before rates are learned from again
IDLE_HOURS = 2.0  # Below one flush limit of redo in this time there is nothing to tune


class Wish(Struct, frozen=True):
    """What somebody asks for."""

    kind: DecisionKind  # what asks; ``keep`` where nothing is to be written
    reason: Reason  # why
    detail: str  # the same in words
    io_capacity_max: float = 0.0  # wanted M, pages/s; nothing with ``keep``
    source: str = "policy"  # emergency, person, schedule or policy
    terms: dict[str, float] = {}  # the law's named parts
    # the relief of the device that this begins or ends; None where it does neither
    relief: relief.Change | None = None


def ask_policy(
    state: State, sample: Sample, estimate: Estimate, *, now: float
) -> tuple[State, Proposal, Situation]:
    """Return what the policy proposes in which situation; it is asked at every tick, so that it goes on."""
    policy = policy_of(state)
    situation = situation_of(state, sample, estimate, now=now)
    memory = policy.start() if state.policy is None else state.policy
    memory, proposal = policy.propose(memory, situation)
    state = replace(
        state,
        policy=memory,
        relief=relief.followed(state.relief, now=now),
        unanswered=answered(state, sample, estimate, now=now),
    )
    return state, proposal, situation


def overridden(override: Override, *, now: float) -> Wish:
    """Return what a person's override asks for."""
    left = override.ends - now
    held = f"{override.who} asked for innodb_io_capacity_max {override.io_capacity_max}"
    held = f"{held}; the override ends in {duration(left)}"
    m = float(override.io_capacity_max)
    return Wish(DecisionKind.OVERRIDE, Reason.OVERRIDE, held, m, source="person")


WARMING_UP = Wish(DecisionKind.KEEP, Reason.WARMING_UP, "rates need ten seconds of readings")
"""What is asked for before the rates mean anything."""

TRIAL = Wish(DecisionKind.KEEP, Reason.TRIAL, "a trial's own values")
"""What a trial against the baseline asks for, whose writes ``proving`` makes."""


def of_policy(
    state: State,
    proposal: Proposal,
    situation: Situation,
    sample: Sample,
    estimate: Estimate,
    *,
    change: relief.Change | None,
) -> Wish:
    """Return what the policy asks for, or the way back in its place; nothing where nothing is to tune."""
    x, f = estimate.age_ratio, situation.set_point
    law = LAWS[state.facts.flush_law]
    remark = why_m_moves_no_age(law) or (law.beyond if x >= 1.0 else "")
    remarks = (remark, *state.caution.remarks) if remark else state.caution.remarks
    remarks = (*remarks, _saves(state, now=situation.now)) if proposal.saves else remarks
    where = "; ".join((f"{_age(estimate)}; set-point {share(f)}", *remarks))
    up = proposal.io_capacity_max > situation.io_capacity_max
    starves = not up and _raised(state, sample.capacity, now=situation.now)
    why = silent(state, sample) if starves else idle(state, sample, estimate)
    why = why or _catching_up(state, estimate, up=up)
    if why:
        return Wish(DecisionKind.KEEP, Reason.IDLE, why)
    if change is not None:
        return _relieves(change, where, proposal.terms)
    if not proposal.act:
        return _left_alone(state, proposal, situation, where)
    who = f"the policy {policy_of(state).name}" if state.returning is None else "the way back from a drain"
    if not up and _fades(estimate) and estimate.authority >= AUTHORITY_LOST:
        return Wish(DecisionKind.KEEP, Reason.FADING, f"{where}: {_FADING}", terms=proposal.terms)
    return Wish(
        kind=DecisionKind.SET,
        io_capacity_max=proposal.io_capacity_max,
        reason=Reason.RAISE if up else Reason.LOWER,
        detail=f"{where}; heading for {share(max(0.0, f + situation.error_ahead))}: "
        f"{who} wants innodb_io_capacity_max {proposal.io_capacity_max:.0f}"
        f"{_bounded(state, proposal.io_capacity_max)}",
        terms=proposal.terms,
    )


def _bounded(state: State, io_capacity_max: float) -> str:
    """Return what the limits make of a wish for an M, pages/s, in words; empty inside them."""
    lowest, highest = bounds(state)
    if io_capacity_max < lowest:
        return f", and {lowest} is the lowest allowed"
    return f", and {highest} is the highest allowed" if io_capacity_max > highest else ""


def _age(estimate: Estimate) -> str:
    return f"age {share(estimate.age_ratio)} of the flush limit"


def at_rest(state: State, sample: Sample, estimate: Estimate, until: float, *, now: float) -> Wish:
    """Return the best M that was seen, where the age does not answer to M; until then it rests there."""
    best = state.unanswered.best or sample.io_capacity_max
    left = until - now
    rests = f"innodb_io_capacity_max stays at the best value seen; the next try is in {duration(left)}"
    why = f"{_age(estimate)}; {state.unanswered.why}: {rests}"
    kind = DecisionKind.KEEP if best == sample.io_capacity_max else DecisionKind.SET
    return Wish(kind, Reason.UNANSWERED, why, float(best))


def _relieves(change: relief.Change, where: str, terms: dict[str, float]) -> Wish:
    return Wish(
        kind=DecisionKind.RELIEF,
        io_capacity_max=change.io_capacity_max,
        reason=Reason.RELIEF if change.begins else Reason.RELIEF_OVER,
        detail=f"{where}: {change.detail}",
        terms=terms,
        relief=change,
    )


def _left_alone(state: State, proposal: Proposal, situation: Situation, where: str) -> Wish:
    reason = Reason.APPROACHING
    if proposal.saves:
        reason = Reason.SAVING
    elif not LAWS[state.facts.flush_law].m_moves_age:
        reason = Reason.NO_AUTHORITY
    elif abs(situation.error_ahead) <= abs(situation.error) + 0.05:
        reason = Reason.WITHIN_BAND
    why = f"{where}: {_why_kept(state, situation)}"
    return Wish(DecisionKind.KEEP, reason, why, terms=proposal.terms)


def _saves(state: State, *, now: float) -> str:
    """Return that the policy has few changes left, and how many, in words."""
    budget = state.settings.max_changes_per_hour
    left = state.writes.tokens.tokens(now=now, budget=budget)
    return f"few changes are left ({left}), so the policy keeps one innodb_io_capacity_max"


def _catching_up(state: State, estimate: Estimate, *, up: bool) -> str:
    """Return why the policy leaves M alone while the server flushes what was dirty when it woke; else empty.

    An M that is too high brings the age to the low-water mark, where the server falls asleep again: at the
    flush limit the policy may lower it, unless the stall point is near.
    """
    left = estimate.seconds_to_stall
    near = left is not None and left < NEAR_FACTOR * state.settings.emergency_seconds
    return CATCHING_UP if catches_up(state) and (up or near or estimate.age_ratio < 1.0) else ""


def _fades(estimate: Estimate) -> bool:
    return estimate.redo_rate_now < FADING * estimate.redo_rate


def drained(state: State, wanted: Drain, sample: Sample, estimate: Estimate, *, now: float) -> Wish:
    """Return what a drain asks for; the policy goes on watching meanwhile, and is told of no write."""
    aim = aim_of(state, wanted, sample, estimate)
    arrival = wanted.begun + trajectory.WAY_SECONDS if estimate.modified_age > aim else now
    overdue = wanted.reached is None and now >= wanted.begun + trajectory.WAY_SECONDS
    way = trajectory.towards(
        state,
        sample,
        estimate,
        wanted.rates,
        aim=aim,
        arrival=arrival,
        now=now,
        drift_allowed=trajectory.OVERDUE_DRIFT if overdue else trajectory.DRIFT,
    )
    detail = (
        f"uncheckpointed {size(estimate.checkpoint_age)}; the drain for {wanted.who} wants at most "
        f"{size(wanted.target)}, and ends in {duration(wanted.ends - now)}"
    )
    down = way.io_capacity_max < sample.io_capacity_max
    fades = _fades(estimate) or idled(state.estimator.window)
    why = idle(state, sample, estimate) or (_FADING if fades else "")
    stays = bool(asleep(state)) or (bool(why) and down)
    left = state.settings.max_changes_per_hour * (1.0 - KEPT_CHANGES) - len(state.writes.counted)
    act = way.act and not stays and (wanted.reached is None or left > 0.0)
    return Wish(
        kind=DecisionKind.DRAIN if act else DecisionKind.KEEP,
        io_capacity_max=sample.io_capacity_max if stays else way.io_capacity_max,
        reason=Reason.DRAINING if wanted.reached is None else Reason.DRAINED,
        detail=f"{detail}; innodb_io_capacity_max stays as it is: {why}" if stays else detail,
        source="schedule" if wanted.scheduled else "person",
        terms={"target": float(wanted.target)} | way.terms,
    )


def way_back(
    state: State, back: Return, situation: Situation, sample: Sample, estimate: Estimate
) -> Proposal:
    """Return what takes the age from where a drain left it to the set-point, in place of the policy."""
    aim = situation.set_point * sample.flush_limit
    arrival = back.begun + trajectory.WAY_SECONDS if estimate.modified_age < aim else situation.now
    way = trajectory.towards(state, sample, estimate, back.rates, aim=aim, arrival=arrival, now=situation.now)
    return Proposal(way.io_capacity_max, way.terms, act=way.act)


def _why_kept(state: State, situation: Situation) -> str:
    """Return in words why nothing is written although somebody may wonder."""
    if state.settings.policy == "fixed" and state.returning is None:
        return "innodb_io_capacity_max has the value that the configuration names"
    off, ahead = abs(situation.error), abs(situation.error_ahead)
    if off <= ON_COURSE:
        return "close enough, so nothing is changed"
    if ahead < off - ON_COURSE:
        return "the age is on its way to the set-point"
    return "the age is off its set-point, but the policy does not correct it yet"


def raised(state: State, sample: Sample, estimate: Estimate, *, now: float) -> Wish | None:
    """Return what an emergency asks for: a raise, or the end of a relief that led to it; None without one."""
    called = emergency.called_for(state, sample, estimate)
    if called is None:
        return None
    wish = of_emergency(called)
    if state.override is None and state.drain is None:
        back = relief.by_emergency(state.relief, state.estimator.window, sample, now=now)
        if back is not None:
            return _relieves(back, called.detail, wish.terms)
    return wish


def of_emergency(called: emergency.Raise) -> Wish:
    """Return the wish for a raise that is called for."""
    return Wish(
        kind=DecisionKind.EMERGENCY,
        io_capacity_max=called.io_capacity_max,
        reason=Reason.EMERGENCY,
        detail=called.detail,
        source="emergency",
        terms={"seconds_left": called.seconds_left, "flush_rate_wanted": called.io_capacity_max},
    )


def situation_of(state: State, sample: Sample, estimate: Estimate, *, now: float) -> Situation:
    set_point = state.set_point_now
    ahead = horizon(set_point=set_point, flush_limit=sample.flush_limit, redo_rate=estimate.redo_rate)
    span = estimate.redo_rate * ahead + estimate.modified_age - set_point * sample.flush_limit
    law = LAWS[state.facts.flush_law]
    share = flushed_share(state.estimator.window) if law.stops_early else 1.0
    return Situation(
        now=now,
        age=estimate.modified_age,
        flush_limit=float(sample.flush_limit),
        sync_point=float(sample.sync_point),
        set_point=set_point,
        redo_rate=estimate.redo_rate,
        age_slope=estimate.age_slope,
        demand=estimate.demand,
        horizon=ahead,
        age_ahead=state.estimator.tail.age_ahead(sample, estimate, ahead, flushed_share=share),
        pages_due=state.estimator.tail.pages_ahead(sample, span),
        combining_exponent=estimate.combining_exponent,
        new_density=estimate.new_density,
        flush_response=estimate.flush_response,
        flush_rate=estimate.flush_rate,
        authority=estimate.authority,
        io_capacity_max=sample.capacity.gain,
        learns=state.occurrences.learns(sample.monotonic) and not _raised(state, sample.capacity, now=now),
        hold_gain=optimising.hold_gain(state, sample),
        moved_from=state.trials.moved_from,
        saving=state.writes.tokens.is_exhausted(now=now, budget=state.settings.max_changes_per_hour),
        steady=state.estimator.trends.steady,
        coupling=0.0 if law.sleeps else estimate.coupling,  # there a load answers what M does not move
        baseline_m=0 if state.originals is None else state.originals.capacity.io_capacity_max,
    )


def relief_change(state: State, sample: Sample, estimate: Estimate, *, now: float) -> relief.Change | None:
    """Return the change of M that begins or ends a relief of the device; None where there is none."""
    if not LAWS[state.facts.flush_law].m_moves_age or state.settings.policy == "fixed":
        return None
    if state.returning is not None:
        return None
    return relief.called_for(
        state.relief,
        state.estimator.window,
        sample,
        estimate,
        set_point=state.set_point_now,
        last_write=state.writes.last,
        now=now,
    )


def relieved(
    state: State, change: relief.Change, current: Capacity, estimate: Estimate, *, now: float
) -> State:
    """Return the state with a relief begun or ended."""
    known, memory = relief.switched(
        state.relief,
        change,
        policy_of(state),
        state.policy,
        current=current,
        estimate=estimate,
        settled=emergency_from(state, current),
        now=now,
    )
    return replace(state, relief=known, policy=memory)


def answered(state: State, sample: Sample, estimate: Estimate, *, now: float) -> Unanswered:
    """Return what is known of how the age answers to M, with this reading."""
    counts = (
        law_of(state).m_moves_age
        and state.settings.policy != "fixed"
        and warm(state.estimator.window)
        and state.occurrences.learns(sample.monotonic)
        and not (state.holds or state.drain or state.returning or state.override or state.proof.at_baseline)
        and not _raised(state, sample.capacity, now=now)
        and not idle(state, sample, estimate)
    )
    circumstances = unanswered.Circumstances(
        set_point=state.set_point_now,
        lru_share=state.caution.lru_share,
        lru_rules=state.caution.lru.on,
        counts=counts,
    )
    return unanswered.update(state.unanswered, sample, estimate, circumstances, now=now)


def emergency_from(state: State, current: Capacity) -> int:
    """Return the M before the emergency that made the pair in force, pages/s; 0 where none of ours did.

    Where a person names the M there is no better one to come back to than that.
    """
    ours = state.writes.own == current and state.settings.policy != "fixed"
    return state.writes.raised_from if ours else 0


def _raised(state: State, current: Capacity, *, now: float) -> bool:
    """Tell whether an emergency's M is in force, and not for so long that the load of now is the load."""
    last = state.writes.last
    return emergency_from(state, current) > 0 and last is not None and now - last < RAISED_SECONDS


def silent(state: State, sample: Sample) -> str:
    """Return why no load is to be expected just now; empty where there may be one."""
    return asleep(state) or state.occurrences.silences(sample.monotonic)


def idle(state: State, sample: Sample, estimate: Estimate) -> str:
    """Return why there is nothing to tune just now; empty where there is.

    While an emergency's M is in force, little redo may be all that its flushing leaves of the device.
    """
    little = estimate.redo_rate < sample.flush_limit / (IDLE_HOURS * 3600.0)
    return silent(state, sample) or ("next to no redo is written" if little else "")


def policy_of(state: State) -> Policy[Any]:
    """Return the policy that the settings name."""
    settings = state.settings
    return make_policy(
        settings.policy,
        flush_law=state.facts.flush_law,
        fixed_io_capacity_max=settings.fixed_io_capacity_max,
        need_share=state.estimator.trends.need_share,
    )
