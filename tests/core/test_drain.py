"""A drain: the age comes down, stays down for its time, and goes back by itself; or it is refused."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.bench import Bench, replays
from tests.core.loops import BYTES, HIGH, active, age_of, drain, window
from tests.factory import REDO, codes, command, held
from tuner.core.ages import bytes_of
from tuner.core.decide.drain import refusal
from tuner.core.decide.trajectory import lowest_safe_target, lowest_target
from tuner.records import Command, DecisionKind, Sample
from tuner.settings import Settings
from tuner.system.amounts import size


def test_the_age_comes_down_and_stays_down_until_the_time_is_over(full: Bench) -> None:
    """Within three minutes the age is at the target, stays there, and goes back when the time is over.

    On the way M only rises; the record says where it began, and how long it will take at this slope.
    """
    accepted = full.turn(drain())
    first, before = len(full.records), age_of(accepted)
    assert accepted.acknowledgements[0].accepted
    assert "drain" in codes(accepted)
    full.turns(40)
    way = full.record.drain
    assert way is not None
    assert (way.target, way.start_age, way.who, way.reached) == (BYTES, before, "ann", None)
    assert way.seconds_left is not None
    expected = full.record.tick.now + way.seconds_left
    while "drained" not in codes(full.turn()):
        assert full.record.tick.now - accepted.tick.now < 180.0
    assert full.record.tick.now == pytest.approx(expected, abs=60.0)
    wrote, kept = len(full.wrote()), len(full.records)
    values = [one.decision.target for one in full.records[first:] if one.decision.kind is DecisionKind.DRAIN]
    rising = [target.io_capacity_max for target in values[:3] if target is not None]
    assert rising == sorted(rising)
    while full.record.drain is not None:
        full.turn()

    ages = [age_of(record) for record in full.records[kept:]]
    assert 0.5 * BYTES < min(ages) <= max(ages) <= BYTES
    assert len(full.wrote()) <= wrote + 4
    assert full.record.tick.now - accepted.tick.now == pytest.approx(600.0, abs=1.0)
    assert "its time is over" in full.said("drain_ended")[0]
    full.turns(400)
    assert age_of(full.record) > 1.3 * BYTES


def test_an_age_that_is_below_the_target_just_then_is_kept_there(full: Bench) -> None:
    """In a pause of the load the age may be lower than what can be held: the answer calls that a limit."""
    full.server.oldest = full.server.lsn - BYTES / 4.0
    full.turn()
    (answer,) = full.turn(drain()).acknowledgements

    assert answer.accepted
    assert answer.message.startswith("keeping the uncheckpointed bytes at 40 MiB at most")


def test_what_was_learned_of_the_load_outlives_a_drain(full: Bench) -> None:
    """A drain is no reason to think otherwise of the load: mean rate, bursts and set-point stay."""
    full.turn(command("settings", settings=replace(HIGH, set_point=None)))
    full.turns(200)
    before, set_point = full.state.estimator.trends, full.set_point
    full.server.redo_rate *= 0.5
    full.turn(drain())
    full.turns(500)
    after = full.state.estimator.trends

    assert (after.rate_mean, after.rate_square) == (before.rate_mean, before.rate_square)
    assert after.bursts.recent <= before.bursts.recent
    assert full.set_point == pytest.approx(set_point, abs=0.03)


def test_an_emergency_comes_first(full: Bench) -> None:
    """When a stall is seconds away the emergency raises M, and the drain goes on after it."""
    full.turn(drain("70%"))
    full.server.redo_rate = 8e6

    assert full.until("emergency", limit=60).drain is not None


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
    """Whoever takes over ends the drain in the same tick, and the event says why; a park lowers nothing."""
    full.turn(drain())
    full.turns(5)
    before = full.m
    record = full.turn(ending)

    assert record.acknowledgements[0].accepted
    assert record.drain is None
    assert said in full.said("drain_ended")[0]
    assert record.decision.kind is not DecisionKind.PARK or full.m >= before


@pytest.mark.parametrize("what", ["restart", "foreign change"])
def test_what_happens_to_the_server_ends_a_drain(full: Bench, what: str) -> None:
    """A restart of mysqld is the end of what was asked before; where the loop yields nobody keeps it down."""
    full.turn(drain())
    full.turns(15)
    if what == "restart":
        full.server.restart(full.server.capacity)
        full.server.live(2.0)
    else:
        full.server.capacity = replace(full.server.capacity, io_capacity=100)

    assert "drain_ended" in codes(full.turn())


def test_a_short_silence_only_suspends_a_drain(full: Bench) -> None:
    """After seconds without an answer the drain goes on, within the time it was given."""
    full.turn(drain())
    full.silent(8)

    assert full.until("drain", limit=60).drain is not None


def test_a_drain_ends_an_override(full: Bench) -> None:
    """The later word counts."""
    full.turn(command("override", value=500, ttl=600.0))
    full.turn(drain())

    assert full.record.override_ends is None


def test_a_drain_replays_to_the_same_decisions(full: Bench) -> None:
    """From a snapshot on the way there and back the same records come out."""
    first, seen = full.state, len(full.records)
    full.turn(drain(ttl=150.0))
    full.turns(300)

    for restart in (50, 200):
        assert replays(first, full.records[seen:], restart=restart) == full.state


# A load that only waits.


def test_a_drain_goes_on_under_a_read_lock(full: Bench) -> None:
    """A person's drain is carried out also while nobody can write, which is when backups ask for one."""
    full.server.shows, full.server.redo_rate = {"read_locked": True}, 0.0
    full.turns(3)
    begun = len(full.records)
    full.turn(drain())
    full.turns(20)

    assert DecisionKind.DRAIN in full.wrote(since=begun)
    assert "idle" not in {record.decision.reason for record in full.records[begun + 1 :]}


@pytest.mark.parametrize("shown", [{"read_locked": True}, {}], ids=["read lock", "fading"])
@pytest.mark.parametrize("after", [10, 60, 120])
def test_a_drain_lowers_m_to_no_load_that_only_waits(full: Bench, after: int, shown: dict[str, bool]) -> None:
    """While a lock or a pause keeps the load away M stays, on the way and at the target, for its return."""
    full.turn(drain())
    full.turns(after)
    before = full.m
    full.server.shows, full.server.redo_rate = shown, 0.0

    assert full.turns(60 if shown else 5).drain is not None
    assert full.m >= before


@pytest.mark.parametrize("asked", [drain("10%"), active(window(drain=True))])
def test_a_drain_of_an_idle_server_without_a_low_water_mark_goes_on(asked: Command) -> None:
    """With innodb_adaptive_flushing_lwm at 0 a person's or a window's drain is followed also without load."""
    bench = Bench(HIGH).in_control()
    bench.server.shows = {"adaptive_flushing_lwm": 0.0}
    bench.turns(60)
    bench.server.redo_rate = 0.0
    bench.turns(14)

    assert all(one.accepted for one in bench.turn(asked).acknowledgements)
    assert bench.turns(30).drain is not None


# To no certain age.


def test_without_an_age_it_goes_as_low_as_the_law_and_the_limit_of_m_hold(full: Bench) -> None:
    """It gets there and stays there; a lower age is refused, and with twice the load the target is higher."""
    first = full.turn(drain("lowest", ttl=3600.0)).drain
    assert first is not None
    now, reading = replace(full.state, drain=None), full.record.tick.reading
    assert isinstance(reading, Sample)
    assert now.estimate is not None
    assert "cannot be reached" in refusal(now, reading, now.estimate, round(0.99 * first.target))
    full.turns(400)
    assert full.codes("drained") == ["drained"]
    assert full.record.drain is not None
    assert age_of(full.record) <= full.record.drain.target
    full.server.redo_rate *= 2.0
    full.turns(60)

    assert full.record.drain is not None
    assert full.record.drain.target > first.target


@pytest.mark.parametrize(("share", "higher"), [(1.5, True), (10.0, False), (None, False)])
def test_without_an_age_the_load_keeps_what_it_needs_of_the_device(
    full: Bench, share: float | None, *, higher: bool
) -> None:
    """A device that gives little more than the load needs now is not drained to where the load would want."""
    sample, found = full.record.tick.reading, full.state.estimate
    assert isinstance(sample, Sample)
    assert found is not None
    found = replace(found, combining_exponent=0.8)
    device = replace(found, sustained_capacity=None if share is None else share * found.demand)
    lowest, why = lowest_safe_target(full.state, sample, device)

    assert (lowest > 1.05 * lowest_target(full.state, sample, found)[0]) == higher
    assert ("device" in why) == higher


def test_an_age_that_is_as_low_already_is_no_refusal(full: Bench) -> None:
    """Whoever waits before a shutdown is told that it is there, where M could bring the age no lower."""
    full.turn(command("settings", settings=replace(HIGH, max_io_capacity_max=400)))
    full.turns(60)

    assert full.answer(drain("lowest"))[0]
    full.turns(30)
    assert full.codes("drained") == ["drained"]


# Refused, with what is possible.


@pytest.mark.parametrize(
    ("most", "asked", "why"),
    [
        (20_000, "5%", "below innodb_adaptive_flushing_lwm (10 %)"),
        (800, "25MiB", "more than the max_io_capacity_max of 800 pages/s"),
    ],
)
def test_an_age_that_cannot_be_reached_is_refused(full: Bench, most: int, asked: str, why: str) -> None:
    """The refusal names the reason and the lowest age that works, and that one works."""
    full.turn(command("settings", settings=replace(HIGH, max_io_capacity_max=most)))
    accepted, said = full.answer(drain(asked))

    assert not accepted
    assert why in said
    lowest = re.search(r"the lowest at the present load is (\S+ \S+)$", said)
    assert lowest is not None
    assert full.answer(drain(lowest[1]))[0]
    full.turns(400)
    assert age_of(full.record) <= bytes_of(lowest[1], redo_capacity=REDO)


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (drain("90%"), "is not below what is held anyway"),
        (drain("a lot"), "'a lot' is no age"),
        (drain(ttl=0.0), "needs a checkpoint age"),
        (drain(ttl=float("nan")), "needs a checkpoint age"),
        (command("drain", value=None, ttl=60.0), "needs a checkpoint age"),
        (command("cancel_drain"), "no drain is in force"),
    ],
)
def test_a_drain_that_makes_no_sense_is_refused(full: Bench, asked: Command, said: str) -> None:
    """What cannot be done is refused with the reason, and nothing is written for it."""
    begun = len(full.records)
    accepted, message = full.answer(asked)

    assert not accepted
    assert said in message
    assert full.wrote(since=begun) == []


def test_a_drain_is_refused_where_nothing_may_be_written(full: Bench) -> None:
    """In advisory mode, under a hold entered in this very tick even, and before there are rates."""
    advisory, fresh = Bench(Settings()), Bench(HIGH).ready()
    advisory.turns(20)
    fresh.turns(5)
    while held(fresh.record):
        fresh.turn()

    for bench, orders, why in (
        (advisory, [drain()], "advisory"),
        (full, [command("pause", number=1), drain(number=2)], "a hold permits no drain"),
        (fresh, [drain()], "ten seconds"),
    ):
        accepted, said = bench.answer(*orders)
        assert not accepted
        assert why in said


# Ages as people write them.


GIBIBYTE = 2**30


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("67108864", 2**26),
        ("64MiB", 2**26),
        ("64M", 2**26),
        ("64m", 2**26),
        ("0.5G", 2**29),
        ("512KiB", 2**19),
        ("512 KiB", 2**19),
        ("10%", GIBIBYTE // 10),
        ("100%", GIBIBYTE),
    ],
)
def test_bytes_and_shares_are_read(text: str, expected: int) -> None:
    """Bytes are read with the units that MySQL takes, and a share is one of the redo capacity."""
    assert bytes_of(text, redo_capacity=GIBIBYTE) == expected


@pytest.mark.parametrize("text", ["", "a lot", "64MB", "-5M", "1e9", "10 %", "nan", "64MiB\n"])
def test_what_is_no_age_is_refused_with_how_to_write_one(text: str) -> None:
    """Rubbish is quoted back with what would be right."""
    with pytest.raises(ValueError, match="bytes, such as 64M or 2G, or a share of the redo capacity"):
        bytes_of(text, redo_capacity=GIBIBYTE)


@pytest.mark.parametrize("text", ["0", "0%", "2G", "101%"])
def test_an_age_is_above_0_and_fits_into_the_redo_log(text: str) -> None:
    """An age that the redo log cannot have is refused with its capacity."""
    with pytest.raises(ValueError, match=r"must be above 0 and at most the redo capacity, 1 GiB"):
        bytes_of(text, redo_capacity=GIBIBYTE)


@given(count=st.floats(1e6, 1e12))
def test_the_lowest_possible_can_be_typed_back(count: float) -> None:
    """What a refusal calls the lowest age that works is read as no less than that, and little more."""
    assert count <= bytes_of(size(count, up=True), redo_capacity=2**50) <= 1.011 * count
