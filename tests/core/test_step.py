"""One tick after the other beside a small server: what happens when, and what does not."""

from __future__ import annotations

import itertools

from msgspec.structs import replace

from tests.bench import Bench, FakeServer
from tests.factory import ACTIVE, DEFAULT, SAVED, codes, command, held
from tuner.core.step import start
from tuner.records import Capacity, DecisionKind, Lifecycle
from tuner.settings import Mode, Settings


def test_advisory_says_what_it_would_do_and_writes_nothing() -> None:
    """In advisory mode the loop names the pair it would set, minute after minute, and sets none."""
    bench = Bench(Settings())
    bench.turns(120)

    assert bench.server.applied == []
    assert bench.record.mode is Mode.ADVISORY
    assert bench.record.decision.would is not None
    assert {record.decision.reason for record in bench.records} == {"advisory"}
    assert all("advisory mode writes nothing" in record.decision.detail for record in bench.records)
    assert bench.record.originals is None


def test_the_first_readings_decide_nothing() -> None:
    """One reading gives no rates, and rates need ten seconds; a daemon that just started is quiet."""
    bench = Bench(originals=DEFAULT)
    bench.turns(8)

    decisions = [record.decision for record in bench.records]
    assert "(no_estimate)" in decisions[0].detail
    assert all("rates need ten seconds" in one.detail for one in decisions[1:])
    assert decisions[-1].reason == "warming_up"
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
    ours = Bench(server=FakeServer(Capacity(225, 450)), originals=DEFAULT, left=(Capacity(225, 450),))
    others = Bench(server=FakeServer(Capacity(225, 450)), originals=DEFAULT, left=(Capacity(300, 600),))
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


def test_an_override_is_held_and_expires(bench: Bench) -> None:
    """A person's value stays for its time, whatever the policy wants, and then the policy decides again."""
    bench.turn(command("override", value=600, ttl=20.0))
    kinds = [bench.turn().decision.reason for _ in range(19)]

    assert set(kinds) == {"override"}
    assert bench.server.capacity == Capacity(600, 600)
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


def test_a_park_is_asked_for_and_stays(bench: Bench) -> None:
    """After an explicit park the setting stays as it is until a person resumes."""
    bench.turn(command("park"))
    parked = bench.server.capacity
    bench.turns(120)

    assert bench.server.capacity == parked
    assert bench.record.decision.reason in {"held", "within_band", "approaching"}


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
