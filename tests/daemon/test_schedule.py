"""When windows begin and end, by cron's rules in every time zone, and what the loop is told of them."""

from __future__ import annotations

import time
from datetime import datetime
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lab.plant.clock import SimClock
from lab.simulate_loop import SimInbox
from tests.daemon.almanac import at, beginnings, table
from tests.factory import command
from tuner.daemon.schedule import Schedule, ScheduledInbox, Series

NEW_YORK, BERLIN, LORD_HOWE, APIA = "America/New_York", "Europe/Berlin", "Australia/Lord_Howe", "Pacific/Apia"
CHANGES = (
    (NEW_YORK, at(NEW_YORK, 2026, 3, 8)),
    (NEW_YORK, at(NEW_YORK, 2026, 11, 1)),
    (BERLIN, at(BERLIN, 2026, 3, 29)),
    (BERLIN, at(BERLIN, 2026, 10, 25)),
    (LORD_HOWE, at(LORD_HOWE, 2026, 4, 5)),
    (LORD_HOWE, at(LORD_HOWE, 2026, 10, 4)),
    (APIA, at(APIA, 2011, 12, 29)),
    ("America/Sao_Paulo", at("America/Sao_Paulo", 2018, 11, 4, 1)),
    ("Asia/Kathmandu", at("Asia/Kathmandu", 2026, 6, 1)),
    ("UTC", at("UTC", 2028, 2, 28, 12)),
)
"""Days around which clocks change: by an hour, by half of one, by a day, at midnight, and not at all."""

DAY = 86_400
HOUR = 3_600


@st.composite
def crontabs(draw: st.DrawFn) -> str:
    """Return the five fields of a crontab whose windows begin often enough to be seen within days."""
    minute = draw(st.one_of(st.just("*"), st.integers(0, 59).map(str), st.sampled_from(["0,30", "5,15,59"])))
    hour = draw(st.one_of(st.just("*"), st.integers(0, 4).map(str), st.sampled_from(["1,2,3", "0,23"])))
    day = draw(st.sampled_from(["*", "*", "*", "1", "8,29", "28,29,30,31"]))
    weekday = draw(st.sampled_from(["*", "*", "*", "0", "7", "1,2,3", "5,6"]))
    return f"{minute} {hour} {day} * {weekday}"


def shown(series: Series, instant: float) -> str:
    """Return what the zone's clock shows, with its offset."""
    return datetime.fromtimestamp(instant, series.zone).isoformat(timespec="minutes")


def days(series: Series, *moment: int, count: int = 1) -> list[tuple[str, str]]:
    """Return beginning and end of each window in so many days from midnight of one."""
    first = at(series.zone.key, *moment)
    return [
        (shown(series, one.began), shown(series, one.ends))
        for one in series.windows(first, first + count * DAY)
        if one.began >= first
    ]


@given(change=st.sampled_from(CHANGES), cron=crontabs(), before=st.integers(0, 36), length=st.integers(1, 72))
@settings(deadline=None, max_examples=40)
def test_windows_begin_when_cron_would_begin_them(
    change: tuple[str, float], cron: str, before: int, length: int
) -> None:
    """A second reckoning, minute by minute on the zone's clock, finds the same: none lost, none twice."""
    zone, day = change
    after = int(day) - before * HOUR
    until = after + length * HOUR

    assert Series(table(cron=cron, timezone=zone)).beginnings(after, until) == beginnings(
        cron, zone, after, until
    )


@given(
    change=st.sampled_from(CHANGES),
    cron=crontabs(),
    minutes=st.integers(1, 3_000),
    offset=st.floats(-1.5 * DAY, 1.5 * DAY),
)
@settings(deadline=None, max_examples=50)
def test_active_is_what_began_within_its_length(
    change: tuple[str, float], cron: str, minutes: int, offset: float
) -> None:
    """A window is active from its beginning until its minutes have passed in real time."""
    zone, day = change
    series, wall = Series(table(cron=cron, minutes=minutes, timezone=zone)), day + offset
    low = int(wall - 60 * minutes) // 60 * 60
    began = [one for one in beginnings(cron, zone, low - 60, int(wall)) if wall - 60 * minutes < one <= wall]
    found = series.window(wall)

    assert (found is not None) == bool(began)
    if found is not None:
        assert (found.began, found.ends) == (began[-1], began[-1] + 60 * minutes)


@given(
    change=st.sampled_from(CHANGES),
    cron=crontabs(),
    minutes=st.integers(1, 600),
    offset=st.floats(-DAY, DAY),
    share=st.floats(0.0, 0.999),
)
@settings(deadline=None, max_examples=50)
def test_what_is_active_stays_so_until_it_is_said_to_change(
    change: tuple[str, float], cron: str, minutes: int, offset: float, share: float
) -> None:
    """Nothing begins or ends before it is said to; then there is something new, or hours have passed."""
    zone, day = change
    timetable = Schedule([table(cron=cron, minutes=minutes, timezone=zone), table("other", "0 3 * * *", 45)])
    wall = day + offset
    active = timetable.active(wall)
    until = timetable.unchanged_until(wall, active)

    assert wall < until <= wall + 6 * HOUR
    assert timetable.active(wall + share * (until - wall)) == active
    assert until == wall + 6 * HOUR or timetable.active(until) != active


@pytest.mark.parametrize(
    ("cron", "moment", "expected"),
    [
        ("30 2 * * *", (2026, 3, 8), ["03:00-04:00", "04:00-04:00"]),
        ("30 1 * * *", (2026, 3, 8), ["01:30-05:00", "03:30-04:00"]),
        ("30 1 * * *", (2026, 11, 1), ["01:30-04:00", "01:30-05:00"]),
        ("30 0 * * *", (2026, 3, 9), ["00:30-04:00", "01:30-04:00"]),
    ],
    ids=["begins in the gap", "across the gap", "twice on the clock", "the day after"],
)
def test_an_hour_when_the_clock_changes(cron: str, moment: tuple[int, ...], expected: list[str]) -> None:
    """A beginning in the gap is at the jump; a time that comes twice begins once; an hour is an hour."""
    (found,) = days(Series(table(cron=cron, minutes=60, timezone=NEW_YORK)), *moment)

    assert [one[11:] for one in found] == expected


def test_every_hour_is_every_hour() -> None:
    """Where every hour is meant, the hour that comes twice has two windows, and the skipped one none."""
    series = Series(table(cron="30 * * * *", minutes=10, timezone=NEW_YORK))
    first = at(NEW_YORK, 2026, 11, 1)

    began = [one.began for one in series.windows(first, first + 6 * HOUR)]

    assert [later - sooner for sooner, later in pairwise(began)] == [HOUR] * 5
    assert len(days(series, 2026, 3, 8, count=1)) == 24


def test_a_day_that_a_zone_leaves_out_loses_no_window() -> None:
    """Samoa had no 30 December 2011: the window of that day begins with the next."""
    found = days(Series(table(cron="0 12 * * *", minutes=60, timezone=APIA)), 2011, 12, 29, count=3)

    assert [began for began, _ in found[:3]] == [
        "2011-12-29T12:00-10:00",
        "2011-12-31T00:00+14:00",
        "2011-12-31T12:00+14:00",
    ]


@pytest.mark.parametrize(
    ("cron", "weekdays"),
    [
        ("0 3 * * 0", {6}),
        ("0 3 * * 7", {6}),
        ("0 3 * * sun", {6}),
        ("0 3 * * 1-5", {0, 1, 2, 3, 4}),
        ("0 3 * * fri-sun", {4, 5, 6}),
    ],
)
def test_days_of_the_week_are_crons(cron: str, weekdays: set[int]) -> None:
    """Sunday is 0 and 7, as in every crontab, and not Monday, as for the library underneath."""
    series = Series(table(cron=cron, timezone="UTC"))
    first = at("UTC", 2026, 6, 1)

    found = {
        datetime.fromtimestamp(one, ZoneInfo("UTC")).weekday()
        for one in series.beginnings(first, first + 14 * DAY)
    }

    assert found == weekdays


def test_windows_of_one_schedule_that_meet_are_one() -> None:
    """Who lists a schedule whose windows overlap sees one stretch, as the loop lives it."""
    series = Series(table(cron="0 * * * *", minutes=90, timezone="UTC"))
    first = at("UTC", 2026, 6, 1)

    (found,) = series.windows(first, first + DAY)

    assert found.began < first
    assert found.ends > first + DAY


def test_a_window_that_comes_every_few_years_is_found_at_once() -> None:
    """The 29th of February is looked for no longer than the next hour is."""
    timetable = Schedule([table(cron="0 0 29 2 *", minutes=10_080, timezone="UTC")])
    inside, outside = at("UTC", 2028, 3, 5), at("UTC", 2027, 3, 5)

    assert [one.name for one in timetable.active(inside)] == ["nightly"]
    assert timetable.active(outside) == ()


NIGHT = at("Europe/Berlin", 2026, 3, 29)
TABLES = (
    table("backup", "30 2 * * *", 90, timezone="Europe/Berlin"),
    table("night", "0 22 * * *", 480, timezone="America/New_York", max_recovery_seconds=60.0),
    table("often", "*/10 * * * *", 3, timezone="UTC", set_point=0.5),
)


@given(st.lists(st.floats(NIGHT - 2 * 86_400, NIGHT + 2 * 86_400), min_size=1, max_size=20))
@settings(deadline=None, max_examples=20)
def test_a_clock_that_is_set_leaves_nothing_out_of_place(walls: list[float]) -> None:
    """However the wall clock jumps, forward or back, what was told last is what is active by it now."""
    schedule, timetable, told = Schedule(TABLES), Schedule(TABLES), ()
    for wall in walls:
        found = schedule.look(wall)
        assert found is None or found != told, "told twice"
        told = told if found is None else found
        assert told == timetable.active(wall)


@given(st.lists(st.floats(0.1, 7_200.0), min_size=1, max_size=60))
@settings(deadline=None, max_examples=25)
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


def test_a_look_costs_the_loop_no_time() -> None:
    """With windows of a week, however often they begin, a look takes a small part of a tick."""
    tables = (table(str(number), "* * * * *", 10_080, timezone="Europe/Berlin") for number in range(10))
    schedule = Schedule(tables)
    began = time.thread_time()
    for number in range(3):
        schedule.look(NIGHT + 3_600.0 * 7 * number)

    assert (time.thread_time() - began) / 3 < 0.5
