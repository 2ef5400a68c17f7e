"""Redo beyond the device: how much of it to expect, by what the last hours and earlier weeks showed."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from tuner.core.estimate.trends import HOUR_SECONDS, HOURS, LARGEST_BURST, Bursts, Late, Week, hour_of_week

MONDAY = 1_767_571_200.0
"""2026-01-05 00:00 UTC."""

DAY = 24 * HOUR_SECONDS
WEEK = 7 * DAY
MEBIBYTE = 1024.0 * 1024.0


def lived(bursts: Bursts, start: float, end: float, *, daily_at: int | None = None) -> Bursts:
    """Return the bursts after this time; a ten-minute burst of 60 MiB each day at that hour."""
    wall, step, age = start, 60.0, 0.0
    while wall < end:
        hour, second = divmod(wall % DAY, HOUR_SECONDS)
        bursting = daily_at is not None and int(hour) == daily_at and 600.0 <= second < 1_200.0
        age = age + 0.1 * MEBIBYTE * step if bursting else 0.0
        bursts = bursts.follow(0.1 * MEBIBYTE if bursting else None, age=age, wall=wall, elapsed=step)
        wall += step
    return bursts


def test_the_week_begins_on_monday() -> None:
    """The hours of the week are counted from Monday, midnight UTC, to the last hour of Sunday."""
    assert hour_of_week(MONDAY) == 0
    assert hour_of_week(MONDAY + 26.5 * HOUR_SECONDS) == 26
    assert hour_of_week(MONDAY - 1.0) == HOURS - 1


def test_a_burst_of_late_is_expected_again() -> None:
    """What a burst came to is kept free right after it, and most of it is forgotten a day later."""
    after = lived(Bursts(), MONDAY + 9 * HOUR_SECONDS, MONDAY + 10 * HOUR_SECONDS, daily_at=9)

    assert after.expected(MONDAY + 10 * HOUR_SECONDS) == pytest.approx(60 * MEBIBYTE, rel=0.15)
    later = lived(after, MONDAY + 10 * HOUR_SECONDS, MONDAY + 23 * HOUR_SECONDS)
    assert later.expected(MONDAY + 23 * HOUR_SECONDS) < 0.15 * 60 * MEBIBYTE


def test_the_next_days_hour_is_prepared_for_before_it_begins() -> None:
    """A burst seen once on Monday at nine is kept free for on Tuesday from a quarter to nine on."""
    after = lived(Bursts(), MONDAY + 8 * HOUR_SECONDS, MONDAY + DAY + 8.5 * HOUR_SECONDS, daily_at=9)
    nine = MONDAY + DAY + 9 * HOUR_SECONDS

    assert after.expected(nine - 960.0) < 2 * MEBIBYTE
    assert after.expected(nine - 900.0) == pytest.approx(60 * MEBIBYTE, rel=0.1)
    assert after.expected(nine + HOUR_SECONDS) < 2 * MEBIBYTE


def test_an_hour_of_the_week_comes_to_speak_for_itself() -> None:
    """After two weeks of bursts from Monday to Friday none is kept free for on a Saturday."""
    bursts = Bursts()
    for week in range(2):
        start = MONDAY + week * WEEK
        bursts = lived(bursts, start, start + 5 * DAY, daily_at=9)
        bursts = lived(bursts, start + 5 * DAY, start + 7 * DAY)
    monday, saturday = MONDAY + 2 * WEEK, MONDAY + 2 * WEEK + 5 * DAY

    assert bursts.expected(monday + 9 * HOUR_SECONDS) == pytest.approx(60 * MEBIBYTE, rel=0.1)
    assert bursts.expected(saturday + 9 * HOUR_SECONDS) < 2 * MEBIBYTE


def test_a_burst_that_no_longer_comes_is_forgotten_over_weeks() -> None:
    """Each week without it takes nearly a third off what is kept free for an hour."""
    week = Week().met(9, 60 * MEBIBYTE)
    for _ in range(6):
        week = week.visited(9, 0.0)

    assert week.expected(9) < 0.15 * 60 * MEBIBYTE


def test_a_burst_counts_in_the_hour_in_which_it_began() -> None:
    """Of a burst from 8:50 to 9:20 all is expected in the hour from eight on: that is when room is needed."""
    start, bursts = MONDAY + 8 * HOUR_SECONDS, Bursts()
    for minute in range(120):
        wall = start + 60.0 * minute
        beyond = MEBIBYTE if 50 <= minute < 80 else None
        bursts = bursts.follow(beyond, age=60.0 * MEBIBYTE * minute, wall=wall, elapsed=60.0)

    assert bursts.week.bytes[8] == pytest.approx(1_800 * MEBIBYTE)
    assert bursts.week.bytes[9] == 0.0


def test_a_few_minutes_say_nothing_of_an_hour() -> None:
    """A daemon that saw ten calm minutes of an hour does not take that hour for calm."""
    bursts = lived(Bursts(), MONDAY, MONDAY + 600.0)
    bursts = lived(bursts, MONDAY + HOUR_SECONDS, MONDAY + 2 * HOUR_SECONDS + 60.0)

    assert bursts.week.visits[:3] == (0, 1, 0)


def test_a_restart_of_the_server_ends_the_burst_and_keeps_what_it_showed() -> None:
    """What the device was behind by is over with the restart, and still expected next time."""
    bursts = Bursts().follow(None, age=0.0, wall=MONDAY, elapsed=60.0)
    bursts = bursts.follow(MEBIBYTE, age=80 * MEBIBYTE, wall=MONDAY + 60.0, elapsed=60.0).interrupted()

    assert bursts.excess == 0.0
    assert bursts.expected(MONDAY) == pytest.approx(60 * MEBIBYTE)


def test_a_burst_is_no_larger_than_what_the_age_has_grown_by() -> None:
    """While sync flushing brings the age down nothing is beyond the device, whatever the rates say."""
    bursts = Bursts().follow(None, age=70 * MEBIBYTE, wall=MONDAY, elapsed=1.0)
    for second in range(10):
        age = (70 - second) * MEBIBYTE
        bursts = bursts.follow(MEBIBYTE, age=age, wall=MONDAY + second, elapsed=1.0)
    assert bursts.expected(MONDAY) == 0.0

    grown = bursts.follow(9 * MEBIBYTE, age=65 * MEBIBYTE, wall=MONDAY + 10.0, elapsed=1.0)
    assert grown.expected(MONDAY) == 4 * MEBIBYTE


def test_the_week_survives_in_the_journals_bytes() -> None:
    """What was learned by hour of the week is the same after it was written and read."""
    week = lived(Bursts(), MONDAY, MONDAY + WEEK, daily_at=3).week

    assert msgspec.msgpack.decode(msgspec.msgpack.encode(week), type=Week) == week
    assert week.sound


@given(
    st.lists(
        st.tuples(
            st.one_of(st.none(), st.floats(-1e9, 1e9)),
            st.floats(0.2, 7_200.0),
            st.floats(-90_000.0, 90_000.0),
            st.floats(0.0, 1e12),
        ),
        max_size=60,
    )
)
@settings(deadline=None)
def test_whatever_clock_and_load_do_the_memory_stays_sound(
    readings: list[tuple[float | None, float, float, float]],
) -> None:
    """Bursts of any size, gaps and a wall clock that jumps leave finite numbers, none of them negative."""
    bursts, wall = Bursts(), MONDAY
    for beyond, elapsed, jump, age in readings:
        wall += elapsed + jump
        bursts = bursts.follow(beyond, age=age, wall=wall, elapsed=elapsed)
        assert bursts.expected(wall) >= bursts.recent >= bursts.excess >= 0.0
    assert bursts.week.sound


def restarted(bursts: Bursts) -> Bursts:
    """Return what the next daemon begins with."""
    ended = bursts.interrupted()
    return Bursts.recalled(ended.week, ended.late())


NINE = MONDAY + 9 * HOUR_SECONDS


def burst_of_this_hour() -> Bursts:
    """Return the bursts at 9:40, after ten minutes of 60 MiB in the hour that goes on."""
    return lived(Bursts(), NINE, NINE + 2_400.0, daily_at=9)


def test_a_restart_of_the_daemon_in_mid_hour_keeps_room_for_this_hours_burst() -> None:
    """A minute after it as much is kept free as without it: the next burst may come at once."""
    before = burst_of_this_hour()
    at = NINE + 2_400.0
    there = before.follow(None, age=0.0, wall=at, elapsed=60.0)
    again = restarted(before).follow(None, age=0.0, wall=at, elapsed=1.0)

    assert before.expected(at) > 50 * MEBIBYTE
    assert again.expected(at) == pytest.approx(there.expected(at), rel=1e-3)
    assert again.hours_burst == there.hours_burst
    assert again.seen == pytest.approx(before.seen + 1.0)


def test_the_hour_of_a_restart_is_remembered_a_week_later() -> None:
    """The hour is booked as one that was seen, once, however often the daemon was restarted in it."""
    bursts = burst_of_this_hour()
    for minute in range(41, 60):
        bursts = restarted(bursts).follow(None, age=0.0, wall=NINE + 60.0 * minute, elapsed=60.0)
    after = bursts.follow(None, age=0.0, wall=NINE + HOUR_SECONDS, elapsed=60.0)

    assert after.week.bytes[9] > 50 * MEBIBYTE
    assert after.week.visits[9] == 1
    assert sum(after.week.visits) == 1


def test_without_a_daemon_a_burst_fades_as_with_one() -> None:
    """After six hours for which nobody looked a factor e is gone; the hour it came in is booked."""
    before = burst_of_this_hour()
    later = NINE + 2_400.0 + 6 * HOUR_SECONDS
    after = restarted(before).follow(None, age=0.0, wall=later, elapsed=1.0)

    assert after.recent == pytest.approx(before.recent / 2.718, rel=0.01)
    assert after.week.bytes[9] == pytest.approx(before.hours_burst)
    assert after.hours_burst == 0.0


def test_the_same_hour_a_week_later_is_another_one() -> None:
    """A daemon that comes back to the minute after a week begins that hour anew."""
    after = restarted(burst_of_this_hour()).follow(None, age=0.0, wall=NINE + WEEK + 2_400.0, elapsed=1.0)

    assert after.week.visits[9] == 1
    assert (after.seen, after.hours_burst) == (1.0, 0.0)


def test_a_burst_under_way_counts_with_what_it_has_come_to() -> None:
    """A daemon that ends in the middle of a burst leaves what it was so far."""
    before = lived(Bursts(), NINE, NINE + 900.0, daily_at=9)
    assert before.excess > 20 * MEBIBYTE
    after = restarted(before).follow(None, age=0.0, wall=NINE + 960.0, elapsed=1.0)

    assert after.hours_burst == before.largest
    assert after.recent == pytest.approx(before.recent, rel=0.01)


def test_a_restart_of_a_daemon_without_a_reading_keeps_the_time() -> None:
    """Of a daemon that ended before its first reading the next one still knows when the last one was."""
    before = burst_of_this_hour()

    assert restarted(restarted(before)) == restarted(before)


@settings(deadline=None)
@given(st.floats(-1e12, 1e12), st.floats(0.0, 1e12), st.floats(0.0, LARGEST_BURST), st.floats(0.0, 1e9))
def test_no_clock_makes_a_restart_harmful(wall: float, at: float, burst: float, seen: float) -> None:
    """Whatever the clock says after a restart, no more is expected than was known, and all is finite."""
    late = Late(at=at, recent=burst, seen=seen, hours_burst=burst)
    after = Bursts.recalled(Week(), late).follow(None, age=0.0, wall=wall, elapsed=1.0)

    assert late.sound
    assert after.week.sound
    assert after.late().sound or wall < 0.0
    assert 0.0 <= after.expected(wall) <= burst


def test_the_largest_burst_that_can_be_is_believed_after_a_restart() -> None:
    """A burst that fills the largest redo log that MySQL takes, 512 GiB, is kept, with room to spare."""
    largest = 512.0 * 1024**3
    bursts = Bursts().follow(None, age=0.0, wall=MONDAY, elapsed=1.0)
    bursts = bursts.follow(1e12, age=largest, wall=MONDAY + 600.0, elapsed=600.0)
    kept = bursts.interrupted()

    assert bursts.excess == largest
    assert kept.late().sound
    assert replace(kept.late(), recent=8.0 * largest).sound
    assert not replace(kept.late(), recent=1e18).sound
    assert not kept.week.met(3, 1e18).sound
