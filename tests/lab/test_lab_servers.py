"""Start arguments, disk limits and ownership of throw-away servers, without starting one."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from lab.servers import local, owner
from lab.servers.base import Account, LabServerError, ServerSpec, account_statements, quoted
from tuner.config.optionfile import read_options


def test_the_callers_arguments_come_last() -> None:
    """What the caller asks of mysqld wins over the lab's own arguments, and monitors can be left off."""
    arguments = ServerSpec(extra=("--innodb-flush-sync=OFF",)).arguments()
    assert arguments[-1] == "--innodb-flush-sync=OFF"
    assert "--innodb-redo-log-capacity=104857600" in arguments
    assert not any("monitor" in one for one in ServerSpec(monitors=False).arguments())


def test_parameters_by_name_win_and_known_sizes_are_kept_as_numbers() -> None:
    """What others calculate with stays true, and everything else goes to mysqld as it was said."""
    spec = ServerSpec().with_parameters(
        {"innodb-redo-log-capacity": "2G", "innodb_flush_method": "fsync", "--innodb_doublewrite": "OFF"}
    )
    assert spec.redo_capacity == 2 * 1024**3
    assert spec.arguments()[-2:] == ["--innodb-flush-method=fsync", "--innodb-doublewrite=OFF"]


@pytest.mark.parametrize(
    ("name", "value", "why"),
    [
        ("innodb_redo_log_capacity", "much", "innodb_redo_log_capacity=much: must be a whole number"),
        ("datadir", "/srv", "datadir: the lab sets it by itself"),
        ("innodb flush", "1", "'innodb flush': no name of one"),
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


def test_the_daemon_gets_no_more_than_it_needs() -> None:
    """The daemon's account has the two privileges and the one schema that it needs, and no others."""
    statements = account_statements(Account("boss", "a"), Account("innobrim", "b")).splitlines()
    grants = [one for one in statements if one.startswith("GRANT") and "'innobrim'@'%'" in one]
    assert grants == [
        "GRANT PROCESS, SYSTEM_VARIABLES_ADMIN ON *.* TO 'innobrim'@'%';",
        "GRANT SELECT ON performance_schema.* TO 'innobrim'@'%';",
    ]
    assert all(one.endswith(";") for one in statements)


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


def test_only_orphaned_directories_go(tmp_path: Path) -> None:
    """A server's directory is removed where its owner is gone, and stays where it lives."""
    kept = owner.new_directory(tmp_path)
    lost = owner.new_directory(tmp_path)
    parts = owner.mine().split("|")
    (lost / "owner").write_text("|".join((parts[0], parts[1], str(os.getpid()), "1")))
    assert owner.remove_directories(tmp_path) == 1
    assert kept.is_dir()
    assert not lost.exists()


def test_what_still_runs_in_an_orphaned_directory_is_ended(tmp_path: Path) -> None:
    """A mysqld that outlived its run must not go on writing into a directory that was removed under it."""
    directory = owner.new_directory(tmp_path)
    argument = f"--datadir={directory}/data"
    script = "import sys; print(flush=True); sys.stdin.read()"
    with subprocess.Popen(  # noqa: S603 - our own interpreter with our own line
        [sys.executable, "-c", script, argument], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        assert owner.remove_directories(tmp_path) == 0
        assert process.poll() is None
        (directory / "owner").write_text("|".join((*owner.mine().split("|")[:3], "1")))

        assert owner.remove_directories(tmp_path) == 1

        assert process.wait(10.0) == -signal.SIGKILL
    assert not directory.exists()


def test_a_daemon_that_still_parks_keeps_its_directory(tmp_path: Path) -> None:
    """Its state is not taken from under it; a later run removes the directory."""
    directory = owner.new_directory(tmp_path)
    (directory / "owner").write_text("|".join((*owner.mine().split("|")[:3], "1")))
    script = "import sys; print(flush=True); sys.stdin.read()"
    with subprocess.Popen(  # noqa: S603 - our own interpreter with our own line
        [sys.executable, "-c", script, "--config", f"{directory}/innobrim.toml"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        assert owner.remove_directories(tmp_path) == 0
        assert process.poll() is None
        process.kill()
        process.wait(10.0)
        assert owner.remove_directories(tmp_path) == 1


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


def test_a_removal_that_a_second_ctrl_c_cuts_short_is_done_at_exit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody who is impatient is left with a server's data."""

    def cut_short(*_given: object, **_named: object) -> None:
        raise KeyboardInterrupt

    left: list[object] = []
    monkeypatch.setattr(local, "atexit", SimpleNamespace(unregister=left.append))
    monkeypatch.setattr(local, "shutil", SimpleNamespace(rmtree=cut_short))
    server = local.LocalServer("mysqld")
    server._directory = tmp_path
    with pytest.raises(KeyboardInterrupt):
        server.stop()
    assert left == []
    monkeypatch.setattr(local, "shutil", SimpleNamespace(rmtree=lambda *_given, **_named: None))
    server.stop()
    assert left == [server.stop]
