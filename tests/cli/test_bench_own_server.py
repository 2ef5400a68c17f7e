"""``innobrim bench --dsn``: what a server of the user's own is asked, and what is not said beside it."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from lab.servers.base import LabServerError
from lab.servers.existing import DsnServer
from tests.cli.support import free_port
from tuner.cli import bench as command
from tuner.cli.main import cli


def bench(*words: str) -> Result:
    """Run the command with a server of the user's own."""
    return CliRunner(env={"INNOBRIM_PASSWORD": "", "MYSQL_PWD": ""}).invoke(
        cli, ["bench", *words], prog_name="innobrim"
    )


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("--server", "mysql:8.4"),
        ("--redo", "100"),
        ("--buffer-pool", "64"),
        ("--set", "innodb_doublewrite_pages=4"),
        ("--write-iops", "1200"),
        ("--write-mib", "40"),
    ],
)
def test_what_a_server_of_ones_own_would_leave_without_effect_is_refused(option: str, value: str) -> None:
    """Nobody reads figures of a setting that was never made."""
    result = bench("--dsn", "mysql://dba@127.0.0.1:1", "--plan", option, value)
    assert result.exit_code == 2
    assert f"{option} beside --dsn: " in result.stderr


@pytest.mark.parametrize(
    ("suite", "said"),
    [
        ("alternating", "disk.alternate_iops"),
        ("smoke", "server.set: innodb_adaptive_flushing_lwm"),
        ("disks", "differ in server or disk"),
    ],
)
def test_a_suite_whose_rows_would_bear_a_false_name_is_refused(suite: str, said: str) -> None:
    """What was never set or limited there is no row's name."""
    for further in ("--yes", "--plan"):
        result = bench("--dsn", "mysql://dba@127.0.0.1:1", further, "--suite", suite)
        assert result.exit_code == 2
        assert said in result.stderr


@pytest.mark.parametrize("dsn", ["mysql://", "mysql://a@b:99999", "mysql://a@%2Frun%2Fs", "mysql://a@b/shop"])
def test_a_dsn_that_is_none_is_a_matter_of_usage(dsn: str) -> None:
    """It is no server that does not answer."""
    result = bench("--dsn", dsn, "--yes")
    assert result.exit_code == 2
    assert "mysql://" in result.stderr


def test_a_server_that_does_not_answer_leaves_no_directory(tmp_path: Path) -> None:
    """There is nothing to go on with; without a terminal nobody is asked for a password either."""
    where = tmp_path / "b"
    result = bench("--dsn", f"mysql://dba@127.0.0.1:{free_port()}", "--yes", "--output", str(where))
    assert result.exit_code == 3
    assert "Can't connect" in result.stderr
    assert "trying without one" in result.stderr
    assert not where.exists()


def test_the_password_may_stand_in_an_option_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As for every other command; the command that goes on names it again."""
    file = tmp_path / "my.cnf"
    file.write_text("[client]\nuser=dba\npassword=geheim\n", encoding="utf-8")
    file.chmod(0o600)
    found: list[tuple[str, str]] = []

    def start(self: DsnServer) -> None:
        found.append((self.admin.user, self.admin.password))
        raise LabServerError("gone")

    monkeypatch.setattr(command, "sysbench", lambda: "/usr/bin/sysbench")
    monkeypatch.setattr(DsnServer, "look", lambda _self: None)
    monkeypatch.setattr(DsnServer, "start", start)
    words = ("--dsn", "mysql://127.0.0.1:1", "--yes", "--defaults-file", str(file))
    result = bench(*words, "--output", str(tmp_path / "b"))
    assert found == [("dba", "geheim")]
    assert f"--defaults-file {file}" in result.stderr
    assert "geheim" not in result.output


def test_a_password_is_asked_for_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """At the beginning; no bench of many variants stands waiting for one at night."""
    asked: list[str] = []

    def ask(what: str) -> str:
        asked.append(what)
        return "geheim"

    def start(_self: DsnServer) -> None:
        raise LabServerError("gone")

    monkeypatch.setattr(command, "sysbench", lambda: "/usr/bin/sysbench")
    monkeypatch.setattr(command, "password", ask)
    monkeypatch.setattr(DsnServer, "look", lambda _self: None)
    monkeypatch.setattr(DsnServer, "start", start)
    result = bench("--dsn", "mysql://dba@127.0.0.1:1", "--yes", "--output", str(tmp_path / "b"))
    assert "gone" in result.stderr
    assert asked == ["Password of dba@127.0.0.1:1"]


@pytest.mark.parametrize("further", ["--yes", "--plan"])
def test_a_server_of_ones_own_is_named_as_such(further: str) -> None:
    """By ``--server`` it would be taken without a look at what the suite sets."""
    result = bench("--server", "mysql://dba@127.0.0.1:1", "--suite", "smoke", further)
    assert result.exit_code == 2
    assert "name it as --dsn" in result.stderr


def test_the_plan_of_a_server_of_ones_own_claims_no_limit() -> None:
    """It is taken as it is, disk and redo log too."""
    result = bench("--dsn", "mysql://dba@127.0.0.1:1", "--plan")
    assert "server and disk as they are" in result.output
