"""What ``innobrim run`` puts together."""

from __future__ import annotations

import pytest

from tests.bench import Bench
from tests.cli.support import Run
from tuner.board import Board
from tuner.daemon import Daemon


@pytest.mark.parametrize(("flags", "kept"), [((), 1), (("--no-api",), 0)], ids=["api", "no api"])
def test_earlier_ticks_are_kept_for_the_api_alone(
    run: Run, monkeypatch: pytest.MonkeyPatch, flags: tuple[str, ...], kept: int
) -> None:
    """A daemon that nobody can ask for earlier ticks spends no memory on them."""
    boards: list[Board] = []
    monkeypatch.setattr(Daemon, "run", lambda daemon: boards.append(daemon._board))

    result = run("run", *flags)
    assert result.exit_code == 0, result.stderr
    bench = Bench()
    boards[0].publish(bench.turn(), bench.state.settings, bench.state.facts)

    assert len(boards[0].ticks()) == kept
