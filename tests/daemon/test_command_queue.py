"""The loop's wait: it ends with what comes and at its deadline, whatever signals do meanwhile."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator

import pytest

from tuner.daemon.board import Board, BoardInbox
from tuner.records import Command
from tuner.system.clock import SystemClock

WAIT = 0.2
"""Seconds that a wait of these tests may take."""

NEVER = 10.0
"""Seconds after which a wait that nothing ended is ended by the test."""


def command(name: str) -> Command:
    """Return a command of that name."""
    return Command(name=name, who="test")


@pytest.fixture
def late(board: Board) -> Iterator[None]:
    """End a wait that would never end: with a command that no test expects."""
    timer = threading.Timer(NEVER, lambda: board.commands.put(command("too late")))
    timer.start()
    yield
    timer.cancel()


@pytest.fixture
def board() -> Board:
    """Return an empty board."""
    return Board()


@pytest.mark.usefixtures("late")
def test_a_signal_at_the_end_of_a_wait_does_not_make_it_endless(board: Board) -> None:
    """A tick comes at its time though a SIGHUP is handled just then: the loop does not wait for a command."""
    until = time.monotonic() + WAIT

    def past_the_deadline(_number: int, _frame: object) -> None:
        while time.monotonic() < until:
            pass

    saved = signal.signal(signal.SIGHUP, past_the_deadline)
    threading.Timer(WAIT / 2, lambda: os.kill(os.getpid(), signal.SIGHUP)).start()
    try:
        found = BoardInbox(board, SystemClock()).take(until=until)
    finally:
        signal.signal(signal.SIGHUP, saved)

    assert found == ()


@pytest.mark.usefixtures("late")
def test_a_command_from_a_signal_handler_ends_the_wait(board: Board) -> None:
    """What a handler puts while the loop waits is answered at once, not at the next tick."""
    saved = signal.signal(signal.SIGHUP, lambda *_: board.commands.put(command("stop")))
    threading.Timer(WAIT / 2, lambda: os.kill(os.getpid(), signal.SIGHUP)).start()
    try:
        found = BoardInbox(board, SystemClock()).take(until=time.monotonic() + 2 * NEVER)
    finally:
        signal.signal(signal.SIGHUP, saved)

    assert [one.name for one in found] == ["stop"]


@pytest.mark.usefixtures("late")
def test_what_was_taken_wakes_nobody_again(board: Board) -> None:
    """After commands were taken the next wait lasts until its deadline, and brings none of them again."""
    board.commands.put(command("pause"))
    board.commands.put(command("resume"))
    inbox = BoardInbox(board, SystemClock())
    until = time.monotonic() + WAIT

    first = inbox.take(until=until)
    second = inbox.take(until=until)

    assert [one.name for one in first] == ["pause", "resume"]
    assert second == ()
    assert time.monotonic() >= until
