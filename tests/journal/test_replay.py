"""A recorded trace gives the same decisions again, or says where it does not."""

from __future__ import annotations

import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from click.testing import CliRunner
from msgspec.structs import replace

from lab.plant.clock import SimClock
from lab.plant.server import SimulatedServer
from lab.scenarios import load_scenario
from lab.simulate_loop import SimInbox
from tests.journal.written import change
from tuner.cli.replay import replay
from tuner.core.state import State, encode_state
from tuner.core.step import start
from tuner.journal.codec import decode, encode
from tuner.journal.items import RunItem
from tuner.journal.tables import FILE_NAME, Snapshot
from tuner.journal.writer import JournalWriter
from tuner.loop import drive
from tuner.records import Command, TickRecord
from tuner.settings import Mode, Settings

TICKS = 400
SOON = 30.0


@pytest.fixture(scope="module")
def master(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the state directory of a daemon that tuned a simulated server for some minutes."""
    directory = tmp_path_factory.mktemp("recorded")
    journal = JournalWriter(directory, keep_ticks=3600, on_error=print)
    journal.start()
    clock = SimClock()
    server = SimulatedServer(load_scenario("steady-1200iops").plant, clock)
    settings = Settings(mode=Mode.ACTIVE)
    facts = server.facts()
    state = start(settings, facts)
    journal.put(RunItem(settings=settings, facts=facts, state=encode_state(state), tick=0, wall=clock.wall()))

    def publish(after: State, record: TickRecord) -> None:
        journal.record(record)
        if record.tick.number % 100 == 0:
            journal.put(Snapshot(record.tick.number, encode_state(after)))
            assert journal.flush(SOON)

    inbox = SimInbox(clock, Command(name="originals_saved", who="journal"))
    drive(server, clock, inbox, state, interval=1.0, publish=publish, until=TICKS - 0.5)
    assert journal.close(SOON)
    return directory


@pytest.fixture
def recorded(master: Path, tmp_path: Path) -> Path:
    """Return a copy of the recording that a test may spoil."""
    shutil.copytree(master, tmp_path, dirs_exist_ok=True)
    return tmp_path


def asked(*arguments: object) -> tuple[int, str]:
    """Run the command; return its exit code and all it said."""
    result = CliRunner().invoke(replay, [str(argument) for argument in arguments])
    return result.exit_code, result.output


def test_the_same_decisions_come_out(recorded: Path) -> None:
    """Every tick of a run that wrote several times is decided the same way again."""
    code, said = asked(recorded / FILE_NAME, "--json")

    outcome = json.loads(said)
    assert (code, outcome["same"], outcome["compared"], outcome["skipped"]) == (0, True, TICKS, 0)
    with closing(sqlite3.connect(recorded / FILE_NAME)) as db:
        assert db.execute("SELECT count(*) FROM decisions WHERE written").fetchone()[0] > 1
    assert asked(recorded)[1].endswith("every decision the same\n")


def test_the_first_difference_is_shown(recorded: Path) -> None:
    """Exit 1, with tick, time and both decisions."""
    with closing(sqlite3.connect(recorded / FILE_NAME)) as db:
        (blob,) = db.execute("SELECT record FROM ticks WHERE number = 123").fetchone()
        record = decode(blob)
        other = replace(record, decision=replace(record.decision, reason="idle"))
        db.execute("UPDATE ticks SET record = ? WHERE number = 123", (encode(other),))
        db.commit()

    code, said = asked(recorded)
    assert code == 1
    assert "tick 123 at 2026-01-01T00:02:0" in said
    assert "recorded  idle" in said
    assert f"replayed  {record.decision.reason}" in said
    found = json.loads(asked(recorded, "--json")[1])["difference"]
    assert (found["tick"], found["parts"]) == (123, ["reason"])


def test_a_ring_that_lost_its_beginning_is_replayed_from_a_snapshot(recorded: Path) -> None:
    """What lies before the first snapshot is skipped and counted."""
    change(recorded, "DELETE FROM ticks WHERE number <= 150")
    code, said = asked(recorded, "--json")

    outcome = json.loads(said)
    assert (code, outcome["skipped"], outcome["first"], outcome["last"]) == (0, 50, 201, TICKS)


def test_a_gap_is_bridged_by_the_next_snapshot(recorded: Path) -> None:
    """Ticks that a slow disk cost are no difference."""
    change(recorded, "DELETE FROM ticks WHERE number BETWEEN 120 AND 130")
    code, said = asked(recorded, "--json")

    outcome = json.loads(said)
    assert (code, outcome["same"], outcome["skipped"], outcome["compared"]) == (0, True, 70, TICKS - 81)


def test_what_cannot_be_replayed_is_refused(recorded: Path, tmp_path: Path) -> None:
    """Exit 2: no journal, another version's, nothing to start from."""
    notes = tmp_path / "notes.txt"
    notes.write_text("hello " * 1000)
    assert asked(notes) == (2, f"innobrim: {notes}: no journal of InnoBrim's\n")
    code, said = asked(recorded, "--run", 7, "--json")
    assert code == 2
    assert "no run 7" in json.loads(said.splitlines()[0])["detail"]
    change(recorded, "UPDATE runs SET state = x''")
    change(recorded, "DELETE FROM snapshots")
    code, said = asked(recorded)
    assert (code, "no snapshot left" in said) == (2, True)
    change(recorded, "UPDATE runs SET fingerprint = 'other', program = '9.9.9'")
    code, said = asked(recorded)
    assert (code, "written by InnoBrim 9.9.9" in said) == (2, True)
