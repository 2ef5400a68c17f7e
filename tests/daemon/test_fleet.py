"""A daemon whose configuration has files of its group."""

from __future__ import annotations

from pathlib import Path

from msgspec.structs import replace

from tests.bench import FakeServer
from tests.daemon.life import Life, told
from tuner.config.load import load_config
from tuner.config.schema import Config, FleetTable
from tuner.daemon.board import Board
from tuner.daemon.daemon import Daemon
from tuner.settings import Mode
from tuner.system.clock import SystemClock
from tuner.system.systemd import Notifier


def beside_group(tmp_path: Path) -> tuple[Path, Board, Daemon]:
    """Return a group's file, and a daemon whose configuration includes it."""
    host, group = tmp_path / "host.toml", tmp_path / "group.toml"
    host.write_text(f'include = "group.toml"\n[daemon]\nstate_directory = "{tmp_path}"\n', encoding="utf-8")
    group.write_text("[fleet]\n", encoding="utf-8")

    board = Board()
    made = Daemon(
        load_config(str(host), environ={}, flags={}),
        FakeServer(),
        SystemClock(),
        board=board,
        notifier=Notifier({}),
        reload=lambda: load_config(str(host), environ={}, flags={}),
    )
    return group, board, made


def asked(board: Board) -> list[tuple[str, object]]:
    """Return what a daemon asked its loop for since."""
    return [(one.name, one.value) for one in board.commands.take()]


def test_a_changed_file_of_the_group_is_read_without_a_signal(tmp_path: Path) -> None:
    """Once two looks find the group's file changed, the configuration is read again, and only then."""
    group, board, made = beside_group(tmp_path)
    made._reload_changed()
    assert not asked(board)

    group.write_text("[fleet]\npaused = true\n", encoding="utf-8")
    for _ in range(4):
        made._reload_changed()
    assert asked(board) == [("settings", None), ("fleet", 1)]


def test_a_file_that_is_being_written_is_not_read(tmp_path: Path) -> None:
    """The beginning of a group's file, which says neither pause nor stage, is not taken for the whole."""
    group, board, made = beside_group(tmp_path)
    for content in ("", "[fleet]\n", "[fleet]\npaused = true\n"):
        group.write_text(content, encoding="utf-8")
        made._reload_changed()
        assert not asked(board)

    made._reload_changed()
    assert ("fleet", 1) in asked(board)


def test_a_change_while_the_files_are_read_is_not_lost(tmp_path: Path) -> None:
    """What is written after a file was read and before the reload ends is read at a later look."""
    group, board, made = beside_group(tmp_path)
    read = made._read_again

    def slowly() -> Config:
        made._read_again = read
        found = read()
        group.write_text("[fleet]\npaused = true\n", encoding="utf-8")
        return found

    made._read_again = slowly
    made._reload()
    assert ("fleet", 1) not in asked(board)

    for _ in range(2):
        made._reload_changed()
    assert ("fleet", 1) in asked(board)


def test_a_daemon_of_a_paused_group_starts_paused_and_goes_on_by_itself(active: Life) -> None:
    """The kill switch holds for a daemon that starts, and a reload without it is enough to go on."""
    going = active.config
    active.config = replace(going, fleet=FleetTable(paused=True))
    active.loaded.content = going
    active.through(5, "SIGHUP", lambda: not active.records[-1].holds)

    assert told(active, "paused")
    assert {record.mode for record in active.records} == {Mode.ACTIVE}


def test_a_stage_that_grows_makes_a_daemon_active(active: Life) -> None:
    """Below its stage an active configuration is advisory; the group's next percentage changes that."""
    active.config = replace(active.config, fleet=FleetTable(active_percent=0.0))
    active.loaded.content = replace(active.config, fleet=FleetTable(active_percent=100.0))
    active.through(5, "SIGHUP", lambda: active.records[-1].mode is Mode.ACTIVE)

    assert active.records[3].mode is Mode.ADVISORY
