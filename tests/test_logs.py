"""What the log promises."""

from __future__ import annotations

import io
import json
import logging
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import structlog
from msgspec.structs import replace

from tuner import logs
from tuner.records import (
    Capacity,
    Decision,
    DecisionKind,
    Event,
    Hold,
    HoldCode,
    Lifecycle,
    Missed,
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
def stream() -> Iterator[io.StringIO]:
    """Return where the lines go, with the whole process's logging set back afterwards."""
    out = io.StringIO()
    logs.configure_logs(level="info", style="auto", stream=out)
    yield out
    logs.close_logs()
    structlog.reset_defaults()


def lines(out: io.StringIO) -> list[dict[str, Any]]:
    """Return what was said, as a log collector would read it."""
    logs.close_logs(10.0)
    return [json.loads(line) for line in out.getvalue().splitlines()]


def test_a_decision_is_one_json_line(stream: io.StringIO) -> None:
    """Everything needed to understand a write stands in one record, times in UTC."""
    decision = Decision(
        DecisionKind.SET,
        "raise",
        "age ratio 0.95, set-point 0.9",
        target=Capacity(250, 500),
        steps=(("innodb_io_capacity_max", 500), ("innodb_io_capacity", 250)),
        set_point=0.9,
    )
    logs.log_record(tick(7, decision, mode=Mode.ACTIVE))

    (line,) = lines(stream)
    assert line["event"] == "set"
    assert line["level"] == "info"
    assert line["timestamp"].endswith("Z")
    assert (line["tick"], line["mode"], line["reason"], line["set_to"]) == (7, "active", "raise", "250/500")
    assert (line["why"], line["set_point"]) == ("age ratio 0.95, set-point 0.9", 0.9)


def test_a_quiet_minute_is_one_line(stream: io.StringIO) -> None:
    """Ten minutes without news are ten lines, plus the first."""
    for number in range(600):
        logs.log_record(tick(number))

    assert [line["event"] for line in lines(stream)] == ["change", *["minute"] * 9]


def test_changes_are_said_at_once_and_once(stream: io.StringIO) -> None:
    """A hold that stays is said when it begins and when it ends, not every second between."""
    hold = Hold(HoldCode.STALE, 3.0, "no answer for 5 s", "the next good reading")
    begins = (Event(0.0, "hold_stale", "held: no answer for 5 s"),)
    for number in range(20):
        held = 3 <= number < 10
        logs.log_record(tick(number, holds=(hold,) if held else (), events=begins if number == 3 else ()))

    said = [(line["tick"], line["level"], line.get("holds")) for line in lines(stream)]
    assert said == [(0, "info", None), (3, "warning", ["stale"]), (10, "info", None)]


def test_advice_that_hardly_moves_is_not_repeated(stream: io.StringIO) -> None:
    """Advisory mode says what it would set when that changes, not every second."""
    for number in range(50):
        would = Capacity(225, 450 + number % 3 if number < 30 else 900)
        logs.log_record(tick(number, replace(KEEP, reason="advisory", would=would)))

    assert [(line["tick"], line["would_set"]) for line in lines(stream)] == [(0, "225/450"), (30, "225/900")]


def test_a_missed_reading_says_why(stream: io.StringIO) -> None:
    """The reason stands in the record."""
    logs.log_record(tick(1))

    assert lines(stream)[0]["missed"] == "timed out"


def test_pretty_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """People get columns instead of JSON."""
    out = io.StringIO()
    monkeypatch.setattr(out, "isatty", lambda: True)
    logs.configure_logs(level="info", style="auto", stream=out)
    logs.log_record(tick(1))
    logs.close_logs(10.0)
    structlog.reset_defaults()

    assert "change" in out.getvalue()
    assert not out.getvalue().startswith("{")


def test_what_libraries_warn_of_is_said_too(stream: io.StringIO) -> None:
    """One format for everything that the process says."""
    logging.getLogger("uvicorn.error").warning("socket %s", "busy")
    logging.getLogger("uvicorn.error").info("chatter")

    (line,) = lines(stream)
    assert (line["event"], line["level"], line["library"]) == ("socket busy", "warning", "uvicorn.error")


def test_a_stopped_terminal_does_not_stop_the_loop() -> None:
    """When nobody takes the lines, saying something still costs next to nothing."""
    taking, giving = os.pipe()
    with os.fdopen(giving, "w") as out, os.fdopen(taking, "rb") as back:
        logs.configure_logs(level="info", style="json", stream=out)
        started = time.perf_counter()
        for number in range(3000):
            logs.log.info("x" * 100, number=number)
        took = time.perf_counter() - started
        os.set_blocking(back.fileno(), False)
        said = b""
        deadline = time.monotonic() + 10.0
        while b"lines were lost" not in said and time.monotonic() < deadline:
            said += back.read() or b""
        logs.close_logs(10.0)
        structlog.reset_defaults()

    assert took < 2.0
    assert b"lines were lost because nobody took them" in said


def test_rich_is_not_taken_along() -> None:
    """Three megabytes of a library that a daemon never uses stay out, also where it is installed."""
    code = "import sys, tuner.logs; print([name for name in sys.modules if name.startswith('rich')])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)  # noqa: S603 - our own code

    assert done.stdout.strip() == "[]"


def test_the_journal_gets_priorities(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Under systemd a warning is one for ``journalctl -p warning``; elsewhere lines are plain JSON."""
    for name in ("journal", "file"):
        with (tmp_path / name).open("w") as out:
            found = os.fstat(out.fileno())
            if name == "journal":
                monkeypatch.setenv("JOURNAL_STREAM", f"{found.st_dev}:{found.st_ino}")
            logs.configure_logs(level="info", style="auto", stream=out)
            logs.get_logger("innobrim").warning("held")
            logs.get_logger("innobrim").info("minute")
            logs.close_logs(10.0)
    structlog.reset_defaults()

    journal = (tmp_path / "journal").read_text().splitlines()
    plain = (tmp_path / "file").read_text().splitlines()
    assert [line[:3] for line in journal] == ["<4>", "<6>"]
    assert [json.loads(line[3:])["event"] for line in journal] == ["held", "minute"]
    assert [json.loads(line)["event"] for line in plain] == ["held", "minute"]
