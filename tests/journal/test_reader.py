"""What the journal promises to those who read it."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from tuner.journal.items import RunItem
from tuner.journal.reader import absence, last_record, originals, runs, trace
from tuner.journal.tables import JournalError, Originals, Run, Snapshot
from tuner.journal.writer import JournalWriter
from tuner.records import Capacity, Facts, TickRecord
from tuner.settings import Mode, Settings

MakeRecord = Callable[..., TickRecord]
MakeWriter = Callable[..., JournalWriter]

SOON = 10.0


def test_no_journal_is_no_news(tmp_path: Path) -> None:
    """Before the first start there is nothing, which is not an error."""
    assert last_record(tmp_path) is None
    assert originals(tmp_path) == []
    assert absence(tmp_path) == f"there is no journal in {tmp_path}"
    (tmp_path / "journal.db").touch()
    assert last_record(tmp_path) is None
    assert originals(tmp_path) == []
    assert absence(tmp_path) == f"{tmp_path / 'journal.db'} is empty"


def test_a_run_comes_back_as_it_was(
    writer: MakeWriter, record: MakeRecord, facts: Facts, tmp_path: Path
) -> None:
    """Settings, facts, state and every tick, for the run that was asked for."""
    journal = writer()
    settings = Settings(mode=Mode.ACTIVE, set_point=0.8, ratio=3)
    journal.put(RunItem(settings=settings, facts=facts, state=b"one", tick=0, wall=10.0))
    journal.record(record(1))
    journal.record(record(2))
    journal.put(RunItem(settings=Settings(), facts=facts, state=b"two", tick=2, wall=20.0))
    journal.record(record(3))
    assert journal.close(SOON)

    header, *ticks = trace(tmp_path, run=1)
    assert isinstance(header, Run)
    assert (header.settings, header.facts, header.state, header.wall) == (settings, facts, b"one", 10.0)
    assert ticks == [record(1), record(2)]
    newest, *ticks = trace(tmp_path / "journal.db")
    assert isinstance(newest, Run)
    assert (newest.number, newest.tick, ticks) == (2, 2, [record(3)])
    assert [run.number for run in runs(tmp_path)] == [1, 2]
    with pytest.raises(JournalError, match="no run 9; there are 1 to 2"):
        list(trace(tmp_path, run=9))


def test_a_ring_that_lost_its_beginning_still_has_a_place_to_start(
    writer: MakeWriter, record: MakeRecord, facts: Facts, tmp_path: Path
) -> None:
    """Each snapshot comes right before the tick that follows it."""
    journal = writer(keep_ticks=200, queue_ticks=5000)
    journal.put(RunItem(settings=Settings(), facts=facts, state=b"lost", tick=0, wall=10.0))
    for number in range(1, 1001):
        journal.record(record(number))
        if number % 100 == 0:
            journal.put(Snapshot(number, b"after %d" % number))
            assert journal.flush(SOON)

    items = list(trace(tmp_path))[1:]
    assert [item.tick.number for item in items if isinstance(item, TickRecord)] == list(range(801, 1001))
    places = [place for place, item in enumerate(items) if isinstance(item, Snapshot)]
    assert len(places) == 2
    for place in places:
        snapshot, following = items[place], items[place + 1]
        assert isinstance(snapshot, Snapshot)
        assert isinstance(following, TickRecord)
        assert snapshot.tick == following.tick.number - 1
        assert snapshot.state == b"after %d" % snapshot.tick


def as_nobody(path: Path) -> str:
    """Read the newest tick's number as an account without any right to write."""
    code = (
        "import os, sys, sqlite3; os.setgroups([]); os.setgid(65534); os.setuid(65534)\n"
        "db = sqlite3.connect('file:' + sys.argv[1] + '?mode=ro', uri=True)\n"
        "print(db.execute('SELECT max(number) FROM ticks').fetchone()[0])"
    )
    command = [sys.executable, "-c", code, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - our own code
    return done.stdout.strip() or done.stderr


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to become another account")
def test_an_account_that_may_only_read_can_read(writer: MakeWriter, record: MakeRecord) -> None:
    """While the daemon runs and after it stopped, in a directory that the reader cannot write to."""
    with tempfile.TemporaryDirectory() as place:
        directory = Path(place)
        directory.chmod(0o755)
        journal = writer(directory=directory)
        journal.record(record(5))
        assert journal.flush(SOON)
        path = directory / "journal.db"
        mode = path.stat().st_mode & 0o777
        for each in directory.glob("journal.db*"):
            each.chmod(0o644)
        running = as_nobody(path)
        journal.record(record(6))
        assert journal.close(SOON)
        stopped = as_nobody(path)

    assert mode == 0o640
    assert (running, stopped) == ("5", "6")


def test_a_writer_that_was_killed_leaves_a_readable_journal(
    writer: MakeWriter, record: MakeRecord, tmp_path: Path
) -> None:
    """A half-written transaction is invisible, and reading does not touch the file."""
    journal = writer()
    journal.record(record(1))
    assert journal.close(SOON)
    kill = (
        "import os, sqlite3, sys\n"
        "db = sqlite3.connect(sys.argv[1], isolation_level=None)\n"
        "db.execute('PRAGMA cache_size = 1'); db.execute('PRAGMA journal_mode = PERSIST')\n"
        "db.execute('BEGIN IMMEDIATE')\n"
        "db.execute('UPDATE ticks SET record = zeroblob(200000)')\n"
        "db.execute('CREATE TABLE more AS SELECT randomblob(500000)')\n"
        "os.kill(os.getpid(), 9)"
    )
    subprocess.run([sys.executable, "-c", kill, str(tmp_path / "journal.db")], check=False)  # noqa: S603 - the same
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert before["journal.db-journal"]

    assert last_record(tmp_path) == record(1)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_another_file_is_named_as_what_it_is(tmp_path: Path) -> None:
    """No journal, another database and rubbish are told apart from a damaged journal."""
    rubbish = tmp_path / "notes.txt"
    rubbish.write_text("hello " * 1000)
    other = tmp_path / "other.db"
    with closing(sqlite3.connect(other)) as db:
        db.execute("CREATE TABLE ticks (id INTEGER)")

    for path, said in (
        (tmp_path / "no", "no journal there"),
        (rubbish, "no journal of"),
        (other, "no journal of"),
    ):
        with pytest.raises(JournalError, match=said):
            list(trace(path))
        if path.exists():
            (tmp_path / "journal.db").write_bytes(path.read_bytes())
            with pytest.raises(JournalError, match=said):
                originals(tmp_path)


def test_a_journal_without_a_run_has_no_run_to_name(writer: MakeWriter, tmp_path: Path) -> None:
    """Asked for a run of a journal that has none yet, the answer is that, and not a range of nothing."""
    journal = writer()
    assert journal.flush(SOON)

    with pytest.raises(JournalError, match="no run 7; no run was started in it yet"):
        list(trace(tmp_path, run=7))
    assert absence(tmp_path) == ""


@contextmanager
def without_rights(path: Path) -> Iterator[None]:
    """Take every right to a path away, root's too."""
    mode = path.stat().st_mode
    path.chmod(0)
    real, effective, _ = os.getresuid()
    if effective == 0:
        os.setresuid(65534, 65534, 0)
    try:
        yield
    finally:
        os.setresuid(real, effective, effective)
        path.chmod(mode)


@pytest.mark.parametrize("name", ["journal.db", "."])
def test_a_journal_that_may_not_be_read_is_named_with_the_reason(
    writer: MakeWriter, record: MakeRecord, name: str
) -> None:
    """Whether the file or its directory is closed to this account: the path and the reason are said."""
    with tempfile.TemporaryDirectory() as place:
        directory = Path(place)
        directory.chmod(0o755)
        journal = writer(directory=directory)
        journal.record(record(1))
        assert journal.close(SOON)
        with without_rights(directory / name):
            for read in (last_record, originals, lambda path: list(trace(path))):
                with pytest.raises(JournalError, match=f"{directory}.*: permission denied"):
                    read(directory)


@pytest.mark.parametrize(
    "change",
    ["PRAGMA user_version = 99", "UPDATE runs SET fingerprint = 'other'"],
)
def test_another_format_names_the_version_that_wrote_it(
    writer: MakeWriter, record: MakeRecord, facts: Facts, tmp_path: Path, change: str
) -> None:
    """Records of another version are refused rather than misread; originals are still found."""
    journal = writer()
    journal.put(RunItem(settings=Settings(), facts=facts, state=b"", tick=0, wall=1.0))
    journal.record(record(1))
    journal.put(Originals("u", Capacity(100, 200), 0.0, "9", 0.0))
    assert journal.close(SOON)
    with closing(sqlite3.connect(tmp_path / "journal.db")) as db:
        program = "12.3.4"
        db.execute("UPDATE runs SET program = ?", (program,))
        db.execute("UPDATE meta SET value = ? WHERE name = 'program'", (program,))
        db.execute(change)
        db.commit()

    for read in (last_record, lambda path: list(trace(path))):
        with pytest.raises(JournalError, match=r"written by InnoBrim 12\.3\.4"):
            read(tmp_path)
    assert [kept.identity for kept in originals(tmp_path)] == ["u"]


def test_an_upgraded_daemon_goes_on_in_the_same_journal(
    writer: MakeWriter, record: MakeRecord, facts: Facts, tmp_path: Path
) -> None:
    """Runs of the older version are passed over; the newer one's are read."""
    for number in (1, 2):
        journal = writer()
        journal.put(RunItem(settings=Settings(), facts=facts, state=b"", tick=0, wall=1.0))
        journal.record(record(number))
        assert journal.close(SOON)
        if number == 1:
            with closing(sqlite3.connect(tmp_path / "journal.db")) as db:
                db.execute("UPDATE runs SET fingerprint = 'older'")
                db.commit()

    assert [run.number for run in runs(tmp_path)] == [2]
    assert last_record(tmp_path) == record(2)
