"""MariaDB and MySQL 5.6: started, filled, limited, killed, shut down and gone, as MySQL 9.7 is."""

from __future__ import annotations

import contextlib

import docker
import pytest

from lab.servers.base import LabServer
from lab.servers.container import ContainerServer
from lab.servers.disk import DiskLimit
from lab.servers.local import LocalServer
from lab.servers.reader import Reader
from lab.servers.spec import MARIADB, MEBIBYTE, ServerSpec
from lab.workloads.load import Load
from lab.workloads.sysbench import SysbenchRun, prepare
from tests.real.families import FAMILIES, named
from tests.real.fixtures import missing
from tests.real.support import written

pytestmark = pytest.mark.real

SPEC = ServerSpec(
    redo_capacity=64 * MEBIBYTE, buffer_pool=128 * MEBIBYTE, io_capacity=200, io_capacity_max=2000
)
LOAD = Load(tables=1, rows=10_000, threads=8)
LIMIT = 300
MARGIN = 1.35
"""The controller lets bursts through, and a count may lead by what is in its queue."""


def traces(server: LabServer) -> list[str]:
    """Return what is there of a server: containers, volumes, processes, directories."""
    found = [str(server.socket)] if server.socket is not None and server.socket.exists() else []
    if isinstance(server, LocalServer):
        return found + ["process"] * server.alive()
    assert isinstance(server, ContainerServer)
    with contextlib.closing(docker.from_env()) as client:
        names = [*client.containers.list(all=True, ignore_removed=True), *client.volumes.list()]
        return found + [str(one.name) for one in names if one.name == server._name]


@pytest.mark.parametrize("name", FAMILIES)
def test_a_server_of_another_flavour_lives_and_ends_like_any_other(name: str, figures: list[str]) -> None:
    """One life: SQL as both accounts, load, disk limit, crash, orderly restart, and nothing left behind."""
    family = FAMILIES[name]
    server = named(family.name, SPEC)
    with server:
        said, comment = server.query("SELECT VERSION(), @@version_comment")[0]
        assert str(said).startswith(family.version)
        assert server.kind is family.kind
        with contextlib.closing(server.connect(server.daemon)) as connection, connection.cursor() as cursor:
            cursor.execute("SET GLOBAL innodb_io_capacity_max = 2100")
            cursor.execute(
                "SELECT COUNT(*) FROM information_schema.innodb_metrics WHERE time_enabled IS NOT NULL"
                " AND name IN ('log_lsn_current', 'log_lsn_buf_pool_oldest', 'buffer_flush_sync_total_pages')"
            )
            assert cursor.fetchall()[0][0] == 3
        assert server.query("SELECT @@innodb_io_capacity_max, @@innodb_buffer_pool_size") == [
            (2100, SPEC.buffer_pool)
        ]
        files = 1 if family.kind is MARIADB else 2
        assert server.query("SELECT @@innodb_log_file_size") == [(SPEC.redo_capacity // files,)]

        prepare(server, LOAD)
        refusals = server.limit_disk(DiskLimit(write_iops=LIMIT))
        if refusals:
            missing("; ".join(refusals))
        with SysbenchRun(server, LOAD) as load:
            load.wait_seconds(1, 30.0)
            limited, _ = written(server, load, 4)
            assert server.limit_disk(DiskLimit()) == ()
            load.wait_seconds(len(load.seconds()) + 1, 30.0)
            with contextlib.closing(Reader(server)) as reader:
                before = reader.read()
                free, _ = written(server, load, 2)
                after = reader.read()
            server.kill()
        assert not server.alive()
        server.start()
        server.wait_ready()
        assert server.query("SELECT COUNT(*) FROM innobrim_lab.sbtest1") == [(LOAD.rows,)]
        recovery = server.crash()
        shutdown, start = server.restart()
        assert server.query("SELECT COUNT(*) FROM innobrim_lab.sbtest1") == [(LOAD.rows,)]
        there = traces(server)
    assert there
    assert traces(server) == []
    figures.append(
        f"{said} ({comment}): {limited:.0f} writes/s under {LIMIT}, {free:.0f} without; recovery"
        f" {recovery:.2f} s, shutdown {shutdown:.2f} s, start {start:.2f} s"
    )
    assert after.redo_capacity == SPEC.redo_capacity
    assert 0 < after.modified_age < after.flush_limit < after.stall_point < after.redo_capacity
    assert after.lsn_current > before.lsn_current
    assert after.row_changes > before.row_changes
    assert 0.3 * LIMIT < limited < LIMIT * MARGIN
    assert free > LIMIT * MARGIN
    assert recovery >= 0.0
    assert min(shutdown, start) > 0.0
