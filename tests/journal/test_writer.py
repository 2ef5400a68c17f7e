"""What the journal promises while it is written."""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Callable
from contextlib import closing
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import pytest
from msgspec.structs import replace

from tuner.journal.reader import last_record, learned, originals, runs, standing, trace
from tuner.journal.store import Store
from tuner.journal.writer import JournalWriter
from tuner.records import Capacity, Decision, Facts, TickRecord
from tuner.settings import Settings

MakeRecord = Callable[..., TickRecord]
MakeWriter = Callable[..., JournalWriter]

SOON = 10.0


def rows(directory: Path, query: str) -> list[tuple[object, ...]]:
    """Read as another process would."""
    with closing(sqlite3.connect(f"file:{directory / 'journal.db'}?mode=ro", uri=True)) as db:
        return db.execute(query).fetchall()


def begin(journal: JournalWriter, facts: Facts) -> None:
    """Start a run."""
    journal.begin_run(settings=Settings(), facts=facts, state=b"state", tick_number=0, wall=1.0)


def test_originals_are_on_disk_when_done_is_called(writer: MakeWriter, tmp_path: Path) -> None:
    """Inside the callback, another connection already reads them; the caller's thread never waits."""
    seen: list[tuple[object, ...]] = []
    threads: list[str] = []
    finished = threading.Event()

    def done() -> None:
        threads.append(threading.current_thread().name)
        seen.extend(rows(tmp_path, "SELECT identity, io_capacity, io_capacity_max FROM originals"))
        finished.set()

    writer().save_originals("uuid-1", Capacity(10_000, 20_000), 5.0, "9.7.4", 6.0, done)

    assert finished.wait(SOON)
    assert seen == [("uuid-1", 10_000, 20_000)]
    assert threads == ["journal"]
    (kept,) = originals(tmp_path)
    assert (kept.capacity, kept.started, kept.version, kept.taken_at) == (
        Capacity(10_000, 20_000),
        5.0,
        "9.7.4",
        6.0,
    )


def test_originals_are_kept_for_each_server(writer: MakeWriter, tmp_path: Path) -> None:
    """A new pair of the same server replaces its old one; another server has its own."""
    journal = writer()
    journal.save_originals("b", Capacity(200, 400), 1.0, "9.7.4", 1.0, lambda: None)
    journal.save_originals("a", Capacity(300, 600), 1.0, "9.7.4", 1.0, lambda: None)
    journal.save_originals("b", Capacity(500, 900), 2.0, "9.7.4", 2.0, lambda: None)
    assert journal.flush(SOON)

    assert [(kept.identity, kept.capacity) for kept in originals(tmp_path)] == [
        ("a", Capacity(300, 600)),
        ("b", Capacity(500, 900)),
    ]


def test_it_can_be_read_while_it_is_written(
    writer: MakeWriter, record: MakeRecord, facts: Facts, tmp_path: Path
) -> None:
    """Status and replay work beside a running daemon."""
    journal = writer()
    begin(journal, facts)
    for number in range(1, 4):
        journal.record(record(number))
    journal.snapshot(3, b"after three")
    assert journal.flush(SOON)
    reading = trace(tmp_path)
    assert next(reading) == runs(tmp_path)[0]
    journal.record(record(4))
    assert journal.flush(SOON)

    assert last_record(tmp_path) == record(4)
    assert list(reading)[:3] == [record(1), record(2), record(3)]


def test_decisions_and_events_can_be_read_with_any_tool(
    writer: MakeWriter, record: MakeRecord, facts: Facts, set_decision: Decision, tmp_path: Path
) -> None:
    """Columns have names; what is urgent does not wait for the next batch."""
    journal = writer()
    begin(journal, facts)
    journal.record(record(1))
    journal.record(record(2, set_decision, ("write",)))
    assert journal.flush(SOON)

    assert rows(
        tmp_path,
        "SELECT tick, mode, kind, reason, written, old_io_capacity, old_io_capacity_max, "
        "new_io_capacity, new_io_capacity_max FROM decisions",
    ) == [(2, "active", "set", "demand", 1, 225, 450, 250, 500)]
    assert rows(tmp_path, "SELECT tick, code, message, who FROM events") == [
        (2, "write", "write happened", "loop")
    ]


def test_the_same_advice_every_second_is_one_row(
    writer: MakeWriter, record: MakeRecord, keep_decision: Decision, tmp_path: Path
) -> None:
    """Advisory repeats itself each tick; the table of decisions does not."""
    journal = writer()
    for number in range(1, 60):
        wanted = 500 + number % 10 if number < 30 else 900
        would = Capacity(wanted // 2, wanted)
        journal.record(record(number, replace(keep_decision, reason="advisory", would=would)))
    assert journal.flush(SOON)

    assert rows(tmp_path, "SELECT tick, written, reason, new_io_capacity_max FROM decisions") == [
        (1, 0, "advisory", 501),
        (30, 0, "advisory", 900),
    ]


def test_the_ring_keeps_the_file_small(
    writer: MakeWriter, record: MakeRecord, facts: Facts, tmp_path: Path
) -> None:
    """However long the daemon runs, ticks and file stay inside the limit, newest kept."""
    journal = writer(keep_ticks=500, queue_ticks=10_000)
    begin(journal, facts)
    sizes: list[int] = []
    for number in range(1, 5001):
        journal.record(record(number))
        if number % 500 == 0:
            journal.snapshot(number, b"s" * 1000)
            assert journal.flush(SOON)
            sizes.append((tmp_path / "journal.db").stat().st_size)

    assert sizes[-1] <= sizes[2] * 1.05
    ((count, newest, snapshots),) = rows(
        tmp_path, "SELECT count(*), max(number), (SELECT count(*) FROM snapshots) FROM ticks"
    )
    assert 500 <= int(str(count)) < 600
    assert newest == 5000
    assert int(str(snapshots)) <= 3


def test_a_shorter_ring_gives_the_disk_back(
    writer: MakeWriter, record: MakeRecord, facts: Facts, tmp_path: Path
) -> None:
    """Lowering keep_ticks shrinks the file, bit by bit."""
    big = writer(keep_ticks=5000, queue_ticks=10_000)
    begin(big, facts)
    for number in range(1, 5001):
        big.record(record(number))
    assert big.close(SOON)
    before = (tmp_path / "journal.db").stat().st_size
    small = writer(keep_ticks=100)
    for number in range(5001, 5041):
        small.record(record(number))
        assert small.flush(SOON)

    assert (tmp_path / "journal.db").stat().st_size < before / 2


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
    journal.save_originals("u", Capacity(1, 2), 0.0, "9", 0.0, begin_hanging.set)
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
    journal.save_originals("u", Capacity(1, 2), 0.0, "9", 0.0, kept.set)
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
    first.save_originals("uuid-1", Capacity(10_000, 20_000), 5.0, "9.7.4", 6.0, lambda: None)
    first.save_standing("uuid-1", "paused")
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
    journal.save_originals("uuid-1", Capacity(10_000, 20_000), 5.0, "9.7.4", 6.0, lambda: None)
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
    second.save_originals("u", Capacity(1, 2), 0.0, "9", 0.0, confirmed.set)

    assert not second.flush(0.2)
    assert not confirmed.is_set()
    assert "another daemon" in messages[0]
    assert first.close(SOON)
    assert last_record(tmp_path) == record(1)


def test_what_was_learned_is_kept_for_each_server(writer: MakeWriter, tmp_path: Path) -> None:
    """The newest state of each server comes back; an unknown one has none."""
    journal = writer()
    journal.save_learned("a", b"old")
    journal.save_learned("a", b"new")
    assert journal.flush(SOON)

    assert learned(tmp_path) == {"a": b"new"}


def test_closing_writes_what_is_left(writer: MakeWriter, record: MakeRecord, tmp_path: Path) -> None:
    """A tick taken just before the stop is on disk after it, in one file."""
    journal = writer()
    journal.record(record(7))
    assert journal.close(SOON)

    assert last_record(tmp_path) == record(7)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["journal.db", "journal.lock"]


def test_a_clock_that_races_loses_nothing(writer: MakeWriter, record: MakeRecord, tmp_path: Path) -> None:
    """Simulated seconds come faster than batches; a queue that fills up is emptied before it is full."""
    journal = writer(queue_ticks=100)
    assert journal.flush(SOON)
    for start in range(1, 601, 60):
        for number in range(start, start + 60):
            journal.record(record(number))
        deadline = time.monotonic() + SOON
        while rows(tmp_path, "SELECT count(*) FROM ticks") < [(start + 50,)]:
            assert time.monotonic() < deadline

    assert journal.dropped == 0


def test_the_version_on_record_is_the_installed_one(writer: MakeWriter, facts: Facts, tmp_path: Path) -> None:
    """Found without the library that finds versions, which is heavy."""
    try:
        installed = version("innobrim")
    except PackageNotFoundError:
        installed = "not installed"
    journal = writer()
    begin(journal, facts)
    assert journal.flush(SOON)

    assert runs(tmp_path)[0].program == installed
