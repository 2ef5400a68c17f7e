"""The low-water mark in a daemon's life: the one found is on disk before ours is written."""

from __future__ import annotations

from pathlib import Path

import msgspec

from tests.core.test_low_water import OFF, beside
from tests.factory import IDENTITY
from tuner.core.lowwater import may_be_written
from tuner.core.standing import Standing
from tuner.journal.reader import standing
from tuner.memory import Memory

SOON = 10.0


def test_the_operators_mark_is_on_disk_before_another_is_written(tmp_path: Path) -> None:
    """The journal says when the mark found is on disk; the next daemon finds it there, until it is back."""
    bench, said = beside(), []
    kept = Memory(tmp_path, keep_ticks=100)
    kept.open()
    for record in bench.records[-3:]:
        kept.record(bench.state, record, originals_saved=lambda _: None, mark_saved=said.append)
    kept.close(SOON)
    assert said == [f"{IDENTITY} 0"]
    note = msgspec.json.decode(standing(tmp_path)[IDENTITY], type=Standing)
    assert note.low_water == 0

    again = Memory(tmp_path, keep_ticks=100)
    again.open()
    state = again.state_at_start(OFF, bench.server.facts(), now=0.0)
    again.close(SOON)
    assert state.low_water.original == 0
    assert state.low_water.left
    assert may_be_written(state)


def test_a_note_of_before_is_still_read() -> None:
    """What stands for a server as an older version wrote it has no mark in it, and is taken all the same."""
    text = msgspec.json.encode({"identity": IDENTITY, "started": 1.0, "paused": "paused by somebody"})

    assert msgspec.json.decode(text, type=Standing).low_water is None
