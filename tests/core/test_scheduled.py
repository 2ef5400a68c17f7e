"""What active windows of a schedule change, set-point, budgets and drains, and who comes before them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from api.views import status_of
from policies.setpoint import LOWEST
from tests.bench import Bench, FakeServer
from tests.core.loops import HIGH, LATER, active, drain, window
from tests.factory import ACTIVE, EPOCH, FACTS, MEBIBYTE, OTHER_IDENTITY, codes, command
from tuner.cli.status import table
from tuner.core.commands.schedule import settings_of
from tuner.core.decide.drain import refusal
from tuner.core.decide.trajectory import lowest_target
from tuner.records import Capacity, Command, DrainProgress, Sample, Window, effects, winners
from tuner.settings import Mode, Settings

BUDGETS = ("max_recovery_seconds", "max_shutdown_seconds")


def status(bench: Bench) -> str:
    """Return what innobrim status prints."""
    wall, settings = bench.record.tick.wall, bench.state.settings
    return table(status_of(bench.record, facts=FACTS, settings=settings, wall=wall, process=None))


def in_force(bench: Bench, *windows: Window) -> tuple[float, str]:
    """Return the set-point and where it comes from, a few seconds after these windows are active."""
    bench.turn(active(*windows))
    bench.turns(3)
    return bench.set_point, bench.source


def test_a_windows_set_point_is_held_while_it_is_active(bench: Bench) -> None:
    """The set-point is the window's from its beginning to its end; both are said."""
    before = bench.set_point, bench.source
    inside = in_force(bench, window(set_point=0.5))
    assert bench.record.schedule == (window(set_point=0.5),)
    bench.server.identity, mine = OTHER_IDENTITY, bench.server.identity
    assert bench.turn().schedule == (window(set_point=0.5),), "the operator's word, whichever server answers"
    bench.server.identity = mine
    bench.turn()

    assert inside == (0.5, "schedule nightly")
    assert bench.said("schedule_begins")[0].endswith(": set_point = 0.5")
    assert in_force(bench) == before
    assert bench.said("schedule_ends") == ["schedule nightly ends: set_point = 0.5"]
    assert bench.record.schedule == ()


def test_persons_roles_and_overrides_come_before_a_window(bench: Bench) -> None:
    """A person's set-point or M, and a replica's limit, hold inside a window as anywhere; status says so."""
    theirs = Bench(replace(ACTIVE, set_point=0.7)).in_control()
    assert in_force(theirs, window(set_point=0.5)) == (0.7, "person")
    assert "nightly: set_point = 0.5; set_point comes from person" in status(theirs)

    bench.turn(active(window(set_point=0.9)))
    bench.turn(command("override", value=1_000, ttl=60.0))
    assert bench.turns(20).decision.reason == "override"
    assert bench.m == 1_000
    bench.server.shows = {"replica": True}
    bench.turns(3)
    assert (bench.set_point, bench.source) == (ACTIVE.max_replica_set_point, "role")


def test_a_windows_set_point_comes_before_the_configured_budgets(bench: Bench) -> None:
    """It stands where a budget of the configuration would want less, and that is said as for a person's."""
    bench.state = replace(bench.state, settings=replace(ACTIVE, max_recovery_seconds=2.1))
    found = in_force(bench, window(set_point=0.6))
    bench.turns(20)

    assert found == (0.6, "schedule nightly")
    (said,) = bench.said("budget_overruled")
    assert said.startswith("set_point = 0.6 of schedule nightly counts and max_recovery_seconds is not kept")


def test_a_windows_budget_stands_in_for_the_configured_one() -> None:
    """While it is active its budget bounds any window's set-point too; then the old one does again."""
    bench = Bench(replace(ACTIVE, max_recovery_seconds=300.0), FakeServer(Capacity(5_000, 10_000)))
    free = bench.in_control().set_point
    ratio, source = in_force(bench, window(max_recovery_seconds=20.0))
    assert source == "schedule nightly: recovery"
    assert LOWEST <= ratio < free
    assert "budget 20 s" in status(bench)
    ratio, other = in_force(bench, window("high", set_point=0.9), window(max_recovery_seconds=20.0))
    assert other == source
    assert ratio < 0.9

    assert in_force(bench)[1] != source
    assert "budget 300 s" in status(bench)


@given(
    st.lists(
        st.builds(
            Window,
            name=st.sampled_from("abcde"),
            began=st.just(EPOCH),
            ends=st.just(LATER),
            set_point=st.none() | st.floats(0.21, 1.0),
            drain=st.booleans(),
            max_recovery_seconds=st.none() | st.floats(1.0, 86_400.0),
            max_shutdown_seconds=st.none() | st.floats(1.0, 86_400.0),
        ),
        max_size=4,
    )
)
def test_of_windows_that_overlap_the_most_careful_counts(several: list[Window]) -> None:
    """Effect by effect nobody asks for a lower set-point or a smaller budget than what is in force."""
    found, chosen = winners(several), settings_of(Settings(), tuple(several))
    for effect in ("set_point", *BUDGETS):
        asked = [value for one in several if (value := getattr(one, effect)) is not None]
        assert (effect in found) == bool(asked)
        assert not asked or getattr(found[effect], effect) == min(asked)
        assert effect not in BUDGETS or getattr(chosen, effect) == min(asked, default=None)
    assert all(effect in effects(one) for effect, one in found.items())


def test_an_overlap_is_shown(bench: Bench) -> None:
    """The event and the status say which of two windows an effect is taken from."""
    in_force(bench, window("night", set_point=0.5))
    in_force(bench, window("night", set_point=0.5), window("late", set_point=0.6))

    assert bench.said("schedule_begins")[1].endswith("set_point comes from schedule night")
    assert "late: set_point = 0.6; set_point comes from schedule night; until " in status(bench)


def test_a_window_that_goes_on_is_not_said_again(bench: Bench) -> None:
    """A new beginning of the same schedule moves the end alone; other effects are another window."""
    bench.turn(active(window(set_point=0.5, ends=EPOCH + 600.0)))
    longer = bench.turn(active(window(set_point=0.5, ends=EPOCH + 1_200.0)))
    other = bench.turn(active(window(set_point=0.6, ends=EPOCH + 1_200.0)))

    assert longer.events == ()
    assert longer.schedule[0].ends == EPOCH + 1_200.0
    assert {"schedule_ends", "schedule_begins"} <= set(codes(other))


@pytest.mark.parametrize("effect", [{"set_point": 0.4}, {"drain": True}], ids=str)
def test_advisory_mode_shows_a_window_and_writes_nothing(effect: dict[str, float]) -> None:
    """The set-point is the window's, what would be set follows from it, and no statement is sent."""
    bench = Bench(Settings(mode=Mode.ADVISORY))
    bench.turns(60)
    found = in_force(bench, window(**effect))
    bench.turns(60)

    assert "drain" in effect or found == (0.4, "schedule nightly")
    assert bench.server.applied == []


# Drains: begun, kept and ended with their window.

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
    assert full.record.schedule[0].drain_waits == "the age is already as low as a drain would bring it"


def test_advisory_mode_shows_the_drain_and_writes_nothing(full: Bench) -> None:
    """The status has the drain and what would be set; the server gets nothing, and learning goes on."""
    full.turn(command("mode", value="advisory"))
    full.turns(20)
    begun, mean = len(full.records), full.state.estimator.trends.rate_mean
    full.turn(DRAINS)
    full.server.redo_rate *= 1.2
    full.turns(60)

    assert full.said("drain", since=begun)[0].startswith("would drain ")
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
