"""What a journal file holds: its tables, its marks, and the records that come out of it."""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct

from tuner.records import Capacity, Facts
from tuner.settings import Settings

FILE_NAME = "journal.db"
LOCK_NAME = "journal.lock"
LOCK_SUFFIX = ".lock"
"""In place of a journal's own suffix, for the file whose lock keeps a second writer out."""

APPLICATION_ID = 0x1BB1A701
"""Marks an SQLite file as ours."""

STANDING = "standing:"
"""Rows of ``meta`` that begin so say what stands for the server named after it."""

UNHEARD = "unheard"
"""Row of ``meta`` that says why what stood in an earlier journal is not known."""

HEARD = "heard:"
"""Rows of ``meta`` that begin so name a server beside which a daemon has taken notice of that."""

SERVER = "server:"
"""Rows of ``meta`` that begin so, then have run and tick, name the server that answered from there on."""

ENDED = "ended"
"""Event that a run ends with which was told to stop and did what it had to; a killed one has none."""

LEFT = "left"
"""Row of ``meta`` with the ``LeftPair`` of the last run that knew it, as JSON: legible across versions."""

OFFLINE = "offline"
"""Event that says what a command did to a server without the daemon; a run with one is no daemon's."""

FORMAT = 1
"""Layout of the tables, SQLite's user_version. The blobs carry a fingerprint of their own."""

SCHEMA = """
CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE originals (
  identity TEXT PRIMARY KEY, io_capacity INTEGER NOT NULL, io_capacity_max INTEGER NOT NULL,
  started REAL NOT NULL, version TEXT NOT NULL, taken_at REAL NOT NULL) WITHOUT ROWID;
CREATE TABLE runs (
  run INTEGER PRIMARY KEY, wall REAL NOT NULL, tick INTEGER NOT NULL, program TEXT NOT NULL,
  fingerprint TEXT NOT NULL, settings TEXT NOT NULL, facts TEXT NOT NULL, state BLOB NOT NULL);
CREATE TABLE ticks (
  id INTEGER PRIMARY KEY, run INTEGER NOT NULL, number INTEGER NOT NULL, wall REAL NOT NULL,
  record BLOB NOT NULL);
CREATE TABLE snapshots (run INTEGER NOT NULL, tick INTEGER NOT NULL, state BLOB NOT NULL, UNIQUE (run, tick));
CREATE TABLE decisions (
  id INTEGER PRIMARY KEY, run INTEGER NOT NULL, tick INTEGER NOT NULL, wall REAL NOT NULL,
  mode TEXT NOT NULL, kind TEXT NOT NULL, reason TEXT NOT NULL, detail TEXT NOT NULL,
  source TEXT NOT NULL, written INTEGER NOT NULL, old_io_capacity INTEGER, old_io_capacity_max INTEGER,
  new_io_capacity INTEGER, new_io_capacity_max INTEGER);
CREATE TABLE events (
  id INTEGER PRIMARY KEY, run INTEGER NOT NULL, tick INTEGER NOT NULL, wall REAL NOT NULL, code TEXT NOT NULL,
  message TEXT NOT NULL, who TEXT NOT NULL);
CREATE TABLE learned (
  identity TEXT PRIMARY KEY, wall REAL NOT NULL, program TEXT NOT NULL, state BLOB NOT NULL);
"""

_WRAP = 1 << 64
_SIGN = 1 << 63


def stored(value: int) -> int:
    """Return a C or M as its column has it: SQLite's integers are signed, and InnoDB's go up to 2^64 − 1.

    One of 2^63 and more is stored as what is missing to 2^64, below zero, as C casts it.
    """
    return value - _WRAP if value >= _SIGN else value


def loaded(value: int) -> int:
    """Return a C or M from its column; the reverse of ``stored``."""
    return value + _WRAP if value < 0 else value


class JournalError(Exception):
    """A journal that cannot be read; the message says why, and which version wrote it."""


class DamagedJournalError(JournalError):
    """A journal that is damaged, or was cut short."""


class Originals(Struct, frozen=True):
    """The pair that a server had before anything was written to it.

    Attributes:
        identity: which server, whatever its address.
        capacity: C and M, pages/s.
        started: when the server had started, Unix time.
        version: the server's version.
        taken_at: when the pair was read, Unix time.
    """

    identity: str
    capacity: Capacity
    started: float
    version: str
    taken_at: float


class LeftPair(Struct, frozen=True):
    """The pair that a run left in force.

    Attributes:
        run: its number; a later run of a version that leaves no such mark has made it stale.
        capacity: C and M, pages/s.
    """

    run: int
    capacity: Capacity


class Run(Struct, frozen=True):
    """The start of one run: all that a replay needs besides the ticks.

    Attributes:
        number: counts up in one journal.
        wall: when it started, Unix time.
        tick: number of the tick before its first.
        program: version of InnoBrim that wrote it.
        fingerprint: of the record types it was written with.
        settings: in force at its start.
        facts: the server at its start.
        state: encoded state of the loop at its start; empty when that was lost.
    """

    number: int
    wall: float
    tick: int
    program: str
    fingerprint: str
    settings: Settings
    facts: Facts
    state: bytes


class Snapshot(Struct, frozen=True):
    """The loop's encoded state after a tick, from where a replay can begin."""

    tick: int
    state: bytes


def journal_path(path: Path) -> Path:
    """Return the journal's file, given that file or the state directory it lies in."""
    return path / FILE_NAME if path.is_dir() else path
