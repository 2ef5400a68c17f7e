"""A drain that a window asks for: begun, kept and ended with it, and never against a person's word."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from tests.bench import Bench
from tests.core.loops import HIGH, active, age_of, drain, window
from tests.factory import EPOCH, MEBIBYTE, codes, command
from tuner.core.decide.course import lowest_target
from tuner.core.decide.drain import refusal
from tuner.records import Command, DrainProgress, Sample

DRAINS = active(window(drain=True))
OVER = active()
LOW = 25 * MEBIBYTE
"""An age that only a drain brings a busy server of these tests to, bytes."""


def under_way(bench: Bench) -> str:
    """Return who drains; empty where nobody does."""
    return bench.record.drain.who if bench.record.drain is not None else ""


def progress(bench: Bench) -> DrainProgress:
    """Return how far the drain is, which is under way."""
    assert bench.record.drain is not None
    return bench.record.drain


def test_a_window_drains_and_its_end_goes_back(full: Bench) -> None:
    """The age comes down for the window, by the drain's own way, and back to the set-point after it."""
    before = age_of(full.record)
    assert {"schedule_begins", "drain"} <= set(codes(full.turn(DRAINS)))
    full.turns(300)
    assert age_of(full.record) < LOW
    full.turn(OVER)
    full.turns(400)

    assert full.codes("drained") == ["drained"]
    assert full.said("drain_ended")[0].endswith("ended: schedule nightly is over")
    assert under_way(full) == ""
    assert age_of(full.record) > 0.9 * before


def test_a_window_drains_as_far_as_the_command_could_at_every_load(full: Bench) -> None:
    """Its target is one that the command takes, and the command refuses what is lower by a percent."""
    full.turn(DRAINS)
    first, now, reading = progress(full), replace(full.state, drain=None), full.record.tick.reading
    assert isinstance(reading, Sample)
    assert now.estimate is not None
    assert refusal(now, reading, now.estimate, first.target) == ""
    assert "cannot be reached" in refusal(now, reading, now.estimate, round(0.99 * first.target))
    full.turns(200)
    first = progress(full)
    full.server.redo_rate *= 2.0
    full.turns(200)
    reading, found = full.record.tick.reading, full.state.estimate
    assert isinstance(reading, Sample)
    assert found is not None

    assert progress(full).target > first.target
    assert progress(full).target == pytest.approx(lowest_target(full.state, reading, found)[0], rel=0.1)


def test_a_person_who_calls_a_windows_drain_off_is_heard_until_its_end(full: Bench) -> None:
    """After a cancel, or a resume, the window drains no more; the next one of the same schedule does."""
    full.turn(DRAINS)
    full.turns(30)
    accepted, said = full.answer(command("cancel_drain"))
    assert accepted
    assert said.endswith("until the end of schedule nightly")
    full.turns(60)
    assert (under_way(full), full.record.schedule[0].drain_off) == ("", "cancelled by ann")
    full.turn(OVER)
    full.turn(DRAINS)
    assert under_way(full) == "schedule nightly"
    full.turn(command("resume"))
    full.turns(20)
    assert under_way(full) == ""


@pytest.mark.parametrize(
    ("order", "seconds", "who", "waits"),
    [
        (drain("45MiB", ttl=60.0), 40, "ann", "a person's drain comes first"),
        (command("override", value=600, ttl=35.0), 30, "", "an override took its place"),
        (command("pause"), 15, "", "paused by "),
    ],
    ids=["a drain", "an override", "a pause"],
)
def test_a_person_comes_first_for_their_time(
    full: Bench, order: Command, seconds: int, who: str, waits: str
) -> None:
    """A person's target, M or pause takes its place; when it is over the window, still active, drains again.

    Why it waits is said once, and in the status for as long.
    """
    full.turn(DRAINS)
    full.turns(5)
    full.turn(order)
    theirs = full.turns(30)
    assert under_way(full) == who
    assert theirs.schedule[0].drain_waits.startswith(waits)
    assert len(full.said("schedule_drain_waits")) == 1
    full.turn(*([command("resume")] if order.name == "pause" else []))
    full.turns(seconds)

    assert under_way(full) == "schedule nightly"


def test_a_restart_of_mysqld_ends_it_until_all_is_known_again(full: Bench) -> None:
    """The window that mysqld was restarted in drains on once the originals of the new start are on disk."""
    full.turn(DRAINS)
    full.turns(5)
    full.server.restart(full.server.capacity)
    assert full.turns(3).drain is None
    full.turn(command("originals_saved", who="journal"))
    full.turns(40)

    assert full.codes("drain_ended") == ["drain_ended"]
    assert under_way(full) == "schedule nightly"


def test_an_age_that_is_low_already_is_left_alone(full: Bench) -> None:
    """Where no drain could bring the age below the set-point, since M has its limit, nothing is tried."""
    full.turn(command("settings", settings=replace(HIGH, max_io_capacity_max=400)))
    full.turns(60)
    full.turn(DRAINS)
    full.turns(5)

    assert under_way(full) == ""
    assert full.record.schedule[0].drain_waits == "the age is held as low already as a drain would bring it"


def test_advisory_mode_shows_the_drain_and_writes_nothing(full: Bench) -> None:
    """The status has the drain and what would be set; the server gets nothing, and learning goes on."""
    full.turn(command("mode", value="advisory"))
    full.turns(20)
    begun, mean = len(full.records), full.state.estimator.trends.rate_mean
    full.turn(DRAINS)
    full.server.redo_rate *= 1.2
    full.turns(60)

    assert full.said("drain", since=begun)[0].startswith("would drain to ")
    assert under_way(full) == "schedule nightly"
    assert full.record.decision.would is not None
    assert full.record.decision.source == "schedule"
    assert full.wrote(since=begun) == []
    assert full.state.estimator.trends.rate_mean != mean
    full.turn(command("mode", value="active"))
    full.turns(30)
    assert full.wrote(since=begun)


def test_a_clock_that_is_set_moves_the_end_that_is_shown(full: Bench) -> None:
    """The window's end is on the wall clock: what is left of it follows that clock."""
    for left in (600.0, 300.0):
        full.turn(active(window(drain=True, ends=EPOCH + full.server.now + left)))
        assert progress(full).ends - full.record.tick.now == pytest.approx(left, abs=3.0)
