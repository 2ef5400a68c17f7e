"""Arguments, accounts, error logs and owners of throw-away servers, without starting one."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from operator import attrgetter
from pathlib import Path
from typing import Any

import pytest

from lab.servers import owner
from lab.servers import reader as module
from lab.servers.base import quoted
from lab.servers.error_log import ENDED, STARTED, last_span, text_marks
from lab.servers.local import Installation, LocalServer
from lab.servers.spec import (
    KINDS,
    MARIADB,
    MEBIBYTE,
    MYSQL,
    MYSQL_56,
    MYSQL_57,
    Account,
    Kind,
    LabServerError,
    ServerSpec,
    account_statements,
)
from tuner.config.optionfile import read_options
from tuner.servers.endpoint import Endpoint
from tuner.servers.port import Unreachable
from tuner.servers.session import Session

SPEC = ServerSpec(redo_capacity=65 * MEBIBYTE)
ADMIN, DAEMON = Account("boss", "a"), Account("innobrim", "b")


@pytest.mark.parametrize(
    ("kind", "redo"),
    [
        (MYSQL, ["--innodb-redo-log-capacity=68157440"]),
        (MYSQL_57, ["--innodb-log-file-size=33554432", "--innodb-log-files-in-group=2"]),
        (MYSQL_56, ["--innodb-log-file-size=33554432", "--innodb-log-files-in-group=2"]),
        (MARIADB, ["--innodb-log-file-size=68157440"]),
    ],
)
def test_one_redo_capacity_is_said_as_each_server_takes_it(kind: Kind, redo: list[str]) -> None:
    """Servers with several files get whole MiB each; none gets an argument that would end its start."""
    arguments = SPEC.arguments(kind)
    assert [one for one in arguments if "redo" in one or "log-file" in one] == redo
    assert ("--mysqlx=OFF" in arguments) == (kind is MYSQL)


@pytest.mark.parametrize("kind", KINDS, ids=attrgetter("name"))
def test_the_daemon_gets_no_more_than_it_needs(kind: Kind) -> None:
    """To look and to set a variable, for both ways to come in; SUPER where nothing less sets one."""
    grants = [one for one in account_statements(ADMIN, DAEMON, kind).splitlines() if "GRANT" in one]
    needed = "PROCESS, SYSTEM_VARIABLES_ADMIN" if kind is MYSQL else "PROCESS, SUPER"
    for host in ("%", "localhost"):
        mine = [one.split(" IDENTIFIED")[0].rstrip(";") for one in grants if f"'innobrim'@'{host}'" in one]
        assert mine == [
            f"GRANT {needed} ON *.* TO 'innobrim'@'{host}'",
            f"GRANT SELECT ON performance_schema.* TO 'innobrim'@'{host}'",
        ]


@pytest.mark.parametrize("kind", KINDS, ids=attrgetter("name"))
def test_accounts_can_be_made_twice(kind: Kind) -> None:
    """A server that makes them at every start must not fail at the second one; 5.6 makes them by GRANT."""
    statements = account_statements(ADMIN, DAEMON, kind).splitlines()
    made = [one for one in statements if one.startswith("CREATE")]
    assert all("IF NOT EXISTS" in one for one in made)
    assert any(one.startswith("CREATE USER") for one in made) == (kind is not MYSQL_56)
    assert all(one.endswith(";") for one in statements)


@pytest.mark.parametrize("kind", KINDS, ids=attrgetter("name"))
def test_the_first_start_is_sound_shell(kind: Kind) -> None:
    """A slip in it would only show on a machine that has that server."""
    checked = subprocess.run(
        ["sh", "-n"],  # noqa: S607 - every machine has one
        input=kind.first_start,
        capture_output=True,
        text=True,
        check=False,
        timeout=10,
    )
    assert checked.stderr == ""


MYSQL_56_LOG = """\
2026-11-22 01:10:24 0 [Note] /srv/mysqld (mysqld 5.6.24) starting as process 6671 ...
2026-11-22 01:10:24 6671 [Note] InnoDB: Using Linux native AIO
2026-11-22 01:10:25 6671 [Note] InnoDB: 5.6.24 started; log sequence number 1625977
2026-11-22 01:10:53 0 [Note] /srv/mysqld (mysqld 5.6.24) starting as process 6799 ...
2026-11-22 01:10:53 6799 [Note] InnoDB: Using Linux native AIO
2026-11-22 01:10:53 6799 [Note] InnoDB: Log scan progressed past the checkpoint lsn 7978843
InnoDB: Doing recovery: scanned up to log sequence number 13221376
2026-11-22 01:11:05 6799 [Note] InnoDB: 5.6.24 started; log sequence number 59177637
"""
MARIADB_LOG = """\
2026-11-22T01:11:21.900000001Z 2026-11-22  1:11:22 0 [Note] Starting MariaDB 11.8.6 as process 1
2026-11-22T01:11:22.100000000Z 2026-11-22  1:11:22 0 [Note] InnoDB: Compressed tables use zlib 1.3.1
2026-11-22T01:11:22.300000000Z 2026-11-22  1:11:22 0 [Note] InnoDB: End of log at LSN=45616
2026-11-22T01:11:22.850000000Z 2026-11-22  1:11:23 0 [Note] InnoDB: log sequence number 45616; transaction
"""
MYSQL_57_LOG = """\
2026-11-22T01:10:53.100000Z 0 [Note] mysqld (mysqld 5.7.44) starting as process 1 ...
2026-11-22T01:10:53.200000Z 0 [Note] InnoDB: PUNCH HOLE support available
2026-11-22T01:10:55.700000Z 0 [Note] InnoDB: 5.7.44 started; log sequence number 2
"""


@pytest.mark.parametrize(("log", "seconds"), [(MYSQL_56_LOG, 12.0), (MARIADB_LOG, 0.75), (MYSQL_57_LOG, 2.5)])
def test_a_recovery_is_timed_by_logs_without_codes(log: str, seconds: float) -> None:
    """The last start counts, by the finest stamp that a line has."""
    assert last_span(text_marks(log)) == pytest.approx(seconds)


def test_what_lies_beside_a_mysqld_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that was unpacked somewhere runs with the libraries and messages it came with."""
    (tmp_path / "share" / "english").mkdir(parents=True)
    (tmp_path / "share" / "english" / "errmsg.sys").touch()
    (tmp_path / "libaio.so.1").touch()
    (tmp_path / "mysqld").write_text("#!/bin/sh\n")
    (tmp_path / "mysqld").chmod(0o755)
    monkeypatch.setenv("LD_LIBRARY_PATH", "/opt/lib")
    found = Installation(str(tmp_path / "mysqld"))
    assert found.arguments() == [f"--lc-messages-dir={tmp_path}/share"]
    assert found.environment()["LD_LIBRARY_PATH"] == f"{tmp_path}:/opt/lib"


def test_parameters_win_and_known_sizes_are_kept_as_numbers() -> None:
    """What others calculate with stays true; all else goes to mysqld as it was said, and comes last."""
    spec = ServerSpec(monitors=False).with_parameters(
        {"innodb-redo-log-capacity": "2G", "innodb_flush_method": "fsync", "--innodb_doublewrite": "OFF"}
    )
    assert spec.redo_capacity == 2 * 1024**3
    assert spec.arguments()[-2:] == ["--innodb-flush-method=fsync", "--innodb-doublewrite=OFF"]
    assert "monitor" in " ".join(ServerSpec().arguments())
    assert "monitor" not in " ".join(spec.arguments())


@pytest.mark.parametrize(
    ("name", "value", "why"),
    [
        ("innodb_redo_log_capacity", "much", "innodb_redo_log_capacity=much: must be a whole number"),
        ("datadir", "/srv", "datadir: the lab sets it by itself"),
        ("innodb flush", "1", "'innodb flush': no name of one"),
        ("innodb_log_file_size", "64M", "the whole redo log as innodb_redo_log_capacity"),
        ("innodb-log-files-in-group", "2", "the whole redo log as innodb_redo_log_capacity"),
    ],
)
def test_a_parameter_that_cannot_be_is_named(name: str, value: str, why: str) -> None:
    """A slip of the pen is refused before a server is started with it."""
    with pytest.raises(LabServerError, match=why):
        ServerSpec().with_parameters({name: value})


@pytest.mark.parametrize("password", ["plain", 'a"b', "c\\nd", "e#f;g", " h ", "'i'", "tab\tend"])
def test_any_password_survives_an_option_file(password: str) -> None:
    """MySQL's own reader takes comments and escapes out of a bare value."""
    assert read_options(f"[client]\npassword={quoted(password)}\n", "client")["password"] == password


def test_a_password_is_not_shown() -> None:
    """An account that is printed keeps its password to itself, and every account has another one."""
    assert Account("innobrim").password not in repr(Account("innobrim"))
    assert Account("innobrim").password != Account("innobrim").password


def test_this_process_is_no_orphan_but_an_ended_one_is() -> None:
    """Only what a process of this machine and boot left behind counts as nobody's."""
    assert not owner.orphaned(owner.mine())
    script = "from lab.servers import owner; print(owner.mine())"
    ended = subprocess.run(  # noqa: S603 - our own interpreter with our own line
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=30
    ).stdout.strip()
    assert owner.orphaned(ended)
    host, boot, pid, born = owner.mine().split("|")
    assert owner.orphaned(f"{host}|{boot}|{pid}|1")
    assert owner.orphaned(f"{host}|another boot|{pid}|{born}")
    assert not owner.orphaned(f"another host|{boot}|1|1")
    assert not owner.orphaned("")


def test_only_orphaned_directories_go_with_what_still_runs_in_them(tmp_path: Path) -> None:
    """A mysqld that outlived its run must not go on writing into a directory that was removed under it."""
    directory = owner.new_directory(tmp_path)
    argument = f"--datadir={directory}/data"
    script = "import sys; print(flush=True); sys.stdin.read()"
    with subprocess.Popen(  # noqa: S603 - our own interpreter with our own line
        [sys.executable, "-c", script, argument], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        kept = owner.new_directory(tmp_path)
        assert owner.remove_directories(tmp_path) == 0
        assert process.poll() is None
        (directory / "owner").write_text("|".join((*owner.mine().split("|")[:3], "1")))

        assert owner.remove_directories(tmp_path) == 1

        assert process.wait(10.0) == -signal.SIGKILL
    assert (directory.exists(), kept.is_dir()) == (False, True)


def test_only_orphaned_control_groups_go(tmp_path: Path) -> None:
    """A group of a run at work, and one that somebody else made, stay."""
    kept = owner.new_group(tmp_path)
    lost = tmp_path / f"innobrim-lab-{os.getpid()}-1-1"
    foreign = tmp_path / "innobrim-lab-by-hand"
    lost.mkdir()
    foreign.mkdir()

    assert owner.remove_groups(tmp_path) == 1

    assert (kept.is_dir(), lost.exists(), foreign.is_dir()) == (True, False, True)
    assert owner.new_group(tmp_path) != kept


def test_the_last_initialisation_counts() -> None:
    """An earlier start's lines do not make a later one longer."""
    lines = [(STARTED, 10.0), (ENDED, 11.0), (STARTED, 20.0)]
    assert last_span([*lines, (ENDED, 23.5)]) == 3.5
    with pytest.raises(LabServerError, match="when InnoDB was ready"):
        last_span(lines)


def test_a_lost_connection_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its number is another client's once mysqld has restarted, so no later session may know it."""
    made: list[Endpoint] = []

    class Lost(Session):
        def __init__(self, endpoint: Endpoint) -> None:
            super().__init__(endpoint)
            made.append(endpoint)

        def query(self, _statement: str) -> Sequence[tuple[Any, ...]]:
            raise Unreachable("connection refused")

    monkeypatch.setattr(module, "Session", Lost)
    server = LocalServer()
    found = module.Reader(server)
    for tries in (1, 2):
        with pytest.raises(LabServerError, match="connection refused"):
            found.read()
        assert len(made) == tries + 1
    assert made[0].user == server.admin.user
