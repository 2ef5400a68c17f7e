"""The clients: threads that commit one transaction after the other, or a rate that is offered."""

from __future__ import annotations

import math
from random import Random
from typing import TYPE_CHECKING

from lab.plant.latency import Begun

if TYPE_CHECKING:
    from lab.plant.parameters import LoadChange, LoadParameters

EMPTY = 1e-6
"""A queue of less than this of a transaction is none."""


class Clients:
    """What the clients ask of the server.

    Commits of concurrent threads share their redo and binary-log writes (group commit), so
    one commit costs the device less the more threads there are. A thread thinks, and then waits for the
    device: so N threads, Z seconds of thought and D of the device commit at most N / (Z + D) times a second,
    and 1 / D (Denning and Buzen, "The Operational Analysis of Queueing Network Models", 1978).

    Attributes:
        threads: clients now.
        rate: transactions offered per second; None where each client commits without a pause.
        backlog: transactions that were offered and wait for a client; 0 in a closed load.
        operations_per_commit: device operations for one commit in this second.
        waiting: device operations of the commits in flight when all threads wait.
    """

    __slots__ = (
        "_begun",
        "_ended",
        "_group",
        "_group_limit",
        "_mean",
        "_noise",
        "_offered",
        "_random",
        "_seconds",
        "backlog",
        "operations_per_commit",
        "rate",
        "threads",
        "waiting",
    )

    def __init__(self, parameters: LoadParameters, *, seed: int, latency: float = 0.0) -> None:
        """Start with the timeline's first entry.

        Args:
            parameters: the load's.
            seed: decides the cost of commits.
            latency: seconds that each commit waits for the device, whatever that takes.
        """
        self._random = Random(seed)  # noqa: S311 - a reproducible load, not a secret
        self._group = parameters.group_operations
        self._group_limit = parameters.group_limit
        self._seconds = parameters.commit_seconds + latency
        self._noise = parameters.noise
        self._mean = 0.0
        self._begun = Begun()
        self._ended = 0.0
        self._offered = False
        self.threads = 0
        self.rate: float | None = None
        self.backlog = 0.0
        self.operations_per_commit = 0.0
        self.waiting = 0.0
        self.change(parameters.timeline[0])

    def change(self, now: LoadChange) -> None:
        """Go on with another number of threads or another rate."""
        self.threads = now.threads
        self.rate = now.rate
        if now.rate is None:
            self.backlog = 0.0
        self._mean = self._group / max(1, min(now.threads, self._group_limit))
        self.operations_per_commit = self._mean
        self.waiting = self._mean * now.threads

    def next_second(self) -> None:
        """Draw this second's cost of a commit."""
        if self._noise:
            spread = self._noise
            draw = self._random.gauss(-0.5 * spread * spread, spread)
            self.operations_per_commit = self._mean * math.exp(draw)

    @property
    def fastest(self) -> float:
        """Return the commits per second of all threads on a device that costs nothing."""
        return self.threads / self._seconds

    def most_commits(self, device_seconds: float) -> float:
        """Return the commits per second that the threads ask for at most.

        Args:
            device_seconds: the device's time for one commit.
        """
        fastest = self.threads / (self._seconds + device_seconds)
        if self.rate is None or self.backlog > EMPTY:
            return fastest
        return min(self.rate, fastest)

    def until_served(self, commits: float) -> float:
        """Return the seconds until the queue is empty at so many commits/s; infinite where it never is."""
        if self.rate is None or self.backlog <= EMPTY or commits <= self.rate:
            return math.inf
        return self.backlog / (commits - self.rate)

    def queue(self, commits: float, seconds: float) -> None:
        """Let transactions come and go for a time."""
        if self.rate is not None:
            left = self.backlog + (self.rate - commits) * seconds
            self.backlog = left if left > EMPTY else 0.0

    def latency(self, now: float, seconds: float, done: float, *, device_seconds: float) -> float:
        """Let so many commits end in the last seconds; return the seconds that the middle one took.

        Args:
            now: simulated seconds.
            seconds: that have passed.
            done: commits that ended in these.
            device_seconds: the device's time for one commit.
        """
        begun = self._begun
        if not self.threads or (self.rate is None and self._offered):
            begun.forget(now, self._ended)
        self._offered = self.rate is not None
        middle = self._ended + 0.5 * done
        self._ended += done
        if self.rate is None:
            begun.begin(now, done)
            middle -= self.threads
        else:
            begun.begin(now, self.rate * seconds)
        return max(now - 0.5 * seconds - begun.of(middle), self._seconds + device_seconds)
