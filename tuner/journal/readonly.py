"""A journal opened to be read: it is never written to, also not to clean up after a writer that died."""

from __future__ import annotations

import contextlib
import errno
import math
import os
import shutil
import sqlite3
import stat
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Self, TypeVar
from urllib.parse import quote

from tuner.journal.tables import APPLICATION_ID, FORMAT, DamagedJournalError, JournalError, journal_path

BUSY_SECONDS = 10.0

PROGRESS = 10_000
"""Instructions of SQLite's machine between two looks at the clock: some hundred microseconds."""

Rows = list[tuple[Any, ...]]
T = TypeVar("T")


BESIDE = ("-journal", "-wal", "-shm")
"""What SQLite adds to a journal's name for the files that it keeps beside it."""

NO_LINK = "and none is followed in a state directory: move the file here, or link the directory as root"
"""Why a journal that is a link is not used, and what to do about it."""

ASIDE = ".damaged-"
"""What follows a journal's name in that of one that was set aside; the time comes next."""


def located(path_or_directory: Path) -> Path:
    """Return the journal's file, given that file or the state directory it lies in.

    Raises:
        JournalError: this account may not look there, or what lies there leads elsewhere.
    """
    with _seen(path_or_directory):
        path = journal_path(path_or_directory)
        if path != path_or_directory and path.is_symlink():
            raise JournalError(f"{path}: is a symbolic link, {NO_LINK}")
        return path


def is_there(path: Path) -> bool:
    """Tell whether there is a journal; one that is just being made has no content yet.

    Raises:
        JournalError: this account may not look there.
    """
    with _seen(path):
        return path.exists() and (path.stat().st_size > 0 or not path.is_file())


def lost(path: Path) -> str:
    """Return what tells that there was a journal where none is now, in words; empty where nothing does.

    An empty file does, and one that was set aside without another one begun in its place.

    Raises:
        JournalError: this account may not look there.
    """
    if is_there(path):
        return ""
    with _seen(path):
        if path.exists():
            return f"{path} is empty"
        away = newest_aside(path)
    return "" if away is None else f"{path} is gone, and {away.name} beside it was set aside as damaged"


def newest_aside(path: Path) -> Path | None:
    """Return what was set aside last of a journal; None where nothing was.

    Raises:
        OSError: this account may not look there.
    """
    try:
        names = [one.name for one in path.parent.iterdir()]
    except (FileNotFoundError, NotADirectoryError):
        return None
    begin = f"{path.stem}{ASIDE}"
    found = [
        name
        for name in names
        if name.startswith(begin) and name.endswith(path.suffix) and not name.endswith(BESIDE)
    ]
    stamp = len(begin) + len("20261231T235959Z")
    newest = max(found, key=lambda name: (name[:stamp], len(name), name), default=None)
    return None if newest is None else path.with_name(newest)


def require_own(path: Path, found: os.stat_result) -> None:
    """Refuse what may be another file as well, which SQLite would write to or, for root, give away.

    Raises:
        OSError: it is no plain file, or root looks and it has a second name.
    """
    if not stat.S_ISREG(found.st_mode) or (os.geteuid() == 0 and found.st_nlink > 1):
        raise OSError(errno.ELOOP, "is no plain file of one name; move it away", str(path))


@contextlib.contextmanager
def _seen(path: Path) -> Iterator[None]:
    """Say which path this account may not look at."""
    try:
        yield
    except OSError as error:
        raise JournalError(f"{path}: {(error.strerror or str(error)).lower()}") from error


@contextlib.contextmanager
def settled(directory: Path) -> Iterator[Path]:
    """Yield a directory whose journal can be read at once, as often as wanted: this one, or a copy's.

    A journal whose writer died inside a transaction is copied for each reading, and the copy rolled back,
    which takes its time on a slow disk.

    Raises:
        JournalError: it cannot be read at all.
    """
    path = located(directory)
    if why := lost(path):
        raise JournalError(why)
    if not is_there(path):
        yield directory
        return
    with ReadOnlyJournal(path, any_format=True) as journal:
        yield journal.directory


@contextlib.contextmanager
def understood(path: Path) -> Iterator[None]:
    """Have what is done with rows end in words where a damaged page has put other things into their columns.

    Raises:
        JournalError: something is of another type or form than this version puts there.
    """
    try:
        yield
    except (TypeError, ValueError, LookupError, AttributeError, ArithmeticError, RecursionError) as error:
        raise JournalError(f"{path}: damaged: {type(error).__name__}: {error}") from error


class ReadOnlyJournal:
    """A read-only connection to a file that is a journal.

    As a context it raises ``JournalError`` where there is none, or none that can be read.
    """

    def __init__(self, path: Path, *, any_format: bool = False, seconds: float = math.inf) -> None:
        """Mean this file; it is opened by entering the context.

        Args:
            path: the file.
            any_format: take one that another version wrote, or a damaged one.
            seconds: it answers so long from now on, and raises ``JournalError`` afterwards.
        """
        self._path = self._opened = path
        self._any_format = any_format
        self._seconds, self._until = seconds, time.monotonic() + seconds
        self._stack = contextlib.ExitStack()
        self._db: sqlite3.Connection

    def __enter__(self) -> Self:
        with _seen(self._path):
            if not self._path.is_file():
                raise JournalError(f"{self._path}: no journal there")
        self._require_files()
        if not os.access(self._path, os.R_OK):  # never opened to find out: closing it drops SQLite's locks
            raise JournalError(f"{self._path}: permission denied")
        with self._stack:
            self._connect(self._path)
            if not self._any_format:
                self._check()
            self._stack = self._stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def _require_files(self) -> None:
        """Raise ``JournalError`` where SQLite would open, beside the journal, what is no plain file.

        It would wait for a named pipe for ever.
        """
        for suffix in BESIDE:
            beside = self._path.with_name(self._path.name + suffix)
            with _seen(beside), contextlib.suppress(FileNotFoundError):
                require_own(beside, beside.lstat())

    def rows(self, query: str, values: Sequence[object] = ()) -> Rows:
        """Return all rows of one query; the file is not locked when this returns."""
        if self._is_late():
            raise self._late()
        return self._guarded(lambda: self._db.execute(query, values).fetchall())

    def _is_late(self) -> bool:
        return time.monotonic() > self._until

    def _late(self) -> JournalError:
        return JournalError(f"{self._path}: not read within {self._seconds:g} s; ask for a shorter time")

    @property
    def directory(self) -> Path:
        """Return where the file lies that is read: the journal, or the copy that had to be made of it."""
        return self._opened.parent

    def _connect(self, path: Path) -> None:
        def attempt() -> None:
            self._db = sqlite3.connect(
                f"file:{quote(str(path.absolute()))}?mode=ro",
                uri=True,
                timeout=BUSY_SECONDS,
                isolation_level=None,
            )
            self._stack.callback(self._db.close)
            self._db.set_progress_handler(self._is_late, PROGRESS)
            if self._any_format:
                self._db.execute("PRAGMA writable_schema = ON")  # opens a file that was cut short as well
            self._db.execute("SELECT count(*) FROM sqlite_schema")

        try:
            self._guarded(attempt)
        except _LeftOver:
            self._connect(self._copy())
        else:
            self._opened = path

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

    def require_ours(self) -> None:
        """Raise ``JournalError`` for a database of another program's."""
        ((mark,),) = self.rows("PRAGMA application_id")
        if mark != APPLICATION_ID:
            raise JournalError(f"{self._path}: no journal of InnoBrim's")

    @property
    def layout(self) -> int:
        """Return the number of the layout that it was written in."""
        ((found,),) = self.rows("PRAGMA user_version")
        return int(found)

    def _check(self) -> None:
        self.require_ours()
        layout = self.layout
        if layout != FORMAT:
            marks: dict[str, str] = dict(self.rows("SELECT name, value FROM meta"))
            raise JournalError(
                f"{self._path}: written by InnoBrim {marks.get('program', '?')} in layout {layout}; "
                f"this version reads layout {FORMAT}"
            )

    def _guarded(self, query: Callable[[], T]) -> T:
        try:
            return query()
        except UnicodeDecodeError as error:  # SQLite's own message has a damaged name in it
            raise DamagedJournalError(f"{self._path}: cannot be read: {error}") from error
        except sqlite3.Error as error:
            if getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_INTERRUPT:
                raise self._late() from error
            if getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_READONLY_ROLLBACK:
                raise _LeftOver from error
            if getattr(error, "sqlite_errorcode", 0) == sqlite3.SQLITE_NOTADB:
                raise JournalError(f"{self._path}: no journal of InnoBrim's") from error
            damaged = getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_CORRUPT
            kind = DamagedJournalError if damaged else JournalError
            raise kind(f"{self._path}: cannot be read: {error}") from error


class _LeftOver(Exception):  # noqa: N818 - reads as the state it names
    """A transaction was left unfinished by a writer that is gone."""
