"""What the loop hands to the journal's thread, already cut to what will be stored."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field

from tuner.journal.codec import encode
from tuner.journal.tables import Originals
from tuner.records import Capacity, DecisionKind, Facts, Sample, TickRecord
from tuner.settings import Settings

Row = tuple[str | int | float | None, ...]


@dataclass(slots=True)
class TickItem:
    """One tick: its number, Unix time and whole record, encoded."""

    number: int
    wall: float
    record: bytes


@dataclass(slots=True)
class RowsItem:
    """What one tick decided and what happened in it.

    Attributes:
        tick: number of the tick.
        decision: columns of its row in ``decisions`` after run and tick; None when nothing was decided.
        events: columns of its rows in ``events`` after run and tick.
    """

    tick: int
    decision: Row | None
    events: tuple[Row, ...]


@dataclass(slots=True)
class RunItem:
    """The start of a run."""

    settings: Settings
    facts: Facts
    state: bytes
    tick: int
    wall: float


@dataclass(slots=True)
class SnapshotItem:
    """The loop's state after a tick."""

    tick: int
    state: bytes


@dataclass(slots=True)
class OriginalsItem:
    """Originals to be kept, and who wants to know that they are."""

    originals: Originals
    done: Callable[[], None]


@dataclass(slots=True)
class LearnedItem:
    """What was learned about one server."""

    identity: str
    wall: float
    blob: bytes


@dataclass(slots=True)
class BarrierItem:
    """Somebody who waits until everything before it is on disk."""

    reached: threading.Event = field(default_factory=threading.Event)


Item = TickItem | RowsItem | RunItem | SnapshotItem | OriginalsItem | LearnedItem | BarrierItem


def tick_item(record: TickRecord) -> TickItem:
    """Return what is stored of a whole tick."""
    return TickItem(record.tick.number, record.tick.wall, encode(record))


def rows_item(record: TickRecord, last: Row | None) -> RowsItem | None:
    """Return the rows that a tick leaves beside its record; None when it leaves none.

    Args:
        record: the tick's record.
        last: the decision row before it, so that one advice repeated every second is one row.
    """
    decision = _decision_row(record)
    if decision is not None and not record.decision.steps and last is not None and decision[1:] == last[1:]:
        decision = None
    if decision is None and not record.events:
        return None
    events = tuple((event.wall, event.code, event.message, event.who) for event in record.events)
    return RowsItem(record.tick.number, decision, events)


def _decision_row(record: TickRecord) -> Row | None:
    decision = record.decision
    if decision.kind is DecisionKind.KEEP:
        return None
    reading = record.tick.reading
    old = _pair(reading.capacity if isinstance(reading, Sample) else None)
    return (
        record.tick.wall,
        record.mode.value,
        decision.kind.value,
        decision.reason,
        decision.detail,
        decision.source,
        int(bool(decision.steps)),
        *old,
        *_pair(decision.would or decision.target),
    )


def _pair(capacity: Capacity | None) -> tuple[int | None, int | None]:
    return (None, None) if capacity is None else (capacity.io_capacity, capacity.io_capacity_max)
