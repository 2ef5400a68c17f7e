"""A damaged journal: moved out of the way, and what it still tells."""

from __future__ import annotations

import os
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from tuner.journal.items import LearnedItem
from tuner.journal.reader import Unheard, read_originals, read_standing, read_unheard
from tuner.journal.readonly import ASIDE, ReadOnlyJournal
from tuner.journal.tables import JournalError, Originals


class Aside(NamedTuple):
    """A journal that was moved out of the way.

    Attributes:
        path: where it is now.
        originals: those that could be read from it.
        standing: what stands, by server, as far as it could be read.
        why: why the originals could not be read; empty where they were.
        unheard: why it is not known of every server what stands; empty where it is.
        learned: what was learned of servers, as far as it could be read.
    """

    path: Path
    originals: list[Originals]
    standing: dict[str, str]
    why: str
    unheard: Unheard
    learned: Salvaged


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


def read_aside(away: Path) -> Aside:
    """Return what a journal that was moved out of the way still tells; never raises ``JournalError``."""
    found: list[Originals] = []
    standing: dict[str, str] = {}
    why, unheard = "", Unheard()
    try:
        found = read_originals(away)
    except JournalError as error:
        why = str(error)
    try:
        standing = read_standing(away)
        unheard = read_unheard(away)
    except JournalError as error:
        unheard = Unheard(str(error))
    return Aside(away, found, standing, why, unheard, salvage_learned(away))


SERVERS = 64
"""Servers of which what was learned is carried over, those learned of last."""

MOST_BYTES = 256 * 1024
"""What is larger is not what was learned of one server: with every list full it is some 60 KiB."""

MOST_SECONDS = 1.0
"""The loop's first tick waits for this no longer; what is not read by then is lost."""

_LISTED = 4 * SERVERS
_NAMES = (
    f"SELECT rowid, identity FROM learned NOT INDEXED LIMIT {_LISTED}",
    f"SELECT rowid, identity FROM learned INDEXED BY sqlite_autoindex_learned_1 LIMIT {_LISTED}",
)
"""The table and its index lie on different pages: what one of them cannot tell, the other may."""

_ROW = "SELECT identity, wall, state FROM learned NOT INDEXED WHERE rowid = ? AND length(state) <= ?"


class Salvaged(NamedTuple):
    """What was learned, as far as it could be read.

    Attributes:
        kept: of each server.
        lost: servers of which it could not be read.
        why: why nothing could be read at all; empty where something could, and where nothing is there.
    """

    kept: list[LearnedItem]
    lost: list[str]
    why: str = ""


def salvage_learned(path: Path) -> Salvaged:
    """Read what was learned from a journal of any format, each server's for itself. Never raises."""
    try:
        with ReadOnlyJournal(path, any_format=True) as journal:
            return _rows(journal)
    except JournalError as error:
        return Salvaged([], [], str(error))


def _rows(journal: ReadOnlyJournal) -> Salvaged:
    """Return what can be read within the time.

    Raises:
        JournalError: not even one of the two lists of servers can be read.
    """
    until = time.monotonic() + MOST_SECONDS
    names: dict[int, str] = {}
    failed: list[JournalError] = []
    for query in _NAMES:
        try:
            names |= {int(row): str(name) for row, name in journal.rows(query)}
        except JournalError as error:
            failed.append(error)
    if len(failed) == len(_NAMES):
        raise failed[0]
    kept: list[LearnedItem] = []
    lost: list[str] = []
    for row, name in names.items():
        item = _row(journal, row) if time.monotonic() < until else None
        if item is None:
            lost.append(name)
        else:
            kept.append(item)
    kept.sort(key=lambda one: one.wall, reverse=True)
    return Salvaged(kept[:SERVERS], [*lost, *(one.identity for one in kept[SERVERS:])])


def _row(journal: ReadOnlyJournal, row: int) -> LearnedItem | None:
    """Return what was learned of one server; None where that cannot be read."""
    try:
        found = journal.rows(_ROW, (row, MOST_BYTES))
    except JournalError:
        return None
    for identity, wall, state in found:
        if isinstance(identity, str) and isinstance(wall, float) and isinstance(state, bytes):
            return LearnedItem(identity, wall, state)
    return None
