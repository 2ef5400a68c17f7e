"""``innobrim bench`` ends in words and with an exit code, whatever happens."""

from __future__ import annotations

import json
import os
import shlex
import signal
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pymysql
import pytest
from click.testing import Result

from lab.bench import runner
from lab.bench.plan import Plan, ServerPlan, changed, keys, load_suite
from lab.bench.store import PlanError, held
from lab.report.rows import ReportError
from lab.workloads.sysbench import sysbench
from tests.cli.support import ended, innobrim
from tests.lab.report.factory import row
from tuner.cli import bench as command
from tuner.cli.bench import specification

Bench = Callable[..., Result]
ONE_DISK = ("--suite", "disks", "--variant", "no limit")


class Absent:
    """A site that cannot be entered."""

    def __init__(self, *_given: object) -> None:
        self.server = self

    def disk_in_memory(self) -> bool:
        return False

    def __enter__(self) -> None:
        raise pymysql.OperationalError(2013, "Lost connection to MySQL server during query")

    def __exit__(self, *_given: object) -> None:
        pass


bench = partial(innobrim, "bench")


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, signals: None) -> Bench:  # noqa: ARG001 - put back
    """Return a way to run the command without a server."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.default_int_handler)
    monkeypatch.setattr(command, "server_named", lambda *_given, **_named: None)
    monkeypatch.setattr(command, "best_here", lambda: "mysql:9.7")
    monkeypatch.setattr(command, "sysbench", lambda: "/usr/bin/sysbench")
    monkeypatch.setattr(command, "remove_leftovers", tuple)
    monkeypatch.setattr(command, "Rig", Absent)
    return partial(bench, "--output", tmp_path / "b")


@pytest.fixture
def ends(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Return a way to say how the rows of a bench end: what runs them, or whether they are finished."""

    def set_to(how: Callable[[Any], bool] | None = None, *, finished: bool = True) -> None:
        monkeypatch.setattr(runner.Bench, "run", how or (lambda _bench: finished))

    return set_to


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_lost_terminal_ends_a_bench_like_ctrl_c(
    run: Bench, ends: Callable[..., None], number: signal.Signals
) -> None:
    """The server is removed, rows are kept, and it says how to go on."""

    def meanwhile(_bench: object) -> bool:
        assert signal.getsignal(number) is not signal.default_int_handler
        signal.raise_signal(number)
        return True

    ends(meanwhile)
    ended(run(), 128 + number, "go on with: innobrim bench --resume")


def test_a_hangup_that_is_ignored_stays_ignored(run: Bench, ends: Callable[..., None]) -> None:
    """Under nohup a bench outlives its terminal."""
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    ends()
    run()

    assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN


def test_what_ends_a_bench_before_it_begins_leaves_no_directory(
    run: Bench, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Ctrl-C while an image is fetched, which may take minutes, and a load driver that is not there."""

    def fetching(*_given: object, **_named: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as slow:
        slow.setattr(command, "server_named", fetching)
        ended(run(), 130, "nothing was begun")
    monkeypatch.setattr(command, "sysbench", sysbench)
    monkeypatch.setenv("PATH", "")
    ended(run("--server", "mysql:8.4"), 3, "install the package sysbench")
    assert not (tmp_path / "b").exists()


def test_a_server_that_goes_away_ends_a_bench_in_words(
    run: Bench, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """No traceback, but why and what is kept; what crashed runs left went before, as no terminal obeys."""
    monkeypatch.setattr(command, "remove_leftovers", lambda: ("removed \x9b31m\x1b[2J",))
    result = run()

    ended(result, 3, "Lost connection to MySQL server", "0 rows are kept", "removed ?31m?[2J\n")
    assert all(line.isprintable() for line in result.output.split("\n"))
    assert json.loads((tmp_path / "b" / "bench.json").read_bytes())["server"] == "mysql:9.7"


@pytest.fixture
def late(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the time be up before the first row."""
    monkeypatch.setattr(runner.Bench, "in_time", lambda _bench: False)


@pytest.mark.usefixtures("late")
def test_a_bench_without_a_row_yet_answers_in_json_too(run: Bench) -> None:
    """Where the time is up before the first row, a machine is told that it is not finished."""
    answer = json.loads(run("--json", "--time", "1s").stdout)

    assert (answer["finished"], answer["page"], answer["rows"]) == (False, None, 0)


@pytest.mark.usefixtures("late")
def test_only_the_variants_that_are_named_are_run(run: Bench, tmp_path: Path) -> None:
    """Into one directory, one after the other; a name that the suite lacks is refused with those it has."""
    plan = run(*ONE_DISK, "--plan").output
    run(*ONE_DISK, "--time", "1s")
    asked = json.loads((tmp_path / "b" / "bench.json").read_bytes())

    assert "no limit:" in plan
    assert "600 writes/s:" not in plan
    assert len(asked["plans"]) == len(load_suite("disks").plans)
    for words in (("--suite", "disks"), ("--resume", str(tmp_path / "b"))):
        refused = bench(*words, "--variant", "fast")
        ended(refused, 2, "there are '600 writes/s', '3000 writes/s', 'no limit'")


def test_what_is_left_of_a_suite_is_said(
    run: Bench, ends: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """One variant that is finished is no finished suite, to people as to machines."""
    ends()
    monkeypatch.setattr(runner.Bench, "unfinished", lambda _bench: ["600 writes/s"])
    answer = run(*ONE_DISK, "--json")

    assert json.loads(answer.stdout)["unfinished_variants"] == ["600 writes/s"]
    assert "not run yet: 600 writes/s" in answer.stderr


@pytest.mark.parametrize("option", ["--output", "--resume"])
def test_a_directory_in_use_is_left_alone(
    run: Bench, ends: Callable[..., None], tmp_path: Path, option: str
) -> None:
    """A second bench says which process has the directory, writes nothing there, and ends with 1."""
    seen: list[Result] = []

    def meanwhile(_bench: object) -> bool:
        ends(lambda _bench: pytest.fail("two at once"))
        before = {path: path.read_bytes() for path in (tmp_path / "b").iterdir()}
        seen.append(bench(option, str(tmp_path / "b")))
        assert {path: path.read_bytes() for path in (tmp_path / "b").iterdir()} == before
        return True

    ends(meanwhile)
    assert run().exit_code == 0
    assert seen[0].exit_code == 1
    assert f"process {os.getpid()} runs a bench in it" in seen[0].stderr
    ends()
    assert bench("--resume", str(tmp_path / "b")).exit_code == 0


def test_a_bench_whose_time_was_up_says_the_command_that_goes_on(
    run: Bench, ends: Callable[..., None]
) -> None:
    """Its exit code is its own, and the command asks for the same part with the same time."""
    ends(finished=False)
    stopped = run(*ONE_DISK, "--time", "1m30s")
    words = shlex.split(stopped.output.splitlines()[-1].partition("go on with: innobrim bench ")[2])
    again = bench(*words)

    assert (stopped.exit_code, again.exit_code) == (4, 4)
    assert words[-4:] == ["--variant", "no limit", "--time", "90s"]
    assert again.output.splitlines()[-1] == (
        f"the time was up; go on with: innobrim {shlex.join(['bench', *words])}"
    )


def test_a_page_that_cannot_be_written_is_said(
    run: Bench, ends: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The rows are there, and the message has what to type once the disk takes the page."""

    def finished(bench: Any) -> bool:  # noqa: ANN401 - whose ledger is filled
        bench._ledger.add(row(variant=""))
        return True

    def refused(_directory: Path) -> list[Path]:
        raise ReportError("report.html: cannot be written: no space left on device")

    ends(finished)
    monkeypatch.setattr(command, "write_bench", refused)
    ended(run(), 1, "innobrim report")


@pytest.mark.usefixtures("late")
def test_what_is_left_of_a_bench_can_be_asked(run: Bench, tmp_path: Path) -> None:
    """Also while it is at work."""
    run(*ONE_DISK, "--time", "1s")
    with held(tmp_path / "b"):
        left = bench("--resume", str(tmp_path / "b"), "--plan")

    ended(left, 0, "600 writes/s: default, best-static, ours", "takes about")


def test_a_suite_that_cannot_be_run_is_refused_before_anything_is_done(run: Bench, tmp_path: Path) -> None:
    """Nobody waits for hours to hear of what is wrong in a later variant."""
    file = tmp_path / "mine.toml"
    file.write_text("[[variant]]\n[[variant]]\nserver.set.innodb_redo_log_capacity = 9\n", encoding="utf-8")
    ended(run("--suite", str(file)), 2, "server.redo_capacity")


def test_variables_of_mysqld_reach_it() -> None:
    """Written with dashes or underscores, as numbers or words."""
    plan = Plan(server=ServerPlan(set={"innodb_doublewrite_pages": 128, "innodb-adaptive-hash-index": "ON"}))
    given = specification(plan).arguments()

    assert "--innodb-doublewrite-pages=128" in given
    assert "--innodb-adaptive-hash-index=ON" in given


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("innodb_redo_log_capacity", "server.redo_capacity"),
        ("innodb-buffer-pool-size", "server.buffer_pool"),
        ("innodb_io_capacity_max", "a contender"),
        ("datadir", "leave it out"),
    ],
)
def test_what_the_bench_works_with_is_not_set_behind_its_back(name: str, said: str) -> None:
    """A redo log of another size than the plan's would make every age ratio of its rows wrong."""
    with pytest.raises(PlanError, match=said):
        specification(Plan(server=ServerPlan(set={name: 200})))


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("disk.write_iops=0", "--set disk.write_iops = 0: must be a whole number from 10"),
        ("server.redo_capacity=1", "= 1: must be a whole number from 8 up to 524,288"),
        ("load.kind=tpc", "must be one of write_only, update_index, "),
        ("disk.iops=3", "--set disk.iops: unknown key; did you mean write_iops?"),
        ("crash", "--set crash: write a key and its value, such as disk.write_iops=3000"),
        ("variant=x", "names from the suite's file"),
        ("contenders=default,best", "best: no such contender"),
        ("server.set.innodb_redo_log_capacity=9", "say it as server.redo_capacity, MiB"),
    ],
)
def test_a_key_or_value_that_no_plan_takes_is_said(run: Bench, word: str, said: str) -> None:
    """The plan's own check, with the option that it was typed with, before anything is begun."""
    ended(run("--set", word), 2, said)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("75.5", "75.5"),
        ("true", "true"),
        ("2026-01-02", "2026-01-02"),
        ("128", 128),
        ('"0128"', "0128"),
        ("ON", "ON"),
    ],
)
def test_a_variable_of_mysqld_takes_every_value(text: str, value: str | int) -> None:
    """What is no whole number and no text for TOML goes to mysqld as it was typed."""
    (one,) = changed(load_suite("quick"), [f"server.set.innodb_max_dirty_pages_pct={text}"]).plans

    assert one.server.set == {"innodb_max_dirty_pages_pct": value}


def test_keys_of_every_plan_are_replaced(run: Bench) -> None:
    """With --set, texts without quotes and lists with commas; the help has every key."""
    words = ("server.set.log_bin=binlog", "contenders=default,2000/4000", "load.rate=100", "crash=true")
    one, other, _ = changed(load_suite("disks"), words).plans
    listed = " ".join(run("--help").output.split())

    assert (one.server.set, one.contenders) == ({"log_bin": "binlog"}, ("default", "2000/4000"))
    assert (one.load.rate, one.crash, one.disk) == (100, True, load_suite("disks").plans[0].disk)
    assert (other.load, other.variant) == (one.load, "3000 writes/s")
    assert all(key.partition(".")[2] in listed or key in listed for key in keys())
