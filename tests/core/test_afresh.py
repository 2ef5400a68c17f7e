"""A server that is another one now begins afresh, says so, and finds again what it was known for before."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from policies.types import LoadContext, Suggestion, Trial
from tests.bench import Bench, FakeServer
from tests.core.learned_document import full
from tests.factory import BAYES, DEFAULT, FACTS, A
from tuner.core.estimate.recovery import Recovery
from tuner.core.memory import Learned
from tuner.core.step import start
from tuner.core.trials.evidence import ASIDE, REMEMBERED, Aside, Evidence

LOAD = LoadContext(1e6, 300.0, 0.0, 0.0, float(A))
OTHER_LAW = "high_checkpoint"


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


def test_the_same_server_has_nothing_to_say() -> None:
    """Beside the version and law that all was learned on nothing begins afresh, and no event says so."""
    bench = begun(full())

    assert bench.said("learned_afresh") == []
    assert bench.state.estimator.recovery.factor == 0.5
    assert bench.state.trials.evidence == full().evidence


def test_another_version_begins_afresh_and_the_way_back_finds_all_again() -> None:
    """One event at the first tick names recovery factor, proof and trials, with both versions."""
    other = begun(full(), version="9.8.0")
    (said,) = other.said("learned_afresh")
    back = begun(replace(full(), evidence=other.state.trials.evidence))
    (again,) = back.said("learned_afresh")

    assert other.state.estimator.recovery.factor == 1.0
    assert other.state.trials.evidence.log == ()
    for what in (
        "9.8.0 legacy",
        "factor 0.50",
        "measured on 9.7.4",
        "legacy was verified on 9.7.4",
        "3 trials",
    ):
        assert what in said
    assert back.state.trials.evidence.log == full().evidence.log
    assert back.state.trials.evidence.wins == full().evidence.wins
    assert "3 trials and 1 won suggestion of 9.7.4 legacy are known again" in again


def test_another_law_since_the_last_run_is_said() -> None:
    """The proof of one law says nothing about another of the same version; measured recoveries stay."""
    state = start(BAYES, replace(FACTS, flush_law=OTHER_LAW), learned=full())
    ((code, message),) = state.pending_events

    assert code == "learned_afresh"
    assert "legacy was verified on 9.7.4" in message
    assert "crash recoveries" not in message
    assert (state.gate.proven, state.estimator.recovery.factor) == ("", 0.5)


def test_a_law_of_one_reading_costs_no_trial(monkeypatch: pytest.MonkeyPatch) -> None:
    """A low-water mark that is set to 0 for a second and back leaves all evidence where it was."""
    bench = Bench(BAYES).in_control()
    kept = Evidence(f"{FACTS.version} {FACTS.flush_law}", (trial(1.0), trial(2.0)))
    bench.state = replace(bench.state, trials=replace(bench.state.trials, evidence=kept))
    read, seen = bench.server.read, []
    for law in (OTHER_LAW, "legacy"):
        monkeypatch.setattr(bench.server, "read", lambda law=law: replace(read(), flush_law=law))
        bench.turn()
        seen.append(bench.state.trials.evidence.log)

    assert seen == [(), kept.log]


def test_a_version_that_changes_while_the_daemon_runs_says_what_is_forgotten() -> None:
    """The event of the new version says it, and a second one the factor and where it was measured."""
    bench = Bench(BAYES).in_control()
    measured = Recovery(factor=0.5, measured_on="9.7.4")
    bench.state = replace(bench.state, estimator=replace(bench.state.estimator, recovery=measured))
    bench.server.told = {"version": "9.8.0"}
    bench.server.restart(DEFAULT)
    bench.turns(5)

    (version,), (afresh,) = bench.said("version"), bench.said("learned_afresh")
    assert "9.8.0 now and was 9.7.4" in version
    assert "the factor 0.50 of crash recoveries, measured on 9.7.4, is forgotten" in afresh


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
