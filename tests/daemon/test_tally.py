"""What the daemon counts about itself while it lives."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from lab.plant.clock import SimClock
from tests.daemon.life import Life
from tuner.daemon.board import Board, BoardInbox
from tuner.settings import Mode, Settings


def test_a_tick_lasts_from_one_wait_to_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the loop does between two waits counts, and the waits do not."""
    clock, board = SimClock(), Board()

    def wait(timeout: float) -> tuple[()]:
        clock.advance_to(clock.monotonic() + timeout)
        return ()

    monkeypatch.setattr(board.commands, "take", wait)
    inbox = BoardInbox(board, clock)
    for busy in (0.25, 0.5):
        clock.advance_to(clock.monotonic() + busy)
        inbox.take(until=clock.monotonic() + 4.0)

    assert board.tally().ticking.total == 0.75


def test_a_daemon_times_each_tick_and_knows_when_each_stage_worked(tmp_path: Path) -> None:
    """In active mode, up to its first write; the journal on the machine's clock."""
    life = Life(tmp_path, Settings(mode=Mode.ACTIVE))
    began = time.time()

    def script() -> None:
        life.wait_for_write()
        life.wait(lambda: "journal" in life.board.tally().success)

    life.live(script)
    tally = life.board.tally()

    assert sum(tally.ticking.counts) in {tally.ticks - 1, tally.ticks}
    assert sum(tally.reading.counts) == tally.ticks - tally.missed
    assert sum(tally.setting.counts) == tally.changes + tally.failures > 0
    assert set(tally.success) == {"sample", "decide", "write", "journal"}
    assert began <= tally.success["journal"] <= time.time()
