"""What the journal says of a daemon's end: in order, or one that leaves something to be done in its place."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.daemon.life import Life
from tests.factory import LOADED
from tuner.journal.ending import ending
from tuner.records import LOWEST_ABOVE_ZERO, Missed, Sample
from tuner.settings import Mode, Settings


def ended_in_order(directory: Path) -> bool:
    """Return what the next reader of the journal believes."""
    found = ending(directory)
    assert found is not None
    return found.orderly


def lived(directory: Path, on_stop: str = "park") -> Life:
    """Return a daemon in active mode that has not begun to live."""
    return Life(directory, Settings(mode=Mode.ACTIVE), on_stop)


def tightly(life: Life) -> None:
    """Wait until M is as low as the load allows."""
    life.wait(lambda: life.server.capacity.io_capacity_max < LOADED)


def test_a_daemon_that_parked_ended_in_order(tmp_path: Path) -> None:
    """After SIGTERM nothing is left to be done."""
    life = lived(tmp_path)
    life.live(lambda: tightly(life))

    assert ended_in_order(tmp_path)


@pytest.mark.parametrize(("on_stop", "orderly"), [("park", False), ("leave", True)])
def test_a_park_that_could_not_be_written_is_left_to_others(
    tmp_path: Path, on_stop: str, *, orderly: bool
) -> None:
    """Stopped while the server does not answer, a daemon that should have parked has not ended in order."""
    life = lived(tmp_path, on_stop)

    def script() -> None:
        tightly(life)
        life.server.down = "did not answer within 1 s"
        life.wait_for_ticks(3)

    life.live(script)

    assert ended_in_order(tmp_path) == orderly


@pytest.mark.parametrize(("on_stop", "orderly"), [("park", False), ("leave", True)])
def test_a_park_without_an_estimate_is_left_to_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, on_stop: str, *, orderly: bool
) -> None:
    """Stopped at readings that give no estimate, a daemon that should have parked has not ended in order."""
    life = lived(tmp_path, on_stop)
    read = life.server.read

    def backwards() -> Sample | Missed:
        life.server.lsn -= 50e6
        life.server.oldest -= 50e6
        return read()

    def script() -> None:
        tightly(life)
        monkeypatch.setattr(life.server, "read", backwards)
        life.wait_for_ticks(3)

    life.live(script)

    assert life.records[-1].decision.reason == "no_estimate"
    assert ended_in_order(tmp_path) == orderly


def test_a_park_that_was_refused_is_left_to_others(tmp_path: Path) -> None:
    """Stopped while the server refuses every write, a daemon has not ended in order."""
    life = lived(tmp_path)

    def script() -> None:
        tightly(life)
        life.server.refusal = "access denied"

    life.live(script)

    assert not ended_in_order(tmp_path)


@pytest.mark.parametrize("on_stop", ["park", "leave"])
@pytest.mark.parametrize("mark", [None, 0], ids=["no mark", "ours"])
def test_a_low_water_mark_that_could_not_go_back_is_left_to_others(
    tmp_path: Path, mark: int | None, on_stop: str
) -> None:
    """Stopped on a server that takes no writes, a daemon whose mark is in force has not ended in order."""
    life = Life(tmp_path, Settings(mode=Mode.ACTIVE, low_water_mark=True), on_stop)
    life.server.mark = mark

    def script() -> None:
        tightly(life)
        life.wait(lambda: life.server.mark in {None, LOWEST_ABOVE_ZERO})
        life.server.shows = {"read_only": True}
        life.wait_for_ticks(3)

    life.live(script)

    assert ended_in_order(tmp_path) == (mark is None or on_stop == "leave")
