"""The daemon's TCP port, where anybody may listen."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
from click.testing import Result
from msgspec.structs import replace

from tests.api.factory import FACTS, AnsweringLoop, answering
from tests.cli.support import FakeServer, ended, on_tcp, write_journal
from tuner.cli import offline
from tuner.cli.client import DaemonClient, Where
from tuner.daemon.board import Board
from tuner.records import Capacity

Run = Callable[..., Result]


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


class OtherProgram(BaseHTTPRequestHandler):
    """Answers every request with 501, as a web server does that is no daemon."""

    def log_message(self, *_: object) -> None:
        """Keep quiet."""


@pytest.fixture(params=["another daemon", "one without a server", "another program", "one that hangs up"])
def intruder(
    request: pytest.FixtureRequest,
    tmp_path: Path,
    stranger: tuple[int, list[bytes]],
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[tuple[str, str]]:
    """Have somebody else on the daemon's port; return how that is named."""
    with contextlib.ExitStack() as stack:
        port, said = stranger[0], "it does not answer"
        if request.param == "another program":
            server = stack.enter_context(HTTPServer(("127.0.0.1", 0), OtherProgram))
            thread = threading.Thread(target=server.serve_forever)
            thread.start()
            stack.callback(thread.join)
            stack.callback(server.shutdown)
            port, said = server.server_port, "it answers GET /v1/config with 501"
        elif request.param != "one that hangs up":
            board = Board()
            if request.param == "another daemon":
                stack.enter_context(answering(board))
            port = stack.enter_context(on_tcp(tmp_path, board))
            said = f"the daemon of another state directory, '{tmp_path}'"
        monkeypatch.setenv("INNOBRIM_API_PORT", str(port))
        yield f"http://127.0.0.1:{port}: ", said


def test_somebody_else_on_the_port_is_no_daemon_here(
    folder: Path, run: Run, intruder: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever has the default port, status and restore name it and go by the state directory's journal."""
    write_journal(folder, originals=Capacity(250, 500))
    server = FakeServer(replace(FACTS, unseen=("latency",)))
    monkeypatch.setattr(offline, "real_server", lambda *_, **__: server)

    status, restored = run("status", "--json"), run("restore")

    assert json.loads(status.stdout)["source"] == "journal"
    assert restored.exit_code == 0, restored.output
    assert server.capacity == Capacity(250, 500)
    for result in (status, restored):
        assert all(part in result.stderr for part in intruder)


def test_the_daemon_of_the_state_directory_is_found_on_its_port(
    folder: Path, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a unix socket status asks the port, where the daemon may know its directory by another name."""
    link = tmp_path / "link"
    link.symlink_to(folder)
    board = Board()
    with answering(board), on_tcp(link, board) as port:
        monkeypatch.setenv("INNOBRIM_API_PORT", str(port))
        found = run("status", "--json")

    assert json.loads(found.stdout)["source"] == "daemon"


def test_no_stranger_is_sent_the_token(
    folder: Path, run: Run, stranger: tuple[int, list[bytes]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """While the daemon is down a change does not reach whoever took its port, and exits 3."""
    port, heard = stranger
    (folder / "token").write_text("x" * 43)
    monkeypatch.setenv("INNOBRIM_API_PORT", str(port))

    ended(run("pause"), 3, "api.sock", "with --url only")
    assert heard == []


def test_a_daemon_without_a_socket_is_changed_over_tcp(
    run: Run, over_tcp: tuple[AnsweringLoop, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the configuration wants no unix socket, a change goes over TCP with the token."""
    monkeypatch.setenv("INNOBRIM_API_SOCKET", "-")
    monkeypatch.setenv("INNOBRIM_API_PORT", str(over_tcp[1]))

    ended(run("pause"), 0)
    assert [command.name for command in over_tcp[0].commands] == ["pause"]


def test_no_stranger_is_sent_the_token_in_the_place_of_a_socket(
    folder: Path, run: Run, stranger: tuple[int, list[bytes]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where changes go over TCP, only a daemon of this state directory gets the token."""
    port, heard = stranger
    (folder / "token").write_text("x" * 43)
    monkeypatch.setenv("INNOBRIM_API_PORT", str(port))
    monkeypatch.setenv("INNOBRIM_API_SOCKET", "-")

    assert run("pause").exit_code == 3
    assert b"x" * 43 not in b"".join(heard)


def test_tcp_uses_the_token_of_the_state_directory(
    folder: Path, run: Run, over_tcp: tuple[AnsweringLoop, int]
) -> None:
    """Over TCP a change carries the token file's token; with another token it exits 2."""
    (folder / "wrong").write_text("x" * 43)
    url = ("--url", f"http://127.0.0.1:{over_tcp[1]}")

    ended(run("pause", *url), 0)
    ended(run("resume", *url, "--token-file", str(folder / "wrong")), 2, "not this daemon's")
    ended(run("resume", *url, "--token-file", str(folder / "none")), 2, "--token-file")
    assert [command.name for command in over_tcp[0].commands] == ["pause"]


def test_a_daemon_that_needs_a_token_for_reading_is_read_with_it(
    run: Run, over_tcp: tuple[AnsweringLoop, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """With --url a daemon that shows nothing without a token is asked again with it; others are not."""
    run("token", "revoke", "anonymous")
    named = run("status", "--json", "--url", f"http://127.0.0.1:{over_tcp[1]}")

    assert json.loads(named.stdout)["source"] == "daemon"
    monkeypatch.setenv("INNOBRIM_API_PORT", str(over_tcp[1]))
    ended(run("status", "--json"), 3, "401")


def asked(folder: Path, url: str, token_file: str | None) -> DaemonClient:
    """Return the daemon at a URL."""
    return DaemonClient(Where(url, None, token_file, config_path=None, state_directory=str(folder)))


@pytest.mark.parametrize(
    ("url", "named", "sent"),
    [
        ("http://db1.example.com:8633", "", ""),
        ("http://db1.example.com:8633", "token", "x" * 43),
        ("https://db1.example.com:8633", "", "x" * 43),
        ("http://127.0.0.1:8633", "", "x" * 43),
    ],
)
def test_no_token_goes_to_another_machine_in_the_clear(
    tmp_path: Path, url: str, named: str, sent: str
) -> None:
    """Without encryption another machine is sent a token only where its file is named."""
    (tmp_path / "token").write_text("x" * 43)
    token, why = asked(tmp_path, url, str(tmp_path / named) if named else None)._token(url)

    assert (token or "") == sent
    assert sent or "--token-file" in why


@pytest.mark.parametrize("words", ["two words", "line\nline", "\x01", "\u00fc", ""], ids=repr)
def test_a_file_without_a_token_is_named(tmp_path: Path, words: str) -> None:
    """What is no one word is no token: nothing of it becomes a header, and the file is named."""
    (tmp_path / "token").write_text(words, encoding="utf-8")
    url = "http://127.0.0.1:8633"
    for file in (None, str(tmp_path / "token")):
        assert asked(tmp_path, url, file)._token(url) == (None, f"{tmp_path / 'token'} holds no token")
