"""mysqld that was restarted, and another server at its address: what of the state outlives the one before."""

from __future__ import annotations

from msgspec.structs import replace

from tuner.core import gate
from tuner.core.estimate.window import all_flushed
from tuner.core.fallback.relief import Relief
from tuner.core.fallback.unanswered import Unanswered
from tuner.core.ownership.standing import FOLLOWED, another_server, cut_off, cut_short, follows
from tuner.core.savings.ledger import SavingsState
from tuner.core.setpoint import caution
from tuner.core.setpoint.announced import Announced
from tuner.core.state import SAME_START_SECONDS, Latches, LowWater, OtherServer, State, Writes
from tuner.core.trials.proof import Proof
from tuner.records import Event, EventCode, Hold, HoldCode, Remedy, Sample, TrialEnd
from tuner.settings import Mode

SETTLED_READINGS = 10  # Good readings after a restart of mysqld before its values count as its own
SERVERS_REMEMBERED = 8  # Servers behind one address whose originals are kept in mind


def begin_anew(state: State, sample: Sample, *, now: float) -> tuple[State, list[Event]]:
    """Return what of the state outlives the server of the last reading, and what is said of it."""
    last = state.estimator.last
    if sample.identity != state.facts.identity:
        followed = follows(state, sample.identity)
        events, running, proof = [_answers(sample, followed=followed)], state.proof.running, Proof()
        if running is not None:
            end, why = TrialEnd.OTHER_SERVER, "another server answers"
            proof, said = cut_off(running, end, why, wall=sample.wall)
            events.append(Event(code=EventCode.BASELINE_TRIAL_ENDED, message=said, who=running.who))
        return replace(_other_server(state, sample), proof=proof), events
    if state.previous_server:
        event = _answers(sample, f"; the last run was with the server {state.previous_server}")
        return replace(state, previous_server=""), [event]
    if last is not None and restarted(sample, last):
        told = "mysqld was restarted; its values are its own again"
        state = _restart(state, sample, last, now=now)
        return state, [Event(code=EventCode.RESTARTED, message=told)]
    return state, []


def _answers(sample: Sample, more: str = "", *, followed: bool = False) -> Event:
    waits = f"the mode is advisory until a person says otherwise{more}"
    said = f"server {sample.identity} answers now; {FOLLOWED if followed else waits}"
    remedies = () if followed else (Remedy.MODE_ACTIVE,)
    return Event(code=EventCode.OTHER_SERVER, message=said, subject=sample.identity, remedies=remedies)


def restarted(sample: Sample, last: Sample) -> bool:
    """Tell whether mysqld started after the last reading.

    A step of its clock moves uptime as well, and no counter. Where our clock stood still meanwhile, or its
    machine did, the counters tell: a new start begins them anew.
    """
    elapsed = sample.monotonic - last.monotonic
    if sample.uptime >= last.uptime + elapsed - SAME_START_SECONDS:
        return False
    anew = sample.row_changes < last.row_changes or all_flushed(sample) < all_flushed(last)
    if last.uptime <= sample.uptime <= last.uptime + SAME_START_SECONDS:
        return anew
    return sample.uptime <= elapsed + SAME_START_SECONDS or (anew and sample.uptime < last.uptime)


def _restart(state: State, sample: Sample, last: Sample, *, now: float) -> State:
    hold = Hold(code=HoldCode.RESTARTED, since=now, reason="mysqld was restarted")
    restoring = bool(state.restoring)
    return replace(
        state,
        mode=Mode.ADVISORY if restoring else state.mode,
        advisory_until_said=restoring or state.advisory_until_said,
        why_advisory=cut_short(state.restoring) if restoring else state.why_advisory,
        facts_due=True,
        facts=replace(state.facts, started=float(round(sample.wall - sample.uptime))),
        estimator=replace(
            state.estimator,
            last=None,
            window=(),
            recovery=state.estimator.recovery.crashed(
                last, unseen=sample.monotonic - last.monotonic - sample.uptime
            ),
        ),
        caution=caution.Caution(),
        relief=Relief(moments=state.relief.moments),
        unanswered=Unanswered(),
        announced=Announced(),
        gate=gate.forget(state.gate),
        baseline_guard=state.baseline_guard.restarted(),
        writes=Writes(last=state.writes.last, counted=state.writes.counted),
        originals=None,
        latches=replace(state.latches, restarted=hold, foreign=None),
        low_water=LowWater(),
        override=None,
        restoring="",
        park_owed=None,
        park_target=None,
        good_since_restart=0,
    )


def _other_server(state: State, sample: Sample) -> State:
    """Begin anew with the server that answers now; what was kept for one that comes back is found again.

    Of the state before stays only what is no server's: what the operator wants, the daemon's own life, and
    what is still to be said of the holds and the drain that end with it.
    """
    facts, followed = state.facts, follows(state, sample.identity)
    kept = {one.identity: one for one in state.other_servers}
    last = state.estimator.last
    if state.originals is not None and last is not None:
        before = last.monotonic - last.uptime
        kept[facts.identity] = OtherServer(
            facts.identity, before, state.originals, state.low_water.original, state.savings
        )
    started = sample.monotonic - sample.uptime
    again = kept.pop(sample.identity, None)
    known = again is not None and abs(again.started - started) <= SAME_START_SECONDS
    return State(
        settings=state.settings,
        facts=replace(facts, identity=sample.identity, started=float(round(sample.wall - sample.uptime))),
        facts_due=True,
        mode=state.settings.mode if followed else Mode.ADVISORY,
        advisory_until_said=not followed,
        why_advisory="" if followed else another_server(sample.identity),
        group_paused=state.group_paused,
        lifecycle=state.lifecycle,
        originals=again.originals if again is not None and known else None,
        low_water=LowWater.recalled(again.low_water if again is not None and known else None),
        savings=SavingsState() if again is None else replace(again.savings, block=None),
        other_servers=tuple(kept.values())[-SERVERS_REMEMBERED:],
        latches=Latches(paused=state.latches.paused),
        holds=state.holds,
        drain=state.drain,
        schedule=state.schedule,
    )
