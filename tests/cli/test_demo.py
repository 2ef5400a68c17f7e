"""The demo says where it is once it is there, and tries that first of all."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest
from click.testing import CliRunner

from tuner.board import PortTaken
from tuner.cli import demo as demo_command
from tuner.cli.main import cli


def test_a_taken_port_is_said_before_a_server_is_looked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is started for a demo that could not be looked at, and no address is named."""
    monkeypatch.setattr(demo_command, "choose", lambda **_: pytest.fail("a server was looked for"))
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        found = CliRunner().invoke(cli, ["demo", "--port", port], prog_name="innobrim")

    assert found.exit_code == 2
    assert f"port {port} on 127.0.0.1 is taken" in found.stderr
    assert "name a free one with --port" in found.stderr
    assert "http://" not in found.stdout


def test_the_address_is_said_when_it_is_served(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The address comes after the port is listened on; where it was taken meanwhile, never."""
    said: list[str] = []

    class Serving:
        """Listens, or cannot any more."""

        def __init__(self, *, taken: bool) -> None:
            self._taken = taken

        def start(self) -> None:
            if self._taken:
                raise PortTaken("127.0.0.1", 8633)
            said.append(capsys.readouterr().out)

        def reload(self) -> None:
            """Have nothing to read."""

        def stop(self, timeout: float) -> bool:
            """Have nothing to stop."""
            return timeout > 0.0

    with pytest.raises(PortTaken):
        demo_command.Announced(Serving(taken=True), 8633, tmp_path).start()
    assert capsys.readouterr().out == ""

    demo_command.Announced(Serving(taken=False), 8633, tmp_path).start()

    assert said == [""]
    assert "page: http://127.0.0.1:8633/ " in capsys.readouterr().out
