"""What the journal promises where the disk, its file or a second daemon is in the way."""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.journal.written import begin, rows
from tuner.journal.items import NoteItem, StandingItem
from tuner.journal.reader import last_record, originals, runs, standing
from tuner.journal.store import Store
from tuner.journal.tables import Originals
from tuner.journal.writer import JournalWriter
from tuner.records import Capacity, Facts, TickRecord

MakeRecord = Callable[..., TickRecord]
MakeWriter = Callable[..., JournalWriter]

SOON = 10.0


def test_a_disk_that_hangs_never_blocks_the_loop(
    writer: MakeWriter,
    record: MakeRecord,
    monkeypatch: pytest.MonkeyPatch,
    messages: list[str],
    tmp_path: Path,
) -> None:
    """While a commit hangs, ticks are taken at once, the oldest are dropped, and the gap is on record."""
    hanging, go_on = threading.Event(), threading.Event()
    commit = Store.commit

    def slow(self: Store) -> None:
        hanging.set()
        go_on.wait(SOON)
        commit(self)

    monkeypatch.setattr(Store, "commit", slow)
    journal = writer(queue_ticks=50)
    begin_hanging = threading.Event()
    journal.put(Originals("u", Capacity(1, 2), 0.0, "9", 0.0), begin_hanging.set)
    assert hanging.wait(SOON)
    started = time.perf_counter()
    for number in range(1, 201):
        journal.record(record(number))
    took = time.perf_counter() - started
    stuck = not begin_hanging.is_set()
    dropped = journal.dropped
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
    writer: MakeWriter,
    record: MakeRecord,
    monkeypatch: pytest.MonkeyPatch,
    messages: list[str],
    tmp_path: Path,
) -> None:
    """The loop goes on, nothing is confirmed that is not on disk, and all is written later."""
    full = threading.Event()
    tried = threading.Semaphore(0)
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
    kept = threading.Event()
    for number in range(1, 4):
        journal.record(record(number, events=("write",)))
        assert tried.acquire(timeout=SOON)
    journal.put(Originals("u", Capacity(1, 2), 0.0, "9", 0.0), kept.set)
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
    writer: MakeWriter, record: MakeRecord, messages: list[str], tmp_path: Path
) -> None:
    """A state directory that is missing at start costs nothing but a message."""
    directory = tmp_path / "later"
    journal = writer(directory=directory)
    journal.record(record(1, events=("start",)))
    assert not journal.flush(0.1)
    directory.mkdir()
    assert journal.flush(SOON)

    assert "No such file or directory" in messages[0]
    assert last_record(directory) == record(1, events=("start",))


def test_a_damaged_journal_is_set_aside_with_its_originals(
    writer: MakeWriter, record: MakeRecord, facts: Facts, messages: list[str], tmp_path: Path
) -> None:
    """Broken pages cost the trace, not the originals that can still be read."""
    first = writer()
    begin(first, facts)
    first.put(Originals("uuid-1", Capacity(10_000, 20_000), 5.0, "9.7.4", 6.0))
    first.put(StandingItem("uuid-1", "paused"))
    for number in range(1, 500):
        first.record(record(number))
    assert first.close(SOON)
    path = tmp_path / "journal.db"
    damaged = bytearray(path.read_bytes())
    damaged[len(damaged) // 2 : len(damaged) // 2 + 8192] = b"\xff" * 8192
    path.write_bytes(damaged)

    second = writer()
    begin(second, facts)
    second.record(record(1))
    assert second.flush(SOON)

    assert last_record(tmp_path) == record(1)
    assert [kept.capacity for kept in originals(tmp_path)] == [Capacity(10_000, 20_000)]
    assert standing(tmp_path) == {"uuid-1": "paused"}
    assert len(list(tmp_path.glob("journal.damaged-*.db"))) == 1
    assert "originals of 1 server" in messages[0]
    assert rows(tmp_path, "SELECT code FROM events") == [("journal_set_aside",)]


def test_rubbish_in_place_of_a_journal_is_set_aside_and_said(
    writer: MakeWriter, messages: list[str], tmp_path: Path
) -> None:
    """Where the originals are lost, that is what is said; nothing is deleted."""
    (tmp_path / "journal.db").write_bytes(b"rubbish" * 1000)
    assert writer().flush(SOON)

    assert "originals could not be read" in messages[0]
    (aside,) = tmp_path.glob("journal.damaged-*.db")
    assert aside.read_bytes() == b"rubbish" * 1000


def test_a_journal_that_breaks_while_it_runs_is_replaced(
    writer: MakeWriter, record: MakeRecord, facts: Facts, messages: list[str], tmp_path: Path
) -> None:
    """The run and the originals go on in a fresh file."""
    journal = writer()
    begin(journal, facts)
    journal.put(Originals("uuid-1", Capacity(10_000, 20_000), 5.0, "9.7.4", 6.0))
    journal.record(record(1))
    assert journal.flush(SOON)
    path = tmp_path / "journal.db"
    path.write_bytes(b"\xff" * path.stat().st_size)
    journal.record(record(2, events=("write",)))
    deadline = time.monotonic() + SOON
    while not journal.flush(0.05):
        assert time.monotonic() < deadline

    assert last_record(tmp_path) == record(2, events=("write",))
    assert [kept.identity for kept in originals(tmp_path)] == ["uuid-1"]
    (run,) = runs(tmp_path)
    assert (run.facts, run.state) == (facts, b"")
    assert any("set aside" in message for message in messages)


def test_a_second_daemon_leaves_the_journal_alone(
    writer: MakeWriter, record: MakeRecord, messages: list[str], tmp_path: Path
) -> None:
    """One writer per journal; the second one says so and never confirms originals."""
    first = writer()
    first.record(record(1))
    assert first.flush(SOON)
    second = writer()
    second.record(record(99))
    confirmed = threading.Event()
    second.put(Originals("u", Capacity(1, 2), 0.0, "9", 0.0), confirmed.set)

    assert not second.flush(0.2)
    assert not confirmed.is_set()
    assert "another daemon" in messages[0]
    assert first.close(SOON)
    assert last_record(tmp_path) == record(1)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")  # it is what is tested
def test_a_thread_that_died_left_nothing_whole(writer: MakeWriter, monkeypatch: pytest.MonkeyPatch) -> None:
    """A journal whose thread died of a defect says so, and its end does not pass for an orderly one."""
    journal = writer()
    assert journal.flush(10.0)

    def broken(*_: object, **__: object) -> None:
        raise ArithmeticError("a defect")

    monkeypatch.setattr(journal._keeper, "write", broken)
    journal.put(NoteItem(wall=1.0, code="x", message="y", who="z"))
    journal._thread.join(10.0)

    assert not journal.alive
    assert "thread is dead" in journal.trouble
    assert not journal.close(1.0)
