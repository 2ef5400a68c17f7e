"""The parts of the long measurements: begun once, gone on with, and no failure is passed over."""

from __future__ import annotations

import signal
import stat
import subprocess
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner, Result

from lab.experiment.plan import Asked, load_suite
from lab.experiment.progress import Progress
from lab.prove import __main__ as command
from lab.prove.__main__ import POLICIES, carried_out, main
from lab.report.suites import SUITES
from lab.servers.base import LabServerError
from tuner.cli import answer as exits

Program = Callable[[str], None]


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Program:
    """Return what puts a shell script in the place of ``innobrim``."""

    def put(script: str) -> None:
        path = tmp_path / "innobrim"
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        monkeypatch.setattr(command, "PROGRAM", str(path))

    monkeypatch.setattr(command, "ROWS", tmp_path / "rows")
    return put


def prove(results: Path, *words: str) -> Result:
    """Run the command with its pages in a directory."""
    return CliRunner().invoke(main, [*words, "--results", str(results)], prog_name="lab.prove")


def asked_for(place: str) -> bytes:
    """Return what lies in the directory of a bench that has begun; of a comparison nothing is read here."""
    name = Path(place).name
    suite = load_suite(name if name in SUITES else "quick")
    return msgspec.json.encode(Asked(suite.name, suite.about, 1, "an-image", suite.plans))


@pytest.mark.parametrize(
    ("words", "place", "note", "begun"),
    [
        ("bench --suite disks", "bench/disks", "bench.json", "bench --suite disks --server an-image"),
        ("hold", "bench/hold", "bench.json", "bench --suite hold --server an-image"),
        ("policies --suite month", "rows/month", "comparison.json", "policies --compare --scenario month"),
    ],
)
def test_a_suite_is_begun_and_then_gone_on_with(
    tmp_path: Path, program: Program, words: str, *, place: str, note: str, begun: str
) -> None:
    """The same command twice is the first part and the second, each within the hour."""
    program(f'echo "$*" >> {tmp_path}/said; echo a table')
    given = ["--image", "an-image", "--part", *words.split()]

    assert prove(tmp_path, *given).exit_code == 0
    (tmp_path / place).mkdir(parents=True)
    (tmp_path / place / note).write_bytes(asked_for(place))
    assert prove(tmp_path, *given).exit_code == 0

    first, second = (tmp_path / "said").read_text().splitlines()
    assert first.startswith(begun)
    assert first.endswith(f"--output {tmp_path / place} --time 55m")
    assert f"--resume {tmp_path / place} --time 55m" in second
    if note == "comparison.json":
        assert "a table" in (tmp_path / "policies/month.md").read_text()


def test_time_that_was_up_is_no_failure(program: Program) -> None:
    """The commands' own code for it is known, and everything else is said to be a failure."""
    assert command.UNFINISHED == exits.UNFINISHED
    program("exit 0")
    assert carried_out(["bench"])[0]
    program(f"exit {exits.UNFINISHED}")
    assert not carried_out(["bench"])[0]
    program("exit 3")
    with pytest.raises(LabServerError, match="ended with 3"):
        carried_out(["bench"])


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
            carried_out(["bench"])
    finally:
        signal.signal(signal.SIGTERM, before)

    assert (tmp_path / "end").read_text() == "removed\n"


def test_an_hour_of_each_suite_where_none_is_named(tmp_path: Path, program: Program) -> None:
    """What is not finished is named, and the next suite has its hour nonetheless."""
    program(f'echo "$*" >> {tmp_path}/said; exit 4')

    found = prove(tmp_path, "--part", "bench")

    assert found.exit_code == 0, found.output
    said = (tmp_path / "said").read_text().splitlines()
    assert [line.split()[2] for line in said] == list(SUITES)
    assert "the suite seeds is not finished" in found.output


def test_a_suite_of_another_part_is_refused(tmp_path: Path) -> None:
    """``--suite`` beside ``--part soak`` is a mistake, not a wish that is ignored."""
    found = prove(tmp_path, "--part", "soak", "--suite", "disks")

    assert found.exit_code == 2
    assert "only of --part bench" in found.output
    assert not list(tmp_path.iterdir())


def test_a_row_longer_than_the_hour_is_given_its_time(tmp_path: Path, program: Program) -> None:
    """A part in which no row could begin would never get anywhere, and say nothing."""
    program(f'echo "$*" >> {tmp_path}/said; exit 4')

    found = prove(tmp_path, "--part", "bench", "--suite", "restless")

    (first, *_) = load_suite("restless").plans
    progress = Progress([first], [])
    minutes = int((tmp_path / "said").read_text().rpartition("--time ")[2].removesuffix("m\n"))
    assert 60 * minutes > progress.row_seconds(first) + progress.begin_seconds(first)
    assert f"longer than 55 min, so this part has {minutes} min" in found.output


def test_every_suite_of_policies_has_a_scenario() -> None:
    """None is empty because a scenario was shortened or renamed."""
    assert all(list(command._scenarios(suite)) for suite in POLICIES.values())


def test_every_suite_that_is_a_part_fits_into_an_hour() -> None:
    """No row is too long to be begun within the time that a part has."""
    for name in command.ONE_BENCH:
        (plan,) = load_suite(name).plans
        progress = Progress([plan], [])
        assert progress.row_seconds(plan) + progress.begin_seconds(plan) <= 55 * 60
