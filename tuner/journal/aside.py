"""A journal that is damaged: moved out of the way, and what it still tells."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from tuner.journal.reader import Unheard, read_originals, read_standing, read_unheard
from tuner.journal.readonly import ASIDE
from tuner.journal.salvage import Salvaged, salvage_learned
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
