"""What the journal says of a daemon's end: in order, or one that leaves something to be done in its place."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.daemon.life import Life
from tests.factory import LOADED
from tuner.journal.ending import ending
from tuner.records import LOWEST_ABOVE_ZERO, Missed, Sample
from tuner.settings import Mode, Settings

Trouble = Callable[[Life, pytest.MonkeyPatch], None]


def ended_in_order(life: Life, trouble: Trouble, patch: pytest.MonkeyPatch) -> bool:
    """Let a daemon lower M as far as the load allows, then meet some trouble, then stop it."""

    def script() -> None:
        life.wait(lambda: life.server.capacity.io_capacity_max < LOADED)
        life.wait(lambda: life.server.mark in {None, LOWEST_ABOVE_ZERO})
        trouble(life, patch)

    life.live(script)
    found = ending(Path(life.config.daemon.state_directory))
    assert found is not None
    return found.orderly


def silent(life: Life, _: pytest.MonkeyPatch) -> None:
    """Have the server give no answer."""
    life.server.down = "did not answer within 1 s"
    life.wait_for_ticks(3)


def backwards(life: Life, patch: pytest.MonkeyPatch) -> None:
    """Have each reading give no estimate."""
    read = life.server.read

    def reversed_log() -> Sample | Missed:
        life.server.lsn -= 50e6
        life.server.oldest -= 50e6
        return read()

    patch.setattr(life.server, "read", reversed_log)
    life.wait_for_ticks(3)
    assert life.records[-1].decision.reason == "no_estimate"


def read_only(life: Life, _: pytest.MonkeyPatch) -> None:
    """Have the server take no writes."""
    life.server.shows = {"read_only": True}
    life.wait_for_ticks(3)


def refused(life: Life, _: pytest.MonkeyPatch) -> None:
    """Have the server refuse every write."""
    life.server.refusal = "access denied"


@pytest.mark.parametrize(
    ("trouble", "on_stop", "orderly"),
    [
        (lambda *_: None, "park", True),
        (silent, "park", False),
        (silent, "leave", True),
        (backwards, "park", False),
        (backwards, "leave", True),
        (refused, "park", False),
        (read_only, "park", True),
    ],
    ids=["parked", "silent", "silent, leave", "no estimate", "no estimate, leave", "refused", "read-only"],
)
def test_a_park_that_could_not_be_written_is_left_to_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, trouble: Trouble, on_stop: str, *, orderly: bool
) -> None:
    """A daemon that should have parked and could not has not ended in order; one that leaves all has."""
    life = Life(tmp_path, Settings(mode=Mode.ACTIVE), on_stop)
    life.server.mark = None

    assert ended_in_order(life, trouble, monkeypatch) is orderly


@pytest.mark.parametrize("on_stop", ["park", "leave"])
def test_a_low_water_mark_that_could_not_go_back_is_left_to_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, on_stop: str
) -> None:
    """Stopped on a server that takes no writes, a daemon whose mark is in force has not ended in order."""
    life = Life(tmp_path, Settings(mode=Mode.ACTIVE, low_water_mark=True), on_stop)
    life.server.mark = 0

    assert ended_in_order(life, read_only, monkeypatch) is (on_stop == "leave")
