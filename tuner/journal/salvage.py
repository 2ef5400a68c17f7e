"""What a damaged journal still tells of what was learned, server by server."""

from __future__ import annotations

import time
from pathlib import Path
from typing import NamedTuple

from tuner.journal.items import LearnedItem
from tuner.journal.readonly import ReadOnlyJournal
from tuner.journal.tables import JournalError

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
