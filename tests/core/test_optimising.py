"""The outer loop in the tick: what it may move, who comes before it, and that a journal replays it."""

from __future__ import annotations

import math
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from policies.setpoint import LOWEST, NOISE, STEP, Headroom, highest_ratio, suggested_ratio
from policies.suggestions import LIMITS
from policies.types import Context, Suggestion, Trial
from tests.bench import Bench, FakeServer, replays
from tests.factory import EPOCH, FACTS, MEBIBYTE, SAVED, A, command
from tuner.core.memory import Learned, learn
from tuner.core.snapshot import decode_state, encode_state
from tuner.core.step import start
from tuner.core.trials import optimising
from tuner.core.trials.engine import Trials
from tuner.core.trials.evidence import Evidence, Win
from tuner.records import (
    Acknowledgement,
    Capacity,
    Command,
    DecisionKind,
    OptimiserPhase,
    Sample,
    TickRecord,
    Window,
)
from tuner.settings import Mode, Settings

BAYES = Settings(mode=Mode.ACTIVE, policy="bayes")
LOWER = Suggestion(-0.05, 1.0, 1.0)
SUGGESTIONS = st.builds(Suggestion, *(st.floats(low, high) for low, high in LIMITS.values()))
HEADROOMS = st.builds(
    Headroom,
    flush_limit=st.just(8e7),
    sync_point=st.just(8.3e7),
    redo_capacity=st.just(1e8),
    checkpoint_lag=st.floats(0.0, 1e7),
    redo_rate=st.floats(0.0, 5e6),
    burst_bytes=st.floats(0.0, 4e7),
    max_checkpoint_age_ratio=st.floats(0.3, 0.84),
    combining_exponent=st.floats(0.0, 1.0),
)


def suggest(number: int, suggestion: Suggestion | None = LOWER) -> Command:
    """Return the optimiser's answer."""
    return command("suggest", who="optimiser", value=number, suggestion=suggestion, number=90 + number)


def asking(**chosen: Any) -> Bench:  # noqa: ANN401 - any setting
    """Return a loop that asks for its first suggestion."""
    server = FakeServer()
    server.combines = 0.5
    bench = Bench(replace(BAYES, **chosen), server).in_control()
    for _ in range(4000):
        bench.turn()
        if progress(bench.record).phase is OptimiserPhase.ASKING:
            return bench
    raise AssertionError(f"it never asks: {bench.record.optimiser}")


def progress(record: TickRecord) -> Any:  # noqa: ANN401 - shortens what follows
    """Return the outer loop's part of a record, which is there."""
    assert record.optimiser is not None
    return record.optimiser


def trying(bench: Bench) -> Bench:
    """Answer, and go on into the first suggested block."""
    bench.turn(suggest(progress(bench.record).number))
    for _ in range(1500):
        bench.turn()
        if progress(bench.record).suggested:
            bench.turn()
            return bench
    raise AssertionError(f"no suggested block comes: {bench.record.optimiser}")


@pytest.fixture(scope="module")
def asked() -> bytes:
    """Return the state of a loop that asks for a suggestion."""
    return encode_state(asking().state)


def test_a_trial_moves_the_set_point_and_moves_it_back() -> None:
    """In a suggested block the set-point is lower by the offset, and M follows; then both return."""
    bench = asking()
    before, seen = bench.state.set_point, len(bench.records)
    trying(bench)
    reading = bench.records[-3].tick.reading
    assert isinstance(reading, Sample)
    m_before = reading.io_capacity_max
    assert before is not None
    assert bench.state.set_point == pytest.approx(before - 0.05, abs=STEP)
    assert bench.record.decision.set_point_source == "optimiser"
    bench.turns(120)
    assert bench.server.capacity.io_capacity_max > m_before
    while progress(bench.record).suggested:
        bench.turn()
    bench.turns(120)

    assert bench.state.set_point == pytest.approx(before, abs=STEP)
    assert bench.server.capacity.io_capacity_max == pytest.approx(m_before, rel=0.02)
    assert not any(record.decision.kind.value == "emergency" for record in bench.records[seen:])


def test_a_trial_goes_on_where_a_steady_load_is_held_beyond_the_alarm() -> None:
    """Where the baseline rests the checkpoint age passes the operator's share, which is not unsafe there."""
    server = FakeServer(Capacity(560, 560), redo_rate=2e6)
    server.combines = 0.5
    bench = Bench(BAYES, server)
    bench.turn()
    bench.turn(SAVED)
    highest, blocks = 0.0, set()
    for second in range(3000):
        if second % 7 == 0:
            server.shows = {"lsn_checkpoint": round(server.oldest) - 2 * MEBIBYTE}
        made = progress(bench.record) if second else None
        if made is not None and made.phase is OptimiserPhase.ASKING:
            bench.turn(suggest(made.number))
        else:
            bench.turn()
        reading = bench.record.tick.reading
        assert isinstance(reading, Sample)
        if progress(bench.record).phase is OptimiserPhase.TRIAL:
            blocks.add(progress(bench.record).suggested)
            highest = max(highest, reading.checkpoint_age / reading.redo_capacity)

    assert highest > 0.80
    assert blocks == {True, False}
    assert not any(event.code == "suggestion_unsafe" for one in bench.records for event in one.events)


@pytest.mark.parametrize("source", ["role", "free_pages"])
def test_no_trial_goes_on_where_what_comes_after_the_suggestion_decides(source: str) -> None:
    """A replica's limit and waits for a free page come after a suggestion, which would be tried in vain."""
    bench = trying(asking(allow_read_only_writes=True, max_replica_set_point=0.6))
    server = bench.server
    for count in range(1, 121):
        server.shows = {"replica": True} if source == "role" else {"free_page_waits": 50 * count}
        bench.turn()

    assert bench.record.decision.set_point_source == source
    assert progress(bench.record).phase is OptimiserPhase.BARRED


def test_a_run_with_trials_replays_to_the_same() -> None:
    """The suggestion is a command in a tick: the journal's bytes give every record again, mid-trial too."""
    bench = asking()
    seen = len(bench.records)
    state = decode_state(encode_state(bench.state))
    trying(bench).turns(400)

    assert replays(state, bench.records[seen:], restart=300) == bench.state


@pytest.mark.parametrize(
    "name", ["override", "drain", "pause", "mode", "park", "set_point", "ddl", "lock", "restart", "down"]
)
def test_whoever_comes_before_it_ends_its_trial(name: str) -> None:
    """A person, a hold, a drain, an occurrence, a missed reading: the trial is over at that tick."""
    bench = trying(asking())
    orders = {
        "override": command("override", value=600, ttl=60.0),
        "drain": command("drain", value="40%", ttl=60.0),
        "pause": command("pause"),
        "mode": command("mode", value="advisory"),
        "park": command("park"),
        "set_point": command("settings", settings=replace(BAYES, set_point=0.6)),
    }
    if name in orders:
        bench.turn(orders[name])
    elif name == "ddl":
        bench.server.shows["ddl_statements"] = 5
        bench.turn()
    elif name == "lock":
        bench.server.shows["backup_locked"] = True
        bench.turn()
    elif name == "restart":
        bench.server.restart(bench.server.capacity)
        bench.turn()
    else:
        bench.server.down = "did not answer"
        bench.turn()
    codes = [event.code for event in bench.record.events]

    assert "trial_abandoned" in codes
    assert bench.state.trials.running is None
    assert bench.state.trials.in_force is None
    bench.server.down = ""
    bench.turns(2)
    assert bench.record.decision.set_point_source != "optimiser"


def test_the_schedule_ends_a_trial() -> None:
    """In a window that has a set-point of its own nothing is tried."""
    bench = trying(asking())
    window = Window(name="day", began=EPOCH, ends=EPOCH + 1e6, set_point=0.6)
    bench.turn(command("schedule", who="schedule", windows=(window,)))
    assert bench.state.trials.running is None
    bench.turns(1500)

    assert progress(bench.record).phase is OptimiserPhase.BARRED
    assert "schedule" in progress(bench.record).why
    assert bench.record.decision.set_point_source != "optimiser"


def test_a_park_for_another_role_ends_a_trial() -> None:
    """A server that changes its role has another load, also where its set-point stays what it was."""
    bench = trying(asking(max_checkpoint_age_ratio=0.6))
    bench.server.shows["replica"] = True
    bench.turn()

    assert bench.record.decision.kind is DecisionKind.PARK
    assert bench.state.set_point_source != "role"
    assert "trial_abandoned" in [event.code for event in bench.record.events]
    assert bench.state.trials.running is None


def test_what_was_learned_in_another_role_is_not_used_and_is_not_lost() -> None:
    """A server that becomes a replica begins its trials afresh, says so, and knows the old ones after."""
    bench = trying(asking())
    load = bench.state.trials.context
    assert load is not None
    log = (Trial(LOWER, load, 0.01, 0.001, EPOCH),)
    evidence = replace(bench.state.trials.evidence, log=log)
    bench.state = replace(bench.state, trials=replace(bench.state.trials, evidence=evidence))
    bench.server.shows["replica"] = True
    bench.turn()
    said = [event.message for event in bench.record.events if event.code == "learned_afresh"]

    assert bench.state.trials.evidence.log == ()
    assert bench.state.trials.running is None
    assert any("as a replica now" in text and "1 trial" in text for text in said)
    bench.server.shows["replica"] = False
    bench.turn()
    assert bench.state.trials.evidence.log == log


def test_a_daemon_that_restarts_on_a_replica_forgets_nothing_meanwhile() -> None:
    """What was learned of a replica is known from the first tick, and no event says that it was set aside."""
    server = f"{FACTS.version} {FACTS.flush_law} as a replica"
    load = Context(1e6, 300.0, 0.0, 0.0, float(A))
    evidence = Evidence(server, (Trial(LOWER, load, 0.01, 0.001, EPOCH),))
    bench = Bench(BAYES)
    bench.server.shows["replica"] = True
    bench.state = start(BAYES, FACTS, learned=learn(bench.state.estimator, evidence=evidence))
    bench.turns(3)

    assert bench.state.trials.evidence == evidence
    assert "learned_afresh" not in [event.code for one in bench.records for event in one.events]


def test_a_sync_flush_under_a_suggestion_is_remembered() -> None:
    """A guard that fires in a suggested block ends it and counts against the suggestion."""
    bench = trying(asking())
    bench.server.shows["pages_sync"] = 5000
    bench.turns(2)

    assert [trial.suggestion for trial in bench.state.trials.evidence.log] == [LOWER]
    assert any(
        event.code == "suggestion_unsafe" for event in (*bench.records[-1].events, *bench.records[-2].events)
    )


@pytest.mark.parametrize(
    ("made", "why"),
    [
        (suggest(7), "trial 1 is asked for"),
        (suggest(1, Suggestion(0.5)), "outside the limits"),
        (suggest(1, Suggestion(math.nan)), "outside the limits"),
        (command("suggest", value="one", suggestion=LOWER, number=91), "is no number"),
    ],
)
def test_nonsense_is_refused_with_the_reason(asked: bytes, made: Command, why: str) -> None:
    """A suggestion that was not asked for, or is none, changes nothing."""
    bench = Bench(BAYES)
    bench.state = decode_state(asked)
    answer, _ = optimising_answer(bench, made)

    assert not answer.accepted
    assert why in answer.message


def optimising_answer(bench: Bench, made: Command) -> tuple[Acknowledgement, TickRecord]:
    """Return what comes of one command at the next tick."""
    record = bench.turn(made)
    return record.acknowledgements[-1], record


def test_other_policies_take_no_suggestions() -> None:
    """Without the outer loop there is nothing of it in the record, and a suggestion is refused."""
    bench = Bench().in_control()
    answer, record = optimising_answer(bench, suggest(1))

    assert not answer.accepted
    assert "cascade" in answer.message
    assert record.optimiser is None


def test_leaving_the_policy_ends_a_trial_and_keeps_what_was_learned() -> None:
    """A reload to another policy drops what runs; the evidence is there when the policy returns."""
    bench = trying(asking())
    load = bench.state.trials.context
    assert load is not None
    log = (Trial(LOWER, load, -0.01, 0.001, 5.0),)
    evidence = replace(bench.state.trials.evidence, log=log)
    bench.state = replace(bench.state, trials=replace(bench.state.trials, evidence=evidence))
    bench.turn(command("settings", settings=replace(BAYES, policy="cascade")))

    assert bench.state.trials == Trials(evidence=evidence)
    assert bench.record.optimiser is None


def test_what_was_learned_survives_a_restart_of_the_daemon_and_no_upgrade() -> None:
    """The next daemon knows trials and wins; beside another version of the server it begins afresh."""
    load = Context(1e6, 300.0, 0.0, 0.0, float(A))
    server = f"{FACTS.version} {FACTS.flush_law}"
    evidence = Evidence(
        server, (Trial(LOWER, load, 0.01, 0.001, 5.0),), (Win(LOWER, load, 0.01, 0.005, 0.015, 5.0),)
    )
    bench = Bench(BAYES)
    known: Learned = learn(bench.state.estimator, evidence=evidence)
    known = msgspec.msgpack.decode(msgspec.msgpack.encode(known), type=Learned)
    same = start(BAYES, FACTS, learned=known)
    other = start(BAYES, replace(FACTS, version="9.8.0"), learned=known)
    bench.state = other
    bench.turns(3)

    assert same.trials.evidence == evidence
    afresh = bench.state.trials.evidence
    assert (afresh.server, afresh.log, afresh.wins) == (f"9.8.0 {FACTS.flush_law}", (), ())
    broken = replace(evidence, log=(*evidence.log, replace_gain(evidence.log[0])))
    assert optimising.recalled(broken, server).evidence == evidence


def replace_gain(trial: Trial) -> Trial:
    """Return a trial that cannot be."""
    return Trial(trial.suggestion, trial.context, math.nan, trial.error, trial.at)


@given(headroom=HEADROOMS, suggestion=SUGGESTIONS, budget=st.floats(0.1, 1.0))
def test_no_suggestion_passes_alarm_headroom_or_budgets(
    headroom: Headroom, suggestion: Suggestion, budget: float
) -> None:
    """Whatever is suggested, the set-point stays below every bound that is not its own to give."""
    found, name = suggested_ratio(headroom, {"recovery": budget}, suggestion)
    alarm = headroom.max_checkpoint_age_ratio * headroom.redo_capacity - headroom.highest_lag
    room = headroom.sync_point - headroom.burst_bytes - headroom.reaction_bytes

    assert name == "optimiser"
    for bound in (budget, room / headroom.flush_limit):
        assert found <= max(LOWEST, bound)
    kept_free = 0.0 if headroom.steady else 0.5 * NOISE
    for bound in (headroom.highest, alarm / headroom.flush_limit - kept_free):
        assert found <= max(LOWEST, headroom.least, bound)


@given(headroom=HEADROOMS, budget=st.floats(0.1, 1.0))
def test_suggesting_nothing_changes_nothing(headroom: Headroom, budget: float) -> None:
    """The analytic point is the analytic set-point."""
    analytic, _ = highest_ratio(headroom, {"recovery": budget})

    assert suggested_ratio(headroom, {"recovery": budget}, Suggestion())[0] == pytest.approx(analytic)


@settings(max_examples=15)
@given(suggestion=SUGGESTIONS, role=st.sampled_from([0.4, 0.8]))
def test_a_role_and_a_person_come_before_a_suggestion(
    asked: bytes, suggestion: Suggestion, role: float
) -> None:
    """On a replica no suggestion passes the role's limit, and a person's set-point is held as it is."""
    bench = Bench(BAYES)
    bench.state = decode_state(asked)
    load = bench.state.trials.context
    assert load is not None
    used = Win(suggestion, load, 0.01, 0.005, 0.015, 1e12)
    bench.state = replace(bench.state, trials=replace(bench.state.trials, used=used, moved=True))
    bench.server.shows["replica"] = True
    bench.turn(command("settings", settings=replace(BAYES, max_replica_set_point=role)))
    bench.turn()
    assert bench.state.set_point is not None
    assert bench.state.set_point <= role
    bench.server.shows["replica"] = False
    bench.turn(command("settings", settings=replace(BAYES, set_point=0.5)))
    bench.turn()

    assert bench.state.set_point == 0.5
    assert bench.record.decision.set_point_source == "person"


def test_advisory_mode_tries_nothing() -> None:
    """A loop that writes nothing has nothing to compare."""
    bench = Bench(replace(BAYES, mode=Mode.ADVISORY))
    bench.turn()
    bench.turn(SAVED)
    bench.turns(800)

    assert progress(bench.record).phase is OptimiserPhase.BARRED
    assert progress(bench.record).why == "the mode is advisory"


def test_an_answer_at_a_tick_without_a_reading_is_asked_for_again(asked: bytes) -> None:
    """The question gets another number, so that nobody waits for ever for an answer that was given."""
    bench = Bench(BAYES)
    bench.state = decode_state(asked)
    bench.server.down = "did not answer"
    answer, _ = optimising_answer(bench, suggest(1))

    assert answer.accepted
    assert bench.state.trials.asking == 0
    assert bench.state.trials.number == 1
