"""A state directory, a command line and a daemon that answers, for every test of the commands."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from click.testing import Result
from msgspec.structs import replace

from api.server import ApiServer
from tests.api.factory import FACTS, AnsweringLoop, answering, application
from tests.cli.support import FakeServer, Run, innobrim, on_tcp
from tuner import without_daemon
from tuner.cli import offline
from tuner.core.writes import restore_pace
from tuner.daemon.board import Board
from tuner.records import Facts

KNOWN = replace(FACTS, flush_law="legacy")
"""A server whose flush law the daemon knows."""


@pytest.fixture
def over_tcp(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[AnsweringLoop, int]]:
    """Serve the API of the state directory's daemon over TCP alone, with tokens that count at once."""
    monkeypatch.setattr("api.tokens.LOOK_SECONDS", 0.0)
    board = Board()
    with answering(board) as loop, on_tcp(folder, board) as port:
        yield loop, port


@pytest.fixture
def signals() -> Iterator[None]:
    """Leave signals as they were, whatever a command did to them."""
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let two readings be enough for a command without a daemon, and a moment for what it waits for."""
    for name in ("READ_SECONDS", "WAIT_SECONDS", "INTERVAL", "LOOK_SECONDS"):
        monkeypatch.setattr(without_daemon, name, 0.01)
    monkeypatch.setattr(without_daemon, "NOTE_SECONDS", 0.3)  # where no note can be written
    monkeypatch.setattr(restore_pace, "STEP_SECONDS", 0.01)
    monkeypatch.setattr(offline, "WAIT_SECONDS", 0.01)
    monkeypatch.setattr(offline, "RETRY_SECONDS", 0.01)


@pytest.fixture
def folder(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a state directory with a short path; nothing listens on TCP."""
    monkeypatch.setenv("INNOBRIM_API_PORT", "0")
    return tmp_path_factory.mktemp("s")


@pytest.fixture
def run(folder: Path) -> Run:
    """Return a way to run a command on that state directory."""

    def invoke(*words: str) -> Result:
        return innobrim(*words, "--state-directory", folder)

    return invoke


@pytest.fixture
def daemon(folder: Path) -> Iterator[AnsweringLoop]:
    """Serve the API on the state directory's socket, over a loop that accepts everything."""
    board = Board()
    with answering(board) as loop:
        serving = ApiServer(application(board), "127.0.0.1", 0, folder / "api.sock")
        serving.start()
        yield loop
        serving.stop(timeout=2.0)


@pytest.fixture
def put_server(monkeypatch: pytest.MonkeyPatch) -> Callable[..., FakeServer]:
    """Return a way to put a server where a command without a daemon connects to."""

    def put(facts: Facts | None = KNOWN) -> FakeServer:
        server = FakeServer(facts)
        monkeypatch.setattr(offline, "real_server", lambda *_, **__: server)
        return server

    return put
