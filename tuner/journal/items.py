"""What the loop hands to the journal's thread, already cut to what will be stored."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

from tuner.journal.codec import encode
from tuner.journal.tables import Originals, stored
from tuner.records import Capacity, DecisionKind, Facts, Sample, TickRecord
from tuner.settings import Settings

NEWS = 0.05
"""An advised M that moved by less than this share is no news."""

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
        urgent: should be on disk now rather than with the next batch.
    """

    tick: int
    decision: Row | None
    events: tuple[Row, ...]
    urgent: bool


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
class StandingItem:
    """What the next daemon has to know of one server, and who wants to know that it is on disk."""

    identity: str
    text: str
    done: Callable[[], None] = lambda: None


@dataclass(slots=True)
class GivenBackItem:
    """A server that has its originals again: nothing of ours is left to go back from."""

    identity: str


@dataclass(slots=True)
class LearnedItem:
    """What was learned about one server."""

    identity: str
    wall: float
    blob: bytes


@dataclass(slots=True)
class EndItem:
    """The orderly end of a run, at a Unix time.

    Attributes:
        wall: when.
        left: the pair that it left in force; None where that is not known, or none of its business.
    """

    wall: float
    left: Capacity | None = None


@dataclass(slots=True)
class NoteItem:
    """An event beside the ticks: when, code, message, who."""

    row: tuple[float, str, str, str]


@dataclass(slots=True)
class BarrierItem:
    """Somebody who waits until everything before it is on disk."""

    reached: threading.Event = field(default_factory=threading.Event)


Item = (
    TickItem
    | RowsItem
    | RunItem
    | SnapshotItem
    | OriginalsItem
    | GivenBackItem
    | StandingItem
    | LearnedItem
    | EndItem
    | NoteItem
    | BarrierItem
)


class Advice(NamedTuple):
    """What an active loop would have set, and why it was not."""

    reason: str
    io_capacity_max: int

    def is_news(self, before: Advice | None) -> bool:
        """Tell whether this is worth a row after the one before: another reason, or another M by far."""
        if before is None or self.reason != before.reason:
            return True
        return abs(self.io_capacity_max - before.io_capacity_max) > NEWS * before.io_capacity_max


def advice_of(record: TickRecord) -> Advice | None:
    """Return the advice in a record; None where there is none."""
    would = record.decision.would
    return None if would is None else Advice(record.decision.reason, would.io_capacity_max)


def tick_item(record: TickRecord) -> TickItem:
    """Return what is stored of a whole tick."""
    return TickItem(record.tick.number, record.tick.wall, encode(record))


def rows_item(record: TickRecord, advice: Advice | None) -> RowsItem | None:
    """Return the rows that a tick leaves beside its record; None when it leaves none.

    Args:
        record: the tick's record.
        advice: the last one that became a row.
    """
    decision = record.decision
    given = advice_of(record)
    if decision.kind is DecisionKind.KEEP and (given is None or not given.is_news(advice)):
        row = None
    else:
        row = _decision_row(record)
    if row is None and not record.events:
        return None
    events = tuple((event.wall, event.code, event.message, event.who) for event in record.events)
    return RowsItem(
        record.tick.number, row, events, urgent=bool(events) or decision.kind is not DecisionKind.KEEP
    )


def _decision_row(record: TickRecord) -> Row:
    decision, reading = record.decision, record.tick.reading
    return (
        record.tick.wall,
        record.mode.value,
        decision.kind.value,
        decision.reason,
        decision.detail,
        decision.source,
        int(bool(decision.steps)),
        *_pair(reading.capacity if isinstance(reading, Sample) else None),
        *_pair(decision.would or decision.target),
    )


def _pair(capacity: Capacity | None) -> tuple[int | None, int | None]:
    if capacity is None:
        return None, None
    return stored(capacity.io_capacity), stored(capacity.io_capacity_max)
