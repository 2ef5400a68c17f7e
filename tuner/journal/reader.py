"""Reads a journal without ever writing to it, also while a daemon does.

Rows are fetched a few hundred at a time, so that a slow reader never holds the writer up.
"""

from __future__ import annotations

import contextlib
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from tuner.journal.codec import RECORDS, CodecError, decode
from tuner.journal.items import LearnedItem
from tuner.journal.readonly import ReadOnlyJournal, Rows, is_there, located, lost, understood
from tuner.journal.tables import (
    FORMAT,
    HEARD,
    OFFLINE,
    STANDING,
    UNHEARD,
    DamagedJournalError,
    JournalError,
    Originals,
    Run,
    Snapshot,
    loaded,
)
from tuner.records import Facts, TickRecord
from tuner.settings import Mode, Settings

CHUNK = 500

MOST_LEARNED = 256 * 1024
"""Bytes; what is larger is not what was learned of one server: with every list full it is some 60 KiB."""

MOST_SERVERS = 256
"""Of which what was learned is looked for in a damaged journal; four times as many as one keeps."""

_TIMED = "typeof(wall) IN ('real', 'integer')"
"""A row whose time is one: a damaged page can put anything into any column."""

COPY_AGAIN = (
    "it is damaged, or was copied only in part: copy it once more from where it is whole, beside a running "
    "daemon with sqlite3 JOURNAL '.backup COPY'; a daemon sets a damaged journal of its own aside, and "
    "begins another"
)
"""What can be done about a damaged journal."""


def last_record(state_directory: Path, *, of_daemon: bool = False) -> TickRecord | None:
    """Return the newest tick on disk; None without a journal or before the first tick.

    Args:
        state_directory: where the journal is.
        of_daemon: pass over what a command noted that did without the daemon.

    Raises:
        JournalError: damaged, or written with other records than this version's.
    """
    path = located(state_directory)
    passed = "WHERE run NOT IN (SELECT run FROM events WHERE code = ?) " if of_daemon else ""
    rows = _rows(
        path,
        "SELECT record, coalesce(r.fingerprint, f.value), coalesce(r.program, p.value) FROM ticks "
        "LEFT JOIN runs r USING (run) LEFT JOIN meta f ON f.name = 'fingerprint' "
        f"LEFT JOIN meta p ON p.name = 'program' {passed}ORDER BY id DESC LIMIT 1",
        (OFFLINE,) if of_daemon else (),
    )
    if not rows:
        return None
    blob, found, program = rows[0]
    _require(path, found, program)
    return _record(path, blob)


def done_offline(state_directory: Path, *, after: float) -> list[tuple[float, str]]:
    """Return what commands did without the daemon later than a Unix time: when, and what.

    Raises:
        JournalError: damaged.
    """
    query = f"SELECT wall, message FROM events WHERE code = ? AND wall > ? AND {_TIMED} ORDER BY id"
    return [(wall, text) for wall, text in _rows(located(state_directory), query, (OFFLINE, after))]


def originals(state_directory: Path) -> list[Originals]:
    """Return the originals of every server that was ever taken over; empty without a journal.

    Raises:
        JournalError: damaged.
    """
    path = located(state_directory)
    return read_originals(path) if is_there(path) else []


def learned(state_directory: Path) -> dict[str, bytes]:
    """Return what was learned about each server; empty where nothing is known.

    Raises:
        JournalError: damaged.
    """
    rows = _rows(located(state_directory), "SELECT identity, state FROM learned WHERE typeof(state) = 'blob'")
    return {str(identity): bytes(state) for identity, state in rows}


def standing(state_directory: Path) -> dict[str, str]:
    """Return what the next daemon has to know about each server, as JSON; empty where nothing was kept.

    Raises:
        JournalError: damaged.
    """
    path = located(state_directory)
    return read_standing(path) if is_there(path) else {}


class Unheard(NamedTuple):
    """That what stood cannot be read: a pause may have, or somebody's word against active mode.

    Attributes:
        why: in words; empty where all that stood could be read.
        heard: servers beside which a daemon has taken notice of it, and noted what stands since.
    """

    why: str = ""
    heard: frozenset[str] = frozenset()

    def beside(self, *names: str) -> str:
        """Return why it is not known what stood for one server, by all of its names; empty where it is."""
        return self.why if self.heard.isdisjoint(names) else ""


def unheard(state_directory: Path) -> Unheard:
    """Return why it is not known what stood, as far as it is not. Never raises."""
    try:
        path = located(state_directory)
        return read_unheard(path) if is_there(path) else Unheard(lost(path))
    except (JournalError, OSError) as error:
        return Unheard(str(error))


def runs(path_or_directory: Path) -> list[Run]:
    """Return the starts of all runs written with this version's records, oldest first.

    Raises:
        JournalError: no journal, or damaged.
    """
    path = located(path_or_directory)
    with ReadOnlyJournal(path) as journal:
        rows = journal.rows("SELECT * FROM runs WHERE fingerprint = ? ORDER BY run", (RECORDS,))
        return [run_of(path, row) for row in rows]


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
    path = located(path_or_directory)
    try:
        with understood(path):
            yield from _traced(path, run)
    except DamagedJournalError as error:
        raise JournalError(f"{error}; {COPY_AGAIN}") from error


def _traced(path: Path, run: int | None) -> Iterator[Run | Snapshot | TickRecord]:
    with ReadOnlyJournal(path) as journal:
        chosen = _choose(path, journal, run)
        header = run_of(path, chosen)
        yield header
        places = {
            tick for (tick,) in journal.rows("SELECT tick FROM snapshots WHERE run = ?", (header.number,))
        }
        query = f"SELECT number, record, id FROM ticks WHERE run = ? AND id > ? ORDER BY id LIMIT {CHUNK}"
        rows: Rows = [(0, b"", 0)]
        while rows := journal.rows(query, (header.number, rows[-1][2])):
            for number, blob, _ in rows:
                if number - 1 in places:
                    where = (header.number, number - 1)
                    for (state,) in journal.rows(
                        "SELECT state FROM snapshots WHERE run = ? AND tick = ?", where
                    ):
                        yield Snapshot(number - 1, state)
                yield _record(path, blob, header.number, number)


def read_standing(path: Path) -> dict[str, str]:
    """Return what stands by server, from a journal of any format, as far as it has it.

    Raises:
        JournalError: it cannot be read.
    """
    with ReadOnlyJournal(path, any_format=True) as journal:
        rows = journal.rows("SELECT name, value FROM meta WHERE name LIKE ? || '%'", (STANDING,))
    return {str(name).removeprefix(STANDING): str(value) for name, value in rows}


def read_unheard(path: Path) -> Unheard:
    """Return why a journal does not tell what stood, as far as it does not.

    In another layout something may stand where this version does not look for it.

    Raises:
        JournalError: it cannot be read.
    """
    with ReadOnlyJournal(path, any_format=True) as journal:
        layout = journal.layout
        rows = journal.rows("SELECT name, value FROM meta WHERE name LIKE ? || '%'", (HEARD,))
        why = [value for (value,) in journal.rows("SELECT value FROM meta WHERE name = ?", (UNHEARD,))]
    if layout != FORMAT:
        return Unheard(f"{path} is in layout {layout}, and this version reads layout {FORMAT}")
    heard = frozenset(str(name).removeprefix(HEARD) for name, _ in rows)
    return Unheard(str(why[0]), heard) if why else Unheard()


def read_originals(path: Path) -> list[Originals]:
    """Return the originals in a journal of any format, as far as it has them.

    Raises:
        JournalError: they cannot be read.
    """
    query = "SELECT identity, io_capacity, io_capacity_max, started, version, taken_at FROM originals"
    with ReadOnlyJournal(path, any_format=True) as journal:
        try:
            rows = journal.rows(query + " ORDER BY identity")
        except JournalError:
            journal.require_ours()
            raise
    return [_originals(path, row) for row in rows]


_LISTS_OF_LEARNED = ("NOT INDEXED", "INDEXED BY sqlite_autoindex_learned_1")
"""The table and its index lie on different pages: what one of them cannot tell, the other may."""


def read_learned(path: Path) -> tuple[list[LearnedItem], bool]:
    """Return what was learned of servers, from a journal of any format, oldest first, and whether it is all.

    Each server's is read for itself, so that a damaged one costs no other.

    Raises:
        JournalError: not even the list of servers can be read.
    """
    query = "SELECT identity, wall, state FROM learned NOT INDEXED WHERE rowid = ? AND typeof(state) = 'blob'"
    query += f" AND length(state) <= ? AND {_TIMED}"
    numbers: set[int] = set()
    failed: list[JournalError] = []
    kept: list[LearnedItem] = []
    with ReadOnlyJournal(path, any_format=True) as journal:
        for way in _LISTS_OF_LEARNED:
            try:
                listed = journal.rows(f"SELECT rowid FROM learned {way} LIMIT ?", (MOST_SERVERS,))
            except JournalError as error:
                failed.append(error)
            else:
                numbers |= {number for (number,) in listed}
        if len(failed) == len(_LISTS_OF_LEARNED):
            raise failed[0]
        for number in numbers:
            with contextlib.suppress(JournalError):
                rows = journal.rows(query, (number, MOST_LEARNED))
                kept += [LearnedItem(str(identity), float(wall), state) for identity, wall, state in rows]
    return sorted(kept, key=lambda one: one.wall), len(kept) == len(numbers)


def absence(state_directory: Path) -> str:
    """Return what there is in place of a journal, in words; empty where there is one, sound or not.

    Raises:
        JournalError: it cannot be seen.
    """
    path = located(state_directory)
    if is_there(path):
        return ""
    return lost(path) or f"there is no journal in {state_directory}"


def _originals(path: Path, row: tuple[Any, ...]) -> Originals:
    identity, low, high, started, version, taken_at = row
    low, high = (loaded(one) if isinstance(one, int) else one for one in (low, high))
    pair = {"io_capacity": low, "io_capacity_max": high}
    found = {"identity": identity, "capacity": pair, "started": started, "version": version}
    try:
        return msgspec.convert({**found, "taken_at": taken_at}, Originals)
    except msgspec.ValidationError as error:
        raise JournalError(f"{path}: originals are damaged: {error}") from error


def _rows(path: Path, query: str, values: tuple[object, ...] = ()) -> Rows:
    """Return what a journal answers; nothing where there is none."""
    if not is_there(path):
        return []
    with ReadOnlyJournal(path) as journal:
        return journal.rows(query, values)


def _choose(path: Path, journal: ReadOnlyJournal, run: int | None) -> tuple[Any, ...]:
    if run is None:
        rows = journal.rows("SELECT * FROM runs WHERE run = (SELECT run FROM ticks ORDER BY id DESC LIMIT 1)")
        if not rows:
            raise JournalError(f"{path}: no tick in it yet")
        return rows[0]
    rows = journal.rows("SELECT * FROM runs WHERE run = ?", (run,))
    if not rows:
        ((first, last),) = journal.rows("SELECT min(run), max(run) FROM runs")
        there = f"there are {first} to {last}"
        if first is None:
            there = "no run was started in it yet"
        elif first == last:
            there = f"the only one is {first}"
        raise JournalError(f"{path}: no run {run}; {there}")
    return rows[0]


def run_of(path: Path, row: tuple[Any, ...]) -> Run:
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
    except (TypeError, ValueError, LookupError, RecursionError) as error:
        said = str(error) or type(error).__name__
        raise JournalError(f"{path}: run {number} cannot be read: {said}") from error


def _settings(text: str) -> Settings:
    values: dict[str, Any] = msgspec.json.decode(text)
    typed = {"mode": Mode(values["mode"]), "servers": tuple(values.get("servers", ()))}
    return Settings(**{**values, **typed})


def _require(path: Path, found: str | None, program: str | None) -> None:
    if found != RECORDS:
        raise JournalError(
            f"{path}: written by InnoBrim {program or '?'} with records {found or '?'}; "
            f"this version reads {RECORDS}; take the one that wrote it"
        )


def _record(path: Path, blob: bytes, run: int | None = None, number: int | None = None) -> TickRecord:
    try:
        record = decode(blob)
    except CodecError as error:
        if number is None:
            raise JournalError(f"{path}: a tick is damaged: {error}") from error
        without = f"DELETE FROM ticks WHERE run = {run} AND number = {number}"
        raise JournalError(
            f"{path}: tick {number} of run {run} is damaged: {error}; the others can be read in a copy "
            f'without it: sqlite3 COPY "{without}"'
        ) from error
    return record


TICKS_AT_A_TIME = 100
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
        at = max(newest - most, 0)
        query = (
            f"SELECT id, run, wall, record FROM ticks WHERE id > ? AND {_TIMED} ORDER BY id "
            f"LIMIT {TICKS_AT_A_TIME}"
        )
        while rows := journal.rows(query, (at,)):
            at = rows[-1][0]
            yield [
                _tick(record) if run in readable else None
                for _, run, wall, record in rows
                if since <= wall < until
            ]


def _tick(record: bytes) -> TickRecord | None:
    try:
        return decode(record)
    except CodecError:
        return None
