"""What the journal promises while it is written, also where disk, file or a second daemon is in the way."""

from __future__ import annotations

import sqlite3
import threading
import time
from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.journal.written import KEEP, ORIGINALS, PAIR, RUN, SET, SOON, Keep, MakeWriter, put, record, rows
from tuner.journal import store
from tuner.journal.items import NoteItem
from tuner.journal.reader import last_record, originals, runs, trace
from tuner.journal.store import Store
from tuner.journal.tables import Snapshot
from tuner.journal.writer import JournalWriter
from tuner.records import Capacity


def test_originals_are_on_disk_when_done_is_called(writer: MakeWriter, tmp_path: Path) -> None:
    """Inside the callback, another connection already reads them; the caller's thread never waits."""
    seen: list[object] = []
    finished = threading.Event()

    def done() -> None:
        seen.extend((threading.current_thread().name, originals(tmp_path)))
        finished.set()

    writer().put(ORIGINALS, done)

    assert finished.wait(SOON)
    assert seen == ["journal", [ORIGINALS]]


def test_originals_are_kept_for_each_server(keep: Keep) -> None:
    """A new pair of the same server replaces its old one; another server has its own."""
    newer = replace(ORIGINALS, capacity=Capacity(500, 900))
    other = replace(ORIGINALS, identity="a")

    assert originals(keep(ORIGINALS, other, newer)) == [other, newer]


def test_it_can_be_read_while_it_is_written(writer: MakeWriter, tmp_path: Path) -> None:
    """Status and replay work beside a running daemon."""
    journal = put(writer(), RUN, *map(record, range(1, 4)), Snapshot(3, b"after three"))
    assert journal.flush(SOON)
    reading = trace(tmp_path)
    assert next(reading) == runs(tmp_path)[0]
    journal.record(record(4))
    assert journal.flush(SOON)

    assert last_record(tmp_path) == record(4)
    assert list(reading)[:3] == [record(1), record(2), record(3)]


def test_decisions_and_events_can_be_read_with_any_tool(keep: Keep) -> None:
    """Columns have names."""
    directory = keep(RUN, record(1), record(2, SET, "write"))

    assert rows(
        directory,
        "SELECT tick, mode, kind, reason, written, old_io_capacity, old_io_capacity_max, "
        "new_io_capacity, new_io_capacity_max FROM decisions",
    ) == [(2, "active", "set", "raise", 1, 225, 450, 250, 500)]
    assert rows(directory, "SELECT tick, code, message, who FROM events") == [
        (2, "write", "write happened", "loop")
    ]


def test_the_same_advice_every_second_is_one_row(keep: Keep) -> None:
    """Advisory repeats itself each tick; the table of decisions does not."""
    wanted = [500 + number % 10 if number < 30 else 900 for number in range(1, 60)]
    would = (replace(KEEP, reason="advisory", would=Capacity(one // 2, one)) for one in wanted)
    directory = keep(*(record(number, one) for number, one in enumerate(would, 1)))

    asked = "SELECT tick, written, reason, new_io_capacity_max FROM decisions ORDER BY wall"
    assert rows(directory, asked) == [
        (1, 0, "advisory", 501),
        (30, 0, "advisory", 900),
    ]


def test_the_first_change_is_number_1_whatever_was_advised_before(
    writer: MakeWriter, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Changes are numbered by themselves, over all runs, and the newest of both kinds are kept."""
    monkeypatch.setattr(store, "KEEP_ROWS", 3)
    monkeypatch.setattr(store, "SLACK", 1)
    for run in (0, 10):
        journal = put(writer(), RUN)
        for number in range(run + 1, run + 11):
            advised = replace(KEEP, reason="advisory", would=Capacity(100 * number, 200 * number))
            journal.record(record(number, SET if number % 2 == 0 else advised))
            assert journal.flush(SOON)
        if run == 0:
            assert rows(tmp_path, "SELECT max(id) FROM decisions WHERE written") == [(5,)]
        assert journal.close(SOON)

    kept = "SELECT id, tick FROM decisions WHERE written = {} ORDER BY wall"
    assert rows(tmp_path, kept.format(1)) == [(8, 16), (9, 18), (10, 20)]
    assert rows(tmp_path, kept.format(0)) == [(-8, 15), (-9, 17), (-10, 19)]


def test_the_ring_keeps_the_file_small(writer: MakeWriter, tmp_path: Path) -> None:
    """However long the daemon runs, ticks and file stay inside the limit, newest kept."""
    journal = put(writer(keep_ticks=500, queue_ticks=10_000), RUN)
    sizes: list[int] = []
    for first in range(1, 5001, 500):
        put(journal, *map(record, range(first, first + 500)), Snapshot(first + 499, b"s" * 1000))
        assert journal.flush(SOON)
        sizes.append((tmp_path / "journal.db").stat().st_size)

    assert sizes[-1] <= sizes[2] * 1.05
    ((count, newest, snapshots),) = rows(
        tmp_path, "SELECT count(*), max(number), (SELECT count(*) FROM snapshots) FROM ticks"
    )
    assert 500 <= int(str(count)) < 600
    assert newest == 5000
    assert int(str(snapshots)) <= 3


def test_a_shorter_ring_gives_the_disk_back(writer: MakeWriter, tmp_path: Path) -> None:
    """Lowering keep_ticks shrinks the file, bit by bit."""
    big = put(writer(keep_ticks=5000, queue_ticks=10_000), RUN, *map(record, range(1, 5001)))
    assert big.close(SOON)
    before = (tmp_path / "journal.db").stat().st_size
    small = writer(keep_ticks=100)
    for number in range(5001, 5041):
        small.record(record(number))
        assert small.flush(SOON)

    assert (tmp_path / "journal.db").stat().st_size < before / 2


def test_closing_writes_what_is_left(keep: Keep) -> None:
    """A tick taken just before the stop is on disk after it, in one file."""
    directory = keep(record(7))

    assert last_record(directory) == record(7)
    assert sorted(path.name for path in directory.iterdir()) == ["journal.db", "journal.lock"]


def test_a_clock_that_races_loses_nothing(writer: MakeWriter, tmp_path: Path) -> None:
    """Simulated seconds come faster than batches; a queue that fills up is emptied before it is full."""
    journal = writer(queue_ticks=100)
    assert journal.flush(SOON)
    for start in range(1, 601, 40):
        put(journal, *map(record, range(start, start + 40)))
        deadline = time.monotonic() + SOON
        while rows(tmp_path, "SELECT count(*) FROM ticks") < [(start - 11,)]:
            assert time.monotonic() < deadline

    assert journal.dropped == 0


def test_a_writer_that_is_given_nothing_leaves_no_journal(tmp_path: Path) -> None:
    """The journal is opened with the first thing to write, and one that never was can be closed."""
    unused, used = (JournalWriter(tmp_path, keep_ticks=10, on_error=lambda _: None) for _ in range(2))
    assert unused.close(SOON)
    assert list(tmp_path.iterdir()) == []

    used.put(NoteItem(1.0, "offline", "parked"))
    assert (unused.started, used.started) == (False, True)
    assert used.close(SOON)
    assert rows(tmp_path, "SELECT message FROM events") == [("parked",)]


def test_a_disk_that_hangs_never_blocks_the_loop(
    writer: MakeWriter, monkeypatch: pytest.MonkeyPatch, messages: list[str], tmp_path: Path
) -> None:
    """While a commit hangs, ticks are taken at once, the oldest are dropped, and the gap is on record."""
    hanging, go_on, confirmed = threading.Event(), threading.Event(), threading.Event()
    commit = Store.commit

    def slow(self: Store) -> None:
        hanging.set()
        go_on.wait(SOON)
        commit(self)

    monkeypatch.setattr(Store, "commit", slow)
    journal = writer(queue_ticks=50)
    journal.put(ORIGINALS, confirmed.set)
    assert hanging.wait(SOON)
    started = time.perf_counter()
    put(journal, *map(record, range(1, 201)))
    took = time.perf_counter() - started
    stuck, dropped = not confirmed.is_set(), journal.dropped
    go_on.set()
    assert journal.flush(SOON)

    assert stuck
    assert took < 0.5
    assert dropped == 150
    assert rows(tmp_path, "SELECT min(number), max(number) FROM ticks") == [(151, 200)]
    ((gap,),) = rows(tmp_path, "SELECT message FROM events WHERE code = 'journal_gap'")
    assert str(gap).startswith("150 ticks")
    assert messages == []


def test_a_full_disk_is_said_once_and_so_is_its_end(
    writer: MakeWriter, monkeypatch: pytest.MonkeyPatch, messages: list[str], tmp_path: Path
) -> None:
    """The loop goes on, nothing is confirmed that is not on disk, and all is written later."""
    full, tried, kept = threading.Event(), threading.Semaphore(0), threading.Event()
    commit = Store.commit

    def maybe(self: Store) -> None:
        tried.release()
        if full.is_set():
            error = sqlite3.OperationalError("database or disk is full")
            error.sqlite_errorcode = sqlite3.SQLITE_FULL
            raise error
        commit(self)

    journal = writer()
    assert journal.flush(SOON)
    monkeypatch.setattr(Store, "commit", maybe)
    full.set()
    for number in range(1, 4):
        journal.record(record(number, KEEP, "write"))
        assert tried.acquire(timeout=SOON)
    journal.put(ORIGINALS, kept.set)
    assert tried.acquire(timeout=SOON)
    assert not kept.is_set()
    full.clear()
    assert journal.flush(SOON)

    assert kept.is_set()
    assert rows(tmp_path, "SELECT number FROM ticks") == [(1,), (2,), (3,)]
    assert len(messages) == 2
    assert "disk is full" in messages[0]
    assert messages[1] == "journal: written again; nothing was lost"


def test_a_directory_that_cannot_be_used_is_waited_for(
    writer: MakeWriter, messages: list[str], tmp_path: Path
) -> None:
    """A state directory that is missing at start costs nothing but a message."""
    directory = tmp_path / "later"
    journal = put(writer(directory=directory), record(1, KEEP, "start"))
    assert not journal.flush(0.1)
    directory.mkdir()
    assert journal.flush(SOON)

    assert "No such file or directory" in messages[0]
    assert last_record(directory) == record(1, KEEP, "start")


def test_a_second_daemon_leaves_the_journal_alone(
    writer: MakeWriter, messages: list[str], tmp_path: Path
) -> None:
    """One writer per journal; the second one says so and never confirms originals."""
    first = put(writer(), record(1))
    assert first.flush(SOON)
    second, confirmed = put(writer(), record(99)), threading.Event()
    second.put(replace(ORIGINALS, capacity=PAIR), confirmed.set)

    assert not second.flush(0.2)
    assert not confirmed.is_set()
    assert "another daemon" in messages[0]
    assert first.close(SOON)
    assert last_record(tmp_path) == record(1)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")  # it is what is tested
def test_a_thread_that_died_left_nothing_whole(writer: MakeWriter, monkeypatch: pytest.MonkeyPatch) -> None:
    """A journal whose thread died of a defect says so, and its end does not pass for an orderly one."""
    journal = writer()
    assert journal.flush(SOON)

    def broken(*_: object, **__: object) -> None:
        raise ArithmeticError("a defect")

    monkeypatch.setattr(journal._keeper, "write", broken)
    journal.put(NoteItem(1.0, "x", "y"))
    journal._thread.join(SOON)

    assert not journal.alive
    assert "thread is dead" in journal.trouble
    assert not journal.close(1.0)
