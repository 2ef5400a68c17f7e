"""A closed load: threads that commit one single-row update after the other."""

from __future__ import annotations

import math
from random import Random
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lab.plant.parameters import LoadParameters


class ClosedLoad:
    """What the clients ask of the server.

    Commits of concurrent threads share their redo and binary-log writes (group commit), so
    one commit costs the device less the more threads there are.

    Attributes:
        threads: clients now.
        most_commits: commits per second on a device that costs nothing.
        operations_per_commit: device operations for one commit in this second.
        waiting: device operations of the commits in flight.
    """

    __slots__ = (
        "_group",
        "_group_limit",
        "_mean",
        "_noise",
        "_random",
        "_seconds",
        "most_commits",
        "operations_per_commit",
        "threads",
        "waiting",
    )

    def __init__(self, parameters: LoadParameters, *, seed: int) -> None:
        """Start with the timeline's first number of threads."""
        self._random = Random(seed)  # noqa: S311 - a reproducible load, not a secret
        self._group = parameters.group_operations
        self._group_limit = parameters.group_limit
        self._seconds = parameters.commit_seconds
        self._noise = parameters.noise
        self._mean = 0.0
        self.threads = 0
        self.most_commits = 0.0
        self.operations_per_commit = 0.0
        self.waiting = 0.0
        self.change(parameters.timeline[0].threads)

    def change(self, threads: int) -> None:
        """Go on with another number of threads."""
        self.threads = threads
        self.most_commits = threads / self._seconds
        self._mean = self._group / max(1, min(threads, self._group_limit))
        self.operations_per_commit = self._mean
        self.waiting = self._mean * threads

    def next_second(self) -> None:
        """Draw this second's cost of a commit."""
        if self._noise:
            spread = self._noise
            draw = self._random.gauss(-0.5 * spread * spread, spread)
            self.operations_per_commit = self._mean * math.exp(draw)
