"""Pauses, holds and changes of the mode that wait for a person, and so outlive the daemon."""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from tuner.core.baseline.guard import BaselineGuard, Returned, Shown
from tuner.core.state import SAME_START_SECONDS, LowWater, State
from tuner.core.trials.paired import verdict_text
from tuner.core.trials.proof import Proof, Running, result_of, spoilt
from tuner.records import EventCode, Hold, HoldCode, Remedy, TrialEnd
from tuner.settings import Mode


class Standing(Struct, frozen=True):
    """Reasons to keep hands off one server that wait for a person."""

    identity: str  # which server
    started: float  # when it had started, Unix time
    paused: str = ""  # why and by whom, empty where nobody paused
    foreign: str = ""  # the change by somebody else that the loop yielded to, empty without one
    # a person, a restore, or another server at the address made an active loop advisory
    advisory: bool = False
    why: str = ""  # which of these, for people
    # the operator's low-water mark, where ours may be in force, in millionths of a percent
    low_water: int | None = None
    returned: Returned | None = None  # why the baseline guard made it advisory; None where it did not
    # why an earlier daemon's pause or mode could not be read; empty once a person has given a command
    unheard: str = ""
    proof: Proof = Proof()  # a trial against the baseline that is under way, and what the last one came to


ANEW = "the daemon was restarted"  # What a trial waits for at a start


def another_server(identity: str) -> str:
    """Return why the loop is advisory where another server answers at its address."""
    return f"another server, {identity}, answers at this address"


OUTSIDE_STAGE = "the server is outside the stage that active_percent of [fleet] sets"

FOLLOWED = "[fleet] names it, so the mode is the configuration's"


def follows(state: State, identity: str) -> bool:
    """Tell whether another server may be tuned without a person: one that the configuration names.

    Not where the loop was advisory by another word than the configuration's, or gave values back.
    """
    return identity in state.settings.servers and not (state.advisory_until_said or state.restoring)


def cut_short(who: str) -> str:
    """Return why the loop is advisory after a restore that did not end."""
    return f"a restore by {who} was cut short"


def unknown(unheard: str) -> str:
    """Return what keeps a loop advisory that does not know what stood; empty where it does."""
    return f"it is not known what stood before, such as a pause: {unheard}" if unheard else ""


def why_advisory(state: State) -> str:
    """Return why nothing is written, where the mode is advisory; empty where it is active."""
    if state.mode is Mode.ACTIVE:
        return ""
    if state.why_advisory or state.settings.mode is Mode.ACTIVE:
        return state.why_advisory or "a person said so"
    return OUTSIDE_STAGE if state.settings.outside_stage else "the configuration says so"


def why_not_active(state: State) -> tuple[str, tuple[Remedy, ...]]:
    """Return what an earlier daemon was told that keeps this one from writing too, and what ends that."""
    said = [hold.reason for hold in (state.latches.paused, state.latches.foreign) if hold is not None]
    if state.unheard and not state.advisory_until_said:
        return "; ".join(said), ()
    if state.previous_server:
        said.append(
            f"advisory: {state.facts.identity} answers, but the last run was with the server "
            f"{state.previous_server}"
        )
    elif state.mode is not state.settings.mode:
        said.append(f"advisory: {why_advisory(state)}")
    else:
        return "; ".join(said), ()
    return "; ".join(said), (Remedy.MODE_ACTIVE,)


def standing_of(state: State) -> Standing:
    """Return what the next daemon has to know."""
    latches, returned = state.latches, state.baseline_guard.returned
    return Standing(
        identity=state.facts.identity,
        started=state.facts.started,
        paused=latches.paused.reason if latches.paused is not None else "",
        foreign=latches.foreign.reason if latches.foreign is not None else "",
        advisory=state.advisory_until_said or bool(state.restoring),
        why=cut_short(state.restoring) if state.restoring else state.why_advisory,
        low_water=state.low_water.original,
        returned=None if returned is None else replace(returned, again=Shown(), apart=0.0),
        unheard=state.unheard,
        proof=_settled(state.proof),
    )


def _settled(proof: Proof) -> Proof:
    """Return what of a trial is kept: its whole pairs, so that it is written once a pair."""
    running = proof.running
    if running is None:
        return proof
    return replace(proof, running=replace(spoilt(running, ANEW, now=0.0), rests_until=0.0))


def _trial_taken_up(state: State, proof: Proof, *, same_start: bool, now: float) -> State:
    """Return the state with a trial that goes on, after a rest, or has ended with the start of mysqld."""
    running = proof.running
    if running is None:
        return replace(state, proof=proof)
    code, said = "baseline_trial_resumed", "a trial against the baseline goes on with its next pair of blocks"
    if same_start:
        proof = replace(proof, running=replace(running, rests_until=now + running.block_seconds))
    else:
        code, end = EventCode.BASELINE_TRIAL_ENDED, TrialEnd.RESTARTED
        proof, said = cut_off(running, end, "mysqld was restarted", wall=state.facts.started)
    return replace(state, proof=proof, pending_events=(*state.pending_events, (code, said)))


def cut_off(running: Running, end: TrialEnd, why: str, *, wall: float) -> tuple[Proof, str]:
    """Return what a trial that went with its server, at some wall time, had come to; and that in words."""
    result = result_of(running, end=end, ended=max(running.began, wall))
    return Proof(result=result), f"trial ended, {why}; {verdict_text(result)}"


def moved(state: State, before: Standing, *, now: float) -> State:
    """Return a state at its start where another server was at this address when the last daemon ended.

    It is advisory until a person says otherwise, or the configuration names the server. A pause goes on:
    hands off was said, whichever server it is.

    Args:
        state: as a daemon begins, with what stands for the server that answers now.
        before: what the last daemon left of the other one.
    """
    here = standing_of(state)
    here = replace(here, paused=here.paused or before.paused)
    if not before.advisory and follows(state, state.facts.identity):
        said = f"server {state.facts.identity} answers now; {FOLLOWED}"
        state = take_up(state, here, now=now)
        return replace(state, pending_events=(*state.pending_events, ("server_followed", said)))
    here = replace(here, advisory=True, why=another_server(state.facts.identity))
    state = take_up(state, here, now=now)
    return replace(state, previous_server=before.identity)


def take_up(state: State, standing: Standing | None, *, now: float) -> State:
    """Return a state at its start with what still stands.

    A change by somebody else is over with the start of mysqld that it was made on.

    Args:
        standing: what the last one left; None without one, or of another server.
    """
    if standing is None or standing.identity != state.facts.identity:
        return state
    latches = state.latches
    if standing.paused or standing.unheard:
        why = unknown(standing.unheard)
        reason = (
            standing.paused if why in standing.paused else "; ".join(filter(None, (standing.paused, why)))
        )
        hold = Hold(code=HoldCode.PAUSED, since=now, reason=reason)
        latches = replace(latches, paused=hold)
    same_start = abs(standing.started - state.facts.started) <= SAME_START_SECONDS
    if standing.foreign and same_start:
        hold = Hold(code=HoldCode.FOREIGN_CHANGE, since=now, reason=standing.foreign)
        latches = replace(latches, foreign=hold)
    entered = tuple(hold for hold in (latches.paused, latches.foreign) if hold is not None)
    state = replace(
        state,
        latches=latches,
        holds=entered,
        advisory_until_said=standing.advisory,
        why_advisory=standing.why if standing.advisory else "",
        low_water=LowWater.recalled(standing.low_water if same_start else None),
    )
    state = _trial_taken_up(state, standing.proof, same_start=same_start, now=now)
    if standing.unheard and not state.unheard:
        told = (*state.pending_events, ("unheard", unknown(standing.unheard)))
        state = replace(state, unheard=standing.unheard, pending_events=told, mode=Mode.ADVISORY)
        if not standing.advisory:
            state = replace(state, why_advisory=unknown(standing.unheard))
    tunes = state.settings.mode is Mode.ACTIVE or state.settings.outside_stage
    if standing.advisory and standing.returned is not None and tunes:
        still = (
            *state.pending_events,
            ("baseline_back", f"still so from an earlier run: {standing.returned.why}"),
        )
        state = replace(state, baseline_guard=BaselineGuard(returned=standing.returned), pending_events=still)
    return replace(state, mode=Mode.ADVISORY) if standing.advisory else state
