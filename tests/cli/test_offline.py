"""What the client's commands do where no daemon answers, or another one does."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from click.testing import Result
from msgspec.structs import replace

from api.server import ApiServer
from api.token import token_sha256
from tests.api.factory import FACTS, answering, application
from tests.cli.support import FakeServer, write_journal
from tuner.board import Board
from tuner.cli import offline
from tuner.records import Capacity, Facts

Run = Callable[..., Result]


def test_status_without_a_daemon_comes_from_the_journal(folder: Path, run: Run) -> None:
    """Without a daemon status shows the last tick on disk, and says that it is that."""
    write_journal(folder)

    result = run("status")
    found = json.loads(run("status", "--json").output)

    assert result.exit_code == 0, result.output
    assert "not reachable" in result.output.splitlines()[0]
    assert FACTS.version in result.output
    assert (found["source"], found["tick"], found["process"]) == ("journal", 1, None)


def test_nothing_to_ask_names_what_was_tried(folder: Path, run: Run) -> None:
    """With neither daemon nor journal the exit code is 3, and the message names the socket and the folder."""
    result = run("status")

    assert result.exit_code == 3
    assert "the daemon cannot be reached" in result.output
    assert str(folder / "api.sock") in result.output


def test_restore_without_a_daemon_uses_the_journal(
    folder: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a daemon restore puts the journal's originals back itself, and says each step."""
    write_journal(folder, originals=Capacity(250, 500))
    server = FakeServer(FACTS)
    monkeypatch.setattr(offline, "real_server", lambda _config, _clock: server)

    result = run("restore")

    assert result.exit_code == 0, result.output
    assert "restored C 250, M 500" in result.output
    assert server.capacity == Capacity(250, 500)
    assert server.closed


def test_restore_leaves_a_restarted_server_alone(
    folder: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server that was restarted since runs with its own values already: nothing is written."""
    write_journal(folder, originals=Capacity(250, 500))
    server = FakeServer(replace(FACTS, started=FACTS.started + 3600.0))
    monkeypatch.setattr(offline, "real_server", lambda _config, _clock: server)

    result = run("restore", "--json")

    assert result.exit_code == 0
    assert "nothing to restore" in json.loads(result.stdout)["message"]
    assert server.capacity == Capacity(225, 450)


@pytest.mark.parametrize(
    "case",
    [
        (None, 3, "the server cannot be reached"),
        (replace(FACTS, identity="another"), 1, "has no originals of"),
    ],
)
def test_restore_without_a_daemon_says_who_is_missing(
    folder: Path, run: Run, monkeypatch: pytest.MonkeyPatch, case: tuple[Facts | None, int, str]
) -> None:
    """A server that does not answer, or is another one, is named, and nothing is written."""
    write_journal(folder, originals=Capacity(250, 500))
    facts, code, said = case
    server = FakeServer(facts)
    monkeypatch.setattr(offline, "real_server", lambda _config, _clock: server)

    result = run("restore")

    assert result.exit_code == code
    assert said in result.output
    assert server.capacity == Capacity(225, 450)
    assert server.closed


def test_restore_without_originals_says_so(folder: Path, run: Run) -> None:
    """Where no daemon ever wrote there is nothing to restore, and the message says where it looked."""
    write_journal(folder)

    result = run("restore")

    assert result.exit_code == 3
    assert "holds no originals" in result.output


def test_named_daemon_has_no_stand_in(folder: Path, run: Run) -> None:
    """When a certain daemon is named, neither the journal nor another daemon answers for it."""
    write_journal(folder)

    result = run("status", "--socket", str(folder / "other.sock"))

    assert result.exit_code == 3
    assert "other.sock" in result.output


@pytest.fixture
def stranger() -> Iterator[tuple[int, list[bytes]]]:
    """Listen on a free port as any account could while the daemon is down; note what is sent there."""
    heard: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def listen() -> None:
            while True:
                try:
                    caller, _ = listener.accept()
                except OSError:
                    return
                with caller:
                    heard.append(caller.recv(65_536))

        thread = threading.Thread(target=listen)
        thread.start()
        yield int(listener.getsockname()[1]), heard
        listener.shutdown(socket.SHUT_RDWR)
        thread.join()


def test_no_stranger_is_sent_the_token(
    folder: Path, run: Run, stranger: tuple[int, list[bytes]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """While the daemon is down a change does not reach whoever took its port, and exits 3."""
    port, heard = stranger
    (folder / "token").write_text("x" * 43)
    monkeypatch.setenv("INNOBRIM_API_PORT", str(port))

    result = run("pause")

    assert result.exit_code == 3
    assert "api.sock" in result.output
    assert "with --url only" in result.output
    assert heard == []


def test_a_daemon_without_a_socket_is_changed_over_tcp(
    folder: Path, run: Run, stranger: tuple[int, list[bytes]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the configuration wants no unix socket, a change goes over TCP with the token."""
    port, heard = stranger
    (folder / "token").write_text("x" * 43)
    monkeypatch.setenv("INNOBRIM_API_PORT", str(port))
    monkeypatch.setenv("INNOBRIM_API_SOCKET", "-")

    run("pause")

    assert b"bearer " + b"x" * 43 in heard[0].lower()


def test_tcp_uses_the_token_of_the_state_directory(folder: Path, run: Run) -> None:
    """Over TCP a change carries the token file's token; with another token it exits 2."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    wrong = folder / "wrong"
    wrong.write_text("x" * 43)
    board = Board()
    with answering(board) as loop:
        serving = ApiServer(application(board, token_sha256=token_sha256(folder)), "127.0.0.1", port, None)
        serving.start()
        url = f"http://127.0.0.1:{port}"
        good = run("pause", "--url", url)
        refused = run("resume", "--url", url, "--token-file", str(wrong))
        missing = run("resume", "--url", url, "--token-file", str(folder / "none"))
        serving.stop(timeout=2.0)

    assert good.exit_code == 0, good.output
    assert (refused.exit_code, missing.exit_code) == (2, 2)
    assert "not this daemon's" in refused.output
    assert "--token-file" in missing.output
    assert [command.name for command in loop.commands] == ["pause"]
