"""Start arguments, disk limits and ownership of throw-away servers, without starting one."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from lab.servers import disk, owner
from lab.servers.base import Account, ServerSpec, account_statements


def test_the_callers_arguments_come_last() -> None:
    arguments = ServerSpec(extra=("--innodb-flush-sync=OFF",)).arguments()
    assert arguments[-1] == "--innodb-flush-sync=OFF"
    assert "--innodb-redo-log-capacity=104857600" in arguments
    assert not any("monitor" in one for one in ServerSpec(monitors=False).arguments())


def test_the_daemon_gets_no_more_than_it_needs() -> None:
    statements = account_statements(Account("boss", "a"), Account("innobrim", "b")).splitlines()
    grants = [one for one in statements if one.startswith("GRANT") and "'innobrim'@'%'" in one]
    assert grants == [
        "GRANT PROCESS, SYSTEM_VARIABLES_ADMIN ON *.* TO 'innobrim'@'%';",
        "GRANT SELECT ON performance_schema.* TO 'innobrim'@'%';",
    ]
    assert all(one.endswith(";") for one in statements)


def test_a_password_is_not_shown() -> None:
    assert Account("innobrim").password not in repr(Account("innobrim"))
    assert Account("innobrim").password != Account("innobrim").password


@pytest.mark.parametrize(
    ("name", "writes", "line"),
    [
        ("blkio.throttle.write_iops_device", 1200, "254:0 1200"),
        ("blkio.throttle.write_iops_device", None, "254:0 0"),
        ("io.max", 1200, "254:0 wiops=1200"),
        ("io.max", None, "254:0 wiops=max"),
    ],
)
def test_limit_lines_of_both_controllers(name: str, writes: int | None, line: str) -> None:
    assert disk.limit_line(Path(name), "254:0", writes) == line


def test_this_process_is_no_orphan_but_an_ended_one_is() -> None:
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


def test_only_orphaned_directories_go(tmp_path: Path) -> None:
    kept = owner.new_directory(tmp_path)
    lost = owner.new_directory(tmp_path)
    parts = owner.mine().split("|")
    (lost / "owner").write_text("|".join((parts[0], parts[1], str(os.getpid()), "1")))
    assert owner.remove_directories(tmp_path) == 1
    assert kept.is_dir()
    assert not lost.exists()
