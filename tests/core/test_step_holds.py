"""Reasons not to write: what each does on entry, and what ends it."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from tests.bench import Bench, FakeServer
from tests.factory import DEFAULT, SAVED, A, codes, command, held
from tuner.records import Capacity, DecisionKind, Missed
from tuner.settings import Mode, Settings


def test_a_missed_reading_decides_nothing(bench: Bench) -> None:
    """Without a reading there is no decision, no estimate, and no write."""
    bench.server.down = "did not answer within 1 s"
    record = bench.turn()

    assert (record.decision.kind, record.decision.reason) == (DecisionKind.KEEP, "missed")
    assert record.estimate is None
    assert isinstance(record.tick.reading, Missed)


@pytest.mark.parametrize("hold", ["paused", "foreign_change", "not_writer", "resizing", "stale"])
def test_a_held_loop_never_talks_as_if_it_would_write_soon(bench: Bench, hold: str) -> None:
    """While a hold lasts every decision is held and names it, whatever else would keep M."""
    bench.turn(*([command("pause")] if hold == "paused" else []))
    bench.server.writer = hold != "not_writer"
    bench.server.resizing = hold == "resizing"
    if hold == "foreign_change":
        bench.server.capacity = Capacity(2_000, 4_000)
    if hold == "stale":
        bench.server.down = "did not answer within 1 s"
    for _ in range(150):
        bench.turn()
        bench.server.redo_rate *= 0.98
    decisions = [
        record.decision
        for record in bench.records
        if hold in held(record) and record.decision.reason != "park"
    ]

    assert len(decisions) > 100
    assert {one.reason for one in decisions} == {"held"}
    assert all(one.detail.startswith(f"{hold}: ") and "; would" in one.detail for one in decisions)


def test_silence_holds_and_the_first_contact_parks(bench: Bench) -> None:
    """Six seconds without an answer hold the loop; when the server is back it is parked at once."""
    bench.server.down = "did not answer within 1 s"
    bench.turns(6)
    assert "stale" in held(bench.record)
    bench.server.down = ""

    record = bench.turn()

    assert "clear_stale" in codes(record)
    assert record.decision.kind is DecisionKind.PARK
    assert record.decision.detail == "first good contact after stale samples"
    assert bench.server.capacity == bench.state.park_target


def test_a_restart_is_seen_before_the_values_that_it_changed(bench: Bench) -> None:
    """After mysqld restarts its own values are back: that is a restart, not somebody else's change."""
    bench.server.restart(Capacity(2_000, 4_000))
    bench.server.live(3.0)
    record = bench.turn()

    assert "restarted" in codes(record)
    assert "foreign_change" not in codes(record)
    assert "restarted" in held(record)
    assert record.decision.steps == ()
    assert bench.turn().originals == Capacity(2_000, 4_000)


def test_a_restart_is_over_when_the_originals_are_taken_anew(bench: Bench) -> None:
    """The loop writes again after ten good readings, new originals on disk and a law that matched again."""
    bench.server.restart(Capacity(2_000, 4_000))
    bench.turn()
    assert "originals" in codes(bench.turn())
    bench.turns(30)
    assert "restarted" in held(bench.record)
    before = len(bench.server.applied)
    bench.turn(SAVED)
    bench.turns(20)

    assert held(bench.record) == set()
    assert len(bench.server.applied) > before


def test_a_start_is_dated_by_the_servers_own_clock(bench: Bench) -> None:
    """Originals are kept under the start that the server names, however wrong the daemon's clock is."""
    named = bench.state.facts.started + 12_345.0
    facts = bench.server.facts
    bench.server.facts = lambda: replace(facts(), started=named)  # type: ignore[method-assign]  # an hour off
    bench.server.restart(Capacity(2_000, 4_000))
    bench.turns(3)

    assert "originals" in {code for record in bench.records[-2:] for code in codes(record)}
    assert bench.state.facts.started == named


def test_a_restart_during_silence_is_seen(bench: Bench) -> None:
    """An uptime that grew by less than the time that passed is a restart too."""
    bench.server.down = "connection refused"
    bench.turns(3)
    bench.server.restart(Capacity(2_000, 4_000))
    bench.turns(90)
    bench.server.down = ""

    assert "restarted" in codes(bench.turn())


def test_a_foreign_change_holds_until_a_person_resumes(bench: Bench) -> None:
    """When somebody else changes the values the loop yields: not one write, until a person resumes."""
    bench.server.capacity, bench.server.ours = Capacity(1_234, 2_468), False
    record = bench.turn()
    written = len(bench.server.applied)

    assert "foreign_change" in held(record)
    (event,) = [event for event in record.events if event.code == "foreign_change"]
    assert "1234/2468" in event.message
    assert event.who == "somebody else"
    bench.turns(600)
    assert len(bench.server.applied) == written
    assert "foreign_change" in held(bench.record)
    assert held(bench.turn(command("resume"))) == set()
    bench.until("set", "emergency")


def test_a_second_foreign_change_is_said_too(bench: Bench) -> None:
    """Every change by somebody else is an event, and the hold stays one hold."""
    bench.server.capacity = Capacity(1_234, 2_468)
    bench.turn()
    bench.server.capacity = Capacity(2_000, 4_000)
    record = bench.turn()

    assert "foreign_change" in codes(record)
    assert len(record.holds) == 1


def test_a_foreign_change_in_advisory_mode_is_only_noted() -> None:
    """A person who tunes by hand beside an advisory daemon is seen, and nothing is held against them."""
    bench = Bench(Settings())
    bench.turns(15)
    bench.server.capacity = Capacity(1_000, 2_000)
    record = bench.turn()

    assert "foreign_change" in codes(record)
    assert "foreign_change" not in held(record)


def test_originals_can_be_restored_after_a_foreign_change(bench: Bench) -> None:
    """An explicit restore goes ahead under a hold: a person may always have the originals back."""
    bench.server.capacity, bench.server.ours = Capacity(1_234, 2_468), False
    bench.turn()
    bench.turn(command("restore"))
    bench.turns(200)

    assert bench.server.capacity == DEFAULT
    assert bench.record.mode is Mode.ADVISORY


def test_a_park_can_be_asked_for_after_a_foreign_change(bench: Bench) -> None:
    """An explicit park goes ahead under a hold too: the person who asks knows of the other's change."""
    bench.server.capacity, bench.server.ours = Capacity(150, 300), False
    bench.turn()
    record = bench.turn(command("park"))

    assert record.decision.kind is DecisionKind.PARK
    assert bench.server.capacity == bench.state.park_target
    assert held(bench.turn()) == {"foreign_change", "paused"}


def test_another_server_behind_the_address_is_left_alone(bench: Bench) -> None:
    """When another server answers, the daemon becomes advisory and waits for a person."""
    bench.server.identity = "another"
    written = len(bench.server.applied)
    record = bench.turn()
    bench.turns(60)

    assert "other_server" in codes(record)
    assert record.mode is Mode.ADVISORY
    assert bench.state.facts.identity == "another"
    assert bench.state.originals is None
    assert len(bench.server.applied) == written


def test_a_server_that_comes_back_has_its_originals(bench: Bench) -> None:
    """When the first server answers again, what it was set to before us is still known."""
    mine, pair = bench.server.identity, bench.server.capacity
    bench.server.identity = "another"
    bench.turns(3)
    bench.server.identity = mine
    record = bench.turn()

    assert pair != DEFAULT
    assert "other_server" in codes(record)
    assert record.originals == DEFAULT


@pytest.mark.parametrize(
    "change",
    [{"resizing": True}, {"redo_enabled": False}, {"adaptive_flushing": False}],
    ids=lambda change: next(iter(change)),
)
def test_a_hold_that_the_server_causes_parks_once(bench: Bench, change: dict[str, Any]) -> None:
    """Where the knobs lose their effect a safe setting is left behind, once, and the hold ends by itself."""
    for name, value in change.items():
        setattr(bench.server, name, value)
    record = bench.until("park", limit=15)
    assert record.decision.detail.startswith("hold ")
    quiet = len(bench.server.applied)
    bench.turns(60)
    assert len(bench.server.applied) == quiet
    for name, value in {
        "resizing": False,
        "redo_enabled": True,
        "adaptive_flushing": True,
    }.items():
        setattr(bench.server, name, value)
    bench.turns(80)

    assert held(bench.record) == set()


def test_a_law_that_stops_to_match_holds_and_recovers(bench: Bench) -> None:
    """A server that flushes by another law than ours is parked and left alone until it matches again."""
    bench.server.skew = 900
    record = bench.until("park", limit=15)
    assert record.decision.detail == "hold model_mismatch"
    bench.turn()
    assert "model_mismatch" in held(bench.record)
    written = len(bench.server.applied)
    bench.turns(60)
    assert len(bench.server.applied) == written
    bench.server.skew = 0
    bench.turns(15)

    assert held(bench.record) == set()


def test_the_first_write_waits_for_a_verified_law() -> None:
    """Beside a server whose percentage never matches nothing is ever written."""
    server = FakeServer()
    server.skew = 900
    bench = Bench(server=server, originals=DEFAULT)
    bench.turns(120)

    assert server.applied == []
    assert held(bench.record) == {"model_mismatch"}


def test_another_writer_is_not_disturbed(bench: Bench) -> None:
    """Beside another InnoBrim nothing is written: not by the policy, not by a person, not on stopping."""
    bench.server.writer = False
    written = len(bench.server.applied)
    record = bench.turn()
    bench.turn(command("park"))
    bench.turn(command("mode", value="advisory"))
    bench.turn(command("mode", value="active"))
    bench.turns(30)
    bench.turn(command("stop", value="park"))

    assert "not_writer" in held(record)
    assert len(bench.server.applied) == written


def test_a_pause_while_out_of_reach_does_not_park_beside_another_writer(bench: Bench) -> None:
    """A park that was owed while the server was silent is dropped when somebody else writes there now."""
    bench.server.down = "did not answer"
    bench.turn(command("pause"))
    bench.server.down, bench.server.writer = "", False
    written = len(bench.server.applied)
    bench.turns(3)

    assert len(bench.server.applied) == written


def test_a_reversed_counter_decides_nothing(bench: Bench) -> None:
    """At the tick where the LSN goes back there is no estimate and no decision."""
    bench.server.lsn -= 0.2 * A
    record = bench.turn(seconds=0.1)

    assert "reversed" in codes(record)
    assert record.estimate is None
    assert record.decision.reason == "no_estimate"
