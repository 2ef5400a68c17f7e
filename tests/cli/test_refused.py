"""Commands on a server that answers and cannot be used."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.cli.support import FakeServer
from tuner.cli import advise as advise_command
from tuner.cli import check as check_command
from tuner.cli import run as run_command
from tuner.cli.main import cli
from tuner.records import Facts
from tuner.servers.port import ServerError, Unsupported


class RefusingServer(FakeServer):
    """A server that answers, and says no."""

    enables_counters = False

    def __init__(self, refusal: ServerError) -> None:
        super().__init__(None)
        self._refusal = refusal

    def facts(self) -> Facts:
        """Refuse."""
        raise self._refusal


@pytest.fixture(autouse=True)
def _signals_as_they_were() -> Iterator[None]:
    numbers = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
    before = {number: signal.getsignal(number) for number in numbers}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.parametrize("words", [("run", "--no-api"), ("check",), ("advise",)], ids=lambda words: words[0])
@pytest.mark.parametrize(
    "refusal",
    [
        Unsupported("innobrim@s may not look at what is needed (denied)"),
        ServerError("SET GLOBAL innodb_monitor_enable = 'module_log': denied"),
    ],
)
def test_a_missing_grant_ends_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], refusal: ServerError
) -> None:
    """An account without a grant ends each command with the server's words and exit 1, not a traceback."""
    server = RefusingServer(refusal)
    monkeypatch.setattr(run_command, "MySQLServer", lambda *_, **__: server)
    monkeypatch.setattr(run_command, "configure_logs", lambda **_: None)
    for module in (check_command, advise_command):
        monkeypatch.setattr(module, "real_server", lambda *_: server)

    result = CliRunner().invoke(cli, [*words, "--state-directory", str(tmp_path)])

    assert result.exit_code == 1
    assert isinstance(result.exception, SystemExit)
    assert sum(str(refusal) in line for line in result.output.splitlines()) == 1
    assert server.closed
