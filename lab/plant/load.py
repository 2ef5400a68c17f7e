"""The load: which pages the changes fall on, and the clients that commit them.

Threads commit one transaction after the other, or a rate is offered.
"""

from __future__ import annotations

import math
from random import Random
from typing import Annotated, Literal

from msgspec import Meta, Struct

from lab.plant.disk import Moment, Period
from lab.plant.latency import Begun

RedoBytes = Annotated[float, Meta(ge=1, le=1_000_000_000)]
NewPages = Annotated[float, Meta(ge=0, le=1_000_000)]
Share = Annotated[float, Meta(gt=0, lt=1)]

Distribution = Literal["uniform", "zipf", "hot_set"]


class LoadChange(Struct, frozen=True, forbid_unknown_fields=True):
    """The load from a moment on.

    Attributes:
        at: seconds after the start, or after the start of the repetition.
        threads: clients; in an open load the most that are at work at once.
        rate: transactions offered per second, an open load; None: each client commits without a pause.
        appended_pages: new pages that one commit fills; None: as the load says.
        redo_bytes_per_commit: LSN bytes that one commit adds; None: as the load says.
    """

    at: Moment
    threads: Annotated[int, Meta(ge=0, le=10_000)]
    rate: Annotated[float, Meta(ge=0, le=10_000_000)] | None = None
    appended_pages: NewPages | None = None
    redo_bytes_per_commit: RedoBytes | None = None


class LoadParameters(Struct, frozen=True, forbid_unknown_fields=True):
    """Writing transactions.

    Attributes:
        timeline: threads or rate over time; the first entry is at 0.
        repeat: seconds after which the timeline begins anew; None: never.
        hot_pages: pages that the changes fall on.
        distribution: how they fall: evenly, by Zipf's law, or mostly on a hot set.
        zipf_exponent: of the probability by rank.
        hot_share: share of the pages that is the hot set.
        hot_touches: share of the changes that fall on it.
        pages_per_commit: changes of such pages in one commit.
        appended_pages: new pages that one commit fills, such as 0.01 where a hundred rows fill one.
        redo_bytes_per_commit: LSN bytes that one commit adds.
        group_operations: write operations for one group of commits; the group is as large
            as the number of threads, so that one commit costs ``group_operations / threads``.
        group_limit: largest group of commits.
        commit_bytes: bytes that one commit writes to the device, the redo blocks written again included.
        commit_seconds: shortest time of one commit on a device that costs nothing.
        noise: standard deviation, over its mean, of the device cost of commits from second to second.
    """

    timeline: Annotated[tuple[LoadChange, ...], Meta(min_length=1)] = (LoadChange(0.0, 16),)
    repeat: Period | None = None
    hot_pages: Annotated[float, Meta(ge=1, le=10_000_000_000)] = 23_000.0
    distribution: Distribution = "uniform"
    zipf_exponent: Annotated[float, Meta(gt=0, le=3)] = 0.99
    hot_share: Share = 0.1
    hot_touches: Share = 0.9
    pages_per_commit: Annotated[float, Meta(ge=0, le=1_000_000)] = 1.0
    appended_pages: NewPages = 0.0
    redo_bytes_per_commit: RedoBytes = 546.0
    group_operations: Annotated[float, Meta(gt=0, le=10_000)] = 3.872
    group_limit: Annotated[int, Meta(ge=1, le=10_000)] = 64
    commit_bytes: Annotated[float, Meta(ge=1, le=1_000_000_000)] = 1000.0
    commit_seconds: Annotated[float, Meta(ge=0.000_001, le=60)] = 0.0011
    noise: Annotated[float, Meta(ge=0, le=0.5)] = 0.08


ZIPF_STREAMS = 8
"""Streams that a Zipf distribution is cut into, each with pages of much the same probability."""


class Stream(Struct, frozen=True):
    """Pages that are touched evenly.

    Attributes:
        pages: how many; infinite where each touch is of a new page.
        touches: touches by one commit.
    """

    pages: float
    touches: float


def streams(load: LoadParameters) -> tuple[Stream, ...]:
    """Return what the load touches, the hottest pages first and appended ones last."""
    touches, pages = load.pages_per_commit, load.hot_pages
    found: list[Stream] = []
    if touches > 0.0:
        if load.distribution == "hot_set":
            found = [
                Stream(pages * load.hot_share, touches * load.hot_touches),
                Stream(pages * (1.0 - load.hot_share), touches * (1.0 - load.hot_touches)),
            ]
        elif load.distribution == "zipf":
            found = _zipf(pages, load.zipf_exponent, touches)
        else:
            found = [Stream(pages, touches)]
    if load.appended_pages > 0.0 or any(one.appended_pages for one in load.timeline):
        found.append(Stream(math.inf, load.appended_pages))
    return tuple(found)


def appending(touched: tuple[Stream, ...], pages: float) -> tuple[Stream, ...]:
    """Return the streams where each commit fills so many new pages."""
    return tuple(Stream(math.inf, pages) if one.pages == math.inf else one for one in touched)


def _zipf(pages: float, exponent: float, touches: float) -> list[Stream]:
    """Return streams whose borders are ranks in geometric progression, probability ``rank ** -exponent``."""
    factor = (pages + 1.0) ** (1.0 / ZIPF_STREAMS)
    borders = [factor**i for i in range(ZIPF_STREAMS + 1)]
    masses = [_mass(borders[i + 1], exponent) - _mass(borders[i], exponent) for i in range(ZIPF_STREAMS)]
    whole = sum(masses)
    return [Stream(borders[i + 1] - borders[i], touches * mass / whole) for i, mass in enumerate(masses)]


def _mass(rank: float, exponent: float) -> float:
    """Return the integral of ``rank ** -exponent`` up to a rank."""
    if abs(exponent - 1.0) < 1e-9:  # noqa: PLR2004 - there the power's integral is the logarithm
        return math.log(rank)
    return math.pow(rank, 1.0 - exponent) / (1.0 - exponent)


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
