"""The outer loop in the tick: what it may move, who comes before it, and that a journal replays it."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from policies.setpoint import LOWEST, NOISE, STEP, Headroom, highest_ratio, suggested_ratio
from policies.suggestions import LIMITS
from policies.types import LoadContext, Suggestion, Trial
from tests.bench import Bench, FakeServer, replays
from tests.factory import BAYES, EPOCH, FACTS, MEBIBYTE, A, codes, command
from tuner.core.trials.engine import Trials
from tuner.core.trials.evidence import Evidence, Win
from tuner.records import (
    Capacity,
    Command,
    DecisionKind,
    OptimiserPhase,
    OptimiserProgress,
    Sample,
    Window,
)
from tuner.settings import Mode

LOWER = Suggestion(-0.05, 1.0, 1.0)
LOAD = LoadContext(1e6, 300.0, 0.0, 0.0, float(A))
KNOWN = Evidence(
    f"{FACTS.version} {FACTS.flush_law}",
    (Trial(LOWER, LOAD, 0.01, 0.001, 5.0),),
    (Win(LOWER, LOAD, 0.01, 0.005, 0.015, 5.0),),
)
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


def progress(bench: Bench) -> OptimiserProgress:
    """Return how far the outer loop is, which there is."""
    assert bench.record.optimiser is not None
    return bench.record.optimiser


def asking(**chosen: Any) -> Bench:  # noqa: ANN401 - any setting
    """Return a loop that asks for its first suggestion."""
    server = FakeServer()
    server.combines = 0.5
    bench = Bench(replace(BAYES, **chosen), server).in_control()
    while progress(bench).phase is not OptimiserPhase.ASKING:
        assert len(bench.records) < 4000, f"it never asks: {progress(bench)}"
        bench.turn()
    return bench


def trying(bench: Bench) -> Bench:
    """Answer, and go on into the first suggested block."""
    bench.turn(suggest(progress(bench).number))
    while not progress(bench).suggested:
        assert len(bench.records) < 6000, f"no suggested block comes: {progress(bench)}"
        bench.turn()
    bench.turn()
    return bench


def evidence_of(bench: Bench, evidence: Evidence) -> None:
    """Have a loop know this of trials before."""
    bench.state = replace(bench.state, trials=replace(bench.state.trials, evidence=evidence))


@pytest.fixture(scope="module")
def at_asking() -> Bench:
    """Return a loop that asks for a suggestion; tests take a fork of it."""
    return asking()


@pytest.fixture(scope="module")
def at_trial(at_asking: Bench) -> Bench:
    """Return a loop in its first suggested block; tests take a fork of it."""
    return trying(at_asking.fork())


@pytest.fixture
def asked(at_asking: Bench) -> Bench:
    """Return a loop that asks for a suggestion."""
    return at_asking.fork()


@pytest.fixture
def tried(at_trial: Bench) -> Bench:
    """Return a loop in its first suggested block."""
    return at_trial.fork()


def test_a_trial_moves_the_set_point_and_moves_it_back(asked: Bench) -> None:
    """In a suggested block the set-point is lower by the offset, and M follows; then both return."""
    before, m_before, seen = asked.set_point, asked.m, len(asked.records)
    tried = trying(asked)
    assert (tried.set_point, tried.source) == (pytest.approx(before - 0.05, abs=STEP), "optimiser")
    tried.turns(120)
    assert tried.m > m_before
    while progress(tried).suggested:
        tried.turn()
    tried.turns(120)

    assert tried.set_point == pytest.approx(before, abs=STEP)
    assert tried.m == pytest.approx(m_before, rel=0.02)
    assert DecisionKind.EMERGENCY not in tried.wrote(since=seen)


def test_a_trial_goes_on_where_a_steady_load_is_held_beyond_the_alarm() -> None:
    """Where the baseline rests the checkpoint age passes the operator's share, which is not unsafe there."""
    server = FakeServer(Capacity(280, 280), redo_rate=1e6)
    tight = {"redo_capacity": 92_000_000}
    server.combines = 0.5
    bench = Bench(BAYES, server).ready()
    highest, blocks = 0.0, set()
    for second in range(3000):
        if highest > 0.80 and len(blocks) == 2:
            break
        if second % 7 == 0:
            server.shows = tight | {"lsn_checkpoint": round(server.oldest) - 2 * MEBIBYTE}
        made = progress(bench)
        bench.turn(*([suggest(made.number)] if made.phase is OptimiserPhase.ASKING else []))
        reading = bench.record.tick.reading
        assert isinstance(reading, Sample)
        if progress(bench).phase is OptimiserPhase.TRIAL:
            blocks.add(progress(bench).suggested)
            highest = max(highest, reading.checkpoint_age / reading.redo_capacity)

    assert highest > 0.80
    assert blocks == {True, False}
    assert bench.said("suggestion_unsafe") == []


@pytest.mark.parametrize("source", ["role", "free_pages"])
def test_no_trial_goes_on_where_what_comes_after_the_suggestion_decides(source: str) -> None:
    """A replica's limit and waits for a free page come after a suggestion, which would be tried in vain."""
    bench = trying(asking(allow_read_only_writes=True, max_replica_set_point=0.6))
    for count in range(1, 121):
        bench.server.shows = {"replica": True} if source == "role" else {"free_page_waits": 50 * count}
        bench.turn()

    assert bench.source == source
    assert progress(bench).phase is OptimiserPhase.BARRED


def test_a_run_with_trials_replays_to_the_same(asked: Bench) -> None:
    """The suggestion is a command in a tick: the journal's bytes give every record again, mid-trial too."""
    seen, state = len(asked.records), asked.state
    trying(asked).turns(400)

    assert replays(state, asked.records[seen:], restart=300) == asked.state


ORDERS = {
    "override": command("override", value=600, ttl=60.0),
    "drain": command("drain", value="40%", ttl=60.0),
    "pause": command("pause"),
    "mode": command("mode", value="advisory"),
    "park": command("park"),
    "set_point": command("settings", settings=replace(BAYES, set_point=0.6)),
    "window": command(
        "schedule", windows=(Window(name="day", began=EPOCH, ends=EPOCH + 1e6, set_point=0.6),)
    ),
}


@pytest.mark.parametrize("name", [*ORDERS, "ddl_statements", "backup_locked", "restart", "down", "replica"])
def test_whoever_comes_before_it_ends_its_trial(tried: Bench, name: str) -> None:
    """A person, a window, a hold, an occurrence, a missed reading, another role: over at that tick."""
    if name == "restart":
        tried.server.restart(tried.server.capacity)
    elif name == "down":
        tried.server.down = "did not answer"
    elif name not in ORDERS:
        tried.server.shows[name] = 5 if name == "ddl_statements" else True
    record = tried.turn(*([ORDERS[name]] if name in ORDERS else []))
    tried.server.down = ""

    assert "trial_abandoned" in codes(record)
    assert (tried.state.trials.running, tried.state.trials.in_force) == (None, None)
    assert name != "replica" or record.decision.kind is DecisionKind.PARK
    tried.turns(2)
    assert tried.source != "optimiser"
    if name == "window":
        tried.turns(1500)
        assert progress(tried).phase is OptimiserPhase.BARRED
        assert "schedule" in progress(tried).why


def test_a_sync_flush_under_a_suggestion_is_remembered(tried: Bench) -> None:
    """A guard that fires in a suggested block ends it and counts against the suggestion."""
    tried.server.shows["pages_sync"] = 5000
    tried.turns(2)

    assert [trial.suggestion for trial in tried.state.trials.evidence.log] == [LOWER]
    assert len(tried.said("suggestion_unsafe")) == 1


def test_leaving_the_policy_ends_a_trial_and_keeps_what_was_learned(tried: Bench) -> None:
    """A reload to another policy drops what runs; the evidence is there when the policy returns."""
    evidence_of(tried, KNOWN)
    tried.turn(command("settings", settings=replace(BAYES, policy="cascade")))

    assert tried.state.trials == Trials(evidence=KNOWN)
    assert tried.record.optimiser is None


# What was learned, and where it counts.


def test_what_was_learned_in_another_role_is_not_used_and_is_not_lost(tried: Bench) -> None:
    """A server that becomes a replica begins its trials afresh, says so, and knows the old ones after."""
    evidence = replace(tried.state.trials.evidence, log=KNOWN.log)
    evidence_of(tried, evidence)
    tried.server.shows["replica"] = True
    tried.turn()

    assert tried.state.trials.evidence.log == ()
    assert tried.state.trials.running is None
    (said,) = tried.said("learned_afresh")
    assert "as a replica now" in said
    assert "1 trial" in said
    tried.server.shows["replica"] = False
    tried.turn()
    assert tried.state.trials.evidence.log == KNOWN.log


def test_what_was_learned_on_another_version_is_not_used_while_the_role_is_unknown(asked: Bench) -> None:
    """It is set aside once the role is known; until then nothing is in use, and nothing tried."""
    context = asked.state.trials.context
    assert context is not None
    old = replace(KNOWN, server=f"8.0.30 {FACTS.flush_law}", wins=(replace(KNOWN.wins[0], context=context),))
    evidence_of(asked, old)
    asked.state = replace(asked.state, role=None)
    asked.server.shows["role_known"] = False
    asked.turns(3)

    assert (asked.state.trials.used, asked.state.trials.evidence) == (None, old)
    assert progress(asked).phase is OptimiserPhase.BARRED
    assert "role" in progress(asked).why
    asked.server.shows["role_known"] = True
    asked.turn()
    assert asked.state.trials.evidence.wins == ()


# What may be suggested.


@pytest.mark.parametrize(
    ("made", "why"),
    [
        (suggest(7), "trial 1 is asked for"),
        (suggest(1, Suggestion(0.5)), "outside the limits"),
        (suggest(1, Suggestion(math.nan)), "outside the limits"),
        (command("suggest", value="one", suggestion=LOWER, number=91), "is no number"),
    ],
)
def test_nonsense_is_refused_with_the_reason(asked: Bench, made: Command, why: str) -> None:
    """A suggestion that was not asked for, or is none, changes nothing."""
    accepted, said = asked.answer(made)

    assert not accepted
    assert why in said


def test_other_policies_take_no_suggestions(bench: Bench) -> None:
    """Without the outer loop there is nothing of it in the record, and a suggestion is refused."""
    accepted, said = bench.answer(suggest(1))

    assert not accepted
    assert "cascade" in said
    assert bench.record.optimiser is None


def test_an_answer_at_a_tick_without_a_reading_is_asked_for_again(asked: Bench) -> None:
    """The question gets another number, so that nobody waits for ever for an answer that was given."""
    asked.server.down = "did not answer"

    assert asked.answer(suggest(1))[0]
    assert (asked.state.trials.asking, asked.state.trials.number) == (0, 1)


def test_advisory_mode_tries_nothing() -> None:
    """A loop that writes nothing has nothing to compare."""
    bench = Bench(replace(BAYES, mode=Mode.ADVISORY)).ready()
    bench.turns(800)

    assert progress(bench).phase is OptimiserPhase.BARRED
    assert progress(bench).why == "the mode is advisory"


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
    at_asking: Bench, suggestion: Suggestion, role: float
) -> None:
    """On a replica no suggestion passes the role's limit, and a person's set-point is held as it is."""
    bench = at_asking.fork()
    load = bench.state.trials.context
    assert load is not None
    used = Win(suggestion, load, 0.01, 0.005, 0.015, 1e12)
    bench.state = replace(bench.state, trials=replace(bench.state.trials, used=used, moved=True))
    bench.server.shows = {"replica": True}
    bench.turn(command("settings", settings=replace(BAYES, max_replica_set_point=role)))
    bench.turn()
    assert bench.set_point <= role
    bench.server.shows = {"replica": False}
    bench.turn(command("settings", settings=replace(BAYES, set_point=0.5)))
    bench.turn()

    assert (bench.set_point, bench.source) == (0.5, "person")
