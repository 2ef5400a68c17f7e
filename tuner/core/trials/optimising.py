"""The outer loop's place in a tick: what bars a trial, what is in force, and how a suggestion comes in.

An optimiser comes after limits, persons, schedule and budgets, and before nothing but the policy: whatever of
these has a word to say ends its trial.
"""

from __future__ import annotations

from msgspec.structs import replace

from policies.registry import LAWS
from policies.setpoint import SetPointSource
from policies.types import Suggestion
from tuner.core.commands.context import CommandContext, Outcome, refused
from tuner.core.laws import NOT_MOVED
from tuner.core.state import ReplicationRole, State
from tuner.core.trials import engine
from tuner.core.trials.engine import Trials, TrialTick
from tuner.core.trials.evidence import describe, describe_switch
from tuner.records import (
    Decision,
    DecisionKind,
    Estimate,
    Event,
    EventCode,
    Facts,
    Lifecycle,
    OptimiserProgress,
    Reason,
    Sample,
    winners,
)
from tuner.settings import OUTER, Mode

CHANGES_SHARE = 0.5  # Share of the hour's changes that trials leave to the inner loop

IDLE = frozenset({Reason.IDLE, Reason.FADING, Reason.WARMING_UP, Reason.NO_ESTIMATE})


def in_force(state: State, sample: Sample) -> Suggestion | None:
    """Return the suggestion that the set-point may go by; None for the analytic one."""
    if state.settings.policy != OUTER or sample.degraded:
        return None
    if state.settings.set_point is not None or "set_point" in winners(state.schedule):
        return None
    return state.trials.in_force if LAWS[state.facts.flush_law].m_moves_age else None


def hold_gain(state: State, sample: Sample) -> float:
    """Return the factor on the policy's gain."""
    suggestion = in_force(state, sample)
    return 1.0 if suggestion is None else suggestion.hold_gain


def update(
    state: State, sample: Sample | None, decision: Decision, *, now: float
) -> tuple[State, list[Event]]:
    """Take the tick in that was just decided; what changes is in force from the next one on."""
    slice_ = state.trials
    if state.settings.policy != OUTER:
        if slice_.at is not None:
            state = replace(state, trials=Trials(evidence=slice_.evidence))
        return state, []
    slice_ = replace(slice_, moved_from=0.0)  # what was moved at this tick was followed at it
    switched: list[Event] = []
    if state.role is not None:
        slice_, switched = _for_server(slice_, server_of(state.facts, state.role.role), now=now)
    if sample is None or state.estimate is None:
        slice_, events = engine.barred(slice_, "no reading", now=now)
    else:
        unsafe = _unsafe(state, sample, decision)
        tick = _tick(state, sample, state.estimate, now=now)
        tick = replace(tick, bars=unsafe or _bars(state, sample, decision), unsafe=unsafe)
        slice_, events = engine.update(slice_, tick)
    return replace(state, trials=slice_), [*switched, *events]


def _for_server(slice_: Trials, server: str, *, now: float) -> tuple[Trials, list[Event]]:
    """Begin anew where the server is another one; what was learned of this one before is found again."""
    before = slice_.evidence
    if before.server == server:
        return slice_, []
    ended, events = engine.barred(slice_, f"the server is {server} now", now=now)
    after = before.for_server(server)
    if switch := describe_switch(before, after):
        events.append(engine.event("learned_afresh", f"the server is {server} now: {switch}"))
    return Trials(evidence=after, number=ended.number), events


def suggest(state: State, context: CommandContext) -> Outcome:
    """Take an answer of the optimiser in; a trial begins with it."""
    command, sample = context.command, context.sample
    if state.settings.policy != OUTER:
        return refused(state, f"the policy is {state.settings.policy}, which takes no suggestions")
    if not isinstance(command.value, int):
        return refused(state, f"a suggestion for trial {command.value!r}, which is no number")
    if sample is None or state.estimate is None:
        slice_ = engine.too_late(state.trials, command.value, now=context.now)
        return Outcome(
            replace(state, trials=slice_), "there is no reading to begin a trial with; asked later"
        )
    tick = _tick(state, sample, state.estimate, now=context.now)
    slice_, why = engine.accepted(state.trials, command.value, command.suggestion, tick)
    if why:
        return refused(state, why)
    state = replace(state, trials=slice_)
    if command.suggestion is None:
        return Outcome(state, "nothing is worth a trial just now")
    running = slice_.running
    lasts = "" if running is None else f", blocks of {running.block_seconds:.0f} s"
    text = f"trial {command.value}: {describe(command.suggestion)}{lasts}"
    return Outcome(state, text, event=EventCode.TRIAL_BEGUN)


def progress(state: State, *, now: float) -> OptimiserProgress | None:
    """Return what a watcher may want to know; None where the policy has no outer loop."""
    if state.settings.policy != OUTER:
        return None
    return engine.progress(state.trials, now=now)


def server_of(facts: Facts, role: ReplicationRole = ReplicationRole.PRIMARY) -> str:
    """Return what evidence is kept for: a server of another version, law or role is another one.

    Args:
        facts: version and flush law.
        role: what replays another's writes has learned nothing for the day when it takes its own.
    """
    return f"{facts.version} {facts.flush_law}{' as a replica' if role is ReplicationRole.REPLICA else ''}"


def _tick(state: State, sample: Sample, estimate: Estimate, *, now: float) -> TrialTick:
    return TrialTick(
        now=now,
        sample=sample,
        estimate=estimate,
        set_point=state.set_point_now,
        lru_share=state.caution.lru_share,
        learns=state.occurrences.learns(sample.monotonic),
    )


def _unsafe(state: State, sample: Sample, decision: Decision) -> str:
    estimate = state.estimate
    if decision.kind is DecisionKind.EMERGENCY:
        return f"emergency: {decision.detail}"
    if estimate is not None and estimate.sync_rate > 0.0:
        return "the server sync-flushes"
    allowed = state.highest_checkpoint_age(sample)
    if sample.checkpoint_age > allowed:
        return f"the checkpoint age passed {allowed / sample.redo_capacity:.2f} of the redo capacity"
    return ""


def _bars(state: State, sample: Sample, decision: Decision) -> str:
    """Return why no trial may go on after this tick's decision; empty where one may."""
    holds = state.holds
    pairs = (
        (not LAWS[state.facts.flush_law].m_moves_age, f"{NOT_MOVED} here"),
        (state.role is None, "the server's role, which evidence is kept by, is not known yet"),
        (state.mode is not Mode.ACTIVE, "the mode is advisory"),
        (state.lifecycle is not Lifecycle.RUNNING, "the daemon is starting or stopping"),
        (bool(holds), f"held: {', '.join(hold.code.value for hold in holds)}"),
        (state.override is not None, "a person's override"),
        (state.drain is not None or state.returning is not None, "a drain"),
        (state.proof.running is not None, "a trial against the baseline"),
        (state.park_owed is not None or bool(state.restoring), "a park or a restore"),
        (decision.kind is DecisionKind.PARK, "a park"),
        (state.settings.set_point is not None, "a person's set-point"),
        ("set_point" in winners(state.schedule), "the schedule's set-point"),
        (sample.degraded, state.facts.without_counters),
        (state.caution.redo.on, "another consumer holds redo"),
        (state.set_point_source is SetPointSource.ROLE, "the role's limit decides the set-point"),
        (state.set_point_source is SetPointSource.FREE_PAGES, "waits for a free page decide the set-point"),
        (not state.occurrences.learns(sample.monotonic), _going_on(state)),
        (decision.reason in IDLE, decision.detail),
        (len(state.writes.counted) > CHANGES_SHARE * state.settings.max_changes_per_hour, "many changes"),
    )
    return next((why for applies, why in pairs if applies), "")


def _going_on(state: State) -> str:
    names = ", ".join(state.occurrences.names)
    return f"going on: {names}" if names else "something else went on until just now"
