"""What the loop hands to the journal's thread, already cut to what will be stored."""

from __future__ import annotations

import heapq
import threading
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from tuner.findings.remedies import told
from tuner.journal.codec import encode
from tuner.journal.tables import Originals, stored
from tuner.records import Capacity, DecisionKind, EventCode, Facts, Sample, TickRecord
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
        server: identity of another server that answers from this tick on; empty where none does.
    """

    tick: int
    decision: Row | None
    events: tuple[Row, ...]
    urgent: bool
    server: str = ""


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
    events = tuple((event.wall, event.code, told(event), event.who) for event in record.events)
    return RowsItem(
        record.tick.number,
        row,
        events,
        urgent=bool(events) or decision.kind is not DecisionKind.KEEP,
        server=next((event.subject for event in record.events if event.code == EventCode.OTHER_SERVER), ""),
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


TICKS = 1200
"""Ticks held; about a megabyte, twenty minutes at 1 Hz."""

_ROWS = 4000
_SNAPSHOTS = 4
_FEW = 64

Numbered = tuple[int, Item]


class Backlog:
    """A queue with a lane and a bound for each kind of item, in one order. Thread-safe.

    Attributes:
        dropped: ticks dropped so far.
    """

    def __init__(self, ticks: int = TICKS) -> None:
        self.dropped = 0
        self._limits: Mapping[type, int] = {
            TickItem: ticks,
            RowsItem: _ROWS,
            SnapshotItem: _SNAPSHOTS,
            LearnedItem: _FEW,
            RunItem: _FEW,
            OriginalsItem: _FEW,
            GivenBackItem: _FEW,
            StandingItem: _FEW,
            EndItem: _FEW,
            NoteItem: _FEW,
            BarrierItem: _FEW,
        }
        self._lanes: dict[type, deque[Numbered]] = {kind: deque() for kind in self._limits}
        self._lock = threading.Lock()
        self._next = 0

    def put(self, item: Item) -> bool:
        """Add an item, in microseconds, whatever the disk does; tell whether its lane is getting full."""
        with self._lock:
            kind = type(item)
            lane = self._lanes[kind]
            lane.append((self._next, item))
            self._next += 1
            self._cut(kind, lane)
            return 2 * len(lane) > self._limits[kind]

    def take(self) -> list[Numbered]:
        """Take everything, in the order it was put."""
        with self._lock:
            items = list(heapq.merge(*self._lanes.values(), key=_number))
            for lane in self._lanes.values():
                lane.clear()
        return items

    def put_back(self, items: Iterable[Numbered]) -> None:
        """Return what could not be written to its place before everything that came since."""
        with self._lock:
            for number, item in sorted(items, key=_number, reverse=True):
                self._lanes[type(item)].appendleft((number, item))
            for kind, lane in self._lanes.items():
                self._cut(kind, lane)

    def _cut(self, kind: type, lane: deque[Numbered]) -> None:
        while len(lane) > self._limits[kind]:
            lane.popleft()
            self.dropped += kind is TickItem


def _number(entry: Numbered) -> int:
    return entry[0]
