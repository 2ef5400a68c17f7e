"""What waits for the disk: bounded by kind, oldest dropped first, never in anybody's way."""

from __future__ import annotations

import heapq
import threading
from collections import deque
from collections.abc import Iterable, Mapping

from tuner.journal.items import (
    BarrierItem,
    EndItem,
    GivenBackItem,
    Item,
    LearnedItem,
    NoteItem,
    OriginalsItem,
    RowsItem,
    RunItem,
    SnapshotItem,
    StandingItem,
    TickItem,
)

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
