"""Keeps one journal open: claims it, sets a damaged one aside, reopens it, and says so once."""

from __future__ import annotations

import contextlib
import fcntl
import os
import sqlite3
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

from tuner.journal import reader
from tuner.journal.items import GivenBackItem, Item, LearnedItem, NoteItem, RunItem, StandingItem
from tuner.journal.reader import Unheard
from tuner.journal.readonly import ASIDE, newest_aside
from tuner.journal.store import Damaged, Store, is_damage
from tuner.journal.tables import LOCK_NAME, LOCK_SUFFIX, JournalError, Originals
from tuner.system.statedir import give_to_owner
from tuner.system.version import program_version

T = TypeVar("T")


class Claimed(Exception):  # noqa: N818 - reads as the state it names
    """Another daemon writes this journal."""


FAILURES = (sqlite3.Error, OSError, Damaged, Claimed, UnicodeDecodeError)
"""What ``Keeper.write`` may raise; nothing of what it was given is on disk then."""

_STAYS_OPEN = (sqlite3.SQLITE_FULL, sqlite3.SQLITE_BUSY)

SERVERS = 64
"""Servers of which what was learned is kept, those learned of last."""


def claimed(directory: Path) -> bool:
    """Tell whether a daemon has this state directory's journal open for writing.

    Raises:
        OSError: this account may not look.
    """
    try:
        how = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
        claim = os.open(directory / LOCK_NAME, how)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(claim, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(claim)
    return False


class Keeper:
    """One journal file over its life. Used by one thread only.

    Attributes:
        trouble: why nothing can be written just now; empty while it works.
        written: when something was put on disk last, Unix time; None where nothing was yet.
    """

    def __init__(self, path: Path, *, keep_ticks: int, on_error: Callable[[str], None]) -> None:
        self.trouble = ""
        self.written: float | None = None
        self._path = path
        self._lock = path.with_suffix(LOCK_SUFFIX)
        self._keep_ticks = keep_ticks
        self._on_error = on_error
        self._claim: int | None = None
        self._store: Store | None = None
        self._damage = ""
        self._aside_known: Path | None = None
        self._run: RunItem | None = None
        self._run_number = 0
        self._originals: dict[str, Originals] = {}
        self._standing: dict[str, str] = {}
        self._unheard = Unheard()
        self._learned: dict[str, LearnedItem] = {}
        self._dropped = 0
        self._aside: list[str] = []

    def write(self, items: Sequence[Item], *, dropped: int) -> None:
        """Put everything on disk, for good when this returns.

        Args:
            items: what to write, in order.
            dropped: ticks dropped so far for want of room, for the record.

        Raises:
            sqlite3.Error: nothing of it is on disk; the same for the others.
            OSError: the directory cannot be used.
            Damaged: the file is broken; the next call sets it aside.
            Claimed: another daemon has the journal.
        """
        if self._store is None:
            self._store = self._open()
            if self._store.fresh:
                self._run_number = self._store.run
                self.written = time.time()
        store = self._store
        if items or self._aside:
            store.begin()
            try:
                self._fill(store, items, dropped)
                store.commit()
            except BaseException:
                with contextlib.suppress(sqlite3.Error):
                    store.rollback()
                raise
            self.written = time.time()
            self._written(store, items)
            store.shorten()
        if self.trouble:
            lost = dropped - self._dropped
            self._on_error(
                f"journal: written again; {f'{lost} ticks were lost' if lost else 'nothing was lost'}"
            )
            self.trouble = ""
        self._dropped = dropped

    def failed(self, error: Exception) -> None:
        """Note that ``write`` failed; said once until it works again."""
        if is_damage(error):
            self._damage = str(error)
        if (getattr(error, "sqlite_errorcode", None) or 0) & 0xFF not in _STAYS_OPEN:
            self._close_store(tidy=False)
        if not self.trouble:
            self.trouble = str(error) or type(error).__name__
            self._on_error(
                f"journal: {self._path} cannot be written: {self.trouble}; "
                "the loop goes on and the newest ticks are kept in memory"
            )

    def close(self) -> None:
        """Close the file and give up the claim; never raises."""
        self._close_store(tidy=not self.trouble)
        if self._claim is not None:
            os.close(self._claim)
            self._claim = None

    def _open(self) -> Store:
        self._claim_directory()
        empty = self._path.is_file() and self._path.stat().st_size == 0
        if empty and not self._damage:
            self._damage = "it is empty"
        begun = not empty and os.path.lexists(self._path)
        if not begun and (away := newest_aside(self._path)) and away != self._aside_known:
            self._take_over(away, "")
        if begun and not self._damage:
            try:
                return self._open_store()
            except (Damaged, sqlite3.DatabaseError, UnicodeDecodeError) as error:
                if not is_damage(error):
                    raise
                self._damage = str(error)
        if self._damage:
            self._take_over(set_aside(self._path, wall=time.time()), self._damage)
            self._damage = ""
        return self._open_store()

    def _open_store(self) -> Store:
        return Store(
            self._path,
            keep_ticks=self._keep_ticks,
            program=program_version(),
            run=self._run_number,
            tell=self._tell,
        )

    def _claim_directory(self) -> None:
        if self._claim is not None:
            if self._claim_holds(self._claim):
                return
            os.close(self._claim)  # of a file that was removed, which keeps nobody out
            self._claim = None
        how = os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
        try:
            claim = os.open(self._lock, how)
        except FileNotFoundError:
            claim = os.open(self._lock, how | os.O_CREAT, 0o640)
            give_to_owner(claim, self._lock.parent)
        try:
            fcntl.flock(claim, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(claim)
            raise Claimed(
                f"another daemon, or a park or restore without one, holds {self._lock}; "
                "each daemon needs a state directory of its own (daemon.state_directory)"
            ) from error
        self._claim = claim

    def _claim_holds(self, claim: int) -> bool:
        try:
            return os.path.samestat(os.fstat(claim), self._lock.stat())
        except FileNotFoundError:
            return False

    def _take_over(self, away: Path, damage: str) -> None:
        """Take over what a journal still tells that was set aside.

        Args:
            away: where it is now.
            damage: why it was; empty where that was not now, and no other one was begun in its place, or it
                is gone: then what stands there need not be what stood last.
        """
        found, why = _read(reader.read_originals, away, list[Originals]())
        standing, unread = _read(reader.read_standing, away, dict[str, str]())
        unheard, unsure = _read(reader.read_unheard, away, Unheard())
        if unread or unsure:
            unheard = Unheard(unread or unsure)
        (learned, whole), _ = _read(reader.read_learned, away, (list[LearnedItem](), False))
        self._aside_known = away
        for kept in found:
            self._originals.setdefault(kept.identity, kept)
        self._standing = standing | self._standing
        if not why:
            fate = f"originals of {len(found)} servers were carried over"
        elif self._originals:
            fate = "originals known since this start are kept, older ones could not be read"
        else:
            fate = (
                f"originals could not be read ({why}): what a server has at the next start counts as its own"
            )
        done = f"{self._path.name} was set aside as {away.name}: {damage}"
        lost = f"{self._path.name} was set aside as {away.name} ({damage})"
        if not damage:
            done = lost = f"{self._path.name} is gone or empty, and {away.name} was set aside before"
        if unheard.why or not damage:
            fate += "; what stood, such as a pause, could not all be read: it is held until innobrim resume"
            before = unheard.heard if damage else frozenset()
            self._unheard = Unheard(lost, before | self._unheard.heard)
        self._learned = {one.identity: one for one in learned[-SERVERS:]} | self._learned
        if learned:
            rest = "" if whole else ", the rest could not be read"
            fate += f"; what was learned of {len(learned)} servers was carried over{rest}"
        elif not whole:
            fate += "; what was learned could not be read, and what is known since this start is kept"
        message = f"{done}; {fate}"
        self._aside.append(message)
        self._on_error(f"journal: {message}")

    def _tell(self, store: Store) -> None:
        """Tell a fresh file what is known, so that there is none, not for a moment, without it."""
        if self._run is not None:
            store.add_run(replace(self._run, state=b""))
        for kept in self._originals.values():
            store.add(kept)
        for identity, text in self._standing.items():
            store.put_standing(StandingItem(identity, text))
        if self._unheard.why:
            store.put_unheard(self._unheard.why, self._unheard.heard)
        for learned in self._learned.values():
            store.add(learned)

    def _fill(self, store: Store, items: Sequence[Item], dropped: int) -> None:
        store.run = self._run_number
        now = time.time()
        for message in self._aside:
            store.add(NoteItem(now, "journal_set_aside", message))
        if dropped > self._dropped:
            lost = f"{dropped - self._dropped} ticks were dropped because the disk took none"
            store.add(NoteItem(now, "journal_gap", lost))
        for item in items:
            store.add(item)
        store.trim()

    def _written(self, store: Store, items: Sequence[Item]) -> None:
        """Remember what a fresh file would have to be told again."""
        self._run_number = store.run
        self._aside.clear()
        for item in items:
            if isinstance(item, RunItem):
                self._run = item
            elif isinstance(item, Originals):
                self._originals[item.identity] = item
            elif isinstance(item, GivenBackItem):
                self._originals.pop(item.identity, None)
            elif isinstance(item, StandingItem):
                self._standing[item.identity] = item.text
                self._unheard = Unheard(self._unheard.why, self._unheard.heard | {item.identity})
            elif isinstance(item, LearnedItem):
                self._learned.pop(item.identity, None)
                self._learned[item.identity] = item
        while len(self._learned) > SERVERS:
            self._learned.pop(next(iter(self._learned)))

    def _close_store(self, *, tidy: bool) -> None:
        if self._store is not None:
            with contextlib.suppress(sqlite3.Error):
                self._store.close(tidy=tidy)
            self._store = None


def set_aside(path: Path, *, wall: float) -> Path:
    """Move a damaged journal out of the way; it is never deleted. Return where it is now.

    Raises:
        OSError: it cannot be moved.
    """
    stamp = datetime.fromtimestamp(wall, UTC).strftime("%Y%m%dT%H%M%SZ")
    away, count = path.with_name(f"{path.stem}{ASIDE}{stamp}{path.suffix}"), 1
    while os.path.lexists(away):
        count += 1
        away = path.with_name(f"{path.stem}{ASIDE}{stamp}-{count}{path.suffix}")
    rollback = path.with_name(path.name + "-journal")
    if os.path.lexists(rollback):
        rollback.rename(away.with_name(away.name + "-journal"))
    path.rename(away)
    return away


def _read(read: Callable[[Path], T], away: Path, otherwise: T) -> tuple[T, str]:
    """Return what a journal that was moved out of the way still tells, and why not where it does not."""
    try:
        return read(away), ""
    except JournalError as error:
        return otherwise, str(error)
