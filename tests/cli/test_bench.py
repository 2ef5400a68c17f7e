"""``innobrim bench`` ends in words and with an exit code, whatever happens to it."""

from __future__ import annotations

import json
import os
import shlex
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pymysql
import pytest
from click.testing import CliRunner, Result

from lab.bench import runner
from lab.bench.plan import load_suite
from lab.bench.store import held
from lab.report.rows import ReportError
from lab.servers.choose import server_named
from lab.workloads.sysbench import sysbench
from tests.lab.report.factory import row
from tuner.cli import bench as bench_command
from tuner.cli import bench as command
from tuner.cli.main import cli


class Absent:
    """A site that cannot be entered."""

    def __init__(self, *_given: object) -> None:
        pass

    def __enter__(self) -> None:
        raise pymysql.OperationalError(2013, "Lost connection to MySQL server during query")

    def __exit__(self, *_given: object) -> None:
        pass


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Callable[..., Result]]:
    """Yield a way to run the command without a server; signals are as they were afterwards."""
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)}
    for number in before:
        signal.signal(number, signal.default_int_handler)
    monkeypatch.setattr(command, "server_named", lambda *_given, **_named: None)
    monkeypatch.setattr(command, "best_here", lambda: "mysql:9.7")
    monkeypatch.setattr(command, "sysbench", lambda: "/usr/bin/sysbench")
    monkeypatch.setattr(bench_command, "remove_leftovers", tuple)
    monkeypatch.setattr(runner, "Rig", Absent)

    def invoke(*words: str) -> Result:
        return CliRunner().invoke(
            cli, ["bench", "--output", str(tmp_path / "b"), *words], prog_name="innobrim"
        )

    yield invoke
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_lost_terminal_ends_a_bench_like_ctrl_c(
    run: Callable[..., Result], monkeypatch: pytest.MonkeyPatch, number: signal.Signals
) -> None:
    """The server is given back or removed, rows are kept, and it says how to go on."""

    def meanwhile(_bench: object) -> bool:
        assert signal.getsignal(number) is not signal.default_int_handler
        signal.raise_signal(number)
        return True

    monkeypatch.setattr(runner.Bench, "run", meanwhile)
    result = run()
    assert result.exit_code == 128 + number
    assert "go on with: innobrim bench --resume" in result.output


def test_ctrl_c_before_anything_is_begun_has_the_same_exit_code(
    run: Callable[..., Result], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Fetching an image may take minutes; who ends it then has no directory to go on with."""

    def fetching(*_given: object, **_named: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(command, "server_named", fetching)
    result = run()
    assert result.exit_code == 130
    assert "nothing was begun" in result.stderr
    assert not (tmp_path / "b").exists()


def test_without_a_load_driver_nothing_is_begun(
    run: Callable[..., Result], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """No server is started, and none of the user's own is written to, to hear of it then."""
    monkeypatch.setattr(command, "sysbench", sysbench)
    monkeypatch.setenv("PATH", "")
    result = run("--server", "mysql:8.4")
    assert result.exit_code == 3
    assert "install the package sysbench" in result.stderr
    assert not (tmp_path / "b").exists()


def test_a_hangup_that_is_ignored_stays_ignored(
    run: Callable[..., Result], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Under nohup a bench outlives its terminal."""
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    monkeypatch.setattr(runner.Bench, "run", lambda _bench: True)
    run()
    assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN


def test_what_crashed_runs_left_goes_with_the_next_bench(
    run: Callable[..., Result], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever kind of server that one starts, and it says what went."""
    monkeypatch.setattr(
        bench_command, "remove_leftovers", lambda: ("removed 2 × control group of crashed runs",)
    )
    assert "removed 2 × control group of crashed runs" in run().output


def test_a_server_that_goes_away_ends_a_bench_in_words(run: Callable[..., Result]) -> None:
    """No traceback: why, what is kept, and how to go on."""
    result = run()
    assert result.exit_code == 3
    assert "Lost connection to MySQL server" in result.stderr
    assert "0 rows are kept" in result.stderr


@pytest.fixture
def late(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the time be up before the first row."""
    monkeypatch.setattr(runner.Bench, "in_time", lambda _bench: False)


@pytest.mark.usefixtures("late")
def test_a_bench_without_a_row_yet_answers_in_json_too(run: Callable[..., Result]) -> None:
    """Where the time is up before the first row, a machine is told that it is not finished."""
    result = run("--json", "--time", "1s")
    answer = json.loads(result.stdout)
    assert (answer["finished"], answer["page"], answer["rows"]) == (False, None, 0)


@pytest.mark.usefixtures("late")
def test_only_the_variants_that_are_named_are_run(run: Callable[..., Result], tmp_path: Path) -> None:
    """Into one directory, one after the other; a name that the suite lacks is refused with those it has."""
    plan = run("--suite", "disks", "--variant", "no limit", "--plan")
    assert "no limit:" in plan.output
    assert "600 writes/s:" not in plan.output
    run("--suite", "disks", "--variant", "no limit", "--time", "1s")
    asked = json.loads((tmp_path / "b" / "bench.json").read_bytes())
    assert len(asked["plans"]) == len(load_suite("disks").plans)
    for words in (("--suite", "disks"), ("--resume", str(tmp_path / "b"))):
        refused = CliRunner().invoke(cli, ["bench", *words, "--variant", "fast"])
        assert refused.exit_code == 2
        assert "there are '600 writes/s', '3000 writes/s', 'no limit'" in refused.stderr


def test_what_is_left_of_a_suite_is_said(run: Callable[..., Result], monkeypatch: pytest.MonkeyPatch) -> None:
    """One variant that is finished is no finished suite, to people as to machines."""
    monkeypatch.setattr(runner.Bench, "run", lambda _bench: True)
    monkeypatch.setattr(runner.Bench, "unfinished", lambda _bench: ["600 writes/s"])
    answer = run("--suite", "disks", "--variant", "no limit", "--json")
    assert json.loads(answer.stdout)["unfinished_variants"] == ["600 writes/s"]
    assert "not run yet: 600 writes/s" in answer.stderr


@pytest.mark.parametrize("option", ["--output", "--resume"])
def test_a_directory_in_use_is_left_alone(
    run: Callable[..., Result], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, option: str
) -> None:
    """A second bench says which process has the directory, writes nothing there, and ends with 1."""
    seen: list[Result] = []

    def meanwhile(_bench: object) -> bool:
        monkeypatch.setattr(runner.Bench, "run", lambda _bench: pytest.fail("two at once"))
        before = {path: path.read_bytes() for path in (tmp_path / "b").iterdir()}
        seen.append(CliRunner().invoke(cli, ["bench", option, str(tmp_path / "b")], prog_name="innobrim"))
        assert {path: path.read_bytes() for path in (tmp_path / "b").iterdir()} == before
        return True

    monkeypatch.setattr(runner.Bench, "run", meanwhile)
    assert run().exit_code == 0
    assert seen[0].exit_code == 1
    assert f"process {os.getpid()} runs a bench in it" in seen[0].stderr
    monkeypatch.setattr(runner.Bench, "run", lambda _bench: True)
    again = CliRunner().invoke(cli, ["bench", "--resume", str(tmp_path / "b")], prog_name="innobrim")
    assert again.exit_code == 0, again.output


def test_a_bench_whose_time_was_up_says_the_command_that_goes_on(
    run: Callable[..., Result], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its exit code is its own, and the command asks for the same part with the same time."""
    monkeypatch.setattr(runner.Bench, "run", lambda _bench: False)
    stopped = run("--suite", "disks", "--variant", "no limit", "--time", "1m30s")
    assert stopped.exit_code == 4
    words = shlex.split(stopped.output.splitlines()[-1].partition("go on with: innobrim ")[2])
    assert words[-4:] == ["--variant", "no limit", "--time", "90s"]
    again = CliRunner().invoke(cli, words, prog_name="innobrim")
    assert again.exit_code == 4
    assert again.output.splitlines()[-1] == f"the time was up; go on with: innobrim {shlex.join(words)}"


@pytest.mark.usefixtures("late")
def test_the_parts_of_a_bench_have_one_server(run: Callable[..., Result], tmp_path: Path) -> None:
    """What auto was at the beginning is kept, so that no later part is measured on another server."""
    run("--time", "1s")
    assert json.loads((tmp_path / "b" / "bench.json").read_bytes())["server"] == "mysql:9.7"


def test_a_page_that_cannot_be_written_is_said(
    run: Callable[..., Result], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The rows are there, and the message has what to type once the disk takes the page."""

    def finished(bench: Any) -> bool:  # noqa: ANN401 - whose ledger is filled
        bench._ledger.add(row(variant=""))
        return True

    def refused(_directory: Path) -> list[Path]:
        raise ReportError("report.html: cannot be written: no space left on device")

    monkeypatch.setattr(runner.Bench, "run", finished)
    monkeypatch.setattr(bench_command, "write_bench", refused)
    result = run()
    assert result.exit_code == 1
    assert "innobrim report" in result.stderr


def test_a_suite_that_kills_its_server_is_refused_for_one_of_the_users_own(
    run: Callable[..., Result], tmp_path: Path
) -> None:
    """Before anything is done to it, and not only where the flag says so."""
    suite = tmp_path / "mine.toml"
    suite.write_text("crash = true\n", encoding="utf-8")
    result = run("--suite", str(suite), "--dsn", "mysql://dba@db1:3306", "--yes")
    assert result.exit_code == 2
    assert "never killed" in result.stderr


@pytest.mark.usefixtures("late")
def test_what_is_left_of_a_bench_can_be_asked(run: Callable[..., Result], tmp_path: Path) -> None:
    """Also while it is at work."""
    run("--suite", "disks", "--variant", "no limit", "--time", "1s")
    with held(tmp_path / "b"):
        left = CliRunner().invoke(cli, ["bench", "--resume", str(tmp_path / "b"), "--plan"])
    assert left.exit_code == 0, left.output
    assert "600 writes/s: default, best-static, ours" in left.output
    assert "takes about" in left.output


def test_a_later_plan_that_cannot_be_run_is_refused_before_the_first(
    run: Callable[..., Result], tmp_path: Path
) -> None:
    """Nobody waits for hours to hear of a variable in the second variant."""
    suite = tmp_path / "mine.toml"
    suite.write_text("[[variant]]\n[[variant]]\nserver.set.innodb_redo_log_capacity = 9\n", encoding="utf-8")
    result = run("--suite", str(suite))
    assert result.exit_code == 2
    assert "server.redo_capacity" in result.stderr


def test_a_server_of_ones_own_without_a_yes_is_a_matter_of_usage(
    run: Callable[..., Result], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing was tried, so it is not called unreachable; it is said what would be done."""
    monkeypatch.setattr(command, "server_named", server_named)
    result = run("--dsn", "mysql://dba@127.0.0.1:1")
    assert result.exit_code == 2
    assert "--yes" in result.stderr


def test_words_of_a_server_steer_no_terminal(
    run: Callable[..., Result], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the bench repeats of others, line by line, has nothing that a terminal obeys."""
    monkeypatch.setattr(bench_command, "remove_leftovers", lambda: ("removed \x9b31m\x1b[2J",))

    said = run().output

    assert "removed ?31m?[2J\n" in said
    assert all(line.isprintable() for line in said.split("\n"))
