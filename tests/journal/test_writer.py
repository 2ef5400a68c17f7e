"""What the journal promises while it is written."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path

from msgspec.structs import replace

from tests.journal.written import begin, rows
from tuner.journal.items import NoteItem
from tuner.journal.reader import last_record, originals, runs, trace
from tuner.journal.tables import Originals, Snapshot
from tuner.journal.writer import JournalWriter
from tuner.records import Capacity, Decision, Facts, TickRecord

MakeRecord = Callable[..., TickRecord]
MakeWriter = Callable[..., JournalWriter]

SOON = 10.0


def test_originals_are_on_disk_when_done_is_called(writer: MakeWriter, tmp_path: Path) -> None:
    """Inside the callback, another connection already reads them; the caller's thread never waits."""
    seen: list[tuple[object, ...]] = []
    threads: list[str] = []
    finished = threading.Event()

    def done() -> None:
        threads.append(threading.current_thread().name)
        seen.extend(rows(tmp_path, "SELECT identity, io_capacity, io_capacity_max FROM originals"))
        finished.set()

    writer().put(Originals("uuid-1", Capacity(10_000, 20_000), 5.0, "9.7.4", 6.0), done)

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
    journal.put(Originals("b", Capacity(200, 400), 1.0, "9.7.4", 1.0))
    journal.put(Originals("a", Capacity(300, 600), 1.0, "9.7.4", 1.0))
    journal.put(Originals("b", Capacity(500, 900), 2.0, "9.7.4", 2.0))
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
    journal.put(Snapshot(3, b"after three"))
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
    ) == [(2, "active", "set", "raise", 1, 225, 450, 250, 500)]
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
            journal.put(Snapshot(number, b"s" * 1000))
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
    for start in range(1, 601, 40):
        for number in range(start, start + 40):
            journal.record(record(number))
        deadline = time.monotonic() + SOON
        while rows(tmp_path, "SELECT count(*) FROM ticks") < [(start - 11,)]:
            assert time.monotonic() < deadline

    assert journal.dropped == 0


def test_a_writer_that_is_given_nothing_leaves_no_journal(tmp_path: Path) -> None:
    """The journal is opened with the first thing to write, and one that never was can be closed."""
    unused, used = (JournalWriter(tmp_path, keep_ticks=10, on_error=lambda _: None) for _ in range(2))
    assert unused.close(SOON)
    assert list(tmp_path.iterdir()) == []

    used.put(NoteItem(wall=1.0, code="offline", message="parked", who="innobrim park"))
    assert (unused.started, used.started) == (False, True)
    assert used.close(SOON)
    assert rows(tmp_path, "SELECT message FROM events") == [("parked",)]
