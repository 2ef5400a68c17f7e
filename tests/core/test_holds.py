"""Reasons not to write: what shows them, what each does on entry, and what ends it."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from tests.bench import Bench, FakeServer
from tests.factory import ACTIVE, DEFAULT, FACTS, OTHER_IDENTITY, A, codes, command, held, sample
from tuner.core.gate import GateState
from tuner.core.holds import current_holds, inert
from tuner.core.ownership.foreign import COOLDOWN_SECONDS, NOBODY_KNOWS, READOPTIONS
from tuner.core.state import Latches
from tuner.core.step import start
from tuner.core.writes.plan import PAIR
from tuner.records import Capacity, DecisionKind, Hold, HoldCode, Missed, Remedy
from tuner.settings import Mode, Settings

READY = replace(start(ACTIVE, FACTS), gate=GateState(verified=True), last_good=1000.0)
PAUSED = Hold(code=HoldCode.PAUSED, since=900.0, reason="paused by ann", remedies=(Remedy.RESUME,))
THEIRS = Capacity(1_234, 2_468)


def test_nothing_holds_a_healthy_server() -> None:
    """With a good reading and a verified law there is no hold."""
    assert current_holds(READY, sample(), now=1000.0) == ()


@pytest.mark.parametrize(
    ("shown", "code", "ends"),
    [
        ({"resizing": True}, "resizing", Remedy.RESIZE_DONE),
        ({"writer": False}, "not_writer", Remedy.OTHER_DAEMON_GONE),
        ({"redo_enabled": False}, "inert", Remedy.ENABLE_REDO_LOG),
        ({"adaptive_flushing": False}, "inert", Remedy.ADAPTIVE_FLUSHING),
    ],
)
def test_what_a_reading_shows(shown: dict[str, Any], code: str, ends: Remedy) -> None:
    """It holds the loop and says what clears it; since when is kept, and one missed reading ends nothing."""
    first = current_holds(READY, sample(**shown), now=1000.0)
    later = replace(READY, holds=first)

    assert [hold.code.value for hold in first] == [code]
    assert first[0].remedies == (ends,)
    assert [hold.since for hold in current_holds(later, sample(1.0, **shown), now=1001.0)] == [1000.0]
    assert current_holds(later, None, now=1001.0) == first


def test_stale_after_too_long_without_a_good_reading() -> None:
    """A missed reading alone is no hold, silence for longer than five seconds is; the cause is said."""
    state = replace(READY, missed="did not answer within 1 s")
    (hold,) = current_holds(state, None, now=1006.0)

    assert current_holds(state, None, now=1004.9) == ()
    assert hold.code is HoldCode.STALE
    assert "did not answer within 1 s" in hold.reason
    (never,) = current_holds(replace(READY, last_good=None), None, now=1000.0)
    assert never.code is HoldCode.STALE


def test_what_waits_for_a_person_stays() -> None:
    """It is in force at every tick, whatever the reading."""
    state = replace(READY, latches=Latches(paused=PAUSED))

    assert current_holds(state, sample(), now=1000.0) == current_holds(state, None, now=1000.0) == (PAUSED,)


@pytest.mark.parametrize(
    ("gate", "said"),
    [
        (GateState(telling=2), "2 of 3 matching readings"),
        (GateState(verified=True, mismatched=True, expected=(110, 130)), "110 to 130"),
    ],
)
def test_a_law_that_is_not_verified_holds(gate: GateState, said: str) -> None:
    """The hold says how far the gate is, or what was predicted."""
    (hold,) = current_holds(replace(READY, gate=gate), sample(), now=1000.0)

    assert hold.code is HoldCode.MODEL_MISMATCH
    assert said in hold.reason


def test_a_blocker_of_the_server_holds_for_good() -> None:
    """What makes a server uncontrollable is said in its own words."""
    blocked = replace(READY, facts=replace(FACTS, blockers=("innodb_read_only is ON", "odd limits")))

    assert inert(blocked, sample()) == ("innodb_read_only is ON; odd limits", (Remedy.SERVER_ITSELF,))


# The loop under a hold.


def test_a_reversed_counter_decides_nothing(bench: Bench) -> None:
    """At the tick where the LSN goes back there is no estimate and no decision."""
    bench.server.lsn -= 0.2 * A
    record = bench.turn(seconds=0.1)

    assert "reversed" in codes(record)
    assert record.estimate is None
    assert record.decision.reason == "no_estimate"


@pytest.mark.parametrize(
    ("hold", "change"),
    [
        ("paused", {}),
        ("foreign_change", {"capacity": Capacity(2_000, 4_000)}),
        ("not_writer", {"writer": False}),
        ("resizing", {"resizing": True}),
        ("stale", {"down": "did not answer within 1 s"}),
    ],
)
def test_a_held_loop_never_talks_as_if_it_would_write_soon(
    bench: Bench, hold: str, change: dict[str, Any]
) -> None:
    """While a hold lasts every decision is held and names it, whatever else would keep M."""
    bench.turn(*([command("pause")] if hold == "paused" else []))
    vars(bench.server).update(change)
    for _ in range(150):
        bench.turn()
        bench.server.redo_rate *= 0.98
    decisions = [one.decision for one in bench.records if hold in held(one) and one.decision.reason != "park"]

    assert len(decisions) > 100
    assert {one.reason for one in decisions} == {"held"}
    assert all(one.detail.startswith(f"{hold}: ") for one in decisions)


def test_a_missed_reading_decides_nothing(bench: Bench) -> None:
    """Without a reading there is no decision, no estimate, and no write."""
    record = bench.silent(1)

    assert (record.decision.kind, record.decision.reason) == (DecisionKind.KEEP, "missed")
    assert record.estimate is None
    assert isinstance(record.tick.reading, Missed)


@pytest.mark.parametrize(
    ("change", "hold"),
    [
        ({"resizing": True}, "resizing"),
        ({"redo_enabled": False}, "inert"),
        ({"adaptive_flushing": False}, "inert"),
        ({"skew": 900}, "model_mismatch"),
    ],
    ids=lambda value: "" if isinstance(value, str) else next(iter(value)),
)
def test_a_hold_that_the_server_causes_parks_once(bench: Bench, change: dict[str, Any], hold: str) -> None:
    """Where the knobs lose their effect, or the law does not match, a safe setting is left, until it ends."""
    before = {name: getattr(bench.server, name) for name in change}
    vars(bench.server).update(change)
    bench.until("park", limit=15)
    begun = len(bench.records)
    bench.turns(60)
    assert held(bench.record) == {hold}
    assert bench.wrote(since=begun) == []
    vars(bench.server).update(before)
    bench.turns(80)

    assert held(bench.record) == set()


def test_the_first_write_waits_for_a_verified_law() -> None:
    """Beside a server whose percentage never matches nothing is ever written."""
    bench = Bench(originals=DEFAULT)
    bench.server.skew = 900
    bench.turns(120)

    assert bench.server.applied == []
    assert held(bench.record) == {"model_mismatch"}


# mysqld restarts, or another server answers.


def test_a_start_is_dated_by_the_servers_own_clock(bench: Bench) -> None:
    """Originals are kept under the start that the server names, however wrong the daemon's clock is."""
    named, facts = bench.state.facts.started + 12_345.0, bench.server.facts
    bench.server.facts = lambda: replace(facts(), started=named)  # type: ignore[method-assign]  # an hour off
    bench.server.restart(Capacity(2_000, 4_000))
    bench.turns(3)

    assert "originals" in bench.codes(since=-2)
    assert bench.state.facts.started == named


def test_a_restart_during_silence_is_seen(bench: Bench) -> None:
    """An uptime that grew by less than the time that passed is a restart too."""
    bench.silent(3)
    bench.server.restart(Capacity(2_000, 4_000))
    bench.silent(90)

    assert "restarted" in codes(bench.turn())


def test_another_server_behind_the_address_is_left_alone(bench: Bench) -> None:
    """The daemon becomes advisory and waits for a person; the first one's originals are still known after."""
    mine, written = bench.server.identity, len(bench.server.applied)
    bench.server.identity = OTHER_IDENTITY
    record = bench.turn()
    bench.turns(60)

    assert "other_server" in codes(record)
    assert record.mode is Mode.ADVISORY
    assert (bench.state.facts.identity, bench.state.originals) == (OTHER_IDENTITY, None)
    bench.server.identity = mine
    assert bench.turn().originals == DEFAULT
    assert len(bench.server.applied) == written


# Somebody else's change.


def theirs(bench: Bench, pair: Capacity = THEIRS) -> set[str]:
    """Let somebody else set a pair; return the holds of the tick that sees it."""
    bench.server.capacity, bench.server.ours = pair, False
    return held(bench.turn())


def test_a_foreign_change_holds_until_a_person_resumes(bench: Bench) -> None:
    """The loop yields: not one write, until a person resumes; every further change is said too."""
    assert "foreign_change" in theirs(bench)
    written = len(bench.server.applied)
    (event,) = [event for event in bench.record.events if event.code == "foreign_change"]
    assert "1234/2468" in event.message
    assert event.who == "somebody else"
    bench.turns(60)
    assert theirs(bench, Capacity(2_000, 4_000)) == {"foreign_change"}
    assert "foreign_change" in codes(bench.record)
    assert len(bench.server.applied) == written
    assert held(bench.turn(command("resume"))) == set()
    bench.until("set", "emergency")


def test_a_foreign_change_in_advisory_mode_is_only_noted() -> None:
    """A person who tunes by hand beside an advisory daemon is seen, and nothing is held against them."""
    bench = Bench(Settings())
    bench.turns(15)

    assert "foreign_change" not in theirs(bench)
    assert "foreign_change" in codes(bench.record)


def test_a_person_may_park_or_restore_after_a_foreign_change(bench: Bench) -> None:
    """An explicit park or restore goes ahead under a hold: whoever asks knows of the other's change."""
    theirs(bench, Capacity(150, 300))
    assert bench.turn(command("park")).decision.kind is DecisionKind.PARK
    assert held(bench.turn()) == {"foreign_change", "paused"}
    bench.turn(command("restore"))
    bench.turns(200)

    assert bench.server.capacity == DEFAULT
    assert bench.record.mode is Mode.ADVISORY


# Another writer.


def test_another_writer_is_not_disturbed(bench: Bench) -> None:
    """Beside another InnoBrim nothing is written: not by the policy, not by a person, not on stopping."""
    bench.server.writer, written = False, len(bench.server.applied)
    assert "not_writer" in held(bench.turn())
    for asked in (command("park"), command("mode", value="advisory"), command("mode", value="active")):
        bench.turn(asked)
    bench.turns(30)
    bench.turn(command("stop", value="park"))

    assert len(bench.server.applied) == written


def test_a_pause_while_out_of_reach_does_not_park_beside_another_writer(bench: Bench) -> None:
    """A park that was owed while the server was silent is dropped when somebody else writes there now."""
    bench.silent(1, command("pause"))
    bench.server.writer, written = False, len(bench.server.applied)
    bench.turns(3)

    assert len(bench.server.applied) == written


# A declared baseline: taken over again by itself, and when it waits for a person.

BASELINE, OTHER, LEFT = Capacity(200, 2_000), Capacity(300, 3_000), Capacity(225, 450)
COOLDOWN = int(COOLDOWN_SECONDS)


@pytest.fixture
def declared() -> Bench:
    """Return a loop in control with a declared baseline."""
    return Bench(replace(ACTIVE, baseline="200/2000")).in_control()


@pytest.mark.parametrize("names", [True, False])
def test_nobody_is_sent_to_a_table_that_is_not_there(bench: Bench, *, names: bool) -> None:
    """Only where the server keeps who set a variable the loop says where to look."""
    bench.state = replace(bench.state, facts=replace(bench.state.facts, names_setters=names))
    assert theirs(bench, OTHER) == {"foreign_change"}

    (said,) = bench.said("foreign_change")
    assert ("performance_schema" in said) is names
    assert (NOBODY_KNOWS in said) is not names


def test_anything_else_waits_for_a_person(declared: Bench) -> None:
    """A pair that is not the declared one is never taken over, however long it stays."""
    assert theirs(declared, OTHER) == {"foreign_change"}
    declared.turn(seconds=5.0 * COOLDOWN)

    assert [(hold.remedies, hold.seconds) for hold in declared.record.holds] == [((Remedy.RESUME,), 0.0)]


def test_a_change_within_the_cool_down_begins_it_again(declared: Bench) -> None:
    """The cool-down is that of the last change: a tool that still works on the server is waited out."""
    assert theirs(declared, BASELINE) == {"foreign_change"}
    assert declared.record.holds[0].seconds == COOLDOWN_SECONDS
    declared.turn(seconds=COOLDOWN - 5.0)
    assert theirs(declared, OTHER) == {"foreign_change"}
    assert theirs(declared, BASELINE) == {"foreign_change"}

    assert held(declared.turn(seconds=COOLDOWN - 5.0)) == {"foreign_change"}
    assert held(declared.turn(seconds=10.0)) == set()


def test_a_fight_ends_with_a_person(declared: Bench) -> None:
    """After three times in an hour the loop stops taking over: somebody means it. Later it does again."""
    for _ in range(READOPTIONS):
        assert theirs(declared, BASELINE) == {"foreign_change"}
        declared.turn(seconds=COOLDOWN + 1.0)
        declared.until("set", "emergency")
        declared.turns(3)
    assert theirs(declared, BASELINE) == {"foreign_change"}
    declared.turn(seconds=5.0 * COOLDOWN)
    (hold,) = declared.record.holds
    assert (hold.remedies, hold.seconds) == ((Remedy.BASELINE_SPENT,), 0.0)

    hour_ago = declared.record.tick.now - 3599.0
    declared.state = replace(declared.state, readopted=(hour_ago, *declared.state.readopted[1:]))
    assert held(declared.turn()) == set()
    again = [f"({number} of {READOPTIONS} times" for number in (1, 2, 3, 3)]
    assert all(words in said for words, said in zip(again, declared.said("baseline"), strict=True))


@pytest.mark.parametrize(
    ("pair", "known", "ours", "said"),
    [
        (LEFT, (LEFT, DEFAULT), True, []),
        (DEFAULT, (LEFT, DEFAULT), False, []),
        (BASELINE, (LEFT, DEFAULT), False, []),
        (OTHER, (), False, []),
        (
            OTHER,
            (LEFT, DEFAULT),
            False,
            [f"{PAIR} were left at {LEFT} and are {OTHER}: somebody else changed them"],
        ),
    ],
    ids=["what was left", "the originals", "the baseline", "nothing known", "another one"],
)
def test_the_first_reading_tells_whose_the_pair_is(
    pair: Capacity,
    known: tuple[Capacity, ...],
    ours: bool,  # noqa: FBT001 - a case
    said: list[str],
) -> None:
    """What a daemon before left is ours; another pair is somebody else's change, where that is known."""
    settings = replace(ACTIVE, baseline="200/2000")
    bench = Bench(settings, FakeServer(pair))
    bench.state = start(settings, bench.server.facts(), DEFAULT, left=(LEFT,), known=known)
    record = bench.turn()

    assert (bench.state.writes.own == pair) is ours
    assert [one.partition(" while no daemon ran")[0] for one in bench.said("foreign_change")] == said
    assert ("foreign_change" in held(record)) is bool(said)


@pytest.mark.parametrize(
    ("before", "pending", "pair", "ours"),
    [
        (LEFT, OTHER, OTHER, True),
        (LEFT, OTHER, Capacity(225, 3_000), True),
        (LEFT, OTHER, BASELINE, False),
        (LEFT, None, LEFT, False),
        (None, OTHER, OTHER, False),
    ],
    ids=["whole", "half", "another", "nothing asked for", "from nowhere"],
)
def test_a_write_that_nobody_read_back_may_have_left_what_is_in_force(
    before: Capacity | None,
    pending: Capacity | None,
    pair: Capacity,
    ours: bool,  # noqa: FBT001 - a case
) -> None:
    """Whatever lies on the way of it is ours, and nothing else."""
    bench = Bench(ACTIVE, FakeServer(pair))
    bench.state = replace(bench.state, writes=replace(bench.state.writes, before=before, pending=pending))
    bench.turn()

    assert (bench.state.writes.own == pair) is ours
