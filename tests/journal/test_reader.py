"""What the journal promises to those who read it."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from tests.journal.written import FACTS, ORIGINALS, RUN, SOON, Keep, MakeWriter, change, put, record
from tuner.journal.items import RunItem
from tuner.journal.reader import absence, last_record, originals, runs, trace
from tuner.journal.readonly import ReadOnlyJournal
from tuner.journal.tables import JournalError, Run, Snapshot
from tuner.records import TickRecord
from tuner.settings import Mode, Settings


@pytest.fixture
def shared() -> Iterator[Path]:
    """Return a directory that other accounts may look into."""
    with tempfile.TemporaryDirectory() as place:
        directory = Path(place)
        directory.chmod(0o755)
        yield directory


def test_no_journal_is_no_news(tmp_path: Path) -> None:
    """Before the first start there is nothing, which is not an error."""
    assert last_record(tmp_path) is None
    assert originals(tmp_path) == []
    assert absence(tmp_path) == f"there is no journal in {tmp_path}"
    (tmp_path / "journal.db").touch()
    assert last_record(tmp_path) is None
    assert originals(tmp_path) == []
    assert absence(tmp_path) == f"{tmp_path / 'journal.db'} is empty"


def test_a_run_comes_back_as_it_was(keep: Keep, tmp_path: Path) -> None:
    """Settings, facts, state and every tick, for the run that was asked for."""
    first = RunItem(Settings(mode=Mode.ACTIVE, set_point=0.8, ratio=3), FACTS, b"one", 0, 10.0)
    keep(first, record(1), record(2), RunItem(Settings(), FACTS, b"two", 2, 20.0), record(3))

    header, *ticks = trace(tmp_path, run=1)
    assert isinstance(header, Run)
    assert RunItem(header.settings, header.facts, header.state, header.tick, header.wall) == first
    assert ticks == [record(1), record(2)]
    newest, *ticks = trace(tmp_path / "journal.db")
    assert isinstance(newest, Run)
    assert (newest.number, newest.tick, ticks) == (2, 2, [record(3)])
    assert [run.number for run in runs(tmp_path)] == [1, 2]
    with pytest.raises(JournalError, match="no run 9; there are 1 to 2"):
        list(trace(tmp_path, run=9))


def test_a_ring_that_lost_its_beginning_still_has_a_place_to_start(
    writer: MakeWriter, tmp_path: Path
) -> None:
    """Each snapshot comes right before the tick that follows it."""
    journal = put(writer(keep_ticks=200, queue_ticks=5000), RUN)
    for first in range(1, 1001, 100):
        last = first + 99
        put(journal, *map(record, range(first, last + 1)), Snapshot(last, b"after %d" % last))
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
def test_an_account_that_may_only_read_can_read(writer: MakeWriter, shared: Path) -> None:
    """While the daemon runs and after it stopped, in a directory that the reader cannot write to."""
    journal = put(writer(directory=shared), record(5))
    assert journal.flush(SOON)
    path = shared / "journal.db"
    mode = path.stat().st_mode & 0o777
    for each in shared.glob("journal.db*"):
        each.chmod(0o644)
    running = as_nobody(path)
    journal.record(record(6))
    assert journal.close(SOON)

    assert mode == 0o640
    assert (running, as_nobody(path)) == ("5", "6")


def test_a_writer_that_was_killed_leaves_a_readable_journal(keep: Keep, tmp_path: Path) -> None:
    """A half-written transaction is invisible, and reading does not touch the file."""
    keep(record(1))
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


def test_a_journal_without_a_run_has_no_run_to_name(keep: Keep) -> None:
    """Asked for a run of a journal that has none yet, the answer is that, and not a range of nothing."""
    directory = keep()

    with pytest.raises(JournalError, match="no run 7; no run was started in it yet"):
        list(trace(directory, run=7))
    assert absence(directory) == ""


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
def test_a_journal_that_may_not_be_read_is_named_with_the_reason(keep: Keep, shared: Path, name: str) -> None:
    """Whether the file or its directory is closed to this account: the path and the reason are said."""
    keep(record(1), directory=shared)
    with without_rights(shared / name):
        for read in (last_record, originals, lambda path: list(trace(path))):
            with pytest.raises(JournalError, match=f"{shared}.*: permission denied"):
                read(shared)


@pytest.mark.parametrize("statement", ["PRAGMA user_version = 99", "UPDATE runs SET fingerprint = 'other'"])
def test_another_format_names_the_version_that_wrote_it(keep: Keep, statement: str) -> None:
    """Records of another version are refused rather than misread; originals are still found."""
    directory = keep(RUN, record(1), ORIGINALS)
    change(
        directory,
        "UPDATE runs SET program = '12.3.4'",
        "UPDATE meta SET value = '12.3.4' WHERE name = 'program'",
        statement,
    )

    for read in (last_record, lambda path: list(trace(path))):
        with pytest.raises(JournalError, match=r"written by InnoBrim 12\.3\.4"):
            read(directory)
    assert originals(directory) == [ORIGINALS]


def test_an_upgraded_daemon_goes_on_in_the_same_journal(keep: Keep, tmp_path: Path) -> None:
    """Runs of the older version are passed over; the newer one's are read."""
    keep(RUN, record(1))
    change(tmp_path, "UPDATE runs SET fingerprint = 'older'")
    keep(RUN, record(2))

    assert [run.number for run in runs(tmp_path)] == [2]
    assert last_record(tmp_path) == record(2)


def test_a_query_without_an_end_is_given_up_in_time(keep: Keep) -> None:
    """Whoever asks a journal within a time hears that it was not enough, in the middle of a query too."""
    path = keep(RunItem(Settings(), FACTS, b"one", 0, 10.0), record(1)) / "journal.db"
    endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"
    with (
        ReadOnlyJournal(path, seconds=0.2) as journal,
        pytest.raises(JournalError, match=r"not read within 0\.2 s"),
    ):
        journal.rows(endless)
