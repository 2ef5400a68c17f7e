"""What receipt, facts and reading of a tick change before anything is decided, in the order of the checks."""

from __future__ import annotations

from msgspec.structs import replace

from policies.registry import LAWS
from tuner.core import gate, laws
from tuner.core.estimate import averages, clocks, estimator, occurrences
from tuner.core.estimate.recovery import Recovery
from tuner.core.leaving import lowwater, park
from tuner.core.memory import forgotten
from tuner.core.ownership import foreign, transitions
from tuner.core.ownership.restarts import SETTLED_READINGS, begin_anew
from tuner.core.setpoint import caution
from tuner.core.setpoint.choose import update_set_point
from tuner.core.state import State
from tuner.records import Event, EventCode, Facts, Hold, HoldCode, Receipt, Sample
from tuner.settings import Mode
from tuner.system.amounts import size

THEIRS = (
    "another InnoBrim had the writer lock until now, so they may be its last write: look at them before you "
    "have them restored"
)
"""What the event ``originals`` says where they may be none."""

BEGUN = frozenset({EventCode.RESTARTED, EventCode.OTHER_SERVER})
"""Events after which the server's uptime is another start's."""

FAILURES_LATCHED = 3  # Writes refused in a row before the loop stops trying and waits for a person


def take_receipt(state: State, receipt: Receipt | None, *, now: float) -> tuple[State, list[Event]]:
    """Note what became of the last write."""
    if receipt is None:
        return state, []
    if receipt.low_water_asked is not None:
        return lowwater.take_receipt(state, receipt, now=now)
    state, events = transitions.take_receipt(state, receipt), []
    failures = state.writes.failures
    if receipt.error:
        events.append(Event(code=EventCode.WRITE_FAILED, message=receipt.error))
        if (receipt.denied or failures >= FAILURES_LATCHED) and state.latches.refused is None:
            lost = f"the account may not write: {receipt.error}"
            failed = f"{failures} writes in a row were refused: {receipt.error}"
            hold = Hold(
                code=HoldCode.PRIVILEGE_LOST if receipt.denied else HoldCode.NOT_WRITER,
                since=now,
                reason=lost if receipt.denied else failed,
            )
            state = transitions.latch(state, hold)
    elif receipt.in_force is not None and receipt.in_force != receipt.requested:
        events.append(
            Event(
                code="adjusted",
                message=f"asked for {receipt.requested}, the server turned that into {receipt.in_force}",
            )
        )
    return state, events


def take_facts(state: State, facts: Facts | None) -> tuple[State, list[Event]]:
    """Note what server it is that came back; another version has to pass the model gate again.

    Facts in which only the blockers are others stand for an answer that was none: they tell why nothing can
    be written, and all the rest, a recovery too, is from before.
    """
    known = state.facts
    if facts is None or facts.identity != known.identity:
        return state, []
    state = replace(state, facts=facts, facts_due=False)
    if facts.blockers and facts == replace(known, blockers=facts.blockers):
        return state, []
    state, events = _take_version(state, known, facts)
    if facts.own_limits != known.own_limits:
        events += [Event(code=code, message=text) for code, text in of_own_limits(facts)]
    return state, events


def of_own_limits(facts: Facts) -> tuple[tuple[str, str], ...]:
    """Return, as code and message, the event that says which limits are taken from the server; none else."""
    said = "; ".join(facts.own_limits)
    return (("own_limits", f"the server's own limits are taken: {said}"),) if said else ()


def _take_version(state: State, known: Facts, facts: Facts) -> tuple[State, list[Event]]:
    """Go by the facts of the server that was known, of the same version or another one."""
    if facts.version == known.version:
        state, events = _take_recovery(state, facts)
        state = replace(state, facts=replace(facts, flush_law=known.flush_law))
        state, told = laws.take_law(state, facts.flush_law)
        return state, [*events, *told]
    message = f"the server is {facts.version} now and was {known.version}"
    fresh = gate.GateState(proven=state.gate.proven)
    state = replace(state, gate=fresh)
    if facts.flush_law != known.flush_law:
        state = laws.decide_afresh(state)
    recovery = state.estimator.recovery
    state = replace(state, estimator=replace(state.estimator, recovery=Recovery()))
    if not recovery.measured_on:
        return state, [Event(code="version", message=message)]
    why = f"the server is {facts.version} now: {forgotten(recovery.factor, recovery.measured_on)}"
    return state, [
        Event(code="version", message=f"{message}; measured crash recoveries are forgotten"),
        Event(code="learned_afresh", message=why),
    ]


def _take_recovery(state: State, facts: Facts) -> tuple[State, list[Event]]:
    """Learn from how long a crash recovery took that a prediction had been made for."""
    recovery, seconds = state.estimator.recovery, facts.recovery_seconds
    awaited = recovery.awaited
    if awaited is None:
        return state, []
    if seconds is None:
        recovery = replace(recovery, awaited=None)
        return replace(state, estimator=replace(state.estimator, recovery=recovery)), []
    learned = recovery.measured(seconds, version=facts.version)
    message = (
        f"crash recovery took {seconds:.1f} s where {recovery.factor * awaited:.1f} s were predicted; "
        f"the factor was {recovery.factor:.2f} and is {learned.factor:.2f}"
    )
    state = replace(state, estimator=replace(state.estimator, recovery=learned))
    return state, [Event(code="recovery_measured", message=message)]


def take_sample(state: State, sample: Sample, *, now: float) -> tuple[State, list[Event]]:
    """Take a reading in; the restart check comes before the foreign-change check."""
    last = state.estimator.last
    state, events = begin_anew(state, sample, now=now)
    restarted = any(event.code == EventCode.RESTARTED for event in events)
    noted, said = occurrences.update(state.occurrences, last, sample, restarted=restarted)
    if noted is not state.occurrences:
        state = replace(state, occurrences=noted)
    state, other = laws.take_law(state, sample.flush_law)
    events.extend([*said, *laws.tell_counters(last, sample, state.facts), *other])
    anew = any(event.code in BEGUN for event in events)
    if last is not None and not anew and last.redo_capacity != sample.redo_capacity:
        was, now_is = size(last.redo_capacity), size(sample.redo_capacity)
        message = f"the redo log has {now_is}, and had {was}: limits and set-point follow"
        events.append(Event(code="redo_capacity", message=message))
    sample = laws.settled(state, laws.without_counters(state, sample))
    state, apart = _see_clocks(state, sample, begun=anew)
    if apart:
        message = f"{apart}; estimates start again"
        events.append(Event(code="clock_gap", message=message))
    law = LAWS[state.facts.flush_law]
    slice_, estimate, went_back = estimator.update(
        state.estimator,
        sample,
        interrupted=bool(apart),
        learns=state.occurrences.learns(sample.monotonic),
        law=law,
        flush_order_lag=state.facts.flush_order_lag,
        sawtooth_seconds=state.facts.sawtooth_seconds,
    )
    if went_back:
        events.append(Event(code="reversed", message="a counter went back; estimates start again"))
    state = replace(
        state,
        clocks=state.clocks.settled(slice_.window),
        estimator=slice_,
        estimate=estimate,
        last_good=sample.monotonic,
        good_since_restart=state.good_since_restart + 1,
    )
    if last is not None and estimate is not None:
        seen = gate.update(state.gate, law, last, sample, estimate)
        if seen.mismatched:
            seen = replace(seen, proven="")
        elif seen.telling >= gate.NEEDED and not sample.degraded and not state.facts_due:
            seen = replace(seen, proven=state.facts.version)
        careful, warned = caution.update(
            state.caution,
            sample,
            estimate,
            set_point=state.set_point,
            now=now,
        )
        state = replace(state, gate=seen, caution=careful)
        state, bounded = update_set_point(state, sample, estimate, now=now)
        state = park.keep_ready(state, sample)
        events += [*warned, *bounded]
    state, changed = foreign.compare(state, sample, now=now)
    another_wrote = last is not None and not last.writer and not last.stranger
    state, taken = _take_originals(state, sample, another_wrote=another_wrote)
    state, others = lowwater.take_sample(state, sample, now=now)
    events.extend(_lock_said(last, sample))
    return state, [*events, *changed, *taken, *others]


def _lock_said(last: Sample | None, sample: Sample) -> list[Event]:
    """Say once that the writer lock is another one than the server's; a hold says whose it is."""
    before = last.lock if last is not None and last.writer else ""
    if not sample.writer or sample.lock in {"", before}:
        return []
    return [Event(code="writer_lock", message=sample.lock)]


def _see_clocks(state: State, sample: Sample, *, begun: bool) -> tuple[State, str]:
    """Note how the clocks stand; where they ran apart no rate and no mean goes on across that.

    Args:
        begun: another server, or another start of one, answers from this reading on.

    Returns:
        The next state, and in words how they ran apart; empty where they did not.
    """
    before = state.clocks.begun() if begun else state.clocks
    seen, apart = clocks.update(before, sample)
    state = replace(state, clocks=seen)
    if not apart:
        return state, ""
    tried = state.trials
    return replace(
        state,
        park_target=None,
        caution=replace(state.caution, at=None),
        unanswered=replace(state.unanswered, at=None, foretold=0.0),
        baseline_guard=state.baseline_guard.interrupted(),
        trials=replace(tried, at=None, averages=averages.afresh(tried.averages)),
    ), apart


def _take_originals(state: State, sample: Sample, *, another_wrote: bool) -> tuple[State, list[Event]]:
    """Note what was in force when active mode is entered; lift the restart hold when all is known.

    Beside another daemon that would be what it wrote last: the writer lock is had first.
    """
    events: list[Event] = []
    active = state.mode is Mode.ACTIVE
    alone = sample.writer or sample.stranger
    if active and state.lock_asked and alone and state.originals is None and not state.facts_due:
        state = transitions.note_originals(state, sample.capacity)
        theirs = f"; {THEIRS}" if another_wrote else ""
        events.append(Event(code=EventCode.ORIGINALS, message=f"originals are {sample.capacity}{theirs}"))
    state = transitions.ask_for_lock(state)
    saved = not active or (state.originals is not None and state.originals.saved)
    if state.latches.restarted is not None and state.good_since_restart >= SETTLED_READINGS and saved:
        state = transitions.unlatch(state, HoldCode.RESTARTED)
    return state, events
