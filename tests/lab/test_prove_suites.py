"""A suite of the bench is a part of the proof: begun once, gone on with, and no failure is passed over."""

from __future__ import annotations

import signal
import stat
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from lab.prove import suites
from lab.prove.__main__ import main
from lab.results.suites import SUITES
from lab.servers.base import LabServerError
from tuner.cli import exits

Program = Callable[[str], None]


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Program:
    """Return what puts a shell script in the place of ``innobrim``."""

    def put(script: str) -> None:
        path = tmp_path / "innobrim"
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        monkeypatch.setattr(suites, "PROGRAM", str(path))

    return put


def test_a_suite_is_begun_and_then_gone_on_with(tmp_path: Path) -> None:
    """The same command twice is the first part and the second, each within the hour."""
    first = suites.command("disks", tmp_path, "an-image")
    (tmp_path / "bench/disks").mkdir(parents=True)
    (tmp_path / "bench/disks/bench.json").write_text("{}")
    second = suites.command("disks", tmp_path, "an-image")

    place = str(tmp_path / "bench/disks")
    assert first[1:] == [
        "bench",
        "--suite",
        "disks",
        "--server",
        "an-image",
        "--output",
        place,
        "--time",
        "55m",
    ]
    assert second[1:] == ["bench", "--resume", place, "--time", "55m"]


def test_time_that_was_up_is_no_failure(tmp_path: Path, program: Program) -> None:
    """The bench's own code for it is known, and everything else is said to be a failure."""
    assert suites.UNFINISHED == exits.UNFINISHED
    program("exit 0")
    assert suites.run("disks", tmp_path, "an-image")
    program(f"exit {exits.UNFINISHED}")
    assert not suites.run("disks", tmp_path, "an-image")
    program("exit 3")
    with pytest.raises(LabServerError, match="ended with 3"):
        suites.run("disks", tmp_path, "an-image")


def test_a_bench_is_told_to_end_and_waited_for(
    tmp_path: Path, program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On SIGTERM the proof ends only when the bench has removed its server."""
    program(
        f"trap 'echo removed > {tmp_path}/end; exit 130' TERM\n"
        f"until [ -e {tmp_path}/waiting ]; do sleep 0.05; done\n"
        "kill -TERM $PPID\nwhile :; do sleep 0.05; done"
    )
    wait = subprocess.Popen.wait

    def waiting(process: subprocess.Popen[bytes], timeout: float | None = None) -> int:
        (tmp_path / "waiting").touch()
        return wait(process, timeout)

    def terminated(number: int, _frame: object) -> None:
        raise SystemExit(128 + number)

    monkeypatch.setattr(subprocess.Popen, "wait", waiting)
    before = signal.signal(signal.SIGTERM, terminated)
    try:
        with pytest.raises(SystemExit):
            suites.run("disks", tmp_path, "an-image")
    finally:
        signal.signal(signal.SIGTERM, before)

    assert (tmp_path / "end").read_text() == "removed\n"


def test_an_hour_of_each_suite_where_none_is_named(tmp_path: Path, program: Program) -> None:
    """What is not finished is named, and the next suite has its hour nonetheless."""
    program(f'echo "$*" >> {tmp_path}/said; exit 4')

    found = CliRunner().invoke(main, ["--part", "bench", "--results", str(tmp_path)], prog_name="lab.prove")

    assert found.exit_code == 0, found.output
    said = (tmp_path / "said").read_text().splitlines()
    assert [line.split()[2] for line in said] == list(SUITES)
    assert "the suite seeds is not finished" in found.output


def test_a_suite_of_another_part_is_refused(tmp_path: Path) -> None:
    """``--suite`` beside ``--part soak`` is a mistake, not a wish that is ignored."""
    found = CliRunner().invoke(
        main, ["--part", "soak", "--suite", "disks", "--results", str(tmp_path)], prog_name="lab.prove"
    )

    assert found.exit_code == 2
    assert "only of --part bench" in found.output
    assert not list(tmp_path.iterdir())
