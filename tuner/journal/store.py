"""The journal's file: opened, checked, filled and kept small. Used by one thread only."""

from __future__ import annotations

import contextlib
import errno
import os
import sqlite3
import stat
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from tuner.journal.codec import RECORDS
from tuner.journal.items import (
    EndItem,
    GivenBackItem,
    Item,
    LearnedItem,
    NoteItem,
    Row,
    RowsItem,
    RunItem,
    StandingItem,
    TickItem,
)
from tuner.journal.readonly import BESIDE, NO_LINK, require_own
from tuner.journal.tables import (
    APPLICATION_ID,
    ENDED,
    FORMAT,
    HEARD,
    LEFT,
    SCHEMA,
    SERVER,
    STANDING,
    UNHEARD,
    LeftPair,
    Originals,
    Snapshot,
    stored,
)
from tuner.records import EventCode
from tuner.system.statedir import give_to_owner

FILE_MODE = 0o640
BUSY_SECONDS = 5.0
KEEP_ROWS = 100_000
"""Decisions and events kept."""

KEEP_RUNS = 1000
SLACK = 64
"""Rows beyond the limit before any are deleted, so that not every commit touches the oldest page."""

DELETE_AT_ONCE = 2000
FREE_PAGES = 256
"""Pages left free for new rows before the file is shortened."""

_DAMAGED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


class Damaged(Exception):  # noqa: N818 - reads as the state it names
    """The file is no journal, or no longer."""


def _made_sure(path: Path) -> bool:
    """See to it that a journal's file is there, a plain one and no link; tell whether it is new.

    Raises:
        OSError: it cannot be opened or made, or is a link.
        Damaged: there is something else of that name.
    """
    how = os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
    try:
        found, made = os.open(path, how), False
    except FileNotFoundError:
        found, made = os.open(path, how | os.O_CREAT | os.O_EXCL, FILE_MODE), True
    except IsADirectoryError as error:
        raise Damaged("it is a directory") from error
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise OSError(error.errno, f"it is a symbolic link, {NO_LINK}") from error
        if not isinstance(error, PermissionError):
            raise
        raise PermissionError(error.errno, f"{error.strerror}{_whose(path)}") from error
    try:
        if not stat.S_ISREG(os.fstat(found).st_mode):
            raise Damaged("it is no plain file")
        require_own(path, os.fstat(found))
        if made:
            give_to_owner(found, path.parent)
    finally:
        os.close(found)
    for suffix in BESIDE:
        with contextlib.suppress(FileNotFoundError):
            beside = path.with_name(path.name + suffix)
            require_own(beside, beside.lstat())
    return made


def _whose(path: Path) -> str:
    """Return what makes a file the daemon's again that belongs to another account; empty where it is its."""
    with contextlib.suppress(OSError):
        file, directory = path.lstat(), path.parent.stat()
        if file.st_uid != directory.st_uid:
            owner = f"{directory.st_uid}:{directory.st_gid}"
            return f": it belongs to account {file.st_uid}; chown {owner} {path}"
    return ""


def is_damage(error: Exception) -> bool:
    """Tell a broken file from one that merely cannot be written now.

    Where SQLite's own message is no UTF-8, it has a damaged name in it.
    """
    if isinstance(error, Damaged | UnicodeDecodeError):
        return True
    return (getattr(error, "sqlite_errorcode", None) or 0) & 0xFF in _DAMAGED


class Store:
    """An open journal. Every method may raise ``sqlite3.Error``.

    Attributes:
        fresh: the file was made by this call, so it knows nothing of before.
        run: number of the run that ticks belong to; 0 before one was started.
    """

    def __init__(
        self,
        path: Path,
        *,
        keep_ticks: int,
        program: str,
        run: int = 0,
        tell: Callable[[Store], None] = lambda _: None,
    ) -> None:
        """Open or make a journal.

        Args:
            path: the file; its directory must exist.
            keep_ticks: rows of ``ticks`` to keep.
            program: version of InnoBrim.
            run: number of the run to go on with, 0 before the first ``add_run``.
            tell: puts what is known into a file that is made, in the transaction that makes it.

        Raises:
            Damaged: the file is there and is no sound journal of this format.
            OSError: the directory cannot be used.
            sqlite3.Error: the file cannot be opened.
        """
        self._keep_ticks = keep_ticks
        self._program = program
        self._tell = tell
        self.run = run
        made = _made_sure(path)
        self._db = sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None)
        try:
            self.fresh = self._prepare(made=made)
            self._first, self._last = self._ends("ticks")
        except BaseException:
            self._db.close()
            if made and path.stat().st_size == 0:  # an empty one says that something was lost
                path.unlink()
            raise

    def _prepare(self, *, made: bool) -> bool:
        db = self._db
        fresh = db.execute("SELECT 1 FROM sqlite_schema LIMIT 1").fetchone() is None
        if fresh and not made:
            raise Damaged("it has no tables")
        if fresh:
            db.execute("PRAGMA auto_vacuum = INCREMENTAL")
        # A rollback journal, not WAL: docs/decisions/journal.md.
        db.execute("PRAGMA journal_mode = PERSIST")
        db.execute("PRAGMA journal_size_limit = 1048576")
        db.execute("PRAGMA synchronous = FULL")
        db.execute("PRAGMA cache_size = -512")
        if not fresh:
            self._check()
        db.execute("BEGIN IMMEDIATE")
        with db:
            if fresh:
                for statement in SCHEMA.split(";"):
                    db.execute(statement)
                db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
                db.execute(f"PRAGMA user_version = {FORMAT}")
            marks = {"program": self._program, "fingerprint": RECORDS}
            db.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", marks.items())
            if fresh:
                self._tell(self)
        return fresh

    def _check(self) -> None:
        ours = self._db.execute("PRAGMA application_id").fetchone()[0]
        layout = self._db.execute("PRAGMA user_version").fetchone()[0]
        if ours != APPLICATION_ID:
            raise Damaged("it is no journal of InnoBrim's")
        if layout != FORMAT:
            raise Damaged(f"its layout is number {layout}, this version writes {FORMAT}")
        found = self._db.execute("PRAGMA quick_check(1)").fetchone()[0]
        if found != "ok":
            raise Damaged(found)

    def begin(self) -> None:
        """Start a transaction; ``commit`` or ``rollback`` ends it."""
        self._db.execute("BEGIN IMMEDIATE")

    def commit(self) -> None:
        """Put the transaction on disk, for good when this returns."""
        self._db.execute("COMMIT")

    def rollback(self) -> None:
        """Forget the transaction; an error in it may have done so already."""
        if self._db.in_transaction:
            self._db.execute("ROLLBACK")
        self._first, self._last = self._ends("ticks")

    def add(self, item: Item) -> None:
        """Add any item; one that stores nothing is no error."""
        handlers: dict[type, Callable[[Any], None]] = {
            TickItem: self._add_tick,
            RowsItem: self._add_rows,
            Snapshot: lambda one: self._replace("snapshots", self.run, one.tick, one.state),
            RunItem: self.add_run,
            Originals: self._put_originals,
            GivenBackItem: self._forget_originals,
            StandingItem: self._hear,
            LearnedItem: lambda one: self._replace(
                "learned", one.identity, one.wall, self._program, one.blob
            ),
            NoteItem: self.add_event,
            EndItem: self._end_run,
        }
        handler = handlers.get(type(item))
        if handler is not None:
            handler(item)

    def add_run(self, item: RunItem) -> None:
        """Start a new run; the ticks added from here on belong to it."""
        self.run = self._db.execute("SELECT coalesce(max(run), 0) + 1 FROM runs").fetchone()[0]
        settings, facts = (msgspec.json.encode(value).decode() for value in (item.settings, item.facts))
        self._db.execute(
            "INSERT INTO runs VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            (self.run, item.wall, item.tick, self._program, RECORDS, settings, facts, item.state),
        )
        self._db.execute("DELETE FROM runs WHERE run <= ?", (self.run - KEEP_RUNS,))

    def _end_run(self, end: EndItem) -> None:
        self.add_event(NoteItem(end.wall, ENDED, "ended in order"))
        if end.left is not None:
            mark = msgspec.json.encode(LeftPair(self.run, end.left)).decode()
            self._replace("meta", LEFT, mark)

    def _add_tick(self, item: TickItem) -> None:
        row = (self._last + 1, self.run, item.number, item.wall, item.record)
        self._db.execute("INSERT INTO ticks VALUES (?, ?, ?, ?, ?)", row)
        self._last += 1

    def _add_rows(self, item: RowsItem) -> None:
        if item.decision is not None:
            self._add_decision(item.tick, item.decision, written=item.written)
        self._add("events", [(self.run, item.tick, *event) for event in item.events])
        if item.server:
            self._replace("meta", f"{SERVER}{self.run}:{item.tick}", item.server)

    def _add_decision(self, tick: int, decision: Row, *, written: bool) -> None:
        """Add a decision: changes count up from 1, which is their number, and mere advice down from -1."""
        first, last = self._ends("decisions")
        row = (max(0, last) + 1 if written else min(0, first) - 1, self.run, tick, *decision)
        self._db.execute(f"INSERT INTO decisions VALUES ({', '.join('?' * len(row))})", row)

    def add_event(self, event: NoteItem) -> None:
        """Add an event beside the ticks."""
        self._add("events", [(self.run, 0, event.wall, event.code, event.message, event.who)])

    def _put_originals(self, kept: Originals) -> None:
        pair = (stored(kept.capacity.io_capacity), stored(kept.capacity.io_capacity_max))
        self._replace("originals", kept.identity, *pair, kept.started, kept.version, kept.taken_at)

    def _forget_originals(self, item: GivenBackItem) -> None:
        self._db.execute("DELETE FROM originals WHERE identity = ?", (item.identity,))

    def put_standing(self, item: StandingItem) -> None:
        """Keep what stands for one server, in place of what was kept before."""
        self._replace("meta", f"{STANDING}{item.identity}", item.text)

    def _hear(self, item: StandingItem) -> None:
        """Keep what a daemon says that stands; where it was unknown before, it is known of this server."""
        self.put_standing(item)
        self._db.execute(
            "INSERT OR REPLACE INTO meta SELECT ?, '' WHERE EXISTS (SELECT 1 FROM meta WHERE name = ?)",
            (f"{HEARD}{item.identity}", UNHEARD),
        )

    def put_unheard(self, why: str, heard: Iterable[str]) -> None:
        """Keep why it is not known what stood, and of which servers it is known all the same."""
        rows = [(UNHEARD, why), *((f"{HEARD}{identity}", "") for identity in heard)]
        self._db.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", rows)

    def trim(self) -> None:
        """Delete what is beyond the limits, a bounded number of rows at a time."""
        if self._last - self._first + 1 >= self._keep_ticks + SLACK:
            self._first = min(self._last - self._keep_ticks + 1, self._first + DELETE_AT_ONCE)
            self._db.execute("DELETE FROM ticks WHERE id < ?", (self._first,))
            oldest = self._db.execute("SELECT run, number FROM ticks ORDER BY id LIMIT 1").fetchone()
            if oldest is not None:
                self._db.execute("DELETE FROM snapshots WHERE (run, tick) < (?, ? - 1)", oldest)
        self._trim_rows("decisions", "id > 0")
        self._trim_rows("decisions", "id < 0")
        if self._trim_rows("events", "id > 0"):
            self._forget_moves()

    def _trim_rows(self, table: str, side: str) -> bool:
        """Delete the oldest rows beyond the limit, which are those nearest to 0; tell whether any were."""
        first, last = self._ends(table, side)
        if last - first + 1 < KEEP_ROWS + SLACK:
            return False
        low, high = (last - KEEP_ROWS + 1, last) if last > 0 else (first, first + KEEP_ROWS - 1)
        self._db.execute(f"DELETE FROM {table} WHERE {side} AND id NOT BETWEEN ? AND ?", (low, high))
        return True

    def _forget_moves(self) -> None:
        """Delete the names of servers of which the event is gone; an address can flap for years.

        The newest of each run stays: it says whose the later writes are.
        """
        self._db.execute(
            "DELETE FROM meta WHERE name LIKE :mark || '%' "
            "AND name NOT IN (SELECT :mark || run || ':' || tick FROM events WHERE code = :code) "
            "AND name NOT IN (SELECT :mark || run || ':' || max(tick) FROM ("
            "SELECT CAST(rest AS INTEGER) AS run, "
            "CAST(substr(rest, instr(rest, ':') + 1) AS INTEGER) AS tick FROM ("
            "SELECT substr(name, length(:mark) + 1) AS rest FROM meta WHERE name LIKE :mark || '%')"
            ") WHERE run > :gone GROUP BY run)",
            {"mark": SERVER, "code": EventCode.OTHER_SERVER.value, "gone": self.run - KEEP_RUNS},
        )

    def shorten(self) -> None:
        """Give pages back to the file system where many are free; outside a transaction."""
        if self._db.execute("PRAGMA freelist_count").fetchone()[0] > 2 * FREE_PAGES:
            # execute() would stop after the first page: the pragma gives a row without columns for each.
            self._db.executescript(f"PRAGMA incremental_vacuum({FREE_PAGES})")

    def close(self, *, tidy: bool) -> None:
        """Close; ``tidy`` leaves a single file that any account with read permission can open."""
        try:
            if tidy:
                self._db.execute("PRAGMA journal_mode = DELETE")
        finally:
            self._db.close()

    def _add(self, table: str, rows: Sequence[Row]) -> None:
        for row in rows:
            marks = ", ".join("?" * len(row))
            self._db.execute(f"INSERT INTO {table} VALUES (NULL, {marks})", row)

    def _replace(self, table: str, *row: str | float | bytes) -> None:
        """Put a row in place of the one with the same key."""
        marks = ", ".join("?" * len(row))
        self._db.execute(f"INSERT OR REPLACE INTO {table} VALUES ({marks})", row)

    def _ends(self, table: str, where: str = "true") -> tuple[int, int]:
        # SQLite finds a lone min or max at once, and goes through all rows for both together.
        ends = (f"(SELECT {end}(id) FROM {table} WHERE {where})" for end in ("min", "max"))
        first, last = self._db.execute(f"SELECT {', '.join(ends)}").fetchone()
        return (1, 0) if first is None else (first, last)
