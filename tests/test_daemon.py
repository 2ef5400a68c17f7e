"""The daemon around the loop."""

from __future__ import annotations

from pathlib import Path

from msgspec.structs import replace
from structlog.testing import capture_logs

from tests.cli.test_client import FakeServer
from tuner.board import Board
from tuner.clock import SystemClock
from tuner.config.schema import ApiSection, Config, DaemonSection
from tuner.daemon import BoardInbox, Daemon
from tuner.records import Command
from tuner.settings import Settings
from tuner.systemd import Notifier


def test_the_loop_wakes_for_a_command_and_takes_all_that_came() -> None:
    """A command ends the loop's wait at once, and none that came with it waits for the next tick."""
    board, clock = Board(), SystemClock()
    board.submit(Command(name="pause", who="test"))
    board.submit(Command(name="resume", who="test"))
    began = clock.monotonic()

    found = BoardInbox(board, clock).take(until=began + 60.0)

    assert [command.name for command in found] == ["pause", "resume"]
    assert clock.monotonic() - began < 5.0


def test_a_reload_changes_only_what_takes_effect(tmp_path: Path) -> None:
    """After SIGHUP the configuration shown is the one in force; each reload names what needs a restart."""
    old = Config(daemon=DaemonSection(state_directory=str(tmp_path)))
    new = Config(
        loop=Settings(dwell_seconds=20.0),
        daemon=DaemonSection(state_directory=str(tmp_path), interval=2.0, on_stop="leave"),
        api=ApiSection(port=9000),
    )
    board = Board()
    daemon = Daemon(
        old, FakeServer(None), SystemClock(), board=board, notifier=Notifier({}), reload=lambda: new
    )
    for chore in ("reload", "reload", "end"):
        daemon._chores.put(chore)

    with capture_logs() as said:
        daemon._do_chores()

    assert daemon.config == replace(old, loop=new.loop, daemon=replace(old.daemon, on_stop="leave"))
    assert [line["keys"] for line in said if "keys" in line] == [["daemon.interval", "api.port"]] * 2
    assert board.inbox.get_nowait().settings == new.loop
