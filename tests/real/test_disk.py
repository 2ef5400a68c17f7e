"""A throw-away server's disk, limited and counted; and what a killed run leaves behind."""

from __future__ import annotations

import contextlib
import signal
import subprocess
import sys
from pathlib import Path

import docker
import pytest

from lab.servers.base import LabServer
from lab.servers.choose import is_image
from lab.servers.disk import DiskLimit
from lab.servers.spec import LabServerError
from lab.workloads.load import Load
from lab.workloads.sysbench import SysbenchRun, prepare
from tests.real.fixtures import available, missing
from tests.real.small import SPEC
from tests.real.support import written

pytestmark = pytest.mark.real

SMALL = Load(tables=1, rows=20_000, threads=8)
MARGIN = 1.35
"""The controller lets bursts through, and a count may lead by what is in its queue."""

HOLD = """
import sys
from lab.servers.choose import choose
from tests.real.small import SPEC
server = choose().server(SPEC)
server.start()
print(getattr(server, "_name", "-"), getattr(server, "_sockets", None) or server._directory, flush=True)
sys.stdin.read()
"""


def killed_holder() -> tuple[str, Path]:
    """Start a process that holds a server, SIGKILL it, and return the server's name and directory."""
    with subprocess.Popen(  # noqa: S603 - our own interpreter with our own lines
        [sys.executable, "-c", HOLD],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[2],
    ) as process:
        assert process.stdout is not None
        name, directory = process.stdout.readline().split()
        process.kill()
        assert process.wait(10.0) == -signal.SIGKILL
    return name, Path(directory)


@pytest.fixture(scope="module")
def filled(small: LabServer) -> LabServer:
    """Return the small server with one small table."""
    prepare(small, SMALL)
    return small


def limited(server: LabServer, limit: DiskLimit) -> None:
    """Put a limit in force, or say why this machine cannot."""
    refusals = server.limit_disk(limit)
    if refusals:
        missing("; ".join(refusals))


def test_a_killed_run_leaves_nothing_after_the_next_start() -> None:
    """Container, volume and directories of a run that was killed are gone once another one has started."""
    choice = available()
    name, directory = killed_holder()
    assert directory.is_dir()
    following = choice.server(SPEC)
    try:
        following.start()

        assert not directory.exists()
        if is_image(choice.name):
            with contextlib.closing(docker.from_env()) as client:
                assert name not in {one.name for one in client.containers.list(all=True, ignore_removed=True)}
                assert name not in {one.name for one in client.volumes.list()}
    finally:
        following.stop()


def test_limits_are_obeyed_and_change_under_load(filled: LabServer, figures: list[str]) -> None:
    """Writes, then more of them, then bytes: what the disk did stays under each, and near it."""
    limited(filled, DiskLimit(write_iops=200))
    with SysbenchRun(filled, SMALL) as load:
        load.wait_seconds(2, 30.0)
        few, _ = written(filled, load, 4)
        limited(filled, DiskLimit(write_iops=600))
        load.wait_seconds(len(load.seconds()) + 1, 30.0)
        more, _ = written(filled, load, 4)
        limited(filled, DiskLimit(write_bytes=2_000_000))
        load.wait_seconds(len(load.seconds()) + 1, 30.0)
        _, size = written(filled, load, 4)
        limited(filled, DiskLimit())
        load.wait_seconds(len(load.seconds()) + 1, 30.0)
        free, unlimited = written(filled, load, 3)
    figures.append(
        f"writes/s under 200: {few:.0f}, under 600: {more:.0f}, free: {free:.0f};"
        f" MB/s written under 2: {size / 1e6:.1f}, free: {unlimited / 1e6:.1f}"
    )
    assert 100 < few < 200 * MARGIN
    assert 200 * MARGIN < more < 600 * MARGIN
    assert 1_000_000 < size < 2_000_000 * MARGIN
    assert unlimited > 2_000_000 * MARGIN


def test_a_crash_and_a_restart_are_timed_and_the_limit_stays(filled: LabServer, figures: list[str]) -> None:
    """Both bring the server back with its data, and with the limit that it was under."""
    limited(filled, DiskLimit(write_iops=300))
    recovery = filled.crash()
    shutdown, start = filled.restart()
    figures.append(f"recovery {recovery:.2f} s, shutdown {shutdown:.2f} s, start {start:.2f} s")
    assert min(recovery, shutdown, start) > 0
    assert filled.query("SELECT COUNT(*) FROM innobrim_lab.sbtest1") == [(SMALL.rows,)]
    with SysbenchRun(filled, SMALL) as load:
        load.wait_seconds(1, 30.0)
        writes, _ = written(filled, load, 4)
    assert writes < 300 * MARGIN
    limited(filled, DiskLimit())


def test_parameters_reach_the_server(small: LabServer) -> None:
    """What a spec says is what mysqld runs with."""
    row = small.query("SELECT @@innodb_redo_log_capacity, @@innodb_buffer_pool_size")[0]
    assert row == (SPEC.redo_capacity, SPEC.buffer_pool)


def test_a_parameter_that_mysqld_does_not_know_is_told() -> None:
    """A misspelt parameter ends the start with mysqld's own words, not with a time limit."""
    spec = SPEC.with_parameters({"innodb_flush_methud": "fsync"})
    with pytest.raises(LabServerError, match=r"innodb.flush.methud"), available().server(spec):
        pass
