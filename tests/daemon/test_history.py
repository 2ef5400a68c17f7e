"""What the daemon remembers for those who watch: hours, also from before a restart, and no more memory."""

from __future__ import annotations

import gc
import sqlite3
import threading
import tracemalloc
from collections.abc import Iterator, MutableMapping
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from structlog.testing import capture_logs

from tests.bench import Bench
from tests.daemon.life import Life
from tests.factory import EPOCH
from tuner.daemon.board import RING_EVENTS, RING_TICKS, Board
from tuner.daemon.history import History
from tuner.journal.tables import FILE_NAME
from tuner.records import Event, Sample, TickRecord
from tuner.settings import Settings

KEPT = 10
KIBIBYTE = 1024


def ticks(first: int, count: int) -> list[TickRecord]:
    """Return ticks a second apart whose set-point is their number."""
    one = Bench().turn()
    return [
        replace(
            one,
            tick=replace(one.tick, number=number, wall=EPOCH + number),
            decision=replace(one.decision, set_point=float(number)),
            events=(Event(wall=EPOCH + number, code="test", message=f"number {number}", who="test"),),
        )
        for number in range(first, first + count)
    ]


def set_points(history: History, *, end: int) -> list[float | None]:
    """Return the set-point at every second until then."""
    return dict(history.query(start=EPOCH, end=EPOCH + end, step=1.0, names=["set_point"]))["set_point"]


def test_the_newest_rows_are_kept() -> None:
    """However long the daemon runs, the newest rows are there, at their own time, and the older ones gone."""
    history = History(KEPT)
    for number, record in enumerate(ticks(0, 3 * KEPT + 3)):
        history.add(record)
        first = max(0, number + 1 - KEPT)
        wanted = [None] * first + [float(each) for each in range(first, number + 1)]
        assert set_points(history, end=number + 1) == wanted
        assert history.oldest() == EPOCH + first


def test_a_row_lost_while_an_answer_is_made_is_a_gap() -> None:
    """A tick that comes between two columns never shows up at the time of the one it replaced."""
    history = History(KEPT)
    for record in ticks(0, KEPT):
        history.add(record)
    answer = history.query(start=EPOCH, end=EPOCH + KEPT, step=1.0, names=["set_point"])
    next(answer)
    for record in ticks(KEPT, 2):
        history.add(record)

    assert dict(answer)["set_point"] == [None, None, *map(float, range(2, KEPT))]


def test_a_stretch_of_it_is_the_same_as_all_of_it() -> None:
    """A few seconds' answer is what an answer about all gives for these, before and after a wrap."""
    history = History(KEPT)
    for record in ticks(0, KEPT + KEPT // 2):
        history.add(record)
    for first in range(KEPT // 2, KEPT + KEPT // 2):
        found = dict(history.query(start=EPOCH + first, end=EPOCH + first + 3, step=1.0, names=["set_point"]))
        assert found["set_point"] == [*set_points(history, end=2 * KEPT)[first : first + 3]]


def test_a_day_takes_no_more_memory_than_ten_minutes() -> None:
    """What the board keeps of ticks, numbers, events and answers stops growing once its rings are full."""
    board = Board()
    settings = Settings()
    full = max(RING_TICKS, RING_EVENTS)
    tracemalloc.start()
    try:
        for record in ticks(10_000, full):
            board.publish(record, settings, None)
        gc.collect()
        before = tracemalloc.get_traced_memory()[0]
        for record in ticks(20_000, full):
            board.publish(record, settings, None)
        gc.collect()
        after = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()

    assert after - before < 32 * KIBIBYTE


def test_what_nobody_can_ask_for_is_not_kept() -> None:
    """A daemon without API keeps neither earlier ticks nor numbers, and knows its newest tick and events."""
    board = Board(watched=False)
    made = ticks(0, KEPT)
    for record in made:
        board.publish(record, Settings(), None)

    assert board.last() == made[-1]
    assert len(board.events()) == KEPT
    assert board.ticks() == []
    assert set_points(board.history, end=KEPT) == [None] * KEPT


# The hours before a restart of the daemon.

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
