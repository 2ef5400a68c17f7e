"""Redo beyond the device: how much of it to expect, by what the last hours and earlier weeks showed."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.factory import MEBIBYTE
from tuner.core.estimate.trends import HOUR_SECONDS, HOURS, LARGEST_BURST, Bursts, Late, Week, hour_of_week

MONDAY = 1_767_571_200.0
"""2026-01-05 00:00 UTC."""

DAY = 24 * HOUR_SECONDS
WEEK = 7 * DAY
NINE = MONDAY + 9 * HOUR_SECONDS
BURST = 60 * MEBIBYTE
"""What a burst of these tests comes to, bytes."""


def lived(bursts: Bursts, start: float, end: float, *, daily_at: int | None = None) -> Bursts:
    """Return the bursts after this time; a ten-minute burst of 60 MiB each day at that hour."""
    wall, step, age = start, 60.0, 0.0
    while wall < end:
        hour, second = divmod(wall % DAY, HOUR_SECONDS)
        bursting = daily_at is not None and int(hour) == daily_at and 600.0 <= second < 1_200.0
        age = age + 0.1 * MEBIBYTE * step if bursting else 0.0
        bursts = bursts.updated(0.1 * MEBIBYTE if bursting else None, age=age, wall=wall, elapsed=step)
        wall += step
    return bursts


def restarted(bursts: Bursts) -> Bursts:
    """Return what the next daemon begins with."""
    ended = bursts.interrupted()
    return Bursts.recalled(ended.week, ended.late())


def burst_of_this_hour() -> Bursts:
    """Return the bursts at 9:40, after ten minutes of 60 MiB in the hour that goes on."""
    return lived(Bursts(), NINE, NINE + 2_400.0, daily_at=9)


def test_the_week_begins_on_monday() -> None:
    """The hours of the week are counted from Monday, midnight UTC, to the last hour of Sunday."""
    hours = [hour_of_week(MONDAY + 3600.0 * one) for one in (0.0, 26.5, -1.0)]

    assert hours == [0, 26, HOURS - 1]


def test_under_a_steady_load_the_burst_of_the_start_is_soon_over_for_good() -> None:
    """What the filling of a server showed fades within minutes, and no change brings it back."""
    bursts = Bursts().updated(1e6, age=0.0, wall=MONDAY, elapsed=1.0)
    bursts = bursts.updated(1e6, age=1e8, wall=MONDAY + 60.0, elapsed=60.0)
    assert bursts.expected(MONDAY + 60.0) > 5e7

    for second in range(600):
        bursts = bursts.updated(None, age=1e8, wall=MONDAY + 60.0 + second, elapsed=1.0, steady=True)

    assert bursts.recent < 1e6
    assert bursts.updated(None, age=1e8, wall=MONDAY + 700.0, elapsed=1.0).recent < 1e6


def test_the_next_days_hour_is_prepared_for_before_it_begins() -> None:
    """A burst is kept free for right after it, hardly by night, and again from 8:45 of the next day."""
    after = burst_of_this_hour()
    assert after.expected(NINE + HOUR_SECONDS) == pytest.approx(BURST, rel=0.15)

    after = lived(after, NINE + 2_400.0, MONDAY + DAY + 8.5 * HOUR_SECONDS)
    assert after.expected(NINE + DAY - 960.0) < 2 * MEBIBYTE
    assert after.expected(NINE + DAY - 900.0) == pytest.approx(BURST, rel=0.1)
    assert after.expected(NINE + DAY + HOUR_SECONDS) < 2 * MEBIBYTE


def test_an_hour_of_the_week_comes_to_speak_for_itself() -> None:
    """After two weeks of bursts from Monday to Friday none is kept free for on a Saturday."""
    bursts = Bursts()
    for start in (MONDAY, MONDAY + WEEK):
        bursts = lived(bursts, start, start + 5 * DAY, daily_at=9)
        bursts = lived(bursts, start + 5 * DAY, start + WEEK)

    assert bursts.expected(NINE + 2 * WEEK) == pytest.approx(BURST, rel=0.1)
    assert bursts.expected(NINE + 2 * WEEK + 5 * DAY) < 2 * MEBIBYTE


def test_a_burst_that_no_longer_comes_is_forgotten_over_weeks() -> None:
    """Each week without it takes nearly a third off what is kept free for an hour."""
    week = Week().met(9, BURST)
    for _ in range(6):
        week = week.visited(9, 0.0)

    assert week.expected(9) < 0.15 * BURST


def test_a_burst_counts_in_the_hour_in_which_it_began() -> None:
    """Of a burst from 8:50 to 9:20 all is expected in the hour from eight on: that is when room is needed."""
    start, bursts = MONDAY + 8 * HOUR_SECONDS, Bursts()
    for minute in range(120):
        beyond = MEBIBYTE if 50 <= minute < 80 else None
        age, wall = 60.0 * MEBIBYTE * minute, start + 60.0 * minute
        bursts = bursts.updated(beyond, age=age, wall=wall, elapsed=60.0)

    assert bursts.week.bytes[8:10] == (pytest.approx(1_800 * MEBIBYTE), 0.0)


def test_a_few_minutes_say_nothing_of_an_hour() -> None:
    """A daemon that saw ten calm minutes of an hour does not take that hour for calm."""
    bursts = lived(Bursts(), MONDAY, MONDAY + 600.0)
    bursts = lived(bursts, MONDAY + HOUR_SECONDS, MONDAY + 2 * HOUR_SECONDS + 60.0)

    assert bursts.week.visits[:3] == (0, 1, 0)


def test_a_burst_is_no_larger_than_what_the_age_has_grown_by() -> None:
    """While sync flushing brings the age down nothing is beyond the device, whatever the rates say."""
    bursts = Bursts().updated(None, age=70 * MEBIBYTE, wall=MONDAY, elapsed=1.0)
    for second in range(10):
        age = (70 - second) * MEBIBYTE
        bursts = bursts.updated(MEBIBYTE, age=age, wall=MONDAY + second, elapsed=1.0)
    grown = bursts.updated(9 * MEBIBYTE, age=65 * MEBIBYTE, wall=MONDAY + 10.0, elapsed=1.0)

    assert (bursts.expected(MONDAY), grown.expected(MONDAY)) == (0.0, 4 * MEBIBYTE)


@given(
    st.lists(
        st.tuples(
            st.none() | st.floats(-1e9, 1e9),
            st.floats(0.2, 7_200.0),
            st.floats(-90_000.0, 90_000.0),
            st.floats(0.0, 1e12),
        ),
        max_size=60,
    )
)
def test_whatever_clock_and_load_do_the_memory_stays_sound(
    readings: list[tuple[float | None, float, float, float]],
) -> None:
    """Bursts of any size, gaps and a clock that jumps leave finite numbers, and bytes give them again."""
    bursts, wall = Bursts(), MONDAY
    for beyond, elapsed, jump, age in readings:
        wall += elapsed + jump
        bursts = bursts.updated(beyond, age=age, wall=wall, elapsed=elapsed)
        assert bursts.expected(wall) >= bursts.recent >= bursts.excess >= 0.0
    assert bursts.week.valid
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(bursts.week), type=Week) == bursts.week


def test_a_restart_in_mid_hour_keeps_room_for_this_hours_burst() -> None:
    """A minute after it as much is kept free as without it: the next burst may come at once."""
    before, at = burst_of_this_hour(), NINE + 2_400.0
    there = before.updated(None, age=0.0, wall=at, elapsed=60.0)
    again = restarted(restarted(before)).updated(None, age=0.0, wall=at, elapsed=1.0)

    assert before.expected(at) > 50 * MEBIBYTE
    assert again.expected(at) == pytest.approx(there.expected(at), rel=1e-3)
    assert again.hours_burst == there.hours_burst
    assert again.seen == pytest.approx(before.seen + 1.0)


def test_the_hour_of_a_restart_is_remembered_a_week_later() -> None:
    """The hour is booked as one that was seen, once, however often the daemon was restarted in it."""
    bursts = burst_of_this_hour()
    for minute in range(41, 60):
        bursts = restarted(bursts).updated(None, age=0.0, wall=NINE + 60.0 * minute, elapsed=60.0)
    after = bursts.updated(None, age=0.0, wall=NINE + HOUR_SECONDS, elapsed=60.0)

    assert after.week.bytes[9] > 50 * MEBIBYTE
    assert after.week.visits[9] == sum(after.week.visits) == 1


@pytest.mark.parametrize(("away", "kept"), [(6 * HOUR_SECONDS, 1 / 2.718), (WEEK, 0.0)])
def test_without_a_daemon_a_burst_fades_as_with_one(away: float, kept: float) -> None:
    """After six hours for which nobody looked a factor e is gone; the hour it came in is booked, and over."""
    before = burst_of_this_hour()
    after = restarted(before).updated(None, age=0.0, wall=NINE + 2_400.0 + away, elapsed=1.0)

    assert after.recent == pytest.approx(kept * before.recent, rel=0.01, abs=1e-3 * BURST)
    assert after.week.bytes[9] == pytest.approx(before.hours_burst)
    assert (after.week.visits[9], after.seen, after.hours_burst) == (1, 1.0, 0.0)


def test_a_burst_under_way_counts_with_what_it_has_come_to() -> None:
    """A daemon that ends in the middle of a burst, or sees mysqld restart in it, keeps what it was so far."""
    before = lived(Bursts(), NINE, NINE + 900.0, daily_at=9)
    assert before.excess > 20 * MEBIBYTE
    after = restarted(before).updated(None, age=0.0, wall=NINE + 960.0, elapsed=1.0)

    assert before.interrupted().excess == 0.0
    assert after.hours_burst == before.largest
    assert after.recent == pytest.approx(before.recent, rel=0.01)


@given(st.floats(-1e12, 1e12), st.floats(0.0, 1e12), st.floats(0.0, LARGEST_BURST), st.floats(0.0, 1e9))
def test_no_clock_makes_a_restart_harmful(wall: float, at: float, burst: float, seen: float) -> None:
    """Whatever the clock says after a restart, no more is expected than was known, and all is finite."""
    late = Late(at=at, recent=burst, seen=seen, hours_burst=burst)
    after = Bursts.recalled(Week(), late).updated(None, age=0.0, wall=wall, elapsed=1.0)

    assert late.valid
    assert after.week.valid
    assert after.late().valid or wall < 0.0
    assert 0.0 <= after.expected(wall) <= burst


def test_the_largest_burst_that_can_be_is_believed_after_a_restart() -> None:
    """A burst that fills the largest redo log that MySQL takes, 512 GiB, is kept, with room to spare."""
    largest = 512.0 * 1024**3
    bursts = Bursts().updated(None, age=0.0, wall=MONDAY, elapsed=1.0)
    kept = bursts.updated(1e12, age=largest, wall=MONDAY + 600.0, elapsed=600.0).interrupted()

    assert kept.late().recent == largest
    assert kept.late().valid
    assert replace(kept.late(), recent=8.0 * largest).valid
    assert not replace(kept.late(), recent=1e18).valid
    assert not kept.week.met(3, 1e18).valid
