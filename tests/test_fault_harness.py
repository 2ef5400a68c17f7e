"""What the fault tests stand on: a referee that calls a breach."""

from __future__ import annotations

import contextlib
import sqlite3
from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.daemon.life import ORIGINALS, Life
from tests.faults.verdict import judge_run
from tuner.journal.codec import decode, encode
from tuner.journal.tables import FILE_NAME
from tuner.records import Capacity, DecisionKind
from tuner.settings import Mode, Settings

ACTIVE = Settings(mode=Mode.ACTIVE, set_point=0.7)


@pytest.fixture(scope="module")
def lived(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the state directory of a daemon that has written, and has parked at its end."""
    directory = tmp_path_factory.mktemp("lived")
    life = Life(directory, ACTIVE)
    life.live(life.wait_for_write)
    return directory


def test_a_good_run_is_judged_whole(lived: Path) -> None:
    """The referee follows a journal from its first tick to the park at its end."""
    found = judge_run(lived, 1)

    assert found[0].tick.number == 1
    assert found[-1].decision.kind in {DecisionKind.PARK, DecisionKind.KEEP}
    assert any(one.decision.kind is DecisionKind.SET for one in found)
    assert found[-1].originals == ORIGINALS


def test_a_write_that_was_not_decided_is_called(lived: Path, tmp_path: Path) -> None:
    """A journal with a SET that the loop would not have made does not pass."""
    copy = tmp_path / FILE_NAME
    with (
        contextlib.closing(sqlite3.connect(lived / FILE_NAME)) as source,
        contextlib.closing(sqlite3.connect(copy)) as target,
    ):
        source.backup(target)
        number, blob = target.execute("SELECT number, record FROM ticks ORDER BY id LIMIT 1").fetchone()
        record = decode(blob)
        forged = replace(
            record.decision,
            kind=DecisionKind.SET,
            target=Capacity(50_000, 100_000),
            steps=(("innodb_io_capacity_max", 100_000), ("innodb_io_capacity", 50_000)),
        )
        changed = encode(replace(record, decision=forged))
        target.execute("UPDATE ticks SET record = ? WHERE number = ?", (changed, number))
        target.commit()

    with pytest.raises(AssertionError):
        judge_run(tmp_path, 1)
