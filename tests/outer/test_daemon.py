"""The outer loop in a daemon's life: a real child answers, and a dead one costs the loop nothing."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.life import Life
from tuner.outer import supervisor
from tuner.records import OptimiserPhase, TickRecord
from tuner.settings import Mode, Settings


def phase(record: TickRecord) -> OptimiserPhase | None:
    """Return what the outer loop does."""
    return None if record.optimiser is None else record.optimiser.phase


@pytest.fixture
def life(tmp_path: Path) -> Life:
    """Return a daemon with the policy bayes beside a server whose load gains by a higher age."""
    made = Life(tmp_path, Settings(mode=Mode.ACTIVE, policy="bayes"))
    made.server.combines = 0.5
    return made


def test_a_daemon_begins_a_trial_with_its_childs_suggestion(life: Life) -> None:
    """The child is started for the first question, its answer comes as a command, and a trial begins."""
    life.live(lambda: life.wait(lambda: life.records and phase(life.records[-1]) is OptimiserPhase.TRIAL))
    commands = [one for record in life.records for one in record.tick.commands if one.name == "suggest"]

    assert [(one.who, one.value) for one in commands] == [("optimiser", 1)]
    assert commands[0].suggestion is not None
    assert life.board.tally().optimiser.deaths == 0


def test_a_dead_optimiser_costs_the_loop_nothing(life: Life, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ticks come on time while the child dies again and again, and the board says that it is dead."""
    monkeypatch.setattr(supervisor, "COMMAND", (sys.executable, "-c", "raise SystemExit(7)"))

    def script() -> None:
        life.wait(lambda: life.board.tally().optimiser.deaths > 0)
        life.wait_for_ticks(100)

    life.live(script)
    health = life.board.tally().optimiser
    asking = [record for record in life.records if phase(record) is OptimiserPhase.ASKING]

    assert "exit code 7" in health.why
    assert len(asking) > 100
    assert life.seconds_to_end < 3.0
