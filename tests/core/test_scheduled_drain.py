"""A drain that a window asks for: begun, kept and ended with it, and never against a person's word."""

from __future__ import annotations

from msgspec.structs import replace

from api.views import status_of
from tests.bench import Bench
from tests.core.draining import HIGH, age_of, drain
from tests.core.windows import active, window
from tests.factory import EPOCH, FACTS, codes, command
from tuner.cli.status import table
from tuner.core.decide.course import lowest_target
from tuner.core.decide.drain import refusal
from tuner.records import DecisionKind, Sample, TickRecord
from tuner.settings import Mode

DRAINS = window(drain=True)
LOW = 25 * 1024 * 1024
"""An age that only a drain brings a busy server of these tests to, bytes."""


def said(records: list[TickRecord], code: str) -> list[str]:
    """Return what the events with this code say."""
    return [event.message for record in records for event in record.events if event.code == code]


def under_way(record: TickRecord) -> str:
    """Return who drains; empty where nobody does."""
    return record.drain.who if record.drain is not None else ""


def test_a_window_drains_and_its_end_goes_back(full: Bench) -> None:
    """The age comes down for the window, by the drain's own way, and back to the set-point after it."""
    before = age_of(full.record)
    begun = full.turn(active(DRAINS))
    full.turns(300)
    low = age_of(full.record)
    over = full.turn(active())
    full.turns(400)

    assert {"schedule_begins", "drain"} <= set(codes(begun))
    assert low < LOW
    assert "drained" in {code for record in full.records for code in codes(record)}
    assert said([over], "drain_ended")[0].endswith("ended: schedule nightly is over")
    assert full.record.drain is None
    assert age_of(full.record) > 0.9 * before


def test_a_window_drains_as_far_as_the_command_could(full: Bench) -> None:
    """Its target is one that the command takes, and the command refuses what is lower by a percent."""
    state = full.state
    full.turn(active(DRAINS))
    progress, reading = full.record.drain, full.record.tick.reading
    assert progress is not None
    assert isinstance(reading, Sample)
    assert state.estimate is not None

    now = replace(full.state, drain=None)
    assert now.estimate is not None
    assert refusal(now, reading, now.estimate, progress.target) == ""
    assert "cannot be reached" in refusal(now, reading, now.estimate, round(0.99 * progress.target))


def test_the_target_follows_the_load(full: Bench) -> None:
    """What can no longer be reached is not aimed at: a window drains as far as it can, at every load."""
    full.turn(active(DRAINS))
    full.turns(200)
    first = full.record.drain
    full.server.redo_rate *= 2.0
    full.turns(200)
    second, reading, found = full.record.drain, full.record.tick.reading, full.state.estimate
    assert first is not None
    assert second is not None
    assert isinstance(reading, Sample)
    assert found is not None

    assert second.target > first.target
    assert abs(second.target / lowest_target(full.state, reading, found)[0] - 1.0) <= 0.1


def test_a_person_who_calls_a_windows_drain_off_is_heard_until_its_end(full: Bench) -> None:
    """After a cancel the window drains no more; the next one of the same schedule does."""
    full.turn(active(DRAINS))
    full.turns(30)
    answer = full.turn(command("cancel_drain")).acknowledgements[0]
    full.turns(60)
    quiet = full.record
    shown = table(
        status_of(quiet, facts=FACTS, settings=full.state.settings, wall=quiet.tick.wall, process=None)
    )
    full.turn(active())
    again = full.turn(active(DRAINS))

    assert answer.accepted
    assert answer.message.endswith("back to the set-point until the end of schedule nightly")
    assert quiet.drain is None
    assert "its drain was cancelled by ann" in shown
    assert under_way(again) == "schedule nightly"


def test_resume_calls_a_windows_drain_off_as_it_does_a_persons(full: Bench) -> None:
    """Resume ends a drain, whoever asked for it."""
    full.turn(active(DRAINS))
    full.turn(command("resume"))
    full.turns(20)

    assert full.record.drain is None


def test_a_persons_drain_comes_first_until_it_ends(full: Bench) -> None:
    """A person's own target replaces the window's; when its time is over the window's drain goes on."""
    full.turn(active(DRAINS))
    full.turn(drain("45MiB", ttl=60.0))
    theirs = full.turns(30)
    waits = theirs.schedule[0].drain_waits
    full.turns(40)

    assert under_way(theirs) == "ann"
    assert waits == "a person's drain comes first"
    assert under_way(full.record) == "schedule nightly"


def test_an_override_ends_it_for_its_time(full: Bench) -> None:
    """A person's M wins; the window drains again when its time is over."""
    full.turn(active(DRAINS))
    full.turns(5)
    full.turn(command("override", value=600, ttl=30.0))
    inside = full.turns(10)
    full.turns(30)

    assert inside.drain is None
    assert inside.schedule[0].drain_waits == "an override took its place"
    assert under_way(full.record) == "schedule nightly"


def test_a_pause_ends_it_until_resumed(full: Bench) -> None:
    """Hands off is hands off; after resume the window, still active, drains again."""
    full.turn(active(DRAINS))
    full.turn(command("pause"))
    paused = full.turns(20)
    full.turn(command("resume"))
    full.turns(15)

    assert paused.drain is None
    assert all(
        not one.decision.steps for one in full.records[-36:-16] if one.decision.kind is DecisionKind.DRAIN
    )
    assert under_way(full.record) == "schedule nightly"


def test_a_restart_of_mysqld_ends_it_until_all_is_known_again(full: Bench) -> None:
    """The window that mysqld was restarted in drains on once the originals of the new start are on disk."""
    full.turn(active(DRAINS))
    full.turns(5)
    full.server.restart(full.server.capacity)
    full.turns(3)
    during = full.record
    full.turn(command("originals_saved", who="journal"))
    full.turns(40)

    assert during.drain is None
    assert "drain_ended" in {code for record in full.records for code in codes(record)}
    assert under_way(full.record) == "schedule nightly"


def test_what_keeps_a_drain_waiting_is_said_once(full: Bench) -> None:
    """A window whose drain cannot begin says why, once, in an event and for as long in the status."""
    full.turn(command("pause"))
    full.turn(active(DRAINS))
    records = [full.turn() for _ in range(30)]
    shown = table(
        status_of(
            full.record, facts=FACTS, settings=full.state.settings, wall=full.record.tick.wall, process=None
        )
    )

    (said_once,) = said([full.records[-31], *records], "schedule_drain_waits")
    assert said_once.startswith("the drain of schedule nightly waits: paused by ")
    assert "its drain waits: paused by " in shown


def test_an_age_that_is_low_already_is_left_alone(full: Bench) -> None:
    """Where no drain could bring the age below the set-point, since M has its limit, nothing is tried."""
    full.turn(command("settings", settings=replace(HIGH, max_io_capacity_max=400)))
    full.turns(60)
    full.turn(active(DRAINS))
    full.turns(5)

    assert full.record.drain is None
    assert full.record.schedule[0].drain_waits == "the age is held as low already as a drain would bring it"


def test_advisory_mode_shows_the_drain_and_writes_nothing(full: Bench) -> None:
    """The status has the drain and what would be set; the server gets nothing, and learning goes on."""
    full.turn(command("mode", value="advisory"))
    full.turns(20)
    begun = full.turn(active(DRAINS))
    before = len(full.server.applied)
    full.server.redo_rate *= 1.2
    mean = full.state.estimator.trends.rate_mean
    full.turns(60)

    assert said([begun], "drain")[0].startswith("would drain to ")
    assert under_way(full.record) == "schedule nightly"
    assert full.record.decision.would is not None
    assert full.record.decision.source == "schedule"
    assert len(full.server.applied) == before
    assert full.state.estimator.trends.rate_mean != mean
    full.turn(command("mode", value="active"))
    full.turns(30)
    assert full.record.mode is Mode.ACTIVE
    assert full.server.applied[before:]


def test_a_clock_that_is_set_moves_the_end_that_is_shown(full: Bench) -> None:
    """The window's end is on the wall clock: what is left of it follows that clock."""
    full.turn(active(window(drain=True, ends=EPOCH + full.server.now + 600.0)))
    progress = full.record.drain
    assert progress is not None

    assert abs(progress.ends - full.record.tick.now - 599.0) <= 2.0
    full.turn(active(window(drain=True, ends=EPOCH + full.server.now + 300.0)))
    assert full.record.drain is not None
    assert abs(full.record.drain.ends - full.record.tick.now - 299.0) <= 2.0
