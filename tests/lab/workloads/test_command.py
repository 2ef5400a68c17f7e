"""The load's command line: what sysbench is told, and what nobody else may read there."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from lab.servers.spec import Account, LabServerError
from lab.workloads import sysbench
from lab.workloads.load import KINDS, Load
from lab.workloads.sysbench import SCRIPTS, command, environment, password_option, prepare
from tests.lab.workloads.support import no_server


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pretend that every program is installed."""
    monkeypatch.setattr("shutil.which", lambda name: f"/usr/bin/{name}")


@pytest.mark.usefixtures("installed")
def test_the_socket_is_preferred_over_tcp() -> None:
    """A load goes over the unix socket where there is one."""
    assert "--mysql-port=3307" in command(no_server(), Load(), "run")
    over_socket = command(no_server(socket=Path("/run/lab/s")), Load(), "run")
    assert "--mysql-socket=/run/lab/s" in over_socket
    assert not any(one.startswith("--mysql-port") for one in over_socket)


@pytest.mark.usefixtures("installed")
def test_the_load_dies_with_its_owner() -> None:
    """No load outlives a bench that was killed."""
    line = command(no_server(), Load(), "prepare")
    assert line.index("setpriv") < line.index("/usr/bin/sysbench")
    assert line[-1] == "prepare"


@pytest.mark.parametrize(
    ("distribution", "expected"),
    [
        ("uniform", ["--rand-type=uniform"]),
        ("special", ["--rand-type=special"]),
        ("zipf", ["--rand-type=uniform", "--zipf-exponent=0.8"]),
    ],
)
@pytest.mark.usefixtures("installed")
def test_the_distribution_is_passed_on(
    distribution: str,
    expected: list[str],
) -> None:
    """The rows are drawn as the load says; zipf by our own sampler."""
    line = command(no_server(), Load(distribution=distribution), "run")  # type: ignore[arg-type]  # one of its words
    assert [one for one in line if "rand-type" in one or "zipf" in one] == expected


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.usefixtures("installed")
def test_every_kind_has_its_script(kind: str) -> None:
    """Each kind of load that can be chosen can be run."""
    words = command(no_server(), Load(kind=kind), "run")
    script = words[words.index("/usr/bin/sysbench") + 1]
    assert Path(script).is_file()
    assert Path(script).parent == SCRIPTS
    assert environment()["LUA_PATH"].startswith(f"{SCRIPTS}/?.lua;")


def test_a_missing_sysbench_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who lacks sysbench reads which package to install."""
    monkeypatch.setattr("shutil.which", lambda _name: None)
    with pytest.raises(LabServerError, match="install the package sysbench"):
        command(no_server(), Load(), "run")


@pytest.mark.parametrize("password", ["plain", "with blank # and , signs", 'a "quoted" one', "it's"])
@pytest.mark.usefixtures("installed")
def test_the_password_is_on_no_command_line(password: str) -> None:
    """Nobody who lists the machine's processes reads the server's password."""
    server = no_server(admin=Account("load", password))
    assert not any(password in one for one in command(server, Load(), "run"))
    with password_option(server) as descriptor:
        told = os.read(descriptor, 4096).decode()
    assert password in told
    assert told.startswith("mysql-password=")


@pytest.mark.parametrize("password", ["both ' and \"", "two\nlines"])
def test_a_password_that_sysbench_cannot_read_is_refused(password: str) -> None:
    """A password that would be misread is refused by the account's name, and is not shown."""
    with (
        pytest.raises(LabServerError, match="password of load cannot be handed") as refused,
        password_option(no_server(admin=Account("load", password))),
    ):
        pass
    assert password not in str(refused.value)


class Asked:
    """A server that notes what it is told to set; ``has`` is its own fill factor."""

    def __init__(self, has: str | None) -> None:
        self.has = has
        self.done: list[str] = []

    def query(self, statement: str) -> list[tuple[str, str]]:
        if statement.startswith("SET"):
            self.done.append(statement.rpartition(" = ")[2])
        return [("innodb_fill_factor", self.has)] if self.has else []


@pytest.mark.parametrize(
    ("has", "factor", "done"), [("100", 70, ["70", "filled", "100"]), (None, None, ["filled"])]
)
def test_tables_are_filled_as_they_are_after_long_use(
    monkeypatch: pytest.MonkeyPatch, has: str | None, factor: int | None, done: list[str]
) -> None:
    """Else the first hour measures pages that split; the server's own setting is back before the load."""
    server = Asked(has)
    monkeypatch.setattr(sysbench, "discard", lambda *_: None)
    monkeypatch.setattr(sysbench, "_finish", lambda *_: server.done.append("filled"))

    assert prepare(server, Load()) == factor  # type: ignore[arg-type] # all that is asked of one
    assert server.done == done
