"""A server that is another one now begins afresh, says so, and finds again what it was known for before."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from policies.types import Context, Suggestion, Trial
from tests.bench import Bench, FakeServer
from tests.core.learned_document import full
from tests.factory import DEFAULT, FACTS, A
from tuner.core.estimate.recovery import Recovery
from tuner.core.memory import Learned, remember
from tuner.core.snapshot import decode_state, encode_state
from tuner.core.step import start
from tuner.core.trials.evidence import ASIDE, REMEMBERED, Aside, Evidence
from tuner.records import Event
from tuner.settings import Mode, Settings

BAYES = Settings(mode=Mode.ACTIVE, policy="bayes")
LOAD = Context(1e6, 300.0, 0.0, 0.0, float(A))
LEGACY = f"{FACTS.version} {FACTS.flush_law}"
OTHER_LAW = "high_checkpoint"


def told(bench: Bench, code: str = "learned_afresh") -> list[Event]:
    """Return the events of a code, in order."""
    return [event for record in bench.records for event in record.events if event.code == code]


def trial(at: float, offset: float = -0.02) -> Trial:
    """Return a trial that ended at a time."""
    return Trial(Suggestion(offset, 1.0, 1.0), LOAD, 0.01, 0.001, at)


def begun(learned: Learned, **facts: Any) -> Bench:  # noqa: ANN401 - any fact
    """Return a loop that began with what was learned, beside a server of which these facts are others."""
    server = FakeServer()
    server.told = facts
    bench = Bench(BAYES, server)
    bench.state = start(BAYES, replace(FACTS, **facts), learned=learned)
    bench.turns(3)
    return bench


def test_another_version_begins_afresh_and_says_so() -> None:
    """One event at the first tick names recovery factor, proof and trials, with both versions."""
    bench = begun(full(), version="9.8.0")

    (event,) = told(bench)
    assert event.message == (
        "the server is 9.8.0 legacy now: the factor 0.50 of crash recoveries, measured on 9.7.4, is "
        "forgotten; the flush law legacy was verified on 9.7.4, and that of now has to match first; "
        "3 trials and 1 won suggestion of 9.7.4 legacy are set aside until it is that again"
    )
    assert bench.state.estimator.recovery.factor == 1.0
    assert bench.state.trials.evidence.log == ()


def test_the_same_server_has_nothing_to_say() -> None:
    """Beside the version and law that all was learned on nothing begins afresh, and no event says so."""
    bench = begun(full())

    assert told(bench) == []
    assert bench.state.estimator.recovery.factor == 0.5
    assert bench.state.trials.evidence == full().evidence


def test_another_law_since_the_last_run_is_said() -> None:
    """The proof of one law says nothing about another of the same version; measured recoveries stay."""
    state = start(BAYES, replace(FACTS, flush_law=OTHER_LAW), learned=full())
    ((code, message),) = state.pending_events

    assert code == "learned_afresh"
    assert "the flush law legacy was verified on 9.7.4, and that of now has to match first" in message
    assert "crash recoveries" not in message
    assert state.gate.proven == ""
    assert state.estimator.recovery.factor == 0.5


def test_a_version_that_came_back_finds_its_trials_again() -> None:
    """After an upgrade of mysqld and the way back trials and wins are those of before, and that is said."""
    known = full()
    after = begun(known, version="9.8.0").state.trials.evidence
    back = begun(replace(known, evidence=after))

    assert back.state.trials.evidence.log == known.evidence.log
    assert back.state.trials.evidence.wins == known.evidence.wins
    (event,) = told(back)
    assert event.message == (
        "the server is 9.7.4 legacy now: 3 trials and 1 won suggestion of 9.7.4 legacy are known again"
    )


def test_a_law_of_one_reading_costs_no_trial(monkeypatch: pytest.MonkeyPatch) -> None:
    """A low-water mark that is set to 0 for a second and back leaves all evidence where it was."""
    bench = Bench(BAYES).in_control()
    kept = Evidence(LEGACY, (trial(1.0), trial(2.0)))
    bench.state = replace(bench.state, trials=replace(bench.state.trials, evidence=kept))
    read = bench.server.read
    monkeypatch.setattr(bench.server, "read", lambda: replace(read(), flush_law=OTHER_LAW))
    bench.turn()
    between = bench.state.trials.evidence
    monkeypatch.setattr(bench.server, "read", lambda: replace(read(), flush_law="legacy"))
    bench.turn()

    assert (between.server, between.log) == (f"{FACTS.version} {OTHER_LAW}", ())
    assert bench.state.trials.evidence == kept
    gone, back = told(bench)
    assert gone.message.endswith(
        "2 trials and 0 won suggestions of 9.7.4 legacy are set aside until it is that again"
    )
    assert back.message.endswith("2 trials and 0 won suggestions of 9.7.4 legacy are known again")
    assert decode_state(encode_state(bench.state)) == bench.state


def test_a_version_that_changes_while_the_daemon_runs_says_what_is_forgotten() -> None:
    """The event of the new version says it, and a second one the factor and where it was measured."""
    bench = Bench(BAYES).in_control()
    measured = Recovery(factor=0.5, measured_on="9.7.4")
    bench.state = replace(bench.state, estimator=replace(bench.state.estimator, recovery=measured))
    bench.server.told = {"version": "9.8.0"}
    bench.server.restart(DEFAULT)
    bench.turns(5)

    (event,) = told(bench, "version")
    assert event.message == ("the server is 9.8.0 now and was 9.7.4; measured crash recoveries are forgotten")
    (event,) = told(bench)
    assert event.message == (
        "the server is 9.8.0 now: the factor 0.50 of crash recoveries, measured on 9.7.4, is forgotten"
    )


def test_what_is_set_aside_is_bounded() -> None:
    """Of the versions and laws before the newest few are kept, each with as many trials as one may have."""
    found = Evidence()
    for number in range(ASIDE + 3):
        found = found.beside(f"9.{number}.0 legacy")
        for at in range(REMEMBERED + 2):
            found = found.told(trial(float(at)))
    assert [one.server for one in found.aside] == [f"9.{2 + n}.0 legacy" for n in range(ASIDE)]
    assert {len(one.log) for one in found.aside} == {REMEMBERED}

    again = found.beside("9.3.0 legacy")
    assert "9.3.0 legacy" not in [one.server for one in again.aside]
    assert again.aside[-1].server == f"9.{ASIDE + 2}.0 legacy"


def test_a_server_without_trials_takes_no_place() -> None:
    """Where nothing was tried there is nothing to set aside: an empty key pushes no full one out."""
    found = Evidence("9.7.4 legacy", (trial(1.0),))
    for number in range(ASIDE + 3):
        found = found.beside(f"9.{number}.0 legacy")

    assert found.aside == (Aside("9.7.4 legacy", (trial(1.0),)),)


def test_trials_set_aside_are_read_one_by_one() -> None:
    """A trial of a version before that cannot be read is forgotten alone, as one of now."""
    raw = msgspec.msgpack.decode(msgspec.msgpack.encode(full()))
    raw["evidence"]["aside"][0]["log"][0]["gain"] = None
    learned, lost = remember(msgspec.msgpack.encode(raw))

    assert learned is not None
    assert lost[0].startswith("1 of 2 trials of a version before: ")
    assert learned.evidence.log == full().evidence.log
    assert len(learned.evidence.aside[0].log) == 1
