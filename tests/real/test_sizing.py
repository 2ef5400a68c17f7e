"""What ``innobrim redo`` foretells of a larger log, beside what the server then does at that size."""

from __future__ import annotations

import contextlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from lab.servers.base import LabServer
from lab.servers.spec import MEBIBYTE, ServerSpec
from lab.workloads.sysbench import SysbenchRun, prepare
from tests.real.families import SHIPPED, named
from tests.real.installation import Innobrim
from tests.real.recording import settle
from tests.real.support import LOAD, WRITE_IOPS
from tuner.core.estimate.window import list_flushed
from tuner.findings.devicewrites import device_writes
from tuner.records import Sample
from tuner.servers.server import RealServer
from tuner.servers.survey import Survey
from tuner.system.clock import SystemClock

pytestmark = [pytest.mark.real, pytest.mark.prove, pytest.mark.timeout(3500)]

SIZES = (100, 400, 1600)
"""Of the redo log, MiB: today's, and what it grows to."""

BINARY_LOG = {"off": (), "synced": ("--log-bin=binlog", "--sync-binlog=1")}

SET_POINT = 0.75
COUNTED = 120
"""Readings, one a second, that are counted."""


@dataclass(frozen=True, slots=True)
class Counted:
    """What a server did in the counted seconds."""

    commits: float  # 1/s
    pages_per_row: float
    writes_per_commit: float  # of the device
    age_ratio: float


def counted(server: LabServer, load: SysbenchRun, daemon: Innobrim) -> Counted:
    """Return what is done in the next seconds."""
    first, device = daemon.await_ticks(1)["tick"], server.device()
    begun = len(load.seconds())
    load.wait_seconds(begun + COUNTED, 3.0 * COUNTED)
    after = server.device()
    commits = [one.commits for one in load.seconds()[begun : begun + COUNTED]]
    daemon.await_ticks(6)
    readings = [one for one in daemon.records() if first <= one.tick.number < first + COUNTED]
    samples = [one.tick.reading for one in readings if isinstance(one.tick.reading, Sample)]
    assert device is not None
    assert after is not None
    pages = list_flushed(samples[-1]) - list_flushed(samples[0])
    rows = samples[-1].row_changes - samples[0].row_changes
    return Counted(
        commits=sum(commits) / COUNTED,
        pages_per_row=pages / rows,
        writes_per_commit=(after.writes - device.writes) / sum(commits),
        age_ratio=sum(one.age_ratio for one in samples) / len(samples),
    )


def line(said: dict[str, Any], size: dict[str, Any], first: Counted, now: Counted) -> str:
    """Return predicted and measured of a size, as shares of what the first size does."""
    gained = now.commits / first.commits - 1.0
    saved = 1.0 - now.pages_per_row / first.pages_per_row
    spared = 1.0 - now.writes_per_commit / first.writes_per_commit
    figures = (
        ("pages saved", size["page_writes_saved"], saved),
        ("device writes saved", size["device_writes_saved"], spared),
        ("commits gained", size["commits_gained"], gained),
    )
    words = "; ".join(f"{name} {100 * done:.0f} % for {told_of(told)}" for name, told, done in figures)
    return (
        f"{size['redo_capacity'] // MEBIBYTE} MiB: {words}; {now.commits:.0f} commits/s,"
        f" {now.pages_per_row:.3f} pages a row change, age ratio {now.age_ratio:.2f},"
        f" sure: {size['sure']}, watched {said['seconds']} s"
    )


def told_of(figure: dict[str, float] | None) -> str:
    """Return a share and its range in percent."""
    if figure is None:
        return "unknown"
    low, likeliest, high = (100.0 * figure[name] for name in ("low", "likeliest", "high"))
    return f"{likeliest:.0f} ({low:.0f} to {high:.0f}) %"


@pytest.mark.parametrize("binary_log", BINARY_LOG)
@pytest.mark.parametrize("name", ["mysql-9.7", "mysql-8.0.31"])
def test_a_larger_log_saves_what_was_foretold(
    name: str, binary_log: str, tmp_path: Path, figures: list[str]
) -> None:
    """Each larger log writes fewer pages for a row change, by a share within the range foretold."""
    spec = ServerSpec(
        redo_capacity=SIZES[0] * MEBIBYTE,
        io_capacity=SHIPPED.io_capacity,
        io_capacity_max=SHIPPED.io_capacity_max,
        extra=BINARY_LOG[binary_log],
    )
    done: list[Counted] = []
    with named(name, spec) as server:
        prepare(server, LOAD)
        assert server.limit_write_iops(WRITE_IOPS) is None
        with SysbenchRun(server, LOAD) as load, Innobrim(server, tmp_path) as daemon:
            load.wait_seconds(2, 60.0)
            daemon.configure(set_point=SET_POINT)
            daemon.start("--active")
            settle(daemon, SET_POINT)
            asked = daemon.command("redo", "--seconds", str(COUNTED), "--json")
            assert asked.returncode == 0, asked.stdout + asked.stderr
            said = json.loads(asked.stdout)["sizing"]
            foretold = {one["redo_capacity"] // MEBIBYTE: one for one in said["sizes"]}
            for size in SIZES:
                if done:
                    grown = daemon.administer("redo", "--to", f"{size}M", "--yes")
                    assert grown.returncode == 0, grown.stdout + grown.stderr
                    settle(daemon, SET_POINT)
                done.append(counted(server, load, daemon))
                figures.append(
                    f"{name}, binary log {binary_log}: {line(said, foretold[size], done[0], done[-1])}"
                )
    ranges = [foretold[size]["page_writes_saved"] for size in SIZES]
    saved = [1.0 - one.pages_per_row / done[0].pages_per_row for one in done]
    assert saved == sorted(saved)
    for told, one, count in list(zip(ranges, saved, done, strict=True))[1:]:
        # it is foretold of the same age ratio: as many times the age saves as many times the pages, at most
        rested = done[0].age_ratio / count.age_ratio
        assert 1.0 - (1.0 - told["low"]) * max(1.0, rested) <= one, saved
        assert one <= 1.0 - (1.0 - told["high"]) * min(1.0, rested), saved


def looked_at(server: LabServer) -> tuple[str, Survey]:
    """Return a server's family and what it shows of its writes."""
    with contextlib.closing(RealServer(server.endpoint(server.daemon), SystemClock())) as asked:
        return asked.facts().family, asked.survey()


@pytest.mark.parametrize("name", ["mysql-9.7", "mysql-8.0.31"])
def test_the_device_writes_what_is_reckoned_of_the_files(name: str, figures: list[str]) -> None:
    """What redo and advise reckon from a server's counts is what the device writes, within their range."""
    spec = ServerSpec(io_capacity=SHIPPED.io_capacity, io_capacity_max=SHIPPED.io_capacity_max)
    with named(name, spec) as server:
        prepare(server, LOAD)
        assert server.limit_write_iops(WRITE_IOPS) is None
        with SysbenchRun(server, LOAD) as load:
            load.wait_seconds(COUNTED, 3.0 * COUNTED)
            begun, (family, before), device = len(load.seconds()), looked_at(server), server.device()
            load.wait_seconds(begun + COUNTED, 3.0 * COUNTED)
            (_, after), last = looked_at(server), server.device()
            commits = sum(one.commits for one in load.seconds()[begun : begun + COUNTED])
    found = device_writes(before, after, family)
    assert found is not None
    assert found.pages is not None
    assert device is not None
    assert last is not None
    done = (last.writes - device.writes) / commits
    low, likeliest, high = (
        (found.pages + one) / commits for one in (found.redo.low, found.redo.likeliest, found.redo.high)
    )
    calls, syncs = (
        after.counters[f"{one}:redo"] - before.counters[f"{one}:redo"] for one in ("writes", "syncs")
    )
    figures.append(
        f"{name}: writes a commit: device {done:.3f}, reckoned {likeliest:.3f} ({low:.3f} to {high:.3f}):"
        f" pages {found.pages / commits:.3f}; redo {calls / commits:.3f} calls, {syncs / commits:.3f} syncs"
    )
    assert low <= done <= high
