"""The redo log grown while real servers work: nothing is sync-flushed for it, and no second stalls."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from lab.servers.base import LabServer
from lab.servers.spec import MEBIBYTE
from lab.workloads.sysbench import SysbenchRun, prepare
from tests.real.families import FAMILY_LOAD, SPEC, named
from tests.real.support import DEFAULT, until
from tuner.cli.main import cli
from tuner.journal.resized import resize_of

pytestmark = [pytest.mark.real, pytest.mark.timeout(150)]

FOUND, WANTED = 100 * MEBIBYTE, 1024 * MEBIBYTE
BEFORE, AFTER = 10, 10
"""Seconds of load that are looked at before the resize and after it."""

STALLED = 0.1
"""Share of the median commits of a second below which it counts as stalled."""

ON = {
    "mysql-9.7": ("innodb_redo_log_capacity", "@@GLOBAL.server_uuid", ()),
    "mariadb-11.8": (
        "innodb_log_file_size",
        "CONCAT(@@GLOBAL.hostname, ':', @@GLOBAL.port, ':', @@GLOBAL.datadir)",
        ("--innodb-monitor-enable=all",),
    ),
}


def innobrim(server: LabServer, directory: Path, *words: str) -> Result:
    """Return what ``innobrim redo`` came to as the server's administrator."""
    admin = server.admin
    return CliRunner().invoke(
        cli,
        [
            *("redo", "--host", server.host, "--port", str(server.port), "--user", admin.user),
            *("--state-directory", str(directory), *words),
        ],
        prog_name="innobrim",
        env={"INNOBRIM_PASSWORD": admin.password},
    )


def sync_pages(server: LabServer) -> int:
    """Return the pages sync-flushed since the server started."""
    rows = server.query(
        "SELECT count FROM information_schema.innodb_metrics WHERE name = 'buffer_flush_sync_total_pages'"
    )
    return int(rows[0][0])


@pytest.mark.parametrize("name", ON)
def test_the_log_grows_under_load_and_back(name: str, tmp_path: Path) -> None:
    """100 MiB become 1 GiB without a sync-flushed page or a stalled second, and the undo sets them back."""
    variable, identity, extra = ON[name]
    spec = replace(SPEC, redo_capacity=FOUND, extra=extra)
    with named(name, spec) as server:
        prepare(server, FAMILY_LOAD)
        server.query("SET GLOBAL innodb_monitor_enable = 'module_buffer'")
        who = str(server.query(f"SELECT {identity}")[0][0])
        with SysbenchRun(server, FAMILY_LOAD) as load:
            load.wait_seconds(BEFORE, 60.0)
            pages = sync_pages(server)
            grown = innobrim(server, tmp_path, "--to", "1G", "--yes")
            at = len(load.seconds())
            seconds = load.wait_seconds(at + AFTER, 60.0)
            flushed = sync_pages(server) - pages
        assert grown.exit_code == 0, grown.output
        assert int(server.query(f"SELECT @@GLOBAL.{variable}")[0][0]) == WANTED
        kept = resize_of(tmp_path, (who,))
        assert kept is not None
        assert (kept.found, kept.wanted) == (FOUND, WANTED)
        commits = sorted(one.commits for one in seconds)
        assert flushed == 0
        assert commits[0] > STALLED * commits[len(commits) // 2]

        server.set_capacity(DEFAULT.io_capacity, DEFAULT.io_capacity_max)
        server.query("SET GLOBAL innodb_max_dirty_pages_pct = 0")  # a MariaDB that idles keeps its age
        said: list[str] = []

        def undone() -> bool:
            result = innobrim(server, tmp_path, "--undo", "--yes")
            said.append(result.output)
            return result.exit_code == 0

        until(undone, 30.0, lambda: said[-1])
        assert int(server.query(f"SELECT @@GLOBAL.{variable}")[0][0]) == FOUND
        assert resize_of(tmp_path, (who,)) is None
