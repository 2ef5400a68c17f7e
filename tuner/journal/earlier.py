"""The ticks of earlier runs, for charts that go on after a restart of the daemon."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path

from tuner.journal.codec import CodecError, decode
from tuner.journal.readonly import ReadOnlyJournal, located
from tuner.journal.tables import RECORDS
from tuner.records import TickRecord

CHUNK = 100
"""Rows read at a time: a fraction of a millisecond in which the writer's commit may have to wait."""


def earlier_ticks(
    directory: Path, *, since: float, until: float, most: int
) -> Generator[list[TickRecord | None]]:
    """Yield the ticks between two times, oldest first, some at a time; also while a daemon writes.

    Args:
        directory: the state directory.
        since: Unix time of the first.
        until: Unix time after the last.
        most: no more ticks than so many, the newest.

    Yields:
        Ticks; None for one that is damaged, or that a version with other records wrote.

    Raises:
        JournalError: no journal, or damaged, or not of this layout.
    """
    with ReadOnlyJournal(located(directory)) as journal:
        marks = journal.rows("SELECT run, fingerprint FROM runs")
        readable = {run for run, fingerprint in marks if fingerprint == RECORDS}
        ((newest,),) = journal.rows("SELECT coalesce(max(id), 0) FROM ticks")
        at = newest - most
        query = f"SELECT id, run, wall, record FROM ticks WHERE id > ? ORDER BY id LIMIT {CHUNK}"
        while rows := journal.rows(query, (at,)):
            at = rows[-1][0]
            yield [
                _tick(record) if run in readable else None
                for _, run, wall, record in rows
                if since <= wall < until
            ]


def _tick(record: bytes) -> TickRecord | None:
    try:
        return decode(record, TickRecord)
    except CodecError:
        return None
