"""The redo log grown while real servers work: nothing is sync-flushed for it, and no second stalls."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pymysql
import pytest
from click.testing import CliRunner, Result

from lab.servers.base import LabServer
from lab.servers.spec import MEBIBYTE, Account
from lab.workloads.load import Load
from lab.workloads.sysbench import SysbenchRun, prepare
from tests.real.families import FAMILY_LOAD, SPEC, named
from tests.real.guarded import guard
from tests.real.installation import Innobrim
from tests.real.proxy import Proxy
from tests.real.support import DEFAULT, remember, until
from tuner.cli.main import cli
from tuner.cli.setup_sql import drawn
from tuner.journal.resized import resize_of

pytestmark = [pytest.mark.real, pytest.mark.timeout(300)]

FOUND, WANTED = 100 * MEBIBYTE, 1024 * MEBIBYTE
SMALL, GOAL = 64 * MEBIBYTE, 256 * MEBIBYTE
"""What a daemon with ``redo.grow_to`` finds, and grows it to."""

GROW_TO = f'[redo]\ngrow_to = "{GOAL // MEBIBYTE}MiB unchecked"\n'
PACED = Load(tables=2, rows=50_000, threads=4, rate=300)
"""So little that the smallest log fills in minutes, and enough that it is flushed for by age."""

FULL = replace(PACED, rate=0)
"""So much that the server soon flushes by age, by which its law is verified."""

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

        until(undone, 60.0, lambda: said[-1])
        assert int(server.query(f"SELECT @@GLOBAL.{variable}")[0][0]) == FOUND
        assert resize_of(tmp_path, (who,)) is None


def capacity(server: LabServer, variable: str = "innodb_redo_log_capacity") -> int:
    """Return the size of the redo log that the server says, bytes."""
    return int(server.query(f"SELECT @@GLOBAL.{variable}")[0][0])


def in_force(status: dict[str, Any]) -> bool:
    """Tell whether a daemon says that the log has the size wanted."""
    return status["growth"]["text"] == "it is in force"


@pytest.mark.parametrize("name", ON)
def test_the_daemon_grows_the_log_by_the_procedure_alone(name: str, tmp_path: Path) -> None:
    """64 MiB become 256 in two steps with no sync-flushed page or stalled second, and by EXECUTE alone.

    Beside it a person makes them 512, and the daemon goes on with that.
    """
    spec = replace(SPEC, redo_capacity=SMALL, extra=ON[name][2])
    with named(name, spec) as server:
        prepare(server, PACED)
        server.query("SET GLOBAL innodb_monitor_enable = 'module_log'")
        server.query("SET GLOBAL innodb_monitor_enable = 'module_buffer'")
        account = guard(server, Account("grower", drawn()), grow_redo_to=GOAL)
        with SysbenchRun(server, PACED) as load, Innobrim(server, tmp_path, account=account) as daemon:
            load.wait_seconds(2, 60.0)
            pages, at = sync_pages(server), len(load.seconds())
            daemon.configure(mode="active", extra=GROW_TO)
            daemon.start()
            status = daemon.await_status(in_force, 90.0, "the size wanted")
            seconds = load.wait_seconds(len(load.seconds()) + 3, 30.0)[at:]
            flushed = sync_pages(server) - pages
            until(lambda: daemon.events().count("redo_capacity") == 2, 60.0, daemon.log)
            with contextlib.closing(server.connect(account)) as connection, connection.cursor() as cursor:
                for size in (GOAL + MEBIBYTE, SMALL):
                    with pytest.raises(pymysql.MySQLError, match="must be above"):
                        cursor.execute(f"CALL innobrim.grow_redo_log({size})")
            by_hand = innobrim(server, daemon.state, "--to", "512M", "--yes")
            assert by_hand.exit_code == 0, by_hand.output
            until(lambda: daemon.events().count("redo_capacity") == 3, 60.0, daemon.log)
            beside = daemon.await_status(lambda now: not now["holds"], 60.0, "no hold")
            assert beside["limits"]["redo_capacity"] == capacity(server, ON[name][0]) == 2 * GOAL
            assert daemon.terminate().code == 0
        assert status["growth"]["grow_to"] == status["growth"]["in_force"] == GOAL
        kept = resize_of(daemon.state, (status["server"]["identity"],))
        assert kept is not None
        assert (kept.found, kept.wanted, kept.goal) == (SMALL, 2 * GOAL, GOAL)
        commits = sorted(one.commits for one in seconds)
        assert flushed == 0
        assert commits[0] > STALLED * commits[len(commits) // 2]


def test_a_restore_sets_back_the_log_that_the_daemon_found(tmp_path: Path) -> None:
    """On a 9.7 that it grew from 64 to 256 MiB, innobrim restore sets 64 back, and the daemon leaves them."""
    spec = replace(SPEC, redo_capacity=SMALL)
    with named("mysql-9.7", spec) as server, Innobrim(server, tmp_path) as daemon:
        prepare(server, FULL)
        daemon.configure(mode="active", extra=GROW_TO)
        daemon.start()
        with SysbenchRun(server, FULL):
            grown = daemon.await_status(in_force, 90.0, "the size wanted")
        assert grown["growth"]["found"] == SMALL

        def at_rest(now: dict[str, Any]) -> bool:
            return now["estimate"] is not None and bool(now["estimate"]["checkpoint_age"] < SMALL / 4)

        daemon.await_status(at_rest, 60.0, "a low age")
        back = daemon.command("restore", "--wait")

        assert back.returncode == 0, back.stdout + back.stderr
        until(lambda: capacity(server) == SMALL, 60.0, daemon.log)
        until(lambda: "64 MiB of redo log, as found, are in force again" in daemon.log(), 60.0, daemon.log)
        daemon.change_mode("active")
        kept_back = daemon.await_status(lambda now: "was set back" in now["growth"]["text"], 60.0, "no step")
        assert kept_back["growth"]["in_force"] == capacity(server) == SMALL
        undo = innobrim(server, daemon.state, "--undo", "--yes")
        assert (undo.exit_code, "another value" in undo.output) == (1, True)
        assert daemon.terminate().code == 0


class Instead:
    """On the line to a server: does something in the place of the first SET of a redo log's size, or with it.

    Attributes:
        deed: what is done.
        done: it was.
    """

    def __init__(self, *, passes: bool = False) -> None:
        """Wait for the statement, which passes all the same or not."""
        self.deed: Callable[[], None] = lambda: None
        self.done = False
        self._passes = passes

    def __call__(self, statement: str) -> bool:
        """Say whether a statement goes through."""
        if self.done or not statement.startswith("SET GLOBAL innodb_redo_log_capacity ="):
            return True
        self.deed()
        self.done = True
        return self._passes


BEGUN_BEFORE = "a resize of the redo log from 64 MiB to 128 MiB was begun by the daemon"
CRASHED = "mysql-8.0.31"


def test_a_kill_of_the_daemon_in_the_middle_of_a_step_is_told_and_gone_on_with(tmp_path: Path) -> None:
    """Killed between note and SET: what was found is on disk, the next daemon says so and grows the log."""
    with named(CRASHED, replace(SPEC, redo_capacity=SMALL)) as server:
        prepare(server, FULL)
        remember(server, server.daemon)
        killer = Instead()
        with (
            SysbenchRun(server, FULL),
            Proxy(server.port, killer) as proxy,
            Innobrim(server, tmp_path, port=proxy.port) as daemon,
        ):
            killer.deed = daemon.kill
            daemon.configure(mode="active", extra=GROW_TO, tls="off")
            daemon.start()
            until(lambda: not daemon.alive(), 60.0, daemon.log)
            kept = resize_of(daemon.state, (str(server.query("SELECT @@GLOBAL.server_uuid")[0][0]),))
            assert kept is not None
            assert (kept.found, kept.wanted, capacity(server)) == (SMALL, 2 * SMALL, SMALL)
            daemon.start()
            daemon.await_status(in_force, 90.0, "the size wanted")
            assert f"{BEGUN_BEFORE} (redo.grow_to): 64 MiB is in force" in daemon.log()
            assert daemon.terminate().code == 0


def test_a_kill_of_mysqld_in_the_middle_of_a_step_loses_nothing_and_is_told(tmp_path: Path) -> None:
    """Killed at the SET, mysqld has all that was committed; the daemon says so and grows the log."""
    with named(CRASHED, replace(SPEC, redo_capacity=SMALL)) as server:
        prepare(server, FULL)
        server.query("CREATE DATABASE marked")
        server.query("CREATE TABLE marked.marks (id INT PRIMARY KEY)")
        remember(server, server.daemon)
        killer = Instead(passes=True)

        def crash() -> None:
            server.query("INSERT INTO marked.marks VALUES (1)")
            threading.Thread(target=server.signal, args=(signal.SIGKILL,)).start()

        killer.deed = crash
        with (
            Proxy(server.port, killer) as proxy,
            Innobrim(server, tmp_path, port=proxy.port) as daemon,
        ):
            daemon.configure(mode="active", extra=GROW_TO, tls="off")
            daemon.start()
            with SysbenchRun(server, FULL):
                until(lambda: killer.done and not server.alive(), 60.0, daemon.log)
            server.start()
            server.wait_ready(60.0)
            remember(server, server.daemon)
            assert server.query("SELECT id FROM marked.marks") == [(1,)]
            with SysbenchRun(server, FULL):
                daemon.await_status(in_force, 150.0, "the size wanted")
            assert f"{BEGUN_BEFORE} (redo.grow_to): mysqld was restarted since" in daemon.log()
            assert daemon.terminate().code == 0
