"""The schedule beside the loop: what it tells, and when, wherever the clock goes."""

from __future__ import annotations

import time
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lab.plant.clock import SimClock
from lab.simulate_loop import SimInbox
from tests.almanac import at, table
from tests.factory import command
from tuner.schedule import Schedule, ScheduledInbox
from tuner.timetable import Timetable

NIGHT = at("Europe/Berlin", 2026, 3, 29)
TABLES = (
    table("backup", "30 2 * * *", 90, timezone="Europe/Berlin"),
    table("night", "0 22 * * *", 480, timezone="America/New_York", max_recovery_seconds=60.0),
    table("often", "*/10 * * * *", 3, timezone="UTC", learn=False),
)


@given(st.lists(st.floats(NIGHT - 2 * 86_400, NIGHT + 2 * 86_400), min_size=1, max_size=20))
@settings(deadline=None)
def test_a_clock_that_is_set_leaves_nothing_out_of_place(walls: list[float]) -> None:
    """However the wall clock jumps, forward or back, what was told last is what is active by it now."""
    schedule, timetable, told = Schedule(TABLES), Timetable(TABLES), ()
    for wall in walls:
        found = schedule.look(wall)
        assert found is None or found != told, "told twice"
        told = told if found is None else found
        assert told == timetable.active(wall)


@given(st.lists(st.floats(0.1, 7_200.0), min_size=1, max_size=60))
@settings(deadline=None)
def test_whatever_sleeps_between_two_looks_nothing_begins_twice(steps: list[float]) -> None:
    """A loop that wakes late is in the windows of then, each told once, and in none that passed meanwhile."""
    schedule, wall, seen = Schedule(TABLES), NIGHT, []
    for step in steps:
        wall += step
        found = schedule.look(wall)
        if found is not None:
            assert all(one.began <= wall < one.ends for one in found)
            seen.append(found)
    assert all(before != after for before, after in pairwise(seen))


def test_a_daemon_that_starts_in_a_window_is_in_it() -> None:
    """The first look in the middle of a window says so; a schedule with none active says nothing."""
    wall = at("Europe/Berlin", 2026, 6, 1, 3, 15)

    assert [one.name for one in Schedule(TABLES[:1]).look(wall) or ()] == ["backup"]
    assert Schedule(TABLES[:1]).look(wall + 43_200) is None
    assert Schedule().look(wall) is None


def test_other_schedules_count_at_the_next_look() -> None:
    """After a reload the windows are those of the new file: one that is gone has ended."""
    schedule, wall = Schedule(TABLES[:1]), at("Europe/Berlin", 2026, 6, 1, 3, 15)
    schedule.look(wall)

    schedule.use((table("other", "0 3 * * *", 60, timezone="Europe/Berlin"),))
    assert [one.name for one in schedule.look(wall) or ()] == ["other"]
    schedule.use(())
    assert schedule.look(wall) == ()


def test_the_windows_come_before_what_a_person_asks() -> None:
    """A person's command of the same moment is heard after the windows, so that it counts."""
    clock = SimClock(epoch=at("UTC", 2026, 6, 1, 0, 29))
    inbox = ScheduledInbox(
        SimInbox(clock, command("cancel_drain")), clock, Schedule((table(cron="30 0 * * *", timezone="UTC"),))
    )

    found = inbox.take(until=60.0)

    assert [one.name for one in found] == ["schedule", "cancel_drain"]
    assert [one.name for one in found[0].windows] == ["nightly"]
    assert inbox.take(until=61.0) == ()


def test_a_clock_beyond_any_calendar_ends_no_loop() -> None:
    """Where the wall clock is nonsense, nothing is told, and the loop goes on."""
    schedule = Schedule(TABLES)

    assert schedule.look(1e18) is None
    assert schedule.look(at("Europe/Berlin", 2026, 6, 1, 3, 15)) is not None


@pytest.mark.parametrize("cron", ["* * * * *", "0 0 29 2 *", "59 23 31 12 *"])
def test_a_look_costs_the_loop_no_time(cron: str) -> None:
    """With windows of a week, however often they begin, a look takes a small part of a tick."""
    schedule = Schedule(table(str(number), cron, 10_080, timezone="Europe/Berlin") for number in range(10))
    began = time.thread_time()
    for number in range(10):
        schedule.look(NIGHT + 3_600.0 * 7 * number)

    assert (time.thread_time() - began) / 10 < 0.2
