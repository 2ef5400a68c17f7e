"""The loop on a real server: it finds its set-point and stays there."""

from __future__ import annotations

import statistics

import pytest

from tests.real.recording import BAND, WINDOW, Recording, held
from tuner.records import DecisionKind

pytestmark = [pytest.mark.real, pytest.mark.timeout(1500)]


def test_the_age_stays_at_the_set_point(recording: Recording) -> None:
    """From the default setting the age reaches the set-point and stays within 0.05 of it 95 % of the time."""
    inside, _ = held(recording)
    assert len(recording.ticks) >= 0.95 * WINDOW
    assert inside >= 0.95 * len(recording.ticks)


def test_another_pair_of_eyes_sees_the_same(recording: Recording) -> None:
    """The age that the daemon records is the one that an independent connection reads."""
    set_point = statistics.fmean(one.decision.set_point or 0.0 for one in recording.ticks)
    inside = sum(1 for one in recording.readings if abs(one.sample.age_ratio - set_point) <= BAND)
    assert len(recording.readings) >= 0.95 * WINDOW
    assert inside >= 0.95 * len(recording.readings)


def test_nothing_is_flushed_in_an_emergency(recording: Recording) -> None:
    """While the age is held, the server flushes no page synchronously and no writer waits for redo space."""
    first, last = recording.readings[0].sample, recording.readings[-1].sample
    assert last.pages_sync == first.pages_sync
    assert last.redo_space_waits == first.redo_space_waits


def test_the_set_point_is_worth_holding(recording: Recording) -> None:
    """What is held is a redo log filled well beyond what the default setting uses."""
    assert min(one.decision.set_point or 0.0 for one in recording.ticks) > 0.6
    assert recording.readings[-1].sample.io_capacity_max < 1000


def test_a_second_daemon_stays_advisory(recording: Recording) -> None:
    """Of two daemons that may write, the later one only watches, by the server's count of statements."""
    held = [{hold.code.value for hold in one.holds} for one in recording.second_ticks]
    assert held
    assert all("not_writer" in codes for codes in held)
    assert all(one.decision.kind is DecisionKind.KEEP for one in recording.second_ticks)
    counted, for_connecting = recording.second_sets
    assert counted == for_connecting
