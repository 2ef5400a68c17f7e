"""A journal's file as another process sees it, and the start of a run in it."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from tuner.journal.items import RunItem
from tuner.journal.writer import JournalWriter
from tuner.records import Facts
from tuner.settings import Settings


def rows(directory: Path, query: str) -> list[tuple[object, ...]]:
    """Read as another process would."""
    with closing(sqlite3.connect(f"file:{directory / 'journal.db'}?mode=ro", uri=True)) as db:
        return db.execute(query).fetchall()


def begin(journal: JournalWriter, facts: Facts) -> None:
    """Start a run."""
    journal.put(RunItem(settings=Settings(), facts=facts, state=b"state", tick=0, wall=1.0))
