"""A recorded trace, or a daemon's journal, as series, decisions, holds and events."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from msgspec import Struct

from lab.report.rates import COLUMNS, Rates
from lab.report.rows import ReportError
from lab.report.thin import Values
from tuner.journal.items import advice_of
from tuner.journal.reader import trace
from tuner.journal.tables import JournalError, Run, Snapshot
from tuner.records import Capacity, DecisionKind, Sample, TickRecord


class Moment(Struct, frozen=True):
    """Something that happened, in a line of a table.

    Attributes:
        at: seconds since the first tick.
        wall: Unix time.
        code: stable name.
        said: in words.
        who: person or part.
    """

    at: float
    wall: float
    code: str
    said: str
    who: str = "loop"


class Decided(Struct, frozen=True):
    """A write, or what an active loop would have written.

    Attributes:
        at: seconds since the first tick.
        wall: Unix time.
        kind: of decision.
        reason: stable code.
        detail: the same in words.
        before: the pair in force; None where nothing was read.
        after: the pair wanted.
        carried_out: it was written.
    """

    at: float
    wall: float
    kind: str
    reason: str
    detail: str
    before: Capacity | None
    after: Capacity | None
    carried_out: bool


class Held(Struct, frozen=True):
    """A hold from its first tick to its last, seconds since the first tick."""

    code: str
    since: float
    until: float
    reason: str
    clears: str
    ended: bool


class Trace(Struct):
    """One run.

    Attributes:
        name: of the file.
        run: how it began.
        at: seconds since the first tick.
        wall: Unix time of each tick.
        columns: values by name; a None is a gap.
        missed: readings that failed, as moments.
        active: ticks in active mode.
        decisions: oldest first.
        holds: in the order in which they began.
        events: oldest first.
        stall_waits: writers that waited for redo space, as far as readings show it.
        sync_pages: pages flushed by sync flushing, as far as readings show it; None where they do not.
    """

    name: str
    run: Run
    at: list[float]
    wall: list[float]
    columns: dict[str, Values]
    missed: list[Moment]
    active: int
    decisions: list[Decided]
    holds: list[Held]
    events: list[Moment]
    stall_waits: int = 0
    sync_pages: int | None = None


def read_trace(path: Path, run: int | None = None) -> Trace:
    """Return one run of a journal.

    Args:
        path: the file, or the state directory.
        run: its number; None for the newest that has ticks.

    Raises:
        ReportError: it cannot be read, or has no tick.
    """
    try:
        return trace_of(str(path), trace(path, run))
    except JournalError as error:
        raise ReportError(str(error)) from error


def trace_of(name: str, items: Iterable[Run | Snapshot | TickRecord]) -> Trace:
    """Return a run as series; ticks are forgotten as soon as they are read.

    Raises:
        ReportError: there is no tick in it.
    """
    found: Trace | None = None
    reading = Rates()
    open_holds: dict[str, Held] = {}
    for item in items:
        if isinstance(item, Run):
            columns: dict[str, Values] = {column: [] for column in COLUMNS}
            found = Trace(name, item, [], [], columns, [], 0, [], [], [])
        elif isinstance(item, TickRecord) and found is not None:
            at = item.tick.now - reading.zero(item)
            found.at.append(at)
            found.wall.append(item.tick.wall)
            found.active += item.mode.value == "active"
            for column, value in zip(COLUMNS, reading.values(item), strict=True):
                found.columns[column].append(value)
            _note(found, item, at, reading, open_holds)
    if found is None or not found.at:
        raise ReportError(f"{name}: no tick in it yet")
    found.holds = sorted([*found.holds, *open_holds.values()], key=lambda hold: hold.since)
    found.stall_waits, found.sync_pages = reading.stall_waits, reading.sync_pages
    return found


def _note(found: Trace, record: TickRecord, at: float, reading: Rates, open_holds: dict[str, Held]) -> None:
    """Take in what a tick decided, what held it and what happened in it."""
    wall, decision = record.tick.wall, record.decision
    sample = record.tick.reading
    if not isinstance(sample, Sample):
        found.missed.append(Moment(at, wall, "missed", sample.reason))
    found.events += [Moment(at, event.wall, event.code, event.message, event.who) for event in record.events]
    advice = advice_of(record)
    news = advice is not None and advice.is_news(reading.advice)
    if decision.kind is not DecisionKind.KEEP or news:
        reading.advice = advice
        found.decisions.append(
            Decided(
                at=at,
                wall=wall,
                kind=decision.kind.value if decision.steps else "would set",
                reason=decision.reason,
                detail=decision.detail,
                before=sample.capacity if isinstance(sample, Sample) else None,
                after=decision.target if decision.steps else decision.would or decision.target,
                carried_out=bool(decision.steps),
            )
        )
    held = {hold.code.value: hold for hold in record.holds}
    for code in [code for code in open_holds if code not in held]:
        gone = open_holds.pop(code)
        found.holds.append(Held(gone.code, gone.since, at, gone.reason, gone.clears, ended=True))
    for code, hold in held.items():
        since = open_holds[code].since if code in open_holds else at
        open_holds[code] = Held(code, since, at, hold.reason, hold.clears, ended=False)
