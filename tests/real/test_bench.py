"""The bench on a real MySQL with a limited disk: killed in the middle, gone on with, compared, cleaned up."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from lab.bench.store import ROWS, read_rows
from lab.servers.choose import choose, is_image
from lab.servers.disk import block_device
from lab.servers.owner import orphaned
from tests.real.fixtures import FIGURES, available, missing

pytestmark = pytest.mark.real

PROGRAM = str(Path(sys.executable).with_name("innobrim"))
LIMIT = 300.0
WRITES = 1200


class Outcome(NamedTuple):
    """What was left by a bench that was killed and gone on with."""

    first: list[dict[str, Any]]
    rows: list[dict[str, Any]]
    directory: Path
    answer: dict[str, Any]


@pytest.fixture(scope="module")
def outcome(tmp_path_factory: pytest.TempPathFactory, pytestconfig: pytest.Config) -> Outcome:
    """Run the smoke suite, kill it with SIGKILL after its first row, and go on with it."""
    available(family=None)
    if block_device(Path("/var/lib")) is None:
        missing("a disk that can be limited")
    directory = tmp_path_factory.mktemp("bench") / "smoke"
    arguments = [PROGRAM, "bench", "--suite", "smoke", "--seed", "1", "--output", str(directory)]
    began = time.monotonic()
    killed = subprocess.Popen(  # noqa: S603 - our own program
        arguments, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    try:
        assert killed.stdout is not None
        for line in killed.stdout:
            if "block 1:" in line:
                break
        else:
            pytest.fail(f"the bench ended before its first row: {killed.wait(5.0)}")
    finally:
        killed.send_signal(signal.SIGKILL)
        killed.wait(10.0)
        if killed.stdout is not None:
            killed.stdout.close()
    first = read_rows(directory / ROWS)
    done = subprocess.run(  # noqa: S603 - our own program
        [PROGRAM, "bench", "--resume", str(directory), "--json"],
        capture_output=True,
        text=True,
        timeout=LIMIT,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    pytestconfig.stash.setdefault(FIGURES, []).append(
        f"smoke bench, killed and gone on with: {time.monotonic() - began:.0f} s"
    )
    return Outcome(first, read_rows(directory / ROWS), directory, json.loads(done.stdout))


def test_a_killed_bench_keeps_its_rows_and_repeats_none(outcome: Outcome) -> None:
    """Each contender has one row in the end, and those finished before the kill are the same ones."""
    assert len(outcome.first) == 1
    assert outcome.rows[0] == outcome.first[0]
    assert sorted(row["contender"] for row in outcome.rows) == ["default", "ours"]


def test_a_killed_bench_leaves_no_server_once_it_was_gone_on_with(outcome: Outcome) -> None:
    """No container and no load of either process is there any more."""
    assert outcome.rows
    shown = subprocess.run(
        ["/bin/ps", "-eo", "pid,args"], capture_output=True, text=True, timeout=10.0, check=True
    ).stdout
    assert [line for line in shown.splitlines() if str(outcome.directory) in line] == []
    if is_image(choose().name):
        form = '{{.Label "innobrim.owner"}}'
        command = ["docker", "ps", "-a", "--filter", "label=innobrim.lab=1", "--format", form]
        owners = subprocess.run(command, capture_output=True, text=True, timeout=10.0, check=True).stdout  # noqa: S603 - docker's own program
        assert [owner for owner in owners.split() if orphaned(owner)] == []


def test_the_disk_was_limited_and_what_it_did_was_counted(outcome: Outcome) -> None:
    """The default writes as fast as the disk lets it, which is no faster than asked for."""
    (row,) = [one for one in outcome.rows if one["contender"] == "default"]
    found = row["figures"]
    per_second = found["device_writes_per_commit"] * found["commits_mean"]
    assert row["conditions"]["not_limited"] == []
    assert found["device_source"] != ""
    assert per_second <= 1.1 * WRITES


def test_ours_moved_m_from_where_it_began_and_the_default_did_not(outcome: Outcome) -> None:
    """The daemon beside the load is the real one: M of its row comes down, the other's stays."""
    moves = {row["contender"]: row["series"]["io_capacity_max"] for row in outcome.rows}
    assert {value for value in moves["default"] if value is not None} == {20_000}
    known = [value for value in moves["ours"] if value is not None]
    assert known[0] == 20_000
    assert min(known) < 20_000


def test_every_second_is_there_and_every_latency_counted(outcome: Outcome) -> None:
    """A row has a value a second for throughput and age, and percentiles of all transactions."""
    for row in outcome.rows:
        series, found = row["series"], row["figures"]
        assert len(series["at"]) >= 20
        for name in ("commits", "modified_age", "checkpoint_age", "pages_flushed"):
            assert sum(value is None for value in series[name]) <= 3
        assert 0.0 < found["latency_p50"] <= found["latency_p99"] <= found["latency_p999"]


def test_the_page_and_its_data_are_beside_the_rows(outcome: Outcome) -> None:
    """One page with the charts, and JSON for those who go on with the figures."""
    page = (outcome.directory / "report.html").read_text(encoding="utf-8")
    assert "ours" in page
    assert "http://" not in page.replace("http://www.w3.org", "")
    for name in ("report.html", "summary.json"):
        assert (outcome.directory / name).stat().st_size > 0
    assert outcome.answer["directory"] == str(outcome.directory)
    assert os.path.commonpath([outcome.answer["page"], str(outcome.directory)]) == str(outcome.directory)
