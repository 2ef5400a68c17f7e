"""A server of the user's own, borrowed for a bench and given back as it was."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from lab.servers.base import SCHEMA, LabServer, LabServerError
from lab.servers.claim import MARKER
from lab.servers.existing import DsnServer
from lab.workloads.load import Load
from lab.workloads.sysbench import SysbenchRun, prepare
from tests.real.support import in_force
from tuner.records import Capacity
from tuner.servers.endpoint import Endpoint

pytestmark = pytest.mark.real

ORIGINALS = Capacity(700, 1400)
TINY = Load(tables=1, rows=1000, threads=2)
HOLD = """
import os, sys
from lab.servers.existing import DsnServer
from lab.servers.existing import parse_dsn
with DsnServer(parse_dsn(sys.argv[1], environ=os.environ), confirmed=True) as server:
    server.set_capacity(110, 110)
    server.query("CREATE TABLE innobrim_lab.sbtest1 (id INT PRIMARY KEY)")
    print("taken", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def lender(small: LabServer) -> Iterator[LabServer]:
    """Yield a server with a setting of its own and no schema of ours."""
    small.query(f"DROP DATABASE IF EXISTS {SCHEMA}", timeout=60.0)
    small.set_capacity(ORIGINALS.io_capacity, ORIGINALS.io_capacity_max)
    yield small
    small.query("SET GLOBAL super_read_only = OFF")
    small.query("SET GLOBAL read_only = OFF")
    small.query(f"DROP DATABASE IF EXISTS {SCHEMA}", timeout=60.0)


def borrowed(lender: LabServer, said: list[str] | None = None) -> DsnServer:
    """Return that server as a user would name it."""
    endpoint = Endpoint(
        user=lender.admin.user, password=lender.admin.password, host=lender.host, port=lender.port
    )
    return DsnServer(endpoint, confirmed=True, say=[].append if said is None else said.append)


def schemas(lender: LabServer) -> set[str]:
    """Return the names of the server's schemas."""
    return {str(name) for (name,) in lender.query("SHOW DATABASES")}


def command_lines() -> bytes:
    """Return what every process on this machine shows of itself."""
    shown = b""
    for line in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            shown += line.read_bytes()
    return shown


def test_a_borrowed_server_is_given_back_as_it_was(lender: LabServer) -> None:
    """Under load with other values, then as before: no schema, no change of C and M."""
    said: list[str] = []
    with borrowed(lender, said) as server:
        assert server.spec.redo_capacity == lender.spec.redo_capacity
        assert server.spec.buffer_pool == lender.spec.buffer_pool
        prepare(server, TINY)
        with SysbenchRun(server, TINY) as load:
            load.wait_seconds(2, 30.0)
            shown = command_lines()
            assert b"update_non_index" in shown
            assert server.admin.password.encode() not in shown
        server.set_capacity(100, 100)
        counted = server.device()
        assert counted is not None
        assert counted.source == "the server's own counters"
        assert counted.writes > 0

    assert in_force(lender) == ORIGINALS
    assert SCHEMA not in schemas(lender)
    assert said[-1].startswith("put back on ")


def test_ctrl_c_gives_it_back_too(lender: LabServer) -> None:
    """Whatever ends the bench in between, the server is as it was."""

    def bench() -> None:
        with borrowed(lender) as server:
            server.set_capacity(100, 100)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        bench()
    assert in_force(lender) == ORIGINALS
    assert SCHEMA not in schemas(lender)


def test_the_next_bench_puts_back_what_a_killed_one_left(lender: LabServer) -> None:
    """SIGKILL leaves other values and the schema; the mark in it tells the next one what they were."""
    dsn = f"mysql://{lender.admin.user}@{lender.host}:{lender.port}/"
    environ = {**os.environ, "INNOBRIM_PASSWORD": lender.admin.password}
    with subprocess.Popen(  # noqa: S603 - our own interpreter with our own lines
        [sys.executable, "-c", HOLD, dsn],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=environ,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "taken\n"
        with pytest.raises(LabServerError, match=f"another bench has the schema .* process {process.pid} "):
            borrowed(lender).start()
        process.kill()
    assert in_force(lender) == Capacity(110, 110)

    with borrowed(lender):
        assert in_force(lender) == ORIGINALS
        assert lender.query(f"SHOW TABLES FROM {SCHEMA}") == [(MARKER,)]

    assert in_force(lender) == ORIGINALS
    assert SCHEMA not in schemas(lender)


def test_a_schema_that_is_not_ours_is_left_alone(lender: LabServer) -> None:
    """A table without our mark is somebody's."""
    lender.query(f"CREATE DATABASE {SCHEMA}")
    lender.query(f"CREATE TABLE {SCHEMA}.sbtest1 (id INT PRIMARY KEY)")
    with pytest.raises(LabServerError, match="holds what is not ours: sbtest1"), borrowed(lender):
        pass
    assert lender.query(f"SHOW TABLES FROM {SCHEMA}") == [("sbtest1",)]


def test_a_read_only_server_is_refused(lender: LabServer) -> None:
    """Nothing is written to it, and the refusal says why."""
    lender.query("SET GLOBAL super_read_only = ON")
    with pytest.raises(LabServerError, match="it is read-only"), borrowed(lender):
        pass
    assert SCHEMA not in schemas(lender)


def test_a_replica_is_refused(lender: LabServer) -> None:
    """A channel that is configured is enough, at work or not."""
    lender.query("CHANGE REPLICATION SOURCE TO SOURCE_HOST = 'db1', SOURCE_USER = 'copy'")
    try:
        with pytest.raises(LabServerError, match="it is a replica"), borrowed(lender):
            pass
    finally:
        lender.query("RESET REPLICA ALL")
    assert SCHEMA not in schemas(lender)
