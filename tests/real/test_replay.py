"""A trace from a real server, replayed."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.real.installation import innobrim
from tests.real.recording import Recording
from tuner.journal.codec import decode, encode
from tuner.journal.tables import FILE_NAME

pytestmark = [pytest.mark.real, pytest.mark.timeout(1500)]


def test_the_same_decisions_come_out_again(recording: Recording) -> None:
    """A journal recorded on a real server replays to the same decisions and reason codes, every one."""
    ticks = len(recording.ticks)
    done = innobrim("replay", str(recording.state))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "every decision the same" in done.stdout
    assert "skipped" not in done.stdout
    compared = int(done.stdout.split(": ")[1].split(" ticks")[0])
    assert compared >= recording.settled_after + ticks - 10


def test_an_altered_decision_is_found(recording: Recording, tmp_path: Path) -> None:
    """A journal in which one decision was altered is refused with the tick and both versions named."""
    copy = tmp_path / FILE_NAME
    shutil.copyfile(recording.state / FILE_NAME, copy)
    altered = recording.ticks[len(recording.ticks) // 2]
    with closing(sqlite3.connect(copy)) as db:
        blob = db.execute("SELECT record FROM ticks WHERE number = ?", (altered.tick.number,)).fetchone()[0]
        recorded = decode(blob)
        changed = replace(recorded, decision=replace(recorded.decision, reason="unanswered"))
        db.execute("UPDATE ticks SET record = ? WHERE number = ?", (encode(changed), altered.tick.number))
        db.commit()
    done = innobrim("replay", str(copy))
    assert done.returncode == 1, done.stdout + done.stderr
    assert f"tick {altered.tick.number} " in done.stdout
    assert "differs in reason" in done.stdout
    assert "unanswered" in done.stdout
    assert recorded.decision.reason in done.stdout
