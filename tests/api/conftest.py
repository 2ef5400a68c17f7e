"""A board with a loop that answers, and clients to ask it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from fastapi import FastAPI

from api import connections
from tests.api.factory import AnsweringLoop, answering, application
from tuner.daemon.board import Board
from tuner.records import Command


@pytest.fixture
def board() -> Board:
    """Return an empty board."""
    return Board()


@pytest.fixture
def loop(board: Board) -> Iterator[AnsweringLoop]:
    """Run a loop that accepts every command."""
    with answering(board) as found:
        yield found


@pytest.fixture
def app(loop: AnsweringLoop) -> FastAPI:
    """Return the application over a loop that accepts every command."""
    return application(loop.board)


@pytest.fixture
def refusing(board: Board) -> Iterator[AnsweringLoop]:
    """Run a loop that refuses every command."""

    def judge(command: Command) -> str:
        return f"the mode is advisory: no {command.name}"

    with answering(board, judge) as found:
        yield found


@pytest.fixture(autouse=True)
def patient_door(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have as many wait at the door as come: whom the system sends away tries again after a second."""
    monkeypatch.setattr(connections, "BACKLOG", 1024)
