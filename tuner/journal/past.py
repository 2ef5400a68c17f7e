"""A journal by the time of day: the changes that it keeps for weeks, and the ticks around each.

Also beside a running daemon: it is read by primary key, some rows at a time, so that the writer never waits.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tuner.journal.codec import RECORDS, CodecError, decode
from tuner.journal.reader import run_of
from tuner.journal.readonly import ReadOnlyJournal, located, understood
from tuner.journal.tables import JournalError, loaded
from tuner.records import Capacity, DecisionKind, Facts, PastChange, TickRecord
from tuner.settings import Settings

CHUNK = 50
"""Ticks read at once: some milliseconds."""

_COLUMNS = (
    "id, tick, wall, kind, reason, detail, source, written, "
    "old_io_capacity, old_io_capacity_max, new_io_capacity, new_io_capacity_max, run"
)
_WRITTEN = f"SELECT {_COLUMNS} FROM decisions WHERE written = 1"


class JournalPast:
    """An open journal, asked by time. Every method may raise ``JournalError``.

    Attributes:
        source: the journal's path.
    """

    def __init__(self, path: Path, journal: ReadOnlyJournal) -> None:
        self.source = str(path)
        self._path = path
        self._journal = journal
        self._runs: dict[int, tuple[Settings, Facts | None, str]] = {}
        ((self._first, self._last),) = journal.rows("SELECT min(id), max(id) FROM ticks")

    def known(self) -> tuple[float, float] | None:
        """Return when the first and the last tick were that are kept, Unix time; None without one."""
        if self._first is None:
            return None
        return self._wall(self._first), self._wall(self._last)

    def change(self, number: int) -> PastChange | None:
        """Return a change by its number; None where there is none."""
        return self._one(f"{_WRITTEN} AND id = ?", number)

    def numbers(self) -> tuple[int, int] | None:
        """Return the numbers of the oldest and the newest change that are kept; None without one."""
        ((first, last),) = self._journal.rows("SELECT min(id), max(id) FROM decisions WHERE written = 1")
        return None if first is None else (first, last)

    def changes(self, since: float, until: float) -> list[PastChange]:
        """Return the changes from one Unix time to before another, oldest first."""
        rows = self._journal.rows(f"{_WRITTEN} AND wall >= ? AND wall < ? ORDER BY id", (since, until))
        with understood(self._path):
            return [_change(row) for row in rows]

    def last_change(self, before: float) -> PastChange | None:
        """Return the newest change before a Unix time; None without one."""
        return self._one(f"{_WRITTEN} AND wall < ? ORDER BY id DESC LIMIT 1", before)

    def event(self, code: str, before: float) -> str:
        """Return the newest event of a code up to a Unix time, in words; empty without one."""
        rows = self._journal.rows(
            "SELECT message FROM events WHERE code = ? AND wall <= ? ORDER BY id DESC LIMIT 1", (code, before)
        )
        return str(rows[0][0]) if rows else ""

    def tick_at(self, wall: float) -> TickRecord | None:
        """Return the newest tick up to a Unix time; None before the first, or where it cannot be read."""
        place = self._place(wall)
        if self._first is None or place < self._first:
            return None
        found = self._read(place, 1)
        return found[0] if found else None

    def tick_after(self, wall: float) -> TickRecord | None:
        """Return the first tick after a Unix time; None without one, or where it cannot be read."""
        found = [] if self._first is None else self._read(self._place(wall) + 1, 1)
        return found[0] if found else None

    def ticks(self, since: float, until: float) -> list[TickRecord]:
        """Return the ticks from one Unix time to another, both included; a minute of them at most."""
        if self._first is None:
            return []
        place, found = self._place(since), list[TickRecord]()
        while place <= self._last and not (found and found[-1].tick.wall > until):
            found += self._read(place, CHUNK)
            place += CHUNK
        return [one for one in found if since <= one.tick.wall <= until]

    def sampled(self, since: float, until: float, most: int) -> list[TickRecord]:
        """Return so many ticks between two Unix times at most, evenly spread."""
        if self._first is None:
            return []
        first, last = max(self._place(since), self._first), self._place(until)
        step = max(1, (last - first) // most)
        return [one for place in range(first, last + 1, step) for one in self._read(place, 1)]

    def context(self, wall: float) -> tuple[Settings, Facts | None]:
        """Return a tick's settings, as its run began with, and its server; None where that is unknown."""
        rows = self._journal.rows("SELECT run FROM ticks WHERE id = ?", (self._place(wall),))
        settings, facts, _ = self._run(rows[0][0]) if rows else (Settings(), None, "")
        return settings, facts

    def lost(self, change: PastChange) -> str:
        """Return why the tick of a change cannot be told, in words."""
        program, known = self._run(change.run)[2], self.known()
        if program:
            return (
                f"more is not known: InnoBrim {program} wrote this part of the journal, and this version "
                "reads only its list of changes"
            )
        if known is None or change.wall < known[0]:
            return (
                "more is not known: what the server showed is kept for the newest ticks alone "
                "(daemon.keep_ticks), and this change is older"
            )
        return "more is not known: the tick itself is missing in the journal"

    def _run(self, run: int) -> tuple[Settings, Facts | None, str]:
        """Return settings and server of a run, and the version that wrote it where its ticks are foreign."""
        if run not in self._runs:
            found: tuple[Settings, Facts | None, str] = (Settings(), None, "")
            rows = self._journal.rows("SELECT * FROM runs WHERE run = ?", (run,))
            if rows and rows[0][4] != RECORDS:
                found = (Settings(), None, str(rows[0][3]))
            elif rows:
                with contextlib.suppress(JournalError):
                    header = run_of(self._path, rows[0])
                    found = (header.settings, header.facts, "")
            self._runs[run] = found
        return self._runs[run]

    def _one(self, query: str, value: float) -> PastChange | None:
        rows = self._journal.rows(query, (value,))
        with understood(self._path):
            return _change(rows[0]) if rows else None

    def _wall(self, place: int) -> float:
        rows = self._journal.rows("SELECT wall FROM ticks WHERE id >= ? ORDER BY id LIMIT 1", (place,))
        with understood(self._path):
            return float(rows[0][0])

    def _place(self, wall: float) -> int:
        """Return the place of the newest tick up to a Unix time; one before the first where there is none."""
        low, high = (self._first or 0) - 1, self._last or 0
        while low < high:
            middle = (low + high + 1) // 2
            if self._wall(middle) <= wall:
                low = middle
            else:
                high = middle - 1
        return low

    def _read(self, place: int, most: int) -> list[TickRecord]:
        rows = self._journal.rows(
            "SELECT run, record FROM ticks WHERE id >= ? ORDER BY id LIMIT ?", (place, most)
        )
        found = []
        for run, record in rows:
            if not self._run(run)[2]:
                with contextlib.suppress(CodecError, TypeError):
                    found.append(decode(record))
        return found


@contextlib.contextmanager
def past_of(path_or_directory: Path, *, seconds: float = math.inf) -> Iterator[JournalPast]:
    """Open a journal, or the one of a state directory, to be asked by time.

    Args:
        path_or_directory: the file, or the state directory that it lies in.
        seconds: so long it answers.

    Raises:
        JournalError: none there, not of this layout, damaged, not for this account, or the time is up.
    """
    path = located(path_or_directory)
    with ReadOnlyJournal(path, seconds=seconds) as journal:
        yield JournalPast(path, journal)


def _change(row: tuple[Any, ...]) -> PastChange:
    number, tick, wall, kind, reason, detail, source, written, *pairs, run = row
    return PastChange(
        number=number,
        tick=tick,
        wall=float(wall),
        kind=DecisionKind(kind),
        reason=str(reason),
        detail=str(detail),
        source=str(source),
        written=bool(written),
        old=_pair(*pairs[:2]),
        new=_pair(*pairs[2:]),
        run=run,
    )


def _pair(low: int | None, high: int | None) -> Capacity | None:
    return None if low is None or high is None else Capacity(loaded(low), loaded(high))
