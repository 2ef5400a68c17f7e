"""What a journal keeps when its file or its directory is damaged under it."""

from __future__ import annotations

import contextlib
import shutil
import sqlite3
import threading
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from tests.journal.written import rows
from tuner.daemon.predecessors import look
from tuner.journal.ending import ending
from tuner.journal.items import LearnedItem, RunItem, StandingItem
from tuner.journal.reader import (
    done_offline,
    earlier_ticks,
    last_record,
    learned,
    originals,
    runs,
    standing,
    trace,
)
from tuner.journal.tables import OFFLINE, JournalError, Originals
from tuner.journal.writer import JournalWriter
from tuner.records import Capacity, Facts, TickRecord
from tuner.settings import Settings

MakeRecord = Callable[..., TickRecord]
MakeWriter = Callable[..., JournalWriter]

SOON = 10.0
PAIR = Capacity(10_000, 20_000)
TICKS = 100


@pytest.fixture
def journal(writer: MakeWriter, record: MakeRecord, facts: Facts, tmp_path: Path) -> Path:
    """Return a journal with originals, something that stands, and a few hundred ticks; nobody has it open."""
    first = writer()
    first.put(RunItem(settings=Settings(), facts=facts, state=b"state", tick=0, wall=1.0))
    first.put(Originals("uuid-1", PAIR, 5.0, "9.7.4", 6.0))
    first.put(StandingItem("uuid-1", "paused"))
    for number in range(1, TICKS):
        first.record(record(number))
    assert first.close(SOON)
    return tmp_path / "journal.db"


def spoil(journal: Path, name: str) -> None:
    """Overwrite the first page of a table or an index."""
    with closing(sqlite3.connect(journal)) as db:
        ((size,),) = db.execute("PRAGMA page_size").fetchall()
        ((page,),) = db.execute("SELECT rootpage FROM sqlite_schema WHERE name = ?", (name,)).fetchall()
    damaged = bytearray(journal.read_bytes())
    damaged[size * (page - 1) : size * page] = b"\xff" * size
    journal.write_bytes(damaged)


@pytest.mark.parametrize("share", [0.9, 0.5, 0.3])
def test_a_journal_cut_short_keeps_its_originals(
    journal: Path, writer: MakeWriter, messages: list[str], tmp_path: Path, share: float
) -> None:
    """A file that lost its end costs the trace, not the originals nor what a person said."""
    whole = journal.read_bytes()
    journal.write_bytes(whole[: int(share * len(whole))])

    assert writer().flush(SOON)

    assert [kept.capacity for kept in originals(tmp_path)] == [PAIR]
    assert standing(tmp_path) == {"uuid-1": "paused"}
    assert "originals of 1 server" in messages[0]


@pytest.mark.parametrize("layout", [0, 99])
def test_a_journal_of_another_layout_is_set_aside_with_what_counts(
    journal: Path, writer: MakeWriter, messages: list[str], tmp_path: Path, layout: int
) -> None:
    """After an upgrade, or a rollback, originals and what a person said go on in a new journal."""
    with closing(sqlite3.connect(journal)) as db:
        db.execute(f"PRAGMA user_version = {layout}")

    assert writer().flush(SOON)

    assert [kept.capacity for kept in originals(tmp_path)] == [PAIR]
    assert standing(tmp_path) == {"uuid-1": "paused"}
    assert f"its layout is number {layout}" in messages[0]
    assert len(list(tmp_path.glob("journal.damaged-*.db"))) == 1


def test_originals_that_are_cut_off_are_not_made_up(
    journal: Path, writer: MakeWriter, messages: list[str], tmp_path: Path
) -> None:
    """Where the originals' own page is gone, that is said, and the next journal is sound."""
    with closing(sqlite3.connect(journal)) as db:
        ((size,),) = db.execute("PRAGMA page_size").fetchall()
        ((page,),) = db.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'originals'").fetchall()
    journal.write_bytes(journal.read_bytes()[: size * (page - 1)])

    assert writer().flush(SOON)

    assert originals(tmp_path) == []
    assert "originals could not be read" in messages[0]


def test_what_stands_survives_damaged_originals_and_the_other_way_round(
    journal: Path, writer: MakeWriter, messages: list[str], tmp_path: Path
) -> None:
    """Each is read by itself, and what is lost is named."""
    spoil(journal, "meta")

    assert writer().flush(SOON)

    assert [kept.capacity for kept in originals(tmp_path)] == [PAIR]
    assert standing(tmp_path) == {}
    assert "what stood, such as a pause, could not all be read" in messages[0]


def test_a_directory_that_comes_back_empty_is_told_everything_and_claimed_anew(
    writer: MakeWriter, record: MakeRecord, tmp_path: Path
) -> None:
    """After the directory was removed and made again, originals are in it, and nobody else may write it."""
    directory = tmp_path / "state"
    directory.mkdir()
    first = writer(directory=directory)
    first.put(Originals("uuid-1", PAIR, 5.0, "9.7.4", 6.0))
    assert first.flush(SOON)
    shutil.rmtree(directory)
    first.record(record(1, events=("write",)))
    assert not first.flush(0.2)
    directory.mkdir()
    assert first.flush(SOON)
    second = writer(directory=directory)
    confirmed = threading.Event()
    second.put(Originals("uuid-1", Capacity(100, 200), 5.0, "9.7.4", 6.0), confirmed.set)

    assert not second.flush(0.2)
    assert not confirmed.is_set()
    assert [kept.capacity for kept in originals(directory)] == [PAIR]
    assert last_record(directory) == record(1, events=("write",))


def learned_of_two(journal: Path, writer: MakeWriter) -> tuple[bytes, bytes]:
    """Put into a journal what was learned of two servers, several pages each, and return it."""
    first, second = b"\xa7" * 20_000, b"\xb1" * 20_000
    again = writer(directory=journal.parent)
    again.put(LearnedItem("uuid-1", time.time(), first))
    again.put(LearnedItem("uuid-2", time.time(), second))
    assert again.close(SOON)
    return first, second


def test_a_damaged_page_of_ticks_costs_nothing_of_what_was_learned(
    journal: Path, writer: MakeWriter, messages: list[str], tmp_path: Path
) -> None:
    """What was learned of every server is in the next journal, and the event says so."""
    first, second = learned_of_two(journal, writer)
    spoil(journal, "ticks")

    assert writer().flush(SOON)

    assert learned(tmp_path) == {"uuid-1": first, "uuid-2": second}
    assert messages[0].endswith("what was learned of 2 servers was carried over")
    ((event,),) = rows(tmp_path, "SELECT message FROM events WHERE code = 'journal_set_aside'")
    assert str(event) in messages[0]


@pytest.mark.parametrize(
    ("damage", "kept"),
    [("learned", ()), ("a row", ("uuid-1",)), ("sqlite_autoindex_learned_1", ("uuid-1", "uuid-2"))],
)
def test_what_was_learned_and_cannot_be_read_begins_afresh(
    journal: Path, writer: MakeWriter, messages: list[str], damage: str, kept: tuple[str, ...]
) -> None:
    """It is said, and costs neither the originals nor what stood, nor what was learned of another server."""
    both = dict(zip(("uuid-1", "uuid-2"), learned_of_two(journal, writer), strict=True))
    if damage == "a row":
        whole = bytearray(journal.read_bytes())
        at = whole.find(both["uuid-2"][:2_000]) // 4096 * 4096
        whole[at : at + 4096] = b"\xff" * 4096
        journal.write_bytes(whole)
    spoil(journal, "ticks" if damage == "a row" else damage)

    assert writer().flush(SOON)

    assert learned(journal.parent) == {name: both[name] for name in kept}
    assert [one.capacity for one in originals(journal.parent)] == [PAIR]
    assert (f"what was learned of {len(kept)} servers was carried over" in messages[0]) is bool(kept)
    assert ("could not be read" in messages[0]) is (len(kept) < len(both))


def test_a_directory_that_comes_back_empty_is_told_what_was_learned(
    writer: MakeWriter, tmp_path: Path
) -> None:
    """After the directory was removed and made again, what was learned since the start is in it."""
    directory = tmp_path / "state"
    directory.mkdir()
    first = writer(directory=directory)
    first.put(LearnedItem("uuid-1", time.time(), b"old"))
    first.put(LearnedItem("uuid-1", time.time(), b"new"))
    assert first.flush(SOON)
    shutil.rmtree(directory)
    first.put(LearnedItem("uuid-2", time.time(), b"other"))
    assert not first.flush(0.2)
    directory.mkdir()
    assert first.flush(SOON)

    assert learned(directory) == {"uuid-1": b"new", "uuid-2": b"other"}


def test_who_reads_a_journal_that_was_cut_short_is_told_what_to_do(journal: Path) -> None:
    """The message names the file, what is wrong, and how a whole copy is made."""
    whole = journal.read_bytes()
    journal.write_bytes(whole[: len(whole) // 2])

    with pytest.raises(JournalError) as refused:
        list(trace(journal))

    assert str(refused.value).startswith(
        f"{journal}: cannot be read: database disk image is malformed; it is"
    )
    assert "sqlite3 JOURNAL '.backup COPY'" in str(refused.value)


def test_a_damaged_tick_is_named_with_the_way_to_the_others(journal: Path, record: MakeRecord) -> None:
    """What the message says to type leaves a journal that can be read, without that one tick."""
    with closing(sqlite3.connect(journal)) as db, db:
        db.execute("UPDATE ticks SET record = x'01' WHERE number = 7")
    with pytest.raises(JournalError) as refused:
        list(trace(journal))
    said = str(refused.value)
    assert "tick 7 of run 1 is damaged: not a TickRecord" in said

    with closing(sqlite3.connect(journal)) as db, db:
        db.execute(said.partition('sqlite3 COPY "')[2].removesuffix('"'))
    assert list(trace(journal))[1:] == [record(number) for number in range(1, TICKS) if number != 7]


ODD = ("NULL", "'{}'", "x'dfff'", "CAST(x'ff' AS TEXT)", "9e999")
"""What a damaged page may put into any column."""


def columns(journal: Path) -> list[tuple[str, str]]:
    """Return every table's columns."""
    with closing(sqlite3.connect(journal)) as db:
        tables = db.execute("SELECT name FROM sqlite_schema WHERE type = 'table'").fetchall()
        return [(name, one[1]) for (name,) in tables for one in db.execute(f"PRAGMA table_info({name})")]


@pytest.fixture
def asked(tmp_path: Path, facts: Facts) -> dict[str, Callable[[], object]]:
    """Return what is asked of a journal, by the daemon at its start and by commands."""
    return {
        "last": lambda: last_record(tmp_path),
        "offline": lambda: done_offline(tmp_path, after=0.0),
        "originals": lambda: originals(tmp_path),
        "learned": lambda: learned(tmp_path),
        "runs": lambda: runs(tmp_path),
        "trace": lambda: list(trace(tmp_path)),
        "earlier": lambda: list(earlier_ticks(tmp_path, since=0.0, until=1e12, most=9)),
        "ending": lambda: ending(tmp_path),
        "start": lambda: look(tmp_path, quietly=True).begin(Settings(), facts, now=1.0),
    }


@pytest.mark.parametrize("value", ODD)
def test_whatever_is_in_a_column_a_journal_ends_in_words(
    journal: Path, asked: dict[str, Callable[[], object]], value: str
) -> None:
    """A value of another type or form is the journal's error; the daemon starts without what it told."""
    with closing(sqlite3.connect(journal)) as db:
        db.execute("INSERT INTO learned VALUES ('uuid-1', 1.0, '0.1.0', x'80')")
        db.execute(f"INSERT INTO events VALUES (99999, 1, 1, 1.0, '{OFFLINE}', 'x', 'y')")
        db.execute("UPDATE decisions SET written = 1")
        db.commit()
    whole, found = journal.read_bytes(), columns(journal)
    for table, column in found:
        journal.write_bytes(whole)
        with closing(sqlite3.connect(journal)) as db, contextlib.suppress(sqlite3.Error):
            db.execute(f"UPDATE OR REPLACE {table} SET {column} = {value}")
            db.commit()
        for ask in asked.values():
            with contextlib.suppress(JournalError):
                ask()


def test_a_name_in_the_schema_that_is_no_text_is_damage(
    journal: Path, asked: dict[str, Callable[[], object]], writer: MakeWriter, tmp_path: Path
) -> None:
    """SQLite's own message has that name in it and cannot be read: the journal is set aside all the same."""
    content = journal.read_bytes()
    assert content.count(b"CREATE TABLE originals") == 1
    journal.write_bytes(content.replace(b"CREATE TABLE originals", b"CREATE TABLE \xd7riginals"))
    for what, ask in asked.items():
        if what != "start":
            with pytest.raises(JournalError):
                ask()
    asked["start"]()

    assert writer().flush(SOON)
    assert len(list(tmp_path.glob("journal.damaged-*.db"))) == 1
