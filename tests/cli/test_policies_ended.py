"""A comparison that is ended from outside: rows are kept, and it says how to go on."""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from tuner.cli.main import cli

LONG = 'name = "long"\ndescription = "for tests"\nseconds = 400_000\nmeasured_from = 100\n'
SHORT = LONG.replace("long", "short").replace("400_000", "200")


def ended(
    tmp_path: Path, number: signal.Signals, *, all_of_them: bool, short: bool = False
) -> tuple[int, str]:
    """Return exit code and stderr of a comparison in two processes that a signal ended at work.

    Args:
        tmp_path: for scenario and rows.
        number: of the signal.
        all_of_them: its processes get it as well, as from a terminal that is closed.
        short: a finished row is waited for.
    """
    words = []
    for name, text in (("short", SHORT), ("long", LONG)) if short else (("long", LONG),):
        path = tmp_path / f"{name}.toml"
        path.write_text(text, encoding="utf-8")
        words += ["--scenario", str(path)]
    words += ["--policy", "fixed", "--seeds", "2", "--jobs", "2", "--output", str(tmp_path / "out")]
    # Not as under nohup, where SIGHUP is ignored by right, and whose children inherit that.
    default = "import signal; signal.signal(signal.SIGHUP, signal.SIG_DFL)"
    code = f"{default}; from tuner.cli.main import main; main()"
    with subprocess.Popen(  # noqa: S603 - our own interpreter with our own line
        [sys.executable, "-c", code, "policies", "--compare", *words],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        assert process.stderr is not None
        said = ""
        while "rows go to" not in said:
            said = process.stderr.readline()
            assert said, "ended before it began"
        rows = tmp_path / "out" / "rows.jsonl"
        while short and not (rows.exists() and rows.read_bytes().endswith(b"\n")):
            os.sched_yield()
        (os.killpg if all_of_them else os.kill)(process.pid, number)
        _, said = process.communicate(timeout=60)
    return process.returncode, said


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_comparison_that_is_ended_says_how_to_go_on(tmp_path: Path, number: signal.Signals) -> None:
    """SIGTERM and a lost terminal keep the rows, print the command that goes on, and exit by the signal."""
    code, said = ended(tmp_path, number, all_of_them=False, short=True)
    again = re.fullmatch(r"interrupted; \d rows? (?:is|are) kept; go on with: innobrim (.*)\n", said)
    kept = len((tmp_path / "out" / "rows.jsonl").read_text(encoding="utf-8").splitlines())

    assert code == 128 + number
    assert again is not None, said
    found = CliRunner().invoke(cli, [*shlex.split(again[1]), "--time", "0.01s"], prog_name="innobrim")
    assert f"{8 - kept} to do" in found.stderr
    assert found.exit_code == 4


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_to_all_its_processes_ends_a_comparison_as_well(
    tmp_path: Path, number: signal.Signals
) -> None:
    """Where every process of it gets the signal there is no traceback, and no word of leaked semaphores."""
    code, said = ended(tmp_path, number, all_of_them=True)

    assert code == 128 + number
    assert re.fullmatch(r"interrupted; 0 rows are kept; go on with: innobrim policies .*\n", said), said
