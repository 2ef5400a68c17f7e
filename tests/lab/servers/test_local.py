"""A local server's process, from its first start to its end; the program only sleeps."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from lab.servers.base import LabServer
from lab.servers.choose import server_named
from lab.servers.spec import LabServerError

PROGRAM = """#!/bin/sh
for word; do
  case $word in
    --version) echo 'mysqld  Ver 9.7.4 for Linux on x86_64'; exit ;;
    --initialize*) mkdir "$DATA"; exit ;;
  esac
done
echo started
exec sleep 60
"""


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[LabServer]:
    """Yield a server that was started, and never answers."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    program = tmp_path / "mysqld"
    program.write_text(PROGRAM)
    program.chmod(0o755)
    found = server_named(str(program))
    found.start()
    yield found
    found.stop()


def test_a_killed_server_starts_again_on_its_data(server: LabServer) -> None:
    """SIGKILL returns when the process is gone; the next start is on the same port and directory."""
    where = server.port, server.socket
    assert server.alive()
    server.kill()
    assert not server.alive()
    server.start()
    assert (server.alive(), (server.port, server.socket)) == (True, where)


def test_a_frozen_server_is_no_ended_one(server: LabServer) -> None:
    """Only an end is waited for; a process that stands still is there, and can be let on."""
    server.signal(signal.SIGSTOP)
    with pytest.raises(LabServerError, match="mysqld still runs after 0 s"):
        server.wait_gone(0.0)
    server.signal(signal.SIGCONT)
    server.signal(signal.SIGTERM)
    server.wait_gone(5.0)


def test_a_server_that_never_answers_is_said_with_its_log(server: LabServer) -> None:
    """Who waits for it reads what it printed; what it left is gone when it is stopped, twice or not."""
    with pytest.raises(LabServerError, match=r"(?s)did not answer within 0 s.*started"):
        server.wait_ready(0.5)
    assert server.socket is not None
    directory = server.socket.parent
    server.stop()
    server.stop()
    assert not directory.exists()
