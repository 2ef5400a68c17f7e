"""The outer loop in a daemon's life: a real child answers, and a dead one costs the loop nothing."""

from __future__ import annotations

import io
import os
import sqlite3
from contextlib import closing
from pathlib import Path

import msgspec
import pytest

from api.models import OptimiserUnderWay
from tests.daemon.life import Life
from tests.factory import FACTS, A
from tests.system.logged import lines
from tuner.cli.status import optimiser_texts
from tuner.core.estimate.estimator import EstimatorState
from tuner.core.memory import learn
from tuner.core.trials import engine
from tuner.journal.tables import FILE_NAME
from tuner.records import OptimiserPhase, TickRecord
from tuner.settings import Mode, Settings


def phase(record: TickRecord) -> OptimiserPhase | None:
    """Return what the outer loop does."""
    return None if record.optimiser is None else record.optimiser.phase


@pytest.fixture
def life(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Life:
    """Return a daemon with the policy bayes beside a quiet server whose load gains by a higher age."""
    monkeypatch.setattr(engine, "QUIET_SECONDS", 20.0)
    made = Life(tmp_path, Settings(mode=Mode.ACTIVE, policy="bayes"))
    made.server.combines = 0.5
    return made


def test_a_daemon_begins_a_trial_with_its_childs_suggestion(life: Life) -> None:
    """The child is started for the first question, its answer comes as a command, and a trial begins."""
    life.live(lambda: life.wait(lambda: life.records and phase(life.records[-1]) is OptimiserPhase.TRIAL))
    commands = [one for record in life.records for one in record.tick.commands if one.name == "suggest"]

    assert {(one.who, one.value) for one in commands} == {("optimiser", 1)}
    assert commands[-1].suggestion is not None
    assert life.board.tally().optimiser.deaths == 0


def test_an_optimiser_that_dies_again_and_again_costs_the_loop_nothing(
    life: Life, stream: io.StringIO, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ticks come on time; a library that cannot be imported is a warning, once, and a line of the status."""
    library = tmp_path / "library"
    library.mkdir()
    (library / "skopt.py").write_text("raise ImportError('\\n\\nbuilt for another numpy\\n')\n")
    monkeypatch.setenv("PYTHONPATH", f"{library}:{os.environ.get('PYTHONPATH', '')}")

    def script() -> None:
        life.wait(lambda: life.board.tally().optimiser.deaths > 0)
        life.wait_for_ticks(100)

    life.live(script)
    health = life.board.tally().optimiser
    asking = [record for record in life.records if phase(record) is OptimiserPhase.ASKING]
    status = optimiser_texts(OptimiserUnderWay(asking[-1].optimiser, health), at=health.until or 0.0)
    (warning,) = [one for one in lines(stream) if one["event"].startswith("the optimiser's process died")]

    assert len(asking) > 50
    assert life.seconds_to_end < 3.0
    assert warning["level"] == "warning"
    assert warning["reason"] == "ImportError: built for another numpy"
    assert "innobrim check" in warning["hint"]
    assert next(status).endswith("its process is dead for 0.0 s more: ImportError: built for another numpy")


def test_what_an_older_program_learned_of_loads_is_known_after_the_upgrade(
    life: Life, tmp_path: Path
) -> None:
    """Trials and wins whose loads say nothing of reads are not forgotten, and their share is unknown."""
    life.live(lambda: life.wait_for_ticks(3))
    load = {"redo_rate": 1e6, "row_bytes": 300.0, "lru_share": 0.0, "concurrency": 0.0, "flush_limit": A}
    tried = {"offset": -0.02, "margin_share": 0.8, "hold_gain": 1.2}
    trial = {"suggestion": tried, "context": load, "gain": 0.01, "error": 0.001, "at": 5.0}
    gained = {"gain": 0.01, "low": 0.005, "high": 0.015}
    win = {"suggestion": tried, "context": load, "checked": 5.0} | gained
    evidence = {"server": f"{FACTS.version} {FACTS.flush_law}", "log": [trial, trial], "wins": [win]}
    kept = msgspec.to_builtins(learn(EstimatorState())) | {"evidence": evidence}
    with closing(sqlite3.connect(tmp_path / FILE_NAME)) as db:
        written = db.execute("UPDATE learned SET state = ?", (msgspec.msgpack.encode(kept),)).rowcount
        db.commit()
    again = Life(tmp_path, Settings(mode=Mode.ACTIVE, policy="bayes"))
    again.live(lambda: again.wait_for_ticks(3))
    progress = again.records[0].optimiser

    assert written == 1
    assert progress is not None
    assert progress.known == 2
    with closing(sqlite3.connect(tmp_path / FILE_NAME)) as db:
        ((blob,),) = db.execute("SELECT state FROM learned").fetchall()
    learned = msgspec.msgpack.decode(blob)["evidence"]
    assert [one["context"]["read_share"] for one in (*learned["log"], *learned["wins"])] == [None] * 3
