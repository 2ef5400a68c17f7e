"""Arguments, accounts and error logs of every flavour, without starting one."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from lab.servers.flavour import (
    MEBIBYTE,
    TRAITS,
    Account,
    Flavour,
    LabServerError,
    ServerSpec,
    account_statements,
    product,
)
from lab.servers.local import Installation
from lab.servers.timing import last_span, text_marks

SPEC = ServerSpec(redo_capacity=65 * MEBIBYTE)
ADMIN, DAEMON = Account("boss", "a"), Account("innobrim", "b")


@pytest.mark.parametrize(
    ("flavour", "redo"),
    [
        (Flavour.MYSQL, ["--innodb-redo-log-capacity=68157440"]),
        (Flavour.MYSQL_57, ["--innodb-log-file-size=33554432", "--innodb-log-files-in-group=2"]),
        (Flavour.MYSQL_56, ["--innodb-log-file-size=33554432", "--innodb-log-files-in-group=2"]),
        (Flavour.MARIADB, ["--innodb-log-file-size=68157440"]),
    ],
)
def test_one_redo_capacity_is_said_as_each_server_takes_it(flavour: Flavour, redo: list[str]) -> None:
    """Servers with several files get whole MiB each; none gets an argument that would end its start."""
    arguments = SPEC.arguments(flavour)
    assert [one for one in arguments if "redo" in one or "log-file" in one] == redo
    assert ("--mysqlx=OFF" in arguments) == (flavour is Flavour.MYSQL)


@pytest.mark.parametrize("name", ["innodb_log_file_size", "innodb-log-files-in-group"])
def test_a_redo_log_by_its_files_is_not_taken(name: str) -> None:
    """Ages are worked out with the whole redo log's size, so that is what is to be said."""
    with pytest.raises(LabServerError, match="the whole redo log as innodb_redo_log_capacity"):
        SPEC.with_parameters({name: "64M"})


@pytest.mark.parametrize("flavour", [Flavour.MYSQL_57, Flavour.MYSQL_56, Flavour.MARIADB])
def test_the_daemon_gets_super_where_nothing_less_sets_a_variable(flavour: Flavour) -> None:
    """It gets that and what it needs to look, for both ways to come in."""
    grants = [one for one in account_statements(ADMIN, DAEMON, flavour).splitlines() if "innobrim'@" in one]
    for host in ("%", "localhost"):
        assert [
            one.split(" IDENTIFIED")[0].rstrip(";") for one in grants if f"'{host}'" in one and "GRANT" in one
        ] == [
            f"GRANT PROCESS, SUPER ON *.* TO 'innobrim'@'{host}'",
            f"GRANT SELECT ON performance_schema.* TO 'innobrim'@'{host}'",
        ]


@pytest.mark.parametrize("flavour", Flavour)
def test_accounts_can_be_made_twice(flavour: Flavour) -> None:
    """A server that makes them at every start must not fail at the second one; 5.6 makes them by GRANT."""
    statements = account_statements(ADMIN, DAEMON, flavour).splitlines()
    made = [one for one in statements if one.startswith("CREATE")]
    assert all("IF NOT EXISTS" in one for one in made)
    assert any(one.startswith("CREATE USER") for one in made) == (flavour is not Flavour.MYSQL_56)
    assert all(one.endswith(";") for one in statements)


@pytest.mark.parametrize("flavour", Flavour)
def test_the_first_start_is_sound_shell(flavour: Flavour) -> None:
    """A slip in it would only show on a machine that has that server."""
    checked = subprocess.run(
        ["sh", "-n"],  # noqa: S607 - every machine has one
        input=TRAITS[flavour].first_start,
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


def test_a_log_that_ends_before_innodb_was_ready_is_no_measurement() -> None:
    """A start that failed has no recovery time."""
    with pytest.raises(LabServerError, match="does not say when InnoDB was ready"):
        last_span(text_marks("\n".join(MYSQL_56_LOG.splitlines()[:-1])))


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


def test_a_mysqld_of_the_system_is_left_to_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of ours comes before what it was built to find."""
    (tmp_path / "mysqld").write_text("#!/bin/sh\n")
    (tmp_path / "mysqld").chmod(0o755)
    monkeypatch.delenv("LD_LIBRARY_PATH", raising=False)
    found = Installation(str(tmp_path / "mysqld"))
    assert found.arguments() == []
    assert "LD_LIBRARY_PATH" not in found.environment()


@pytest.mark.parametrize(
    ("version", "comment", "whose"),
    [
        ("11.8.6-MariaDB-0+deb13u1 from Debian", "-- Please help get to 10k stars", "MariaDB"),
        ("8.0.36-28", "Percona Server (GPL), Release 28, Revision 47601f19", "Percona Server"),
        ("9.7.4-2", "(Debian)", "MySQL"),
    ],
)
def test_a_server_is_called_by_its_own_name(version: str, comment: str, whose: str) -> None:
    """A report never calls a MariaDB a MySQL."""
    assert product(version, comment) == whose
