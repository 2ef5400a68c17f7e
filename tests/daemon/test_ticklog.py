"""What the log says of ticks."""

from __future__ import annotations

import io
import time
from typing import Any

import pytest
from msgspec.structs import replace

from tests.system.logged import lines
from tuner.daemon.ticklog import HOUR, OptimiserLog, TickLog
from tuner.records import (
    Capacity,
    Decision,
    DecisionKind,
    Event,
    Hold,
    HoldCode,
    Lifecycle,
    Missed,
    OptimiserHealth,
    Tick,
    TickRecord,
)
from tuner.settings import Mode

KEEP = Decision(DecisionKind.KEEP, "within_band", "on course", target=Capacity(225, 450), set_point=0.9)


def tick(number: int, decision: Decision = KEEP, **changes: Any) -> TickRecord:  # noqa: ANN401 - any field
    """Return the record of a tick without a reading, one second after the one before."""
    reading = Missed(float(number), 1_795_600_000.0 + number, "timed out")
    record = TickRecord(
        Tick(number, float(number), reading.wall, reading), Lifecycle.RUNNING, Mode.ADVISORY, None, decision
    )
    return replace(record, **changes)


@pytest.fixture
def log(stream: io.StringIO) -> TickLog:  # noqa: ARG001 - where its lines go
    """Return a log of ticks that has said nothing yet."""
    return TickLog()


def test_a_decision_is_one_json_line(stream: io.StringIO, log: TickLog) -> None:
    """Everything needed to understand a write stands in one record, times in UTC."""
    decision = Decision(
        DecisionKind.SET,
        "raise",
        "age ratio 0.95, set-point 0.9",
        target=Capacity(250, 500),
        steps=(("innodb_io_capacity_max", 500), ("innodb_io_capacity", 250)),
        set_point=0.9,
    )
    log.say(tick(7, decision, mode=Mode.ACTIVE))

    (line,) = lines(stream)
    assert line["event"] == "set"
    assert line["level"] == "info"
    assert line["timestamp"].endswith("Z")
    assert (line["tick"], line["mode"], line["reason"], line["set_to"]) == (7, "active", "raise", "250/500")
    assert (line["why"], line["set_point"]) == ("age ratio 0.95, set-point 0.9", 0.9)


def test_a_quiet_minute_is_one_line(stream: io.StringIO, log: TickLog) -> None:
    """Ten minutes without news are ten lines, plus the first."""
    for number in range(600):
        log.say(tick(number))

    assert [line["event"] for line in lines(stream)] == ["change", *["minute"] * 9]


def test_changes_are_said_at_once_and_once(stream: io.StringIO, log: TickLog) -> None:
    """A hold that stays is said when it begins and when it ends, not every second between."""
    hold = Hold(HoldCode.STALE, 3.0, "no answer for 5 s")
    begins = (Event(code="hold_stale", message="held: no answer for 5 s"),)
    for number in range(20):
        held = 3 <= number < 10
        log.say(tick(number, holds=(hold,) if held else (), events=begins if number == 3 else ()))

    said = [(line["tick"], line["level"], line.get("holds")) for line in lines(stream)]
    assert said == [(0, "info", None), (3, "warning", ["stale"]), (10, "info", None)]


def test_advice_that_hardly_moves_is_not_repeated(stream: io.StringIO, log: TickLog) -> None:
    """Advisory mode says what it would set when that changes, not every second."""
    for number in range(50):
        would = Capacity(225, 450 + number % 3 if number < 30 else 900)
        log.say(tick(number, replace(KEEP, reason="advisory", would=would)))

    assert [(line["tick"], line["would_set"]) for line in lines(stream)] == [(0, "225/450"), (30, "225/900")]


def test_a_missed_reading_says_why(stream: io.StringIO, log: TickLog) -> None:
    """The reason stands in the record."""
    log.say(tick(1))

    assert lines(stream)[0]["missed"] == "timed out"


def test_an_optimiser_that_dies_again_and_again_warns_once_an_hour(
    stream: io.StringIO, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every reason is said at once, the same one not again within the hour, and everything is passed on."""
    passed: list[OptimiserHealth] = []
    log = OptimiserLog(passed.append)
    now = 1000.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    healths = [
        OptimiserHealth("asleep"),
        OptimiserHealth("dead", "no skopt", deaths=1),
        OptimiserHealth("starting", "no skopt", deaths=1),
        OptimiserHealth("dead", "no skopt", deaths=2),
        OptimiserHealth("dead", "killed by signal 9", deaths=3),
    ]
    for health in healths:
        log.take(health)
    now += HOUR
    log.take(OptimiserHealth("dead", "no skopt", deaths=4))

    said = [(line["reason"], line["deaths"]) for line in lines(stream)]
    assert said == [("no skopt", 1), ("killed by signal 9", 3), ("no skopt", 4)]
    assert passed[:-1] == healths
