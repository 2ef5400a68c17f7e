"""What the log promises."""

from __future__ import annotations

import io
import json
import logging
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.system.logged import lines
from tuner.system import logs


def test_pretty_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """People get columns instead of JSON."""
    out = io.StringIO()
    monkeypatch.setattr(out, "isatty", lambda: True)
    logs.configure_logs(level="info", style="auto", stream=out)
    logs.log.info("change")
    logs.close_logs(10.0)

    assert "change" in out.getvalue()
    assert not out.getvalue().startswith("{")


@pytest.mark.parametrize("logger", [logs.get_logger("innobrim"), logging.getLogger("innobrim.api")])
def test_a_command_that_warns_keeps_its_output_clean(
    logger: logging.Logger, stream: io.StringIO, capsys: pytest.CaptureFixture[str]
) -> None:
    """What a command prints as JSON stays JSON, whatever is warned of before or after set-up."""
    logs.reset_logs()
    logger.warning("refused a request")

    assert capsys.readouterr().out == ""
    assert stream.getvalue() == ""


def test_what_libraries_warn_of_is_said_too(stream: io.StringIO) -> None:
    """One format for everything that the process says."""
    logging.getLogger("pymysql").warning("socket %s", "busy")
    logging.getLogger("pymysql").info("chatter")

    (line,) = lines(stream)
    assert (line["event"], line["level"], line["library"]) == ("socket busy", "warning", "pymysql")


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

    assert took < 2.0
    assert b"lines were lost because nobody took them" in said


def test_rich_is_not_taken_along() -> None:
    """Three megabytes of a library that a daemon never uses stay out, also where it is installed."""
    code = "import sys, tuner.system.logs; print([name for name in sys.modules if name.startswith('rich')])"
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

    journal = (tmp_path / "journal").read_text().splitlines()
    plain = (tmp_path / "file").read_text().splitlines()
    assert [line[:3] for line in journal] == ["<4>", "<6>"]
    assert [json.loads(line[3:])["event"] for line in journal] == ["held", "minute"]
    assert [json.loads(line)["event"] for line in plain] == ["held", "minute"]


def test_json_steers_no_terminal(stream: io.StringIO) -> None:
    """What a server said is in the log as it was, and the terminal that shows it obeys none of it."""
    said = "evil \x9b2J \x1b[2J \u2028 \u202e \x7f ü"
    logs.log.warning("waiting", reason=said)

    (line,) = lines(stream)
    assert line["reason"] == said
    assert all(one.isprintable() for one in stream.getvalue().split("\n"))
