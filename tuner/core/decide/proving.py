"""A trial against the baseline in a tick: how a person begins and ends it, what ends it, and its writes.

It writes the originals in the steps of a restore, and goes back in one to what the loop had in force; where
the load has outgrown that, or the limits leave it out, the loop goes on from the originals by its own steps.
These writes are its own, and none of them counts for the hourly budget: no more than those two ways a pair,
and after a pair that was discarded none for a block's time.
"""

from __future__ import annotations

from msgspec.structs import replace

from tuner.core.commands.context import CommandContext, Outcome, cannot_write, refused
from tuner.core.decide import carry_out, drain, trajectory, wishes
from tuner.core.estimate.window import warm
from tuner.core.holds import listed
from tuner.core.leaving import restore
from tuner.core.limits import bounds
from tuner.core.ownership import transitions
from tuner.core.ownership.standing import why_advisory
from tuner.core.ownership.transitions import kept, written
from tuner.core.savings import reckoning
from tuner.core.state import State
from tuner.core.trials import proof
from tuner.core.trials.paired import side_text, verdict_text
from tuner.core.trials.proof import Proof, Running
from tuner.core.writes.plan import plan
from tuner.core.writes.restore_pace import STEP_SECONDS, RestorePace, see
from tuner.records import (
    Capacity,
    Decision,
    DecisionKind,
    Estimate,
    Event,
    EventCode,
    Hold,
    HoldCode,
    Lifecycle,
    Reason,
    Remedy,
    Sample,
    TrialEnd,
    TrialResult,
    TrialSide,
)
from tuner.settings import Mode

SUSPENDS = frozenset({HoldCode.PAUSED, HoldCode.STALE})
"""Holds that a trial waits for, besides a flush law that is not verified yet; every other one ends it."""

OUTSIDE = (
    "the originals are outside the limits of {} to {} for innodb_io_capacity_max; a trial writes no such M"
)

OUTGROWN = 1.5
"""How many times the M that the loop had before a block of the originals may be too low after it."""


def begin(state: State, context: CommandContext) -> Outcome:
    """Begin a trial for a time, where one can come to something."""
    command, sample, estimate = context.command, context.sample, state.estimate
    bar = cannot_write(state, context)
    if bar is not None:
        return refused(state, bar.why, *bar.remedies)
    if not isinstance(command.value, int) or command.ttl is None or not command.ttl > 0:
        return refused(state, "a trial needs a time (seconds) and a seed (a whole number)")
    why = _not_now(state, sample, now=context.now)
    if why or sample is None or estimate is None or state.originals is None:
        return refused(state, why)
    baseline, asked = state.originals.capacity, _asked(command.ttl)
    block, settling = proof.blocks_of(
        estimate,
        set_point=state.set_point_now,
        flush_limit=float(sample.flush_limit),
        seconds=command.ttl,
    )
    running = Running(
        seed=command.value,
        who=command.who,
        began=sample.wall,
        ends=sample.wall + command.ttl,
        baseline=baseline,
        block_seconds=block,
        settling_seconds=settling,
        ours=sample.capacity,
        way_begun=context.now,
        way_seconds=(1 + restore.restore_steps(sample.capacity, baseline)) * STEP_SECONDS,
    )
    least = proof.least_seconds(running)
    if block > proof.LONGEST_BLOCK or command.ttl < least:
        return refused(
            state,
            f"{asked} are too few under this load: a block lasts {block:.0f} s and the way to "
            f"the originals {running.way_seconds:.0f} s, so that {proof.FEWEST_PAIRS} pairs take "
            f"{_asked(least)} at least",
        )
    return Outcome(
        replace(state, proof=replace(state.proof, running=running)),
        f"trial for {asked}: the originals, {baseline}, in turn with InnoBrim's values, "
        f"in blocks of {block:.0f} s of which the first {settling:.0f} s are not counted",
        event=EventCode.BASELINE_TRIAL_BEGUN,
    )


def _asked(seconds: float) -> str:
    """Return a time as it is asked for: half hours in hours, any other in minutes."""
    return f"{seconds / 3600:g} h" if seconds % 1800 == 0.0 else f"{seconds / 60:.3g} min"


def stop(state: State, context: CommandContext) -> Outcome:
    """End the trial before its time; the loop goes on."""
    running = state.proof.running
    if running is None:
        return refused(state, "no trial is under way")
    wall = running.ends if context.sample is None else context.sample.wall
    state, result = _ended(state, running, TrialEnd.STOPPED, wall=wall)
    message = f"trial stopped: {verdict_text(result)}"
    return Outcome(state, message, event=EventCode.BASELINE_TRIAL_ENDED)


def asked_for(state: State, sample: Sample, estimate: Estimate | None) -> Capacity | None:
    """Return the pair that the trial needs in force; None where the loop chooses for itself."""
    pair = state.proof.asks_for(sample.capacity)
    if pair is None or not _allowed(state, pair):
        return None
    if state.proof.at_baseline:
        return pair
    if estimate is None:
        return None
    needed = trajectory.holding(state, sample, estimate)
    return pair if needed <= OUTGROWN * pair.io_capacity_max else None


def _allowed(state: State, pair: Capacity) -> bool:
    lowest, highest = bounds(state)
    return lowest <= pair.io_capacity_max <= highest


def write(state: State, sample: Sample, *, now: float) -> tuple[State, Decision]:
    """Bring in force what the present block needs: the originals in steps, our last pair at once."""
    running, current = state.proof.running, sample.capacity
    target = asked_for(state, sample, state.estimate) or current
    baseline = state.proof.at_baseline
    side = "the turn of the originals" if baseline else "back to InnoBrim's values"
    base = replace(kept(state, current, Reason.TRIAL, side), source="person")
    if current == target or (current == state.writes.own and state.writes.adjusted == target):
        return state, base
    why = carry_out.may_not_write(state)
    if why is not None:
        return state, replace(base, reason=why[0], detail=why[1])
    if baseline and running is not None:
        fresh = state.pace is None or state.pace.begun < running.way_begun
        pace = RestorePace(begun=now) if fresh or state.pace is None else state.pace
        state = transitions.pace_restore(state, see(pace, sample))
        limits = bounds(state)
        return restore.step_back(
            state, current, target, base, kind=DecisionKind.TRIAL, now=now, limits=limits
        )
    state = written(state, target, now=now, counts=False)
    state = replace(state, policy=wishes.policy_of(state).wrote(state.policy, target.io_capacity_max))
    return state, replace(base, kind=DecisionKind.TRIAL, target=target, steps=plan(current, target))


def update(
    state: State, sample: Sample | None, decision: Decision, *, now: float, wall: float
) -> tuple[State, list[Event]]:
    """Take the tick in that was just decided."""
    running, result = state.proof.running, state.proof.result
    if running is None:
        there = sample is None or result is None or sample.capacity != result.baseline
        over = there or state.holds or state.override or state.drain or state.mode is not Mode.ACTIVE
        if state.proof.back is not None and (
            over or sample is None or asked_for(state, sample, state.estimate) is None
        ):
            state = replace(state, proof=Proof(result=result))
        return state, []
    end = _end(state, running, decision, wall=wall)
    if end is not None:
        return _end_now(state, running, end, decision, sample, wall=wall, now=now)
    waits = _waits(state, sample) or (proof.RESTS if now < running.rests_until else "")
    if waits:
        running = running if running.waits == waits else proof.spoilt(running, waits, now=now)
    elif sample is None:
        return state, []  # what is counted are differences, and the next reading has them too
    else:
        running = proof.advanced(running, sample, now=now)
    return replace(state, proof=replace(state.proof, running=running)), []


def _not_now(state: State, sample: Sample | None, *, now: float) -> str:
    """Return why no trial can begin just now; empty where one can."""
    estimate, cold = state.estimate, not warm(state.estimator.window)
    in_force = None if sample is None else sample.capacity
    ours = in_force is not None and in_force == state.writes.own
    original = state.originals is None or in_force == state.originals.capacity
    drains = "" if sample is None else drain.going_on(state, sample, now=now)
    pairs = (
        (state.proof.running is not None, "a trial is under way already: innobrim trial stop ends it"),
        (bool(state.holds), f"held ({listed(state.holds)}); a hold permits no trial"),
        (state.lifecycle is not Lifecycle.RUNNING, "the daemon is starting or stopping"),
        (state.override is not None, "an override is in force"),
        (bool(drains), drains),
        (bool(state.restoring) or state.park_owed is not None, "a restore or a park is under way"),
        (
            state.low_water.ours,
            "with loop.low_water_mark the original io_capacity and io_capacity_max alone are no baseline",
        ),
        (estimate is None or cold, "rates need ten seconds of readings; ask again then"),
        (
            state.originals is not None and not _allowed(state, state.originals.capacity),
            OUTSIDE.format(*bounds(state)),
        ),
        (original or not ours, f"nothing to compare yet: the pair in force, {in_force}, is not InnoBrim's"),
        (estimate is not None and estimate.redo_rate < 1.0, "nothing to compare: no redo is written"),
    )
    return next((why for applies, why in pairs if applies), "")


def _end(state: State, running: Running, decision: Decision, *, wall: float) -> TrialEnd | None:
    """Return why the trial is over at this tick; None where it is not."""
    suspended = [_suspends(hold) for hold in state.holds]
    relieved = state.proof.at_baseline and decision.kind is DecisionKind.RELIEF
    codes = {hold.code for hold in state.holds}
    ends = (
        (TrialEnd.EMERGENCY, decision.source == "emergency" or relieved),
        (TrialEnd.RESTARTED, HoldCode.RESTARTED in codes),
        (TrialEnd.HELD, not all(suspended)),
        (TrialEnd.BASELINE_GUARD, state.restoring == transitions.BASELINE_GUARD),
        *((end, True) for end in _overruled(state, running)),
        (
            TrialEnd.ORIGINALS,
            state.originals is not None
            and state.originals.capacity != running.baseline
            and not any(suspended),
        ),
        (TrialEnd.TIME, wall >= running.ends),
    )
    stopping = state.lifecycle is Lifecycle.STOPPING
    found = next((end for end, applies in ends if applies), None)
    return None if stopping and found is not TrialEnd.TIME else found


def _overruled(state: State, running: Running) -> dict[TrialEnd, str]:
    """Return what else was asked for that ends a trial, and the same in words; the first one counts."""
    found = (
        (TrialEnd.OVERRIDE, state.override and f"an override of {state.override.who} took its place"),
        (TrialEnd.DRAIN, state.drain and f"a drain for {state.drain.who} took its place"),
        (TrialEnd.RESTORE, state.restoring and f"the originals are being restored for {state.restoring}"),
        (TrialEnd.ADVISORY, why_advisory(state) and f"the mode is advisory: {why_advisory(state)}"),
        (TrialEnd.LOW_WATER, state.low_water.ours and "the low-water mark in force is InnoBrim's"),
        (TrialEnd.LIMITS, not _allowed(state, running.baseline) and OUTSIDE.format(*bounds(state))),
    )
    return {end: why for end, why in found if why}


def ended_by(state: State) -> str:
    """Return in words that what was just asked for ends the trial under way; empty where it does not."""
    running = state.proof.running
    if running is None or not _overruled(state, running):
        return ""
    return f"the trial under way ends with that: {verdict_text(proof.result_of(running, ended=running.ends))}"


def _suspends(hold: Hold) -> bool:
    """Tell whether a trial waits for the end of a hold; each daemon has to see its flush law verified."""
    return hold.code in SUSPENDS or Remedy.MATCHING_UNDER_LOAD in hold.remedies


def _waits(state: State, sample: Sample | None) -> str:
    """Return what spoils a block at this tick, as a missed reading does not; empty where nothing does."""
    if state.holds:
        return f"held: {listed(state.holds)}"
    if sample is None:
        return ""
    if state.clocks.gap is not None:
        return "a clock jumped, so the rates begin again"
    if sample.degraded:
        return state.facts.without_counters
    if not state.occurrences.learns(sample.monotonic):
        return f"going on: {', '.join(state.occurrences.names) or 'something other than the load'}"
    return ""


def _end_now(
    state: State,
    running: Running,
    end: TrialEnd,
    decision: Decision,
    sample: Sample | None,
    *,
    wall: float,
    now: float,
) -> tuple[State, list[Event]]:
    state, result = _ended(state, running, end, wall=wall)
    returned = state.baseline_guard.returned
    why = {
        TrialEnd.TIME: "its time is over",
        TrialEnd.EMERGENCY: f"an emergency in a block of {side_text(running.side)}: {decision.detail}",
        TrialEnd.HELD: f"held: {listed(state.holds)}",
        **_overruled(state, running),
        TrialEnd.ORIGINALS: "the originals have changed",
        TrialEnd.BASELINE_GUARD: "InnoBrim's own baseline guard brings the originals back"
        + ("" if returned is None else f": {returned.why}"),
        TrialEnd.RESTARTED: "mysqld was restarted",
    }[end]
    target = decision.target or (running.baseline if sample is None else sample.capacity)
    ours = running.side is TrialSide.OURS and not state.holds
    if end is TrialEnd.EMERGENCY and ours and running.baseline.io_capacity_max >= target.io_capacity_max:
        state = transitions.begin_restore(state, transitions.TRIAL, now=now)
        why += "; the originals come back in steps, and then the mode is advisory"
    event = Event(
        code=EventCode.BASELINE_TRIAL_ENDED,
        message=f"trial ended, {why}; {verdict_text(result)}",
        who=running.who,
        subject=result.verdict.value,
    )
    return state, [event]


def _ended(state: State, running: Running, end: TrialEnd, *, wall: float) -> tuple[State, TrialResult]:
    """Return the state without the trial; the pair that the loop had in force comes back at the next tick."""
    result = proof.result_of(running, end=end, ended=wall)
    back = running.ours if state.proof.at_baseline and end in {TrialEnd.TIME, TrialEnd.STOPPED} else None
    state = reckoning.taught(state, running)
    return replace(state, proof=Proof(result=result, back=back)), result
