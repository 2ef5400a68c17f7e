"""An hour by the clock beside the simulated server: drained before a backup, back after it, and replayed."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.daemon.almanac import table
from tests.lab.report.recorded import record_loop
from tuner.cli.replay import replay_trace
from tuner.daemon.schedule import Schedule
from tuner.journal.reader import trace
from tuner.records import Sample, TickRecord

BEGINS, BACKUP, ENDS, OVER = 1_800, 2_400, 3_600, 4_500
"""Seconds from the simulated midnight: 00:30, 00:40, 01:00, 01:15."""

SCHEDULE = (
    table("backup", "30 0 * * *", 30, timezone="UTC", drain=True),
    table("night", "45 0 * * *", 120, timezone="UTC", max_recovery_seconds=20.0),
)


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the state directory of a loop that lived through that hour in active mode."""
    return record_loop(tmp_path_factory.mktemp("hour"), seconds=OVER + 1, schedule=Schedule(SCHEDULE)).parent


@pytest.fixture(scope="module")
def hour(directory: Path) -> list[TickRecord]:
    """Return every tick of it, as the journal has them; the first is at midnight."""
    return [one for one in trace(directory) if isinstance(one, TickRecord)]


def ratios(hour: list[TickRecord], first: int, last: int) -> list[float]:
    """Return the age ratio at each second between two."""
    readings = [one.tick.reading for one in hour[first:last]]
    return [one.age_ratio for one in readings if isinstance(one, Sample)]


def mean(values: list[float]) -> float:
    """Return the mean."""
    return sum(values) / len(values)


def test_the_age_is_low_before_the_backup_and_until_the_window_ends(hour: list[TickRecord]) -> None:
    """Ten minutes before the backup the window begins; by then the age is low, and stays so to the end."""
    before, during = ratios(hour, BEGINS - 300, BEGINS), ratios(hour, BACKUP, ENDS)

    assert mean(before) > 0.6
    assert max(during) < 0.35
    assert all(one.drain is not None and one.drain.who == "schedule backup" for one in hour[BACKUP:ENDS])


def test_a_drain_that_is_as_low_as_can_be_is_said_to_be_there(hour: list[TickRecord]) -> None:
    """The age comes to its target long before the backup, and who waits for that does not wait in vain."""
    there = [one.tick.number for one in hour for event in one.events if event.code == "drained"]

    assert len(there) == 1
    assert BEGINS < there[0] < BACKUP


def test_after_the_window_the_age_goes_back(hour: list[TickRecord]) -> None:
    """The way back is the drain's own: within minutes the age is at the set-point, with no sync flushing."""
    end = hour[-1].decision.set_point
    assert end is not None

    assert abs(mean(ratios(hour, OVER - 120, OVER)) - end) < 0.06
    first, last = (one.tick.reading for one in (hour[BEGINS], hour[-1]))
    assert isinstance(first, Sample)
    assert isinstance(last, Sample)
    assert first.pages_sync == last.pages_sync


def test_the_other_window_lowers_the_set_point_by_its_budget(hour: list[TickRecord]) -> None:
    """From its beginning the lower budget is in force, also after the first window's end."""
    before, after = hour[BEGINS - 1].decision, hour[-1].decision
    assert before.set_point is not None
    assert after.set_point is not None

    assert after.set_point_source == "schedule night: recovery"
    assert after.set_point < before.set_point
    assert [window.name for window in hour[-1].schedule] == ["night"]


def test_windows_begin_and_end_on_time(hour: list[TickRecord]) -> None:
    """Each is said once, within the second."""
    said = [
        (event.code, event.who, round(event.wall - hour[0].tick.wall))
        for one in hour
        for event in one.events
        if event.code in {"schedule_begins", "schedule_ends"}
    ]

    assert said == [
        ("schedule_begins", "schedule backup", BEGINS),
        ("schedule_begins", "schedule night", 2_700),
        ("schedule_ends", "schedule backup", ENDS),
    ]


def test_the_journal_replays_to_the_same_decisions(directory: Path) -> None:
    """The windows are in the ticks, so that nothing of the clock is needed to decide again."""
    outcome = replay_trace(trace(directory))

    assert outcome.same, outcome.difference
    assert outcome.compared >= OVER
