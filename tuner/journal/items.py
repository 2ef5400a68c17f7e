"""What the loop hands to the journal's thread, already cut to what will be stored."""

from __future__ import annotations

import heapq
import threading
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from tuner.findings.remedies import told
from tuner.journal.codec import encode
from tuner.journal.tables import Originals, Snapshot, stored
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
        written: the decision was sent to the server.
        events: columns of its rows in ``events`` after run and tick.
        urgent: should be on disk now rather than with the next batch.
        server: identity of another server that answers from this tick on; empty where none does.
    """

    tick: int
    decision: Row | None
    events: tuple[Row, ...]
    urgent: bool
    server: str = ""
    written: bool = False


@dataclass(slots=True)
class RunItem:
    """The start of a run: what a replay begins with.

    Attributes:
        settings: in force at the start.
        facts: the server.
        state: the loop's encoded state before the run's first tick.
        tick: number of the tick before the first one; 0 at the daemon's start.
        wall: Unix time.
    """

    settings: Settings
    facts: Facts
    state: bytes
    tick: int
    wall: float


@dataclass(slots=True)
class StandingItem:
    """What the next daemon has to know of one server, in place of what was kept before."""

    identity: str
    text: str


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
    """An event beside the ticks, at a Unix time."""

    wall: float
    code: str
    message: str
    who: str = "journal"


@dataclass(slots=True)
class Barrier:
    """Nothing to be stored: once it is done, all that came before it is on disk."""


Item = (
    TickItem
    | RowsItem
    | RunItem
    | Snapshot
    | Originals
    | GivenBackItem
    | StandingItem
    | LearnedItem
    | EndItem
    | NoteItem
    | Barrier
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
        written=bool(decision.steps),
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

Done = Callable[[], None]


class Entry(NamedTuple):
    """An item in its place, and who wants to know when it is on disk."""

    number: int
    item: Item
    done: Done | None


class Backlog:
    """A queue with a lane and a bound for each kind of item, in one order. Thread-safe.

    Attributes:
        dropped: ticks dropped so far.
    """

    def __init__(self, ticks: int = TICKS) -> None:
        self.dropped = 0
        self._limits: Mapping[type, int] = {TickItem: ticks, RowsItem: _ROWS, Snapshot: _SNAPSHOTS}
        self._lanes: dict[type, deque[Entry]] = defaultdict(deque)
        self._lock = threading.Lock()
        self._next = 0

    def put(self, item: Item, done: Done | None = None) -> bool:
        """Add an item, in microseconds, whatever the disk does; tell whether its lane is getting full."""
        with self._lock:
            lane = self._lanes[type(item)]
            lane.append(Entry(self._next, item, done))
            self._next += 1
            return 2 * self._cut(type(item)) > self._limit(type(item))

    def take(self) -> list[Entry]:
        """Take everything, in the order it was put."""
        with self._lock:
            entries = list(heapq.merge(*self._lanes.values(), key=_number))
            self._lanes.clear()
        return entries

    def put_back(self, entries: Iterable[Entry]) -> None:
        """Return what could not be written to its place before everything that came since."""
        with self._lock:
            for entry in sorted(entries, key=_number, reverse=True):
                self._lanes[type(entry.item)].appendleft(entry)
            for kind in self._lanes:
                self._cut(kind)

    def _limit(self, kind: type) -> int:
        return self._limits.get(kind, _FEW)

    def _cut(self, kind: type) -> int:
        """Drop the oldest of a lane that is too long; return its length."""
        lane = self._lanes[kind]
        while len(lane) > self._limit(kind):
            lane.popleft()
            self.dropped += kind is TickItem
        return len(lane)


def _number(entry: Entry) -> int:
    return entry.number
