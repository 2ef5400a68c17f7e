"""What the daemon remembers for those who watch: hours of it, in memory that does not grow."""

from __future__ import annotations

import gc
import tracemalloc

from msgspec.structs import replace

from tests.bench import Bench
from tests.factory import EPOCH
from tuner.board import RING_EVENTS, RING_TICKS, Board
from tuner.history import History
from tuner.records import Event, TickRecord
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
