"""One tick after the other beside a small server: what happens when, and what does not."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from msgspec.structs import replace

from tests.factory import ACTIVE, DEFAULT, SAVED, A, Bench, FakeServer, command
from tuner.core.parking import RESTORE_FACTOR, RESTORE_SECONDS
from tuner.core.step import start
from tuner.records import Capacity, DecisionKind, Lifecycle, Missed, TickRecord
from tuner.settings import Mode, Settings


def codes(record: TickRecord) -> list[str]:
    """Return the codes of the tick's events."""
    return [event.code for event in record.events]


def held(record: TickRecord) -> set[str]:
    """Return the codes of the holds in force."""
    return {hold.code.value for hold in record.holds}


@pytest.fixture
def bench() -> Bench:
    """Return a loop in active mode whose first write is in force."""
    return Bench().in_control()


def test_advisory_says_what_it_would_do_and_writes_nothing() -> None:
    """In advisory mode the loop names the pair it would set, minute after minute, and sets none."""
    bench = Bench(Settings())
    bench.turns(120)

    assert bench.server.applied == []
    assert bench.record.mode is Mode.ADVISORY
    assert bench.record.decision.would is not None
    assert bench.record.decision.reason == "advisory"
    assert bench.record.originals is None


def test_the_first_readings_decide_nothing() -> None:
    """One reading gives no rates, and rates need ten seconds; a daemon that just started is quiet."""
    bench = Bench(originals=DEFAULT)
    bench.turns(8)

    reasons = [record.decision.reason for record in bench.records]
    assert reasons == ["no_estimate"] + ["warming_up"] * 7
    assert [record.lifecycle for record in bench.records[:2]] == [Lifecycle.STARTING, Lifecycle.RUNNING]
    assert bench.server.applied == []


def test_originals_must_be_on_disk_before_the_first_write() -> None:
    """Without the journal's word nothing is written, however long it takes; with it, the loop begins."""
    bench = Bench()
    first = bench.turn()
    bench.turns(60)

    assert "originals" in codes(first)
    assert first.originals == DEFAULT
    assert bench.server.applied == []
    assert bench.record.decision.reason == "originals_pending"
    bench.turn(SAVED)
    assert len(bench.server.applied) == 1


def test_originals_known_from_an_earlier_run_are_kept() -> None:
    """After a crash the pair in force is our own; the originals of that start of the server still count."""
    bench = Bench(server=FakeServer(Capacity(225, 450)), originals=DEFAULT)
    bench.turns(3)

    assert bench.record.originals == DEFAULT
    assert all("originals" not in codes(record) for record in bench.records)


def test_what_an_earlier_run_wrote_is_parked_by_the_next() -> None:
    """A daemon that comes back after a crash knows that the values in force are its own, and parks them."""
    ours = Bench(server=FakeServer(Capacity(225, 450)), originals=DEFAULT, written=Capacity(225, 450))
    others = Bench(server=FakeServer(Capacity(225, 450)), originals=DEFAULT, written=Capacity(300, 600))
    for bench in (ours, others):
        bench.turns(5)
        bench.turn(command("stop", value="park"))

    assert ours.record.decision.kind is DecisionKind.PARK
    assert others.server.applied == []


def test_an_idle_server_is_left_alone() -> None:
    """Next to no redo is no reason for a write."""
    bench = Bench(server=FakeServer(redo_rate=100.0), originals=DEFAULT)
    bench.turns(60)

    assert bench.server.applied == []


def test_it_brings_a_default_server_to_the_set_point() -> None:
    """From 10000/20000 the age rises to the set-point, by steps, without sync flushing."""
    bench = Bench(replace(ACTIVE, set_point=0.7), originals=DEFAULT)
    bench.turns(700)

    ratios = [record.estimate.age_ratio for record in bench.records[-100:] if record.estimate]
    assert all(abs(ratio - 0.7) < 0.05 for ratio in ratios)
    values = [DEFAULT.io_capacity_max, *(pair.io_capacity_max for _, pair, _ in bench.server.applied)]
    assert all(new >= old / 2.0 - 1.0 for old, new in itertools.pairwise(values))


def test_a_missed_reading_decides_nothing(bench: Bench) -> None:
    """Without a reading there is no decision, no estimate, and no write."""
    bench.server.down = "did not answer within 1 s"
    record = bench.turn()

    assert (record.decision.kind, record.decision.reason) == (DecisionKind.KEEP, "missed")
    assert record.estimate is None
    assert isinstance(record.tick.reading, Missed)


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
    assert record.originals == Capacity(2_000, 4_000)
    assert record.decision.steps == ()


def test_a_restart_is_over_when_the_originals_are_taken_anew(bench: Bench) -> None:
    """The loop writes again after ten good readings, new originals on disk and a law that matched again."""
    bench.server.restart(Capacity(2_000, 4_000))
    record = bench.turn()
    assert "originals" in codes(record)
    bench.turns(30)
    assert "restarted" in held(bench.record)
    before = len(bench.server.applied)
    bench.turn(SAVED)
    bench.turns(20)

    assert held(bench.record) == set()
    assert len(bench.server.applied) > before


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


def test_an_override_is_held_and_expires(bench: Bench) -> None:
    """A person's value stays for its time, whatever the policy wants, and then the policy decides again."""
    bench.turn(command("override", value=600, ttl=20.0))
    kinds = [bench.turn().decision.reason for _ in range(19)]

    assert set(kinds) == {"override"}
    assert bench.server.capacity == Capacity(300, 600)
    bench.turn()
    assert bench.state.override is None
    assert bench.record.override_ends is None
    assert bench.record.decision.source == "policy"


def test_an_emergency_ends_an_override() -> None:
    """No person's value is held into a stall: the emergency raises M and says that the override is over."""
    bench = Bench(replace(ACTIVE, set_point=0.7), originals=DEFAULT)
    bench.turns(300)
    bench.turn(command("override", value=200, ttl=600.0))
    bench.server.redo_rate = 4e6

    record = bench.until("emergency")

    assert "override_cancelled" in codes(record)
    assert bench.server.capacity.io_capacity_max > 600


def test_an_emergency_needs_no_dwell_and_no_step_limit() -> None:
    """When the load jumps right after a write, M is raised at once by as much as it takes."""
    paced = replace(ACTIVE, set_point=0.9)
    bench = Bench(paced, originals=DEFAULT)
    bench.turns(400)
    bench.turn(command("settings", settings=replace(paced, dwell_seconds=3_600.0, max_changes_per_hour=1)))
    bench.server.redo_rate = 6e6
    before = bench.server.capacity.io_capacity_max

    record = bench.until("emergency", limit=30)

    assert record.decision.source == "emergency"
    assert record.decision.target is not None
    assert record.decision.target.io_capacity_max > ACTIVE.step_factor * before
    assert record.decision.target.io_capacity_max <= ACTIVE.max_io_capacity_max


def test_a_pause_parks_once(bench: Bench) -> None:
    """Entering the pause leaves a safe setting behind; after that nothing is written until resumed."""
    record = bench.turn(command("pause"))
    parked = bench.server.capacity
    written = len(bench.server.applied)
    bench.turns(300)

    assert record.decision.kind is DecisionKind.PARK
    assert parked.io_capacity_max >= 1.5 * 400
    assert len(bench.server.applied) == written
    bench.turn(command("resume"))
    assert held(bench.record) == set()


@pytest.mark.parametrize(
    "change",
    [{"resizing": True}, {"redo_enabled": False}, {"adaptive_flushing": False}, {"lru_rate": 9e4}],
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
        "lru_rate": 0.0,
    }.items():
        setattr(bench.server, name, value)
    bench.turns(20)

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


def test_a_park_is_asked_for_and_stays(bench: Bench) -> None:
    """After an explicit park the setting stays as it is until a person resumes."""
    bench.turn(command("park"))
    parked = bench.server.capacity
    bench.turns(120)

    assert bench.server.capacity == parked
    assert bench.record.decision.reason in {"held", "within_band", "approaching"}


def test_restoring_goes_in_steps_and_ends_advisory(bench: Bench) -> None:
    """Back to the originals M moves by a quarter every five seconds; then the daemon only watches."""
    bench.turns(60)
    began = len(bench.server.applied)
    low = bench.server.capacity.io_capacity_max
    bench.turn(command("restore"))
    while bench.record.mode is Mode.ACTIVE:
        bench.turn()

    steps = [record for record in bench.records if record.decision.kind is DecisionKind.RESTORE]
    times = [record.tick.now for record in steps]
    values = [low, *(pair.io_capacity_max for _, pair, _ in bench.server.applied[began:])]
    assert bench.server.capacity == DEFAULT
    assert "restored" in codes(bench.record)
    assert all(later - earlier >= RESTORE_SECONDS for earlier, later in itertools.pairwise(times))
    assert all(new <= RESTORE_FACTOR * old for old, new in itertools.pairwise(values))
    written = len(bench.server.applied)
    bench.turns(120)
    assert len(bench.server.applied) == written


def test_stopping_parks_our_own_values(bench: Bench) -> None:
    """The last write of a daemon that is told to stop leaves room for half as much load again."""
    record = bench.turn(command("stop", who="SIGTERM", value="park"))

    assert record.lifecycle is Lifecycle.STOPPING
    assert record.decision.kind is DecisionKind.PARK
    assert bench.server.capacity == bench.state.park_target
    assert bench.server.capacity.io_capacity_max >= 600


def test_stopping_can_leave_things_as_they_are(bench: Bench) -> None:
    """With on_stop = leave the last write stays, and no new one is begun."""
    bench.turns(15)
    written = len(bench.server.applied)
    record = bench.turn(command("stop", value="leave"))

    assert record.lifecycle is Lifecycle.STOPPING
    assert len(bench.server.applied) == written


def test_stopping_begins_nothing() -> None:
    """A daemon that has not written yet does not make its first write while it stops."""
    bench = Bench()
    bench.turns(30)
    bench.turn(SAVED, command("stop", value="park"))

    assert bench.server.applied == []


def test_advisory_stops_without_a_write() -> None:
    """Also after having been active before: what advisory mode left behind stays."""
    bench = Bench().in_control()
    bench.turn(command("mode", value="advisory"))
    written = len(bench.server.applied)
    bench.server.redo_rate = 3e6
    bench.turns(30)
    bench.turn(command("stop", value="park"))

    assert len(bench.server.applied) == written


def test_three_failures_wait_for_a_person(bench: Bench) -> None:
    """An account that lost its privilege is not tried for ever: after three refusals a person is asked."""
    bench.server.refusal = "access denied (error 1227)"
    failed = []
    for _ in range(200):
        record = bench.turn()
        failed += [event for event in record.events if event.code == "write_failed"]
    tried = len(bench.server.applied)

    assert [event.message for event in failed] == ["access denied (error 1227)"] * 3
    (hold,) = bench.record.holds
    assert hold.code.value == "not_writer"
    assert "access denied" in hold.reason
    bench.turns(60)
    assert len(bench.server.applied) == tried
    bench.server.refusal = ""
    assert held(bench.turn(command("resume"))) == set()
    bench.server.redo_rate = 3e6
    bench.until("set", "emergency")


def test_a_value_that_the_server_adjusted_is_noted(bench: Bench) -> None:
    """When the server makes something else of a write, that is said, and is not a foreign change."""
    bench.server.adjusts = 777
    bench.until("set", "emergency")
    record = bench.turn()

    assert "adjusted" in codes(record)
    assert "foreign_change" not in codes(record)
    assert bench.state.writes.expected == bench.server.capacity


@pytest.mark.parametrize("after", [0, 1])
def test_a_write_lost_half_way_is_taken_up_again(bench: Bench, after: int) -> None:
    """When the connection dies between the two SETs, the loop goes on from what is really in force."""
    bench.server.drop_after = after
    bench.until("set", "emergency")
    record = bench.turn()
    pair = bench.server.capacity

    assert "write_failed" in codes(record)
    assert "foreign_change" not in codes(record)
    assert pair.io_capacity <= pair.io_capacity_max
    assert bench.state.writes.expected == pair
    bench.until("set", "emergency")
    bench.turn()
    assert bench.server.capacity.io_capacity_max == 2 * bench.server.capacity.io_capacity


def test_a_write_whose_outcome_was_not_read_is_still_our_own(bench: Bench) -> None:
    """What a write left is known at the next reading, and a stop still parks it."""
    bench.server.unread = True
    bench.until("set", "emergency")
    bench.turns(3)
    record = bench.turn(command("stop", value="park"))

    assert record.decision.kind is DecisionKind.PARK
    assert bench.server.capacity == bench.state.park_target


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


def test_the_budget_is_counted_and_shown() -> None:
    """The record shows how many changes of the last hour count, and there are never more than allowed."""
    bench = Bench(replace(ACTIVE, max_changes_per_hour=2), originals=DEFAULT)
    bench.turns(300)

    assert bench.record.changes_last_hour == 2
    assert len(bench.server.applied) == 2
    bench.turn(seconds=3_600.0)
    assert bench.record.changes_last_hour == 0


def test_a_state_starts_with_what_the_operator_wants() -> None:
    """The mode at the start is the configured one, and nothing is known yet."""
    state = start(ACTIVE, FakeServer().facts())

    assert state.mode is Mode.ACTIVE
    assert state.lifecycle is Lifecycle.STARTING
    assert state.originals is None
