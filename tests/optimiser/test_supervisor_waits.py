"""How long the optimiser's process is waited with after a death: more each time, until one has answered."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from tests.optimiser.watched import AT_NOUGHT, ECHO, IMPATIENT, READY, Watched
from tuner.optimiser import supervisor

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

THIRD_ALONE = """\
import os
with open({path!r}, "a") as lives:
    lives.write("x")
    if lives.tell() != 3:
        os._exit(3)
"""
"""Of the lives of a child all but the third end at once."""


def test_an_answer_makes_the_next_wait_a_short_one_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Deaths between which a question was answered are not in a row: the wait begins anew with the first."""
    monkeypatch.setattr(supervisor, "time", AT_NOUGHT)
    once = ECHO + " sys.stdin.readline(); os._exit(4)\n"
    script = THIRD_ALONE.format(path=str(tmp_path / "lives")) + READY + once
    one = Watched(script, replace(IMPATIENT, answer=20.0))
    try:
        one.ask(1)
        one.until(lambda w: len(w.commands) == 1)
        one.ask(2)
        one.until(lambda w: w.health.deaths >= 4)
    finally:
        assert one.supervisor.stop(5.0)

    waits = [health.until for health in one.said if health.state == "dead"]
    assert waits[:4] == [0.05, 0.1, 0.05, 0.1]
