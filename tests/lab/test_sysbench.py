"""The load: its report lines and its command line."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import pytest

from lab.servers.base import Account, LabServer, LabServerError
from lab.workloads import sysbench

LINE = (
    "[ 7s ] thds: 16 tps: 2828.51 qps: 2828.51 (r/w/o: 0.00/2828.51/0.00)"
    " lat (ms,95%): 9.39 err/s: 0.25 reconn/s: 0.00"
)


@dataclass
class FakeServer:
    host: str = "127.0.0.1"
    port: int = 3307
    socket: Path | None = None
    admin: Account = field(default_factory=lambda: Account("load"))

    def sysbench_login(self) -> list[str]:
        return [f"--mysql-user={self.admin.user}"]


def command(server: FakeServer, action: str) -> list[str]:
    typed: LabServer = server  # type: ignore[assignment]  # only the address is looked at
    return sysbench.command(typed, sysbench.Load(), action)


def test_a_report_line_becomes_a_second() -> None:
    second = sysbench.parse_second(LINE, 12.5)
    assert second is not None
    assert second.monotonic == 12.5
    assert second.commits == 2828.51
    assert second.latency == pytest.approx(0.00939)
    assert second.errors == 0.25


@pytest.mark.parametrize(
    "line", ["", "Threads started!", "FATAL: mysql_drv_query() returned error 2013", "[ 7s ] thds:"]
)
def test_any_other_line_is_none(line: str) -> None:
    assert sysbench.parse_second(line, 0.0) is None


def test_the_socket_is_preferred_over_tcp(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.which", lambda name: f"/usr/bin/{name}")
    assert "--mysql-port=3307" in command(FakeServer(), "run")
    over_socket = command(FakeServer(socket=Path("/run/lab/s")), "run")
    assert "--mysql-socket=/run/lab/s" in over_socket
    assert not any(one.startswith("--mysql-port") for one in over_socket)


def test_the_load_is_uniform_and_dies_with_its_owner(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.which", lambda name: f"/usr/bin/{name}")
    line = command(FakeServer(), "prepare")
    assert "--rand-type=uniform" in line
    assert line.index("setpriv") < line.index("/usr/bin/sysbench")
    assert line[-1] == "prepare"


def test_a_missing_sysbench_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.which", lambda _name: None)
    with pytest.raises(LabServerError, match="install the package sysbench"):
        command(FakeServer(), "run")
