"""How long commits took: when each began, and a histogram of fixed relative width."""

from __future__ import annotations

import math
from collections import deque

WIDTH = 1.05
"""Ratio of a bin's upper to its lower end."""

_LOG = math.log(WIDTH)


class Latencies:
    """Commits by the seconds that they took."""

    def __init__(self) -> None:
        self._bins: dict[int, float] = {}
        self.count = 0.0
        self.total = 0.0

    def add(self, seconds: float, commits: float) -> None:
        """Note so many commits that took so long."""
        if commits <= 0.0 or seconds <= 0.0:
            return
        place = math.floor(math.log(seconds) / _LOG)
        self._bins[place] = self._bins.get(place, 0.0) + commits
        self.count += commits
        self.total += commits * seconds

    def since(self, earlier: Latencies) -> Latencies:
        """Return what came after a copy of this one was made."""
        found = Latencies()
        found._bins = {place: held - earlier._bins.get(place, 0.0) for place, held in self._bins.items()}
        found.count = self.count - earlier.count
        found.total = self.total - earlier.total
        return found

    def copy(self) -> Latencies:
        """Return a copy that stays as it is."""
        return self.since(Latencies())

    def percentile(self, percent: float) -> float:
        """Return a percentile to a twentieth of itself, seconds; 0 without a commit."""
        wanted, seen = self.count * percent / 100.0, 0.0
        for place in sorted(self._bins):
            seen += self._bins[place]
            if seen >= wanted > 0.0:
                return math.pow(WIDTH, place + 0.5)
        return 0.0


class Begun:
    """When the transactions began that end now: first come, first served.

    A client without a pause begins the next one when it has ended the one before; in an open load they
    begin at the rate that is offered. Between two marks they begin evenly.
    """

    def __init__(self) -> None:
        self._count = 0.0
        self._start = (0.0, 0.0)
        self._marks: deque[tuple[float, float]] = deque()

    def begin(self, now: float, count: float) -> None:
        """Note that so many have begun since the mark before."""
        if count > 0.0:
            self._count += count
            self._marks.append((now, self._count))

    def forget(self, now: float, count: float) -> None:
        """Begin anew with so many begun."""
        self._marks.clear()
        self._count = count
        self._start = (now, count)

    def of(self, number: float) -> float:
        """Return when the transaction of a number began, seconds; earlier ones are forgotten."""
        marks = self._marks
        while marks and marks[0][1] <= number:
            self._start = marks.popleft()
        at, count = self._start
        if not marks:
            return at
        end, most = marks[0]
        return at + (end - at) * max(0.0, number - count) / (most - count)
