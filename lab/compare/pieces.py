"""The pieces of a scenario between which load, disk or redo log change at moments known beforehand; pure."""

from __future__ import annotations

import bisect
from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from lab.scenarios.schema import Scenario

MOST_PIECES = 24
"""A search over more of them would hardly end."""


class Pieces(Struct, frozen=True):
    """When which piece begins.

    Attributes:
        count: pieces that differ; those that come again are the same.
        moments: seconds after the start, rising, the first 0, each with the number of its piece.
    """

    count: int
    moments: tuple[tuple[float, int], ...]


def pieces_of(scenario: Scenario) -> Pieces:
    """Return the pieces of a scenario, numbered as they come; one where nothing changes at a known moment."""
    load, disk = scenario.load, scenario.disk
    tracks = (
        ([one.at for one in load.timeline], load.repeat),
        ([one.at for one in disk.timeline], disk.repeat),
        ([0.0, *(one.at for one in scenario.server.resizes)], None),
    )
    moments = sorted({at for track in tracks for at in _moments(*track, end=float(scenario.seconds))})
    numbers: dict[tuple[int, ...], int] = {}
    found: list[tuple[float, int]] = []
    for at in moments:
        state = tuple(_entry(*track, at=at) for track in tracks)
        number = numbers.setdefault(state, len(numbers))
        if not found or found[-1][1] != number:
            found.append((at, number))
    return Pieces(count=len(numbers), moments=tuple(found))


def _moments(starts: Sequence[float], repeat: float | None, *, end: float) -> Iterator[float]:
    """Yield when an entry of a timeline begins, until the end."""
    offset = 0.0
    while True:
        for start in starts:
            if start + offset >= end:
                return
            yield start + offset
        if repeat is None:
            return
        offset += repeat


def _entry(starts: Sequence[float], repeat: float | None, *, at: float) -> int:
    """Return the number of the entry of a timeline that is in force at a moment."""
    within = at % repeat if repeat is not None else at
    return bisect.bisect_right(starts, within) - 1
