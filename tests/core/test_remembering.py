"""What lasts beyond a daemon's life, and what earlier daemons kept: read part by part."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from policies.types import LoadContext, Suggestion, Trial
from tests.bench import Bench, FakeServer, replays
from tests.core.learned_document import AT, FOLDER, full
from tests.core.readings import taught
from tests.factory import ACTIVE, BAYES, DEFAULT, FACTS, A, command, sample
from tuner.core.estimate.estimator import EstimatorState, update
from tuner.core.estimate.load import Curve, Regression, Response
from tuner.core.estimate.recovery import Recovery
from tuner.core.estimate.trends import Late, Week
from tuner.core.memory import Known, Learned, estimator_of, known_of, learn, learned_of, remember
from tuner.core.state import decode_state, encode_state
from tuner.core.step import start
from tuner.core.trials.evidence import ASIDE, REMEMBERED, Evidence
from tuner.records import Capacity
from tuner.settings import PolicyName, Settings

FIXTURES = sorted(FOLDER.glob("*.msgpack"), key=lambda path: int(path.name.partition("-")[0]))
"""What daemons kept, byte for byte, the newest last."""

NEWEST = FIXTURES[-1]


def document(path: Path = NEWEST) -> dict[str, Any]:
    """Return a document as plain values, to be spoilt."""
    found: dict[str, Any] = msgspec.msgpack.decode(path.read_bytes())
    return found


def read(raw: object) -> tuple[Learned, tuple[str, ...]]:
    """Return what is read of a document, and what is forgotten."""
    learned, lost = remember(msgspec.msgpack.encode(raw))
    assert learned is not None
    return learned, lost


def kept(learned: Learned) -> Learned:
    """Return the same by way of the bytes that the journal keeps."""
    return msgspec.msgpack.decode(msgspec.msgpack.encode(learned), type=Learned)


WHOLE = read(document())[0]


def holds(read_now: object, kept_then: object) -> bool:
    """Tell whether all that was kept is in what was read; more may be."""
    if isinstance(kept_then, dict) and isinstance(read_now, dict):
        return all(name in read_now and holds(read_now[name], kept_then[name]) for name in kept_then)
    if isinstance(kept_then, list) and isinstance(read_now, list):
        return len(kept_then) == len(read_now) and all(map(holds, read_now, kept_then))
    return read_now == kept_then


def shape(value: object) -> object:
    """Return the names of all fields in plain values, lists by the first of their elements."""
    if isinstance(value, dict):
        return {name: shape(one) for name, one in value.items()}
    return [shape(value[0])] if isinstance(value, list) and value else None


# From one daemon to the next.


def exponent(state: EstimatorState) -> float:
    """Return the combining exponent that the next readings start with."""
    for second in range(3):
        state, found, _ = update(state, sample(1_000.0 + second))
    assert found is not None
    return found.combining_exponent


def test_a_new_daemon_goes_on_with_what_the_old_one_learned() -> None:
    """The exponent is the same after a restart; rates, ledger and device belong to one life."""
    state = taught()
    again = estimator_of(kept(learn(state)))

    assert learn(again) == learn(state)
    assert exponent(again) == pytest.approx(exponent(state), abs=0.02)
    assert abs(exponent(again) - exponent(EstimatorState())) > 0.1
    assert (again.window, again.tail.ledger.lsns, again.last) == ((), (), None)
    assert estimator_of(None) == EstimatorState()


def test_measured_recoveries_last_and_another_version_forgets_them() -> None:
    """The factor goes on under the same server version; an upgrade begins with the prior."""
    known = kept(replace(learn(taught()), recovery_factor=0.5, measured_on="9.7.4"))

    assert estimator_of(known, version="9.7.4").recovery.factor == 0.5
    assert learn(estimator_of(known, version="9.7.4")) == known
    assert estimator_of(known, version="9.8.0").recovery == Recovery()


def test_the_figures_shown_are_those_of_what_is_kept() -> None:
    """Hours seen, the largest burst, recoveries, the verified law, trials and what is set aside are shown."""
    whole = full()

    assert known_of(whole) == Known(
        hours=3,
        visits=1,
        burst_bytes=6.0e7,
        recovery_factor=0.5,
        recovery_version="9.7.4",
        proven_version="9.7.4",
        trials=3,
        trials_since=AT,
        wins=1,
        aside=("8.4.8 legacy",),
    )
    assert known_of(Learned(late=whole.late)).burst_bytes == whole.late.recent > 0.0
    assert known_of(learned_of(start(Settings(), FACTS, learned=whole))).hours == 3
    assert known_of(learned_of(start(Settings(), FACTS))) == known_of(Learned())


# What earlier daemons kept.


@pytest.mark.parametrize("path", FIXTURES, ids=lambda path: path.stem)
def test_every_version_reads_what_each_version_kept(path: Path) -> None:
    """All that stands in a document of an older daemon is known to this one, trials and wins included.

    But for what a page flushed costs in redo: that is learned anew with the first moves of M.
    """
    learned, lost = remember(path.read_bytes())
    kept = document(path)
    kept["load"].pop("response", None)

    assert lost == ()
    assert learned is not None
    assert holds(msgspec.msgpack.decode(msgspec.msgpack.encode(learned)), kept)
    assert learned.evidence.for_server(learned.evidence.server) == learned.evidence


def test_what_is_kept_now_is_among_the_fixtures() -> None:
    """Whoever gives the document a field adds its bytes: the next version has to read them as well."""
    now = msgspec.msgpack.decode(msgspec.msgpack.encode(full()))

    assert len(FIXTURES) >= 3
    assert shape(now) == shape(document()), "record it: python -m tests.core.learned_document WHAT"


LACKING = object()


def spoilt(part: str, value: object) -> dict[str, Any]:
    """Return the document with one value in it another one, or lacking."""
    raw = document()
    *names, last = [int(name) if name.isdigit() else name for name in part.split(".")]
    at: Any = raw
    for name in names:
        at = at[name]
    at[last] = value
    if value is LACKING:
        del at[last]
    return raw


WEEK = ("bursts by hour of the week", lambda one: one.week, Week())
COMBINING = ("write combining", lambda one: one.load.combining, Regression())
LATE = ("bursts of the last hours", lambda one: one.late, Late())
PARTS: list[tuple[str, object, str, Callable[[Learned], object], object]] = [
    ("week.visits", "often", *WEEK),
    ("week.bytes", [1.0], *WEEK),
    ("week.bytes.0", 1e18, *WEEK),
    ("late.recent", -1.0, *LATE),
    ("late.recent", 1e18, *LATE),
    ("late.hours_burst", 1e18, *LATE),
    ("late.at", "noon", *LATE),
    ("load.combining.variance", None, *COMBINING),
    ("load.combining.variance", -1.0, *COMBINING),
    ("load.combining.covariance", math.inf, *COMBINING),
    ("load.combining.weight", -1.0, *COMBINING),
    ("load.answer", 7, "what a page flushed costs", lambda one: one.load.answer, Response()),
    ("load.curve.densities", {}, "write combining by age", lambda one: one.load.curve, Curve()),
    ("recovery_factor", "half", "factor of crash recoveries", lambda one: one.recovery_factor, 1.0),
    *(
        ("recovery_factor", bad, "factor of crash recoveries", lambda one: one.recovery_factor, 1.0)
        for bad in (math.nan, math.inf, 0.0, -1.0, 1e9)
    ),
    ("version", 9.7, "crash recoveries were measured on", lambda one: one.measured_on, ""),
    ("proven", [], "the flush law was verified", lambda one: one.proven, ""),
    ("law", 1, "the flush law that was verified", lambda one: one.law, ""),
    ("evidence.log", "none", "trials: no list", lambda one: one.evidence.log, ()),
    ("evidence.wins", None, "won suggestions: no list", lambda one: one.evidence.wins, ()),
]


@pytest.mark.parametrize(("part", "value", "said", "got", "fresh"), PARTS, ids=[part for part, *_ in PARTS])
def test_a_part_that_cannot_be_read_is_forgotten_alone(
    part: str, value: object, said: str, got: Callable[[Learned], object], fresh: object
) -> None:
    """It begins afresh and is named with the reason; every other part is what it was."""
    learned, (why,) = read(spoilt(part, value))

    assert said in why
    assert got(learned) == fresh
    others = [other for _, _, _, other, _ in PARTS if other(WHOLE) != got(WHOLE)]
    assert all(other(learned) == other(WHOLE) for other in others)


@pytest.mark.parametrize(
    ("part", "value", "said", "lost"),
    [
        ("load", 3, "load: no fields", "load"),
        ("evidence", 3, "evidence: no fields", "evidence"),
        ("evidence.log.1", 5, "1 of 3 trials: ", "log"),
        ("evidence.log.1.gain", None, "1 of 3 trials: ", "log"),
        ("evidence.log.1.gain", math.nan, "1 of 3 trials: it cannot be true", "log"),
        ("evidence.log.1.error", -1.0, "1 of 3 trials: it cannot be true", "log"),
        ("evidence.log.1.context.redo_rate", "fast", "1 of 3 trials: ", "log"),
        ("evidence.log.1.suggestion.offset", 0.5, "1 of 3 trials: it cannot be true", "log"),
        ("evidence.log.1.error", LACKING, "1 of 3 trials: ", "log"),
        ("evidence.log.1.context.concurrency", LACKING, "1 of 3 trials: ", "log"),
        ("evidence.wins.0.context.redo_rate", 0.0, "1 of 1 won suggestions: it cannot be true", "wins"),
        ("evidence.wins.0.gain", math.nan, "1 of 1 won suggestions: it cannot be true", "wins"),
        ("evidence.aside.0.log.0.gain", None, "1 of 2 trials of a version before: ", "aside"),
    ],
)
def test_a_record_that_cannot_be_read_or_be_true_is_forgotten_alone(
    part: str, value: object, said: str, lost: str
) -> None:
    """The other trials and what won go on; how many were forgotten, and why the first, is said."""
    learned, (why,) = read(spoilt(part, value))
    kept, evidence = learned.evidence, WHOLE.evidence

    assert why.startswith(said)
    assert (learned.week, learned.recovery_factor) == (WHOLE.week, WHOLE.recovery_factor)
    assert lost in {"load", "evidence"} or kept.log == (evidence.log[::2] if lost == "log" else evidence.log)
    assert lost != "wins" or kept.wins == ()
    assert lost != "aside" or kept.aside[0].log == evidence.aside[0].log[1:]


@pytest.mark.parametrize("blob", [b"", b"\xa1\xff", b"\x91" * 100_000, msgspec.msgpack.encode([1, 2])])
def test_bytes_that_are_none_begin_afresh_and_say_so(blob: bytes) -> None:
    """Rubbish is no reason not to start, and none to be silent."""
    learned, lost = remember(blob)

    assert learned is None
    assert lost[0].startswith("all of it: ")


def test_fields_of_a_newer_version_are_passed_over() -> None:
    """After the way back to an older program what both know goes on, and nothing is complained of."""
    raw = document()
    raw["moon"] = raw["evidence"]["moon"] = raw["evidence"]["log"][0]["context"]["moon"] = 0.5

    assert read(raw) == (WHOLE, ())


def test_what_is_forgotten_is_said_once_at_the_first_tick() -> None:
    """One event names all parts with their reasons."""
    bench = Bench()
    bench.state = start(Settings(), FACTS, learned=WHOLE, lost=("1 of 3 trials: why", "trend: because"))
    bench.turns(2)

    (said,) = bench.said("learned_lost")
    assert said.endswith("starts again: 1 of 3 trials: why; trend: because")


# The loop's state as bytes and back.


@pytest.mark.parametrize("policy", ["cascade", "bayes", "pid", "fixed"])
def test_a_run_goes_on_from_its_snapshot(policy: PolicyName) -> None:
    """Whatever the law, and after a change of the server's flush law, the same state decides the same."""
    bench = Bench(replace(ACTIVE, policy=policy, fixed_io_capacity_max=900))
    first = bench.state
    bench.ready()
    bench.turns(40)
    assert type(decode_state(encode_state(bench.state)).policy) is type(bench.state.policy)
    bench.server.shows = {"flush_law": "soft-limit"}
    bench.turns(5)

    assert decode_state(encode_state(bench.state)).policy == bench.state.policy
    assert replays(first, bench.records, restart=20) == bench.state


def test_everything_that_can_be_remembered_comes_back(bench: Bench) -> None:
    """Holds, latches, overrides, debts and originals are all part of the bytes."""
    bench.turn(command("override", value=600, ttl=600.0))
    assert bench.state.override is not None
    assert decode_state(encode_state(bench.state)) == bench.state
    bench.silent(9, command("pause"))
    assert bench.state.latches.paused is not None
    assert bench.state.park_owed
    assert decode_state(encode_state(bench.state)) == bench.state
    bench.turn(command("resume"))
    bench.server.capacity = Capacity(150, 450)
    bench.turn()
    assert bench.state.latches.foreign is not None
    assert decode_state(encode_state(bench.state)) == bench.state


def test_bytes_of_something_else_are_refused() -> None:
    """What is no state of this version is an error, not a guess."""
    with pytest.raises(msgspec.ValidationError):
        decode_state(msgspec.msgpack.encode({"settings": {"mode": "active", "surprise": 1}}))


# A server that is another one now begins afresh, says so, and finds again what it was known for before.


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
    """The events of the first tick name recovery factor, proof and trials, with both versions."""
    other = begun(full(), version="9.8.0")
    said = "; ".join(other.said("learned_afresh"))
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


def test_limits_that_are_the_servers_own_are_said_once() -> None:
    """At the start, and after a restart only where they are others."""
    bench = Bench(ACTIVE)
    bench.state = start(ACTIVE, replace(FACTS, own_limits=("async is 2 and not 3",)))
    bench.server.told = {"own_limits": ("async is 2 and not 3",)}
    bench.turns(3)
    bench.server.restart(DEFAULT)
    bench.turns(60)
    (said,) = bench.said("own_limits")
    assert "async is 2 and not 3" in said

    bench.server.told = {"own_limits": ("async is 2 and not 4",)}
    bench.server.restart(DEFAULT)
    bench.turns(5)
    assert "async is 2 and not 4" in bench.said("own_limits")[1]


def test_a_replica_still_knows_its_own_trials() -> None:
    """What was learned of it as a replica is known to the next daemon from its first reading."""
    evidence = replace(full().evidence, server=f"{FACTS.version} {FACTS.flush_law} as a replica")
    bench = Bench(BAYES)
    bench.server.shows = {"replica": True}
    bench.state = start(BAYES, FACTS, learned=replace(full(), evidence=evidence))
    bench.turns(3)

    assert bench.state.trials.evidence == evidence
    assert bench.said("learned_afresh") == []


def test_what_is_set_aside_is_bounded() -> None:
    """Of the versions and laws before the newest few are kept, each with as many trials as one may have.

    A server on which nothing was tried takes no place among them.
    """
    found = Evidence()
    for number in range(ASIDE + 3):
        found = found.for_server(f"9.{number}.0 untried").for_server(f"9.{number}.0 legacy")
        for at in range(REMEMBERED + 2):
            found = found.with_trial(trial(float(at)))
    assert [one.server for one in found.aside] == [f"9.{2 + n}.0 legacy" for n in range(ASIDE)]
    assert {len(one.log) for one in found.aside} == {REMEMBERED}

    again = found.for_server("9.3.0 legacy")
    assert "9.3.0 legacy" not in [one.server for one in again.aside]
    assert again.aside[-1].server == f"9.{ASIDE + 2}.0 legacy"
