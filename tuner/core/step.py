"""One tick, left to right: receipt, commands, reading, holds, decision, record."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from tuner.core import observe
from tuner.core.baseline import reverting
from tuner.core.commands import handlers, schedule
from tuner.core.commands.context import CommandContext
from tuner.core.decide import drain, precedence, proving
from tuner.core.gate import GateState
from tuner.core.holds import by_owner, update_holds
from tuner.core.leaving import lowwater, park, restore
from tuner.core.memory import Learned, estimator_of
from tuner.core.ownership import transitions
from tuner.core.ownership.standing import why_advisory
from tuner.core.savings import reckoning
from tuner.core.savings.ledger import SavingsState
from tuner.core.state import OriginalPair, State, Writes
from tuner.core.trials import optimising
from tuner.core.trials.engine import Trials
from tuner.records import (
    Acknowledgement,
    Capacity,
    Decision,
    DecisionKind,
    Event,
    EventCode,
    Facts,
    Lifecycle,
    Missed,
    Reason,
    Sample,
    Tick,
    TickRecord,
)
from tuner.settings import Mode, Settings

LOST = "of what was learned of this server this cannot be read, and starts again: "
"""How the event ``learned_lost`` begins."""


def start(
    settings: Settings,
    facts: Facts,
    originals: Capacity | None = None,
    *,
    left: tuple[Capacity, ...] = (),
    known: tuple[Capacity, ...] = (),
    learned: Learned | None = None,
    lost: tuple[str, ...] = (),
) -> State:
    """Return the state before the first tick.

    Args:
        originals: the pair from before an earlier run of ours on this very start of the server.
        left: what that run's writes may have left; ours to park where one of them is in force.
        known: the pairs of which one is in force where nobody changed it since; empty where unknown.
        learned: what earlier runs learned about this server.
        lost: the parts of that which could not be read, each with the reason.
    """
    kept = OriginalPair(capacity=originals, saved=True) if originals is not None else None
    return State(
        settings=settings,
        facts=facts,
        mode=settings.mode,
        originals=kept,
        writes=Writes(left=left, known=known),
        estimator=estimator_of(learned, version=facts.version),
        gate=GateState(proven=learned.proof_of(facts.flush_law) if learned is not None else ""),
        trials=Trials(evidence=learned.evidence) if learned is not None else Trials(),
        savings=SavingsState(learned.savings, tried=learned.tried) if learned is not None else SavingsState(),
        pending_events=_pending_events(facts, learned, lost),
    )


def _pending_events(
    facts: Facts, learned: Learned | None, lost: tuple[str, ...]
) -> tuple[tuple[str, str], ...]:
    """Return the events that say what of earlier knowledge begins afresh, and what is this server's own.

    What becomes of trials is said once its role is known, by the outer loop.
    """
    events = [("learned_lost", LOST + "; ".join(lost))] if lost else []
    afresh = learned.afresh(version=facts.version, law=facts.flush_law) if learned is not None else ()
    if afresh:
        message = f"the server is {facts.version} {facts.flush_law} now: {'; '.join(afresh)}"
        events.append(("learned_afresh", message))
    return (*events, *observe.of_own_limits(facts))


def step(state: State, tick: Tick) -> tuple[State, TickRecord]:
    """Return the next state and all that this tick took in and gives out. Never raises on finite input."""
    now = tick.now
    sample = tick.reading if isinstance(tick.reading, Sample) else None
    mode_before, returned_before = state.mode, state.baseline_guard.returned
    ended = state.override is not None and now >= state.override.ends
    events = [Event(code=code, message=text) for code, text in state.pending_events]
    state = _forget_old(replace(state, pending_events=()) if events else state, now)
    state, received = observe.take_receipt(state, tick.receipt, now=now)
    state, renewed = observe.take_facts(state, tick.facts)
    events.extend([*received, *renewed])
    if ended:
        events.append(Event(code="override_ended", message="the override's time is over"))
    answers: list[Acknowledgement] = []
    windows = state.schedule
    for command in tick.commands:
        context = CommandContext(command=command, sample=sample, now=now)
        state, answer, said = handlers.handle_command(state, context)
        answers.append(answer)
        events.extend(said)
    if state.settings.outside_stage and state.park_owed is None:
        state = transitions.staged(state)
    events.extend(schedule.changes(windows, state.schedule, wall=tick.wall))
    if sample is not None:
        state, said_by_sample = observe.take_sample(state, sample, now=now)
        events.extend(said_by_sample)
        sample = state.estimator.last
    else:
        state = replace(state, missed=tick.reading.reason if isinstance(tick.reading, Missed) else "")
    state, changed = update_holds(state, sample, now=now)
    events.extend(changed)
    state, said_of_window = drain.update_window(state, sample, now=now, wall=tick.wall)
    state, said_of_drain = drain.update(state, sample, now=now)
    events.extend([*said_of_window, *said_of_drain])
    if state.lifecycle is Lifecycle.STARTING and state.estimate is not None:
        state = transitions.running(state)
    before = state
    state, decision = precedence.decide(state, sample, now=now)
    events.extend(_decided(before, state, sample, decision))
    if state.mode is not mode_before and decision.reason == Reason.RESTORED:
        events.append(Event(code=EventCode.RESTORED, message=decision.detail))
    state, said_of_trials = optimising.update(state, sample, decision, now=now)
    state, said_of_baseline = reverting.update(state, sample, decision, before=returned_before, now=now)
    state, said_of_proof = proving.update(state, sample, decision, now=now, wall=tick.wall)
    state, said_of_savings = reckoning.update(state, sample)
    events.extend([*said_of_trials, *said_of_baseline, *said_of_proof, *said_of_savings])
    if mode_before is Mode.ACTIVE and state.mode is Mode.ADVISORY:
        state = lowwater.left_active(state, now=now)
    state, said_of_mark = lowwater.see_end(state, sample, now=now)
    events.extend(said_of_mark)
    trial_ended = any(event.code == EventCode.BASELINE_TRIAL_ENDED for event in events)
    return state, TickRecord(
        tick=tick,
        lifecycle=state.lifecycle,
        mode=state.mode,
        estimate=state.estimate if sample is not None else None,
        decision=decision,
        holds=state.holds,
        events=tuple(
            replace(event, wall=tick.wall, remedies=by_owner(event.remedies, state.facts)) for event in events
        ),
        acknowledgements=tuple(
            replace(answer, remedies=by_owner(answer.remedies, state.facts)) for answer in answers
        ),
        override_ends=state.override.ends if state.override is not None else None,
        changes_last_hour=len(state.writes.counted),
        originals=state.originals.capacity if state.originals is not None else None,
        occurrences=state.occurrences.names,
        drain=drain.progress(state, sample, now=now),
        restore=restore.progress(state, sample, now=now),
        advisory=why_advisory(state),
        schedule=state.schedule,
        optimiser=optimising.progress(state, now=now),
        overlay=state.overlay,
        unkept=state.announced.unkept if sample is not None else (),
        low_water=lowwater.progress(state, sample),
        trial=state.proof.result if trial_ended else None,
    )


def _decided(before: State, after: State, sample: Sample | None, decision: Decision) -> Iterator[Event]:
    """Yield what is said of a decision: what it ended, and what is written."""
    if before.override is not None and after.override is None:
        yield Event(code="override_cancelled", message="an emergency ended the override")
    if before.restoring and not after.restoring and decision.kind is DecisionKind.EMERGENCY:
        said = "an emergency that needs more than the originals ended the restore; the loop goes on"
        yield Event(code="restore_cancelled", message=said)
    without_rates = sample is None or after.estimate is None
    if before.park_owed is not None and after.park_owed is None and without_rates:
        yield Event(code="not_parked", message=park.given_up(after, sample))
    if decision.kind is not DecisionKind.KEEP and decision.target is not None:
        what = "" if decision.kind is DecisionKind.LOW_WATER else f"{decision.target.in_words}: "
        yield Event(code=decision.kind.value, message=f"{what}{decision.detail}")


def _forget_old(state: State, now: float) -> State:
    if state.override is not None and now >= state.override.ends:
        state = transitions.end_override(state)
    return transitions.forget_old_writes(state, now=now)
