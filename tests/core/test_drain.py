"""A drain: the age comes down, stays down for its time, and the loop goes back by itself."""

from __future__ import annotations

import itertools

import pytest
from msgspec.structs import replace

from tests.bench import Bench
from tests.core.draining import BYTES, HIGH, age_of, drain
from tests.core.windows import active, window
from tests.factory import codes, command, held
from tuner.core.snapshot import decode_state, encode_state
from tuner.core.state import State
from tuner.core.step import start, step
from tuner.records import Command, DecisionKind, Sample
from tuner.settings import Mode


def test_the_age_comes_down_and_stays_down_until_the_time_is_over(full: Bench) -> None:
    """Within three minutes the age is at the target, stays there, and goes back when the time is over."""
    before = len(full.server.applied)
    accepted = full.turn(drain())
    assert accepted.acknowledgements[0].accepted
    assert "drain" in codes(accepted)
    while "drained" not in codes(full.turn()):
        assert full.record.tick.now - accepted.tick.now < 180.0
    writes_on_the_way = len(full.server.applied) - before
    kept = []
    while full.record.drain is not None:
        kept.append(full.turn())

    assert all(age_of(record) <= BYTES for record in kept)
    assert len(full.server.applied) - before <= writes_on_the_way + 4
    assert kept[-1].tick.now - accepted.tick.now == pytest.approx(600.0, abs=1.0)
    assert [code for code in codes(kept[-1]) if code != "set"] == ["drain_ended"]
    assert "its time is over" in kept[-1].events[0].message
    full.turns(400)
    assert age_of(full.record) > 1.3 * BYTES


def test_it_neither_creeps_nor_overshoots(full: Bench) -> None:
    """On the way M only rises, and the age does not end far below what was asked for."""
    began = full.turn(drain()).tick.number
    full.turns(599)

    way = [record for record in full.records[began:] if record.decision.kind is DecisionKind.DRAIN]
    values = [record.decision.target.io_capacity_max for record in way if record.decision.target]
    assert values[:3] == sorted(values[:3])
    assert min(age_of(record) for record in full.records[began:]) > 0.5 * BYTES


def test_progress_has_an_end(full: Bench) -> None:
    """The record says where it began, how long it will take at this slope, and since when it is there."""
    full.turn(drain())
    start_age = age_of(full.record)
    full.turns(40)
    way = full.record.drain
    assert way is not None
    assert (way.target, way.start_age, way.who, way.reached) == (BYTES, start_age, "ann", None)
    assert way.seconds_left is not None
    expected = full.record.tick.now + way.seconds_left
    while full.record.drain is not None and full.record.drain.reached is None:
        full.turn()

    assert full.record.tick.now == pytest.approx(expected, abs=60.0)
    assert full.record.drain is not None
    assert full.record.drain.seconds_left is None


def test_a_drain_is_paced_as_the_policy_is(full: Bench) -> None:
    """Dwell, step factor, limits and hourly budget hold for a drain as well."""
    settings = replace(HIGH, dwell_seconds=20.0, step_factor=1.2, max_io_capacity_max=2_000)
    full.turn(command("settings", settings=settings))
    began = full.turn(drain("60%")).tick.number
    full.turns(599)

    way = [record for record in full.records[began - 1 :] if record.decision.kind is DecisionKind.DRAIN]
    assert len(way) >= 2
    times = [record.tick.now for record in way]
    assert all(later - earlier >= 20.0 for earlier, later in itertools.pairwise(times))
    for record in way:
        reading, target = record.tick.reading, record.decision.target
        assert isinstance(reading, Sample)
        assert target is not None
        assert target.io_capacity_max <= 1.2 * reading.io_capacity_max + 1.0
        assert target.io_capacity_max <= 2_000


def test_the_budget_holds_for_a_drain(full: Bench) -> None:
    """With the hour's changes used up a drain writes nothing, and says that the budget is why."""
    full.turn(command("settings", settings=replace(HIGH, max_changes_per_hour=1)))
    before = len(full.server.applied)
    full.turn(drain())
    reasons = {full.turn().decision.reason for _ in range(60)}

    assert "budget" in reasons
    assert len(full.server.applied) == before


def test_what_was_learned_of_the_load_outlives_a_drain(full: Bench) -> None:
    """A drain is no reason to think otherwise of the load: mean rate, bursts and set-point stay."""
    full.turn(command("settings", settings=replace(HIGH, set_point=None)))
    full.turns(200)
    before, set_point = full.state.estimator.trends, full.state.set_point
    full.server.redo_rate *= 0.5
    full.turn(drain())
    full.turns(500)

    after = full.state.estimator.trends
    assert (after.rate_mean, after.rate_square) == (before.rate_mean, before.rate_square)
    assert after.bursts.recent <= before.bursts.recent
    assert full.state.set_point == pytest.approx(set_point, abs=0.03)


def test_an_emergency_comes_first(full: Bench) -> None:
    """When a stall is seconds away the emergency raises M, and the drain goes on after it."""
    full.turn(drain("70%"))
    full.server.redo_rate = 8e6
    record = full.until("emergency", limit=60)

    assert record.decision.source == "emergency"
    assert record.drain is not None


@pytest.mark.parametrize(
    ("ending", "said"),
    [
        (command("cancel_drain"), "cancelled by ann"),
        (command("resume"), "resumed by ann"),
        (command("pause"), "paused by ann"),
        (command("park"), "parked by ann"),
        (command("restore"), "the originals are being restored"),
        (command("override", value=600, ttl=60.0), "an override took its place"),
        (command("mode", value="advisory"), "the mode is advisory now"),
        (command("stop", value="park"), "the daemon is stopping"),
    ],
)
def test_what_ends_a_drain(full: Bench, ending: Command, said: str) -> None:
    """Whoever takes over ends the drain in the same tick, and the event says why."""
    full.turn(drain())
    full.turns(5)
    record = full.turn(ending)

    assert record.acknowledgements[0].accepted
    assert record.drain is None
    ended = next(event for event in record.events if event.code == "drain_ended")
    assert said in ended.message


def test_a_restart_of_the_server_ends_a_drain(full: Bench) -> None:
    """What was asked before a restart of mysqld is done with it."""
    full.turn(drain())
    full.turns(5)
    full.server.restart(full.server.capacity)
    full.server.live(2.0)

    assert "drain_ended" in codes(full.turn())


def test_somebody_elses_change_ends_a_drain(full: Bench) -> None:
    """Where the loop yields there is nobody to keep the age down."""
    full.turn(drain())
    full.turns(15)
    full.server.capacity = replace(full.server.capacity, io_capacity=100)

    record = full.turn()

    assert "foreign_change" in held(record)
    assert "drain_ended" in codes(record)


def test_a_short_silence_only_suspends_a_drain(full: Bench) -> None:
    """After seconds without an answer the drain goes on, within the time it was given."""
    full.turn(drain())
    full.server.down = "did not answer within 1 s"
    full.turns(8)
    full.server.down = ""
    record = full.until("drain", limit=60)

    assert record.drain is not None


def test_a_drain_ends_an_override_and_a_stop_parks(full: Bench) -> None:
    """The later word counts; a daemon that stops while draining leaves an M that is no lower."""
    full.turn(command("override", value=500, ttl=600.0))
    full.turn(drain())
    assert full.record.override_ends is None
    full.turns(100)
    draining = full.server.capacity.io_capacity_max
    full.turn(command("stop", value="park"))

    assert full.server.capacity.io_capacity_max >= draining


def test_a_drain_replays_to_the_same_decisions(full: Bench) -> None:
    """From its first state and from snapshots on the way there and back the same decisions come out."""
    first = len(full.records)
    full.turn(drain(ttl=150.0))
    full.turns(300)

    state: State = start(HIGH, full.server.facts())
    state = replace(state, facts=replace(state.facts, started=full.state.facts.started))
    for record in full.records:
        state, again = step(state, record.tick)
        assert again.decision == record.decision
        assert again.drain == record.drain
        if record.tick.number in {first + 50, first + 200}:
            state = decode_state(encode_state(state))
    assert state.mode is Mode.ACTIVE


def test_a_drain_goes_on_under_a_read_lock(full: Bench) -> None:
    """A person's drain is carried out also while nobody can write, which is when backups ask for one."""
    full.server.shows, full.server.redo_rate = {"read_locked": True}, 0.0
    full.turns(3)
    full.turn(drain())
    full.turns(20)

    assert any(record.decision.kind is DecisionKind.DRAIN for record in full.records[-21:])
    assert "idle" not in {record.decision.reason for record in full.records[-20:]}


@pytest.mark.parametrize("shown", [{"read_locked": True}, {}], ids=["read lock", "fading"])
@pytest.mark.parametrize("after", [10, 60, 120])
def test_a_drain_lowers_m_to_no_load_that_only_waits(full: Bench, after: int, shown: dict[str, bool]) -> None:
    """While a lock or a pause keeps the load away M stays, on the way and at the target, for its return."""
    full.turn(drain())
    full.turns(after)
    before = full.server.capacity.io_capacity_max
    full.server.shows, full.server.redo_rate = shown, 0.0
    full.turns(60 if shown else 5)

    assert full.record.drain is not None
    assert full.server.capacity.io_capacity_max >= before


@pytest.mark.parametrize("asked", [drain("10%"), active(window(drain=True))])
def test_a_drain_of_an_idle_server_without_a_low_water_mark_goes_on(asked: Command) -> None:
    """With innodb_adaptive_flushing_lwm at 0 a person's or a window's drain is followed also without load."""
    bench = Bench(HIGH).in_control()
    bench.server.shows = {"adaptive_flushing_lwm": 0.0}
    bench.turns(60)
    bench.server.redo_rate = 0.0
    bench.turns(14)

    began = bench.turn(asked)
    bench.turns(30)

    assert bench.record.estimate is not None
    assert bench.record.estimate.redo_rate == 0.0
    assert all(one.accepted for one in began.acknowledgements)
    assert bench.record.drain is not None
