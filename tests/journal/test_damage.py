"""What a journal keeps when its file or its directory is damaged under it."""

from __future__ import annotations

import contextlib
import shutil
import sqlite3
import threading
import time
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest

from tests.journal.written import (
    FACTS,
    KEEP,
    ORIGINALS,
    PAIR,
    RUN,
    SOON,
    Keep,
    MakeWriter,
    change,
    put,
    record,
    rows,
)
from tuner.daemon.predecessors import look
from tuner.journal.ending import ending
from tuner.journal.items import LearnedItem, StandingItem
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
from tuner.records import Capacity
from tuner.settings import Settings

Damage = Callable[[Path], None]
TICKS = 100
PAUSED = {"uuid-1": "paused"}


@pytest.fixture
def journal(keep: Keep) -> Path:
    """Return a journal with originals, something that stands, and ticks; nobody has it open."""
    ticks = map(record, range(1, TICKS))
    return keep(RUN, ORIGINALS, StandingItem("uuid-1", "paused"), *ticks) / "journal.db"


def page_of(journal: Path, name: str) -> tuple[int, int]:
    """Return where the first page of a table or an index begins, and where it ends."""
    with closing(sqlite3.connect(journal)) as db:
        ((size,),) = db.execute("PRAGMA page_size").fetchall()
        ((page,),) = db.execute("SELECT rootpage FROM sqlite_schema WHERE name = ?", (name,)).fetchall()
    return size * (page - 1), size * page


def overwrite(journal: Path, first: int, end: int) -> None:
    """Put rubbish into the place of some bytes."""
    content = bytearray(journal.read_bytes())
    content[first:end] = b"\xff" * (end - first)
    journal.write_bytes(content)


def spoil(name: str, journal: Path) -> None:
    """Overwrite the first page of a table or an index."""
    overwrite(journal, *page_of(journal, name))


def cut(share: float, journal: Path) -> None:
    """Take the end of a file away."""
    content = journal.read_bytes()
    journal.write_bytes(content[: int(share * len(content))])


def cut_off_originals(journal: Path) -> None:
    """Take away the originals' page, and all that follows."""
    journal.write_bytes(journal.read_bytes()[: page_of(journal, "originals")[0]])


def spoil_the_middle(journal: Path) -> None:
    """Overwrite two pages of ticks."""
    middle = journal.stat().st_size // 2
    overwrite(journal, middle, middle + 8192)


def of_layout(number: int, journal: Path) -> None:
    """Have a file look as if another version had written it."""
    change(journal.parent, f"PRAGMA user_version = {number}")


@pytest.mark.parametrize(
    ("damage", "pairs", "stands", "said"),
    [
        *((partial(cut, share), [PAIR], PAUSED, "originals of 1 server") for share in (0.9, 0.5, 0.3)),
        (spoil_the_middle, [PAIR], PAUSED, "originals of 1 server"),
        (partial(of_layout, 0), [PAIR], PAUSED, "its layout is number 0"),
        (partial(of_layout, 99), [PAIR], PAUSED, "its layout is number 99"),
        (cut_off_originals, [], PAUSED, "originals could not be read"),
        (partial(spoil, "meta"), [PAIR], {}, "what stood, such as a pause, could not all be read"),
        (lambda journal: journal.write_bytes(b"rubbish" * 1000), [], {}, "originals could not be read"),
    ],
    ids=[
        "cut late",
        "cut",
        "cut early",
        "ticks",
        "older",
        "newer",
        "no originals",
        "nothing stands",
        "rubbish",
    ],
)
def test_a_damaged_journal_is_set_aside_with_what_can_be_read(
    journal: Path,
    writer: MakeWriter,
    messages: list[str],
    *,
    damage: Damage,
    pairs: list[Capacity],
    stands: dict[str, str],
    said: str,
) -> None:
    """It costs the trace, not originals nor what a person said; what is lost is named, not made up."""
    damage(journal)
    content, directory = journal.read_bytes(), journal.parent

    assert put(writer(), RUN, record(1)).flush(SOON)

    assert last_record(directory) == record(1)
    assert [kept.capacity for kept in originals(directory)] == pairs
    assert standing(directory) == stands
    assert said in messages[0]
    (aside,) = directory.glob("journal.damaged-*.db")
    assert aside.read_bytes() == content
    assert rows(directory, "SELECT code FROM events") == [("journal_set_aside",)]


def test_a_journal_that_breaks_while_it_runs_is_replaced(
    writer: MakeWriter, messages: list[str], tmp_path: Path
) -> None:
    """The run and the originals go on in a fresh file."""
    journal = put(writer(), RUN, ORIGINALS, record(1))
    assert journal.flush(SOON)
    path = tmp_path / "journal.db"
    path.write_bytes(b"\xff" * path.stat().st_size)
    journal.record(record(2, KEEP, "write"))
    deadline = time.monotonic() + SOON
    while not journal.flush(0.05):
        assert time.monotonic() < deadline

    assert last_record(tmp_path) == record(2, KEEP, "write")
    assert originals(tmp_path) == [ORIGINALS]
    (run,) = runs(tmp_path)
    assert (run.facts, run.state) == (FACTS, b"")
    assert any("set aside" in message for message in messages)


def test_a_directory_that_comes_back_empty_is_told_everything_and_claimed_anew(
    writer: MakeWriter, tmp_path: Path
) -> None:
    """After it was removed and made again, all that counts is in it, and nobody else may write it."""
    directory = tmp_path / "state"
    directory.mkdir()
    first = put(
        writer(directory=directory), ORIGINALS, *(LearnedItem("uuid-1", 1.0, one) for one in (b"old", b"new"))
    )
    assert first.flush(SOON)
    shutil.rmtree(directory)
    put(first, record(1, KEEP, "write"), LearnedItem("uuid-2", 1.0, b"other"))
    assert not first.flush(0.2)
    directory.mkdir()
    assert first.flush(SOON)
    second, confirmed = writer(directory=directory), threading.Event()
    second.put(Originals("uuid-1", Capacity(100, 200), 5.0, "9.7.4", 6.0), confirmed.set)

    assert not second.flush(0.2)
    assert not confirmed.is_set()
    assert originals(directory) == [ORIGINALS]
    assert learned(directory) == {"uuid-1": b"new", "uuid-2": b"other"}
    assert last_record(directory) == record(1, KEEP, "write")


BLOBS = {"uuid-1": b"\xa7" * 20_000, "uuid-2": b"\xb1" * 20_000}
"""What was learned of two servers, several pages each."""


def spoil_a_row(journal: Path) -> None:
    """Overwrite a page of what was learned of the second server."""
    at = journal.read_bytes().find(BLOBS["uuid-2"][:2_000]) // 4096 * 4096
    overwrite(journal, at, at + 4096)
    spoil("ticks", journal)


@pytest.mark.parametrize(
    ("damage", "kept"),
    [
        (partial(spoil, "ticks"), ("uuid-1", "uuid-2")),
        (partial(spoil, "learned"), ()),
        (spoil_a_row, ("uuid-1",)),
        (partial(spoil, "sqlite_autoindex_learned_1"), ("uuid-1", "uuid-2")),
    ],
    ids=["ticks", "learned", "a row", "its index"],
)
def test_what_was_learned_is_carried_over_as_far_as_it_can_be_read(
    journal: Path,
    keep: Keep,
    writer: MakeWriter,
    messages: list[str],
    *,
    damage: Damage,
    kept: tuple[str, ...],
) -> None:
    """The rest begins afresh and is named; originals, and what another server taught, are not lost."""
    keep(*(LearnedItem(name, 1.0, blob) for name, blob in BLOBS.items()))
    damage(journal)

    assert writer().flush(SOON)

    assert learned(journal.parent) == {name: BLOBS[name] for name in kept}
    assert originals(journal.parent) == [ORIGINALS]
    assert (f"what was learned of {len(kept)} servers was carried over" in messages[0]) is bool(kept)
    assert ("could not be read" in messages[0]) is (len(kept) < len(BLOBS))
    ((event,),) = rows(journal.parent, "SELECT message FROM events WHERE code = 'journal_set_aside'")
    assert str(event) in messages[0]


def test_who_reads_a_journal_that_was_cut_short_is_told_what_to_do(journal: Path) -> None:
    """The message names the file, what is wrong, and how a whole copy is made."""
    cut(0.5, journal)

    with pytest.raises(JournalError) as refused:
        list(trace(journal))

    assert str(refused.value).startswith(
        f"{journal}: cannot be read: database disk image is malformed; it is"
    )
    assert "sqlite3 JOURNAL '.backup COPY'" in str(refused.value)


def test_a_damaged_tick_is_named_with_the_way_to_the_others(journal: Path) -> None:
    """What the message says to type leaves a journal that can be read, without that one tick."""
    change(journal.parent, "UPDATE ticks SET record = x'01' WHERE number = 7")
    with pytest.raises(JournalError, match="tick 7 of run 1 is damaged: not a TickRecord") as refused:
        list(trace(journal))

    change(journal.parent, str(refused.value).partition('sqlite3 COPY "')[2].removesuffix('"'))
    assert list(trace(journal))[1:] == [record(number) for number in range(1, TICKS) if number != 7]


ASKED: dict[str, Callable[[Path], object]] = {
    "last": last_record,
    "offline": lambda place: done_offline(place, after=0.0),
    "originals": originals,
    "learned": learned,
    "runs": runs,
    "trace": lambda place: list(trace(place)),
    "earlier": lambda place: list(earlier_ticks(place, since=0.0, until=1e12, most=9)),
    "ending": ending,
}
"""What is asked of a journal, by the daemon at its start and by commands."""


def begins(directory: Path) -> None:
    """Have a daemon begin with what a journal says."""
    look(directory, quietly=True).begin(Settings(), FACTS, now=1.0)


@pytest.mark.parametrize("value", ["NULL", "'{}'", "x'dfff'", "CAST(x'ff' AS TEXT)", "9e999"])
def test_whatever_is_in_a_column_a_journal_ends_in_words(journal: Path, value: str) -> None:
    """A value of another type or form is the journal's error; the daemon starts without what it told."""
    change(
        journal.parent,
        "INSERT INTO learned VALUES ('uuid-1', 1.0, '0.1.0', x'80')",
        f"INSERT INTO events VALUES (99999, 1, 1, 1.0, '{OFFLINE}', 'x', 'y')",
        "UPDATE decisions SET written = 1",
    )
    whole = journal.read_bytes()
    with closing(sqlite3.connect(journal)) as db:
        tables = db.execute("SELECT name FROM sqlite_schema WHERE type = 'table'").fetchall()
        columns = [(name, one[1]) for (name,) in tables for one in db.execute(f"PRAGMA table_info({name})")]
    for table, column in columns:
        journal.write_bytes(whole)
        with contextlib.suppress(sqlite3.Error):
            change(journal.parent, f"UPDATE OR REPLACE {table} SET {column} = {value}")
        for ask in ASKED.values():
            with contextlib.suppress(JournalError):
                ask(journal.parent)
        begins(journal.parent)


def test_a_name_in_the_schema_that_is_no_text_is_damage(journal: Path, writer: MakeWriter) -> None:
    """SQLite's own message has that name in it and cannot be read: the journal is set aside all the same."""
    content = journal.read_bytes()
    assert content.count(b"CREATE TABLE originals") == 1
    journal.write_bytes(content.replace(b"CREATE TABLE originals", b"CREATE TABLE \xd7riginals"))
    for ask in ASKED.values():
        with pytest.raises(JournalError):
            ask(journal.parent)
    begins(journal.parent)

    assert writer().flush(SOON)
    assert len(list(journal.parent.glob("journal.damaged-*.db"))) == 1
