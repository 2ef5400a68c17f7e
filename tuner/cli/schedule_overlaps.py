"""Which windows of a schedule overlap which, how often, and whose value counts meanwhile."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from itertools import combinations

from msgspec import Struct

from tuner.records import Window, effects, winners

BOUNDING = ("set_point", "max_recovery_seconds", "max_shutdown_seconds")
"""What a schedule asks of the set-point, which a person's comes before."""


class Counts(Struct, frozen=True):
    """Whose effects count while windows of two schedules overlap.

    Attributes:
        wins: of the effects that both ask for, whose value counts meanwhile.
        drain_decides: whose drain decides, while it is under way, over what the other asks of the set-point;
            None where neither does so.
    """

    wins: dict[str, str]
    drain_decides: str | None


class Row:
    """The windows of one schedule, sorted; no two of them overlap."""

    def __init__(self, windows: Sequence[Window], beyond: Sequence[Window]) -> None:
        """Take them in.

        Args:
            windows: that are told of.
            beyond: that come after them, and are told of only where these overlap them.
        """
        self.told = len(windows)
        self.windows = [*windows, *beyond]
        self._begins = [one.began for one in self.windows]
        self._ends = [one.ends for one in self.windows]

    def over(self, one: Window) -> range:
        """Return at which places stand those that have a part of time in common with a window."""
        return range(bisect_right(self._ends, one.began), bisect_left(self._begins, one.ends))


def counts(one: Window, other: Window) -> Counts:
    """Return whose effects count while two windows overlap, of which the first is the first in the file."""
    shared = set(effects(one)) & set(effects(other))
    return Counts(
        wins={effect: winner.name for effect, winner in winners((one, other)).items() if effect in shared},
        drain_decides=_drain_over(one, other) or _drain_over(other, one),
    )


def pairs(rows: Sequence[Row]) -> Iterator[tuple[Window, Window, int]]:
    """Yield of every two schedules that overlap the first two windows that do, and how often it happens."""
    for one, other in combinations(rows, 2):
        first: tuple[Window, Window] | None = None
        times = 0
        fewer, more = (one, other) if len(one.windows) <= len(other.windows) else (other, one)
        for at, window in enumerate(fewer.windows):
            found = _told(more, more.over(window), told=at < fewer.told)
            if found and first is None:
                rival = more.windows[found[0]]
                first = (window, rival) if fewer is one else (rival, window)
            times += len(found)
        if first is not None:
            yield (*first, times)


def _told(row: Row, found: range, *, told: bool) -> range:
    """Return which of a window's overlaps count: all where it is told of, else those that are told of."""
    return found if told else range(found.start, min(found.stop, row.told))


def _drain_over(one: Window, other: Window) -> str | None:
    """Return the name of a window that drains over what another one asks of the set-point, if it does so."""
    over = one.drain and not other.drain and any(getattr(other, name) is not None for name in BOUNDING)
    return one.name if over else None
