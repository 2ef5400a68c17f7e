"""The charts go on over a restart of the daemon: what the memory is filled with, and what it is not."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator, MutableMapping
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from tests.life import Life
from tests.test_history import KEPT, set_points, ticks
from tuner.board import Board
from tuner.history import History
from tuner.journal.tables import FILE_NAME
from tuner.records import Sample
from tuner.settings import Settings

Line = MutableMapping[str, Any]
TICKS = 30


@pytest.fixture
def logged() -> Iterator[list[Line]]:
    """Return what is logged, as the events come."""
    with capture_logs() as found:
        yield found


def filled(first: int, count: int) -> History:
    """Return a history of ticks a second apart, by their numbers."""
    history = History(KEPT)
    for record in ticks(first, count):
        history.add(record)
    return history


def told(logged: list[Line]) -> Line | None:
    """Return what was said of the charts of before, None where nothing was yet."""
    return next((line for line in logged if "the charts" in line["event"]), None)


def restarted(before: Life, directory: Path, logged: list[Line]) -> Life:
    """Live once more on the same state directory, until the past was read or said to be unreadable."""
    logged.clear()
    again = Life(directory, Settings())
    again.server.identity = before.server.identity
    return again.live(lambda: again.wait(lambda: told(logged)))


def ages(life: Life, before: Life) -> list[float | None]:
    """Return what a run remembers of the age at the seconds of another run's ticks."""
    start, end = before.records[0].tick.wall, before.records[-1].tick.wall + 1.0
    found = dict(life.board.history.query(start=start, end=end, step=1.0, names=["age_ratio"]))
    return found["age_ratio"]


def test_earlier_rows_come_before_the_first_with_the_gap_between() -> None:
    """Rows of before a restart stand at their own time, and the time without a daemon is a gap."""
    history = filled(6, 2)
    history.precede(filled(0, 3))

    assert set_points(history, end=8) == [0.0, 1.0, 2.0, None, None, None, 6.0, 7.0]
    assert history.oldest() == ticks(0, 1)[0].tick.wall


@pytest.mark.parametrize("later", [1, KEPT - 4, KEPT - 1, KEPT, 3 * KEPT])
def test_rows_of_before_are_the_first_to_go(later: int) -> None:
    """With each tick that comes the oldest row goes, also where it is of before the restart."""
    history = filled(KEPT, 1)
    history.precede(filled(0, KEPT))
    for record in ticks(KEPT + 1, later - 1):
        history.add(record)

    newest = KEPT + later - 1
    wanted = [None if each <= newest - KEPT else float(each) for each in range(newest + 1)]
    assert set_points(history, end=newest + 1) == wanted


def test_an_answer_under_way_does_not_change_when_the_past_comes() -> None:
    """A query that has begun tells the same rows although older ones are put before them meanwhile."""
    history = filled(6, 2)
    start = ticks(0, 1)[0].tick.wall
    answer = history.query(start=start, end=start + 8, step=1.0, names=["set_point"])
    next(answer)
    history.precede(filled(0, 3))

    assert dict(answer)["set_point"] == [None] * 6 + [6.0, 7.0]


def test_a_restarted_daemon_remembers_the_run_before(tmp_path: Path, logged: list[Line]) -> None:
    """The numbers that a daemon showed are shown by the next one too, and nothing between the two runs."""
    before = Life(tmp_path, Settings())
    before.live(lambda: before.wait_for_ticks(TICKS))
    again = restarted(before, tmp_path, logged)

    line = told(logged)
    assert line is not None
    assert (line["log_level"], line["ticks"]) == ("info", len(before.records))
    assert again.board.history.oldest() == before.records[0].tick.wall
    shown = {
        round(one.estimate.age_ratio, 5)
        for one in before.records
        if one.estimate is not None and isinstance(one.tick.reading, Sample)
    }
    found = [value for value in ages(again, before) if value is not None]
    assert len(found) > TICKS / 2
    assert {round(value, 5) for value in found} & shown
    last, first = before.records[-1].tick.wall, again.records[0].tick.wall
    between = dict(again.board.history.query(start=last + 1, end=first, step=1.0, names=["age_ratio"]))
    assert set(between["age_ratio"]) <= {None}


def test_another_servers_numbers_are_not_shown_as_this_ones(tmp_path: Path, logged: list[Line]) -> None:
    """A state directory that was used beside another server gives this one's charts nothing of it."""
    before = Life(tmp_path, Settings())
    before.live(lambda: before.wait_for_ticks(TICKS))
    before.server.identity = "another"
    again = restarted(before, tmp_path, logged)

    assert set(ages(again, before)) == {None}


@pytest.mark.parametrize(
    "damage",
    ["UPDATE runs SET fingerprint = 'older'", "UPDATE ticks SET record = x'00'"],
    ids=["older records", "damaged ticks"],
)
def test_what_cannot_be_read_is_said_and_the_loop_goes_on(
    tmp_path: Path, logged: list[Line], damage: str
) -> None:
    """Ticks of another version, or broken ones, leave the charts without them, with one line that says so."""
    before = Life(tmp_path, Settings())
    before.live(lambda: before.wait_for_ticks(TICKS))
    with sqlite3.connect(tmp_path / FILE_NAME) as db:
        db.execute(damage)
    db.close()
    again = restarted(before, tmp_path, logged)

    line = told(logged)
    assert line is not None
    assert line["log_level"] == "warning"
    assert f"{len(before.records)} ticks" in line["reason"]
    assert again.board.history.oldest() == again.records[0].tick.wall


def test_without_an_api_the_journal_is_not_read(tmp_path: Path) -> None:
    """A daemon whose numbers nobody can ask for has no thread that reads earlier ones."""
    life = Life(tmp_path, Settings())
    life.board = Board(watched=False)
    names: list[str] = []

    def script() -> None:
        life.wait_for_ticks(3)
        names.extend(thread.name for thread in threading.enumerate())

    life.live(script)

    assert "journal" in names
    assert "recall" not in names
