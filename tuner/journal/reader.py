"""Reads a journal without ever writing to it, also while a daemon does.

Rows are fetched a few hundred at a time, so that a slow reader never holds the writer up.
"""

from __future__ import annotations

import contextlib
import shutil
import sqlite3
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Self, TypeVar
from urllib.parse import quote

import msgspec

from tuner.journal.codec import CodecError, decode
from tuner.journal.tables import (
    APPLICATION_ID,
    FORMAT,
    RECORDS,
    JournalError,
    Originals,
    Run,
    Snapshot,
    journal_path,
)
from tuner.records import Capacity, Facts, TickRecord
from tuner.settings import Mode, Settings

CHUNK = 500
BUSY_SECONDS = 10.0

T = TypeVar("T")
_Rows = list[tuple[Any, ...]]


def last_record(state_directory: Path) -> TickRecord | None:
    """Return the newest tick on disk; None without a journal or before the first tick.

    Raises:
        JournalError: damaged, or written with other records than this version's.
    """
    path = journal_path(state_directory)
    if not _is_there(path):
        return None
    with _Journal(path) as journal:
        rows = journal.rows(
            "SELECT record, coalesce(r.fingerprint, f.value), coalesce(r.program, p.value) FROM ticks "
            "LEFT JOIN runs r USING (run) LEFT JOIN meta f ON f.name = 'fingerprint' "
            "LEFT JOIN meta p ON p.name = 'program' ORDER BY id DESC LIMIT 1"
        )
    if not rows:
        return None
    blob, found, program = rows[0]
    _require(path, found, program)
    return _record(path, blob)


def last_written(state_directory: Path) -> Capacity | None:
    """Return the pair that was written last; None where nothing ever was.

    Raises:
        JournalError: damaged.
    """
    path = journal_path(state_directory)
    if not _is_there(path):
        return None
    with _Journal(path) as journal:
        rows = journal.rows(
            "SELECT new_io_capacity, new_io_capacity_max FROM decisions WHERE written = 1 "
            "ORDER BY id DESC LIMIT 1"
        )
    return Capacity(*rows[0]) if rows else None


def originals(state_directory: Path) -> list[Originals]:
    """Return the originals of every server that was ever taken over; empty without a journal.

    Raises:
        JournalError: damaged.
    """
    path = journal_path(state_directory)
    return read_originals(path) if _is_there(path) else []


def learned(state_directory: Path, identity: str) -> bytes | None:
    """Return what was learned about one server; None where nothing is known.

    Raises:
        JournalError: damaged.
    """
    path = journal_path(state_directory)
    if not _is_there(path):
        return None
    with _Journal(path) as journal:
        rows = journal.rows("SELECT state FROM learned WHERE identity = ?", (identity,))
    return bytes(rows[0][0]) if rows else None


def standing(state_directory: Path) -> str | None:
    """Return what the next daemon has to know, as JSON; None where nothing was kept.

    Raises:
        JournalError: damaged.
    """
    path = journal_path(state_directory)
    if not _is_there(path):
        return None
    with _Journal(path) as journal:
        rows = journal.rows("SELECT value FROM meta WHERE name = 'standing'")
    return str(rows[0][0]) if rows else None


def runs(path_or_directory: Path) -> list[Run]:
    """Return the starts of all runs written with this version's records, oldest first.

    Raises:
        JournalError: no journal, or damaged.
    """
    path = journal_path(path_or_directory)
    with _Journal(path) as journal:
        rows = journal.rows("SELECT * FROM runs WHERE fingerprint = ? ORDER BY run", (RECORDS,))
        return [_run(path, row) for row in rows]


def trace(path_or_directory: Path, run: int | None = None) -> Iterator[Run | Snapshot | TickRecord]:
    """Yield one run: its start, then its ticks in order, each snapshot before the tick that follows it.

    Where the ring, a slow disk or a crash lost ticks, the next one's number is not the last
    one's plus one; whoever replays goes on from the next snapshot.

    Args:
        path_or_directory: the journal, or the state directory.
        run: number of the run; None for the newest that has ticks.

    Raises:
        JournalError: no journal, damaged, no such run, or written with other records.
    """
    path = journal_path(path_or_directory)
    with _Journal(path) as journal:
        chosen = _choose(path, journal, run)
        header = _run(path, chosen)
        yield header
        places = {
            tick for (tick,) in journal.rows("SELECT tick FROM snapshots WHERE run = ?", (header.number,))
        }
        query = f"SELECT number, record, id FROM ticks WHERE run = ? AND id > ? ORDER BY id LIMIT {CHUNK}"
        rows: _Rows = [(0, b"", 0)]
        while rows := journal.rows(query, (header.number, rows[-1][2])):
            for number, blob, _ in rows:
                if number - 1 in places:
                    where = (header.number, number - 1)
                    for (state,) in journal.rows(
                        "SELECT state FROM snapshots WHERE run = ? AND tick = ?", where
                    ):
                        yield Snapshot(number - 1, state)
                yield _record(path, blob)


def read_originals(path: Path) -> list[Originals]:
    """Return the originals in a journal of any format, as far as it has them.

    Raises:
        JournalError: they cannot be read.
    """
    query = "SELECT identity, io_capacity, io_capacity_max, started, version, taken_at FROM originals"
    with _Journal(path, any_format=True) as journal:
        return [
            Originals(identity, Capacity(low, high), started, version, taken_at)
            for identity, low, high, started, version, taken_at in journal.rows(query + " ORDER BY identity")
        ]


def _is_there(path: Path) -> bool:
    """Tell whether there is a journal; one that is just being made has no content yet."""
    return path.exists() and path.stat().st_size > 0


class _Journal:
    """A read-only connection to a file that is a journal."""

    def __init__(self, path: Path, *, any_format: bool = False) -> None:
        self._path = path
        self._any_format = any_format
        self._stack = contextlib.ExitStack()
        self._db: sqlite3.Connection

    def __enter__(self) -> Self:
        if not self._path.is_file():
            raise JournalError(f"{self._path}: no journal there")
        with self._stack:
            self._connect(self._path)
            if not self._any_format:
                self._check()
            self._stack = self._stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def rows(self, query: str, values: Sequence[object] = ()) -> _Rows:
        """Return all rows of one query; the file is not locked when this returns."""
        return self._guarded(lambda: self._db.execute(query, values).fetchall())

    def _connect(self, path: Path) -> None:
        def attempt() -> None:
            self._db = sqlite3.connect(
                f"file:{quote(str(path.absolute()))}?mode=ro",
                uri=True,
                timeout=BUSY_SECONDS,
                isolation_level=None,
            )
            self._stack.callback(self._db.close)
            self._db.execute("SELECT count(*) FROM sqlite_schema")

        try:
            self._guarded(attempt)
        except _LeftOver:
            self._connect(self._copy())

    def _copy(self) -> Path:
        """Copy a journal whose writer died inside a transaction: only a copy may be rolled back."""
        scratch = Path(self._stack.enter_context(tempfile.TemporaryDirectory(prefix="innobrim-")))
        copy = scratch / self._path.name
        rollback = self._path.with_name(self._path.name + "-journal")
        try:
            shutil.copyfile(self._path, copy)
            shutil.copyfile(rollback, scratch / rollback.name)
        except OSError as error:
            raise JournalError(f"{self._path}: cannot be copied to be read: {error}") from error
        with contextlib.closing(sqlite3.connect(copy)) as own:
            self._guarded(lambda: own.execute("SELECT count(*) FROM sqlite_schema").fetchone())
        return copy

    def _check(self) -> None:
        ((ours,),) = self.rows("PRAGMA application_id")
        ((layout,),) = self.rows("PRAGMA user_version")
        if ours != APPLICATION_ID:
            raise JournalError(f"{self._path}: no journal of InnoBrim's")
        if layout != FORMAT:
            marks: dict[str, str] = dict(self.rows("SELECT name, value FROM meta"))
            raise JournalError(
                f"{self._path}: written by InnoBrim {marks.get('program', '?')} in layout {layout}; "
                f"this version reads layout {FORMAT}"
            )

    def _guarded(self, query: Callable[[], T]) -> T:
        try:
            return query()
        except sqlite3.Error as error:
            if getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_READONLY_ROLLBACK:
                raise _LeftOver from error
            if getattr(error, "sqlite_errorcode", 0) == sqlite3.SQLITE_NOTADB:
                raise JournalError(f"{self._path}: no journal of InnoBrim's") from error
            raise JournalError(f"{self._path}: cannot be read: {error}") from error


class _LeftOver(Exception):  # noqa: N818 - reads as the state it names
    """A transaction was left unfinished by a writer that is gone."""


def _choose(path: Path, journal: _Journal, run: int | None) -> tuple[Any, ...]:
    if run is None:
        rows = journal.rows("SELECT * FROM runs WHERE run = (SELECT run FROM ticks ORDER BY id DESC LIMIT 1)")
        if not rows:
            raise JournalError(f"{path}: no tick in it yet")
        return rows[0]
    rows = journal.rows("SELECT * FROM runs WHERE run = ?", (run,))
    if not rows:
        known = journal.rows("SELECT min(run), max(run) FROM runs")[0]
        raise JournalError(f"{path}: no run {run}; there are {known[0]} to {known[1]}")
    return rows[0]


def _run(path: Path, row: tuple[Any, ...]) -> Run:
    number, wall, tick, program, found, settings, facts, state = row
    _require(path, found, program)
    try:
        return Run(
            number=number,
            wall=wall,
            tick=tick,
            program=program,
            fingerprint=found,
            settings=_settings(settings),
            facts=msgspec.json.decode(facts, type=Facts),
            state=state,
        )
    except (msgspec.MsgspecError, TypeError, ValueError) as error:
        raise JournalError(f"{path}: run {number} cannot be read: {error}") from error


def _settings(text: str) -> Settings:
    values: dict[str, Any] = msgspec.json.decode(text)
    return Settings(**{**values, "mode": Mode(values["mode"])})


def _require(path: Path, found: str | None, program: str | None) -> None:
    if found != RECORDS:
        raise JournalError(
            f"{path}: written by InnoBrim {program or '?'} with records {found or '?'}; "
            f"this version reads {RECORDS}"
        )


def _record(path: Path, blob: bytes) -> TickRecord:
    try:
        return decode(blob, TickRecord)
    except CodecError as error:
        raise JournalError(f"{path}: a tick is damaged: {error}") from error
