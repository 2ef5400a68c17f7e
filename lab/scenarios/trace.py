"""What a simulated run amounts to, by the definitions that policies and static settings share."""

from __future__ import annotations

import statistics
from array import array
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from lab.plant.latency import Latencies
from lab.statistics import percentile
from tuner.core.estimate.recovery import Recovery
from tuner.core.estimate.window import list_flushed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tuner.records import Sample

SETTLED_WITHIN = 0.03
"""Distance of the age ratio from its final mean that counts as settled."""

SETTLED_OVER = 30
"""Seconds over which the age ratio is averaged for that."""


DIGITS = {
    "throughput_mean": 1,
    "throughput_p1": 1,
    "age_ratio_mean": 4,
    "age_ratio_max": 4,
    "checkpoint_age_max": 4,
    "stall_seconds": 3,
    "pages_per_commit": 4,
    "latency_p50": 5,
    "latency_p99": 5,
}
"""Digits behind the point of the figures that are printed."""

STARVED_SHARE = 0.5

PRIOR = Recovery()
"""What the daemon believes of a server that it has not seen recover."""


class Outcome(Struct, frozen=True):
    """One run from ``measured_from`` to its end.

    Attributes:
        throughput_mean: commits/s.
        throughput_median: commits/s.
        throughput_p1: first percentile of the commits in one second.
        age_ratio_mean: modified age over flush limit.
        age_ratio_max: the highest of these.
        checkpoint_age_max: highest checkpoint age as a share of the redo capacity.
        recovery_seconds_max: longest crash recovery predicted, by the daemon's prior.
        pages_dirty_max: most dirty pages.
        sync_flush_seconds: seconds in which a page was sync-flushed.
        stall_seconds: seconds that all writers waited for redo space.
        pages_per_commit: flush-list pages written per commit.
        latency_p50: median of a commit's time, seconds.
        latency_p99: 99th percentile of it, seconds.
        redo_rate_before: redo bytes/s from the start to ``measured_from``.
    """

    throughput_mean: float
    throughput_median: float
    throughput_p1: float
    age_ratio_mean: float
    age_ratio_max: float
    checkpoint_age_max: float
    recovery_seconds_max: float
    pages_dirty_max: int
    sync_flush_seconds: int
    stall_seconds: float
    pages_per_commit: float
    latency_p50: float
    latency_p99: float
    redo_rate_before: float

    def rounded(self) -> Outcome:
        """Return it with as many digits as are printed."""
        return replace(self, **{name: round(getattr(self, name), digits) for name, digits in DIGITS.items()})


def starved_seconds(rates: Sequence[float], median: float) -> int:
    """Return the seconds with less than half of the commits that the untouched server's median second has."""
    return sum(one < STARVED_SHARE * median for one in rates)


class Trace:
    """The few numbers of every reading that the outcome is made of."""

    def __init__(self, counted_from: float = 0.0) -> None:
        """Start without a reading.

        Args:
            counted_from: seconds after the first reading from which on times of commits count.
        """
        self._counted_from = counted_from
        self._before: Latencies | None = None
        self._latencies = Latencies()
        self._moment = array("d")
        self._commits = array("q")
        self._pages = array("q")
        self._sync = array("q")
        self._lsn = array("q")
        self._age_ratio = array("d")
        self._checkpoint = array("d")
        self._recovery = array("d")
        self._dirty = array("q")
        self._stalled = array("d")

    def __len__(self) -> int:
        return len(self._moment)

    @property
    def elapsed(self) -> float:
        """Return the seconds from the first reading to the last."""
        return self._moment[-1] - self._moment[0] if self._moment else 0.0

    def add(self, sample: Sample, stalled: float, latencies: Latencies | None = None) -> None:
        """Note one reading.

        Args:
            sample: the reading.
            stalled: seconds that writers have waited for redo space so far.
            latencies: how long commits took so far.
        """
        if latencies is not None:
            self._latencies = latencies
            began = self._moment[0] if self._moment else sample.monotonic
            if self._before is None and sample.monotonic - began >= self._counted_from:
                self._before = latencies.copy()
        self._moment.append(sample.monotonic)
        self._commits.append(sample.commits)
        self._pages.append(list_flushed(sample))
        self._sync.append(sample.pages_sync)
        self._lsn.append(sample.lsn_current)
        self._age_ratio.append(sample.age_ratio)
        self._checkpoint.append(sample.checkpoint_age / sample.redo_capacity)
        self._recovery.append(PRIOR.recovery_seconds(sample))
        self._dirty.append(sample.pages_dirty)
        self._stalled.append(stalled)

    def outcome(self, measured_from: float) -> Outcome:
        """Return what the readings from a moment on amount to.

        Args:
            measured_from: seconds after the first reading.

        Raises:
            ValueError: fewer than two readings from there on.
        """
        first, last = self._counted(measured_from)
        commits, sync, moment = self._commits, self._sync, self._moment
        rates = self._rates(first, last)
        done = commits[last] - commits[first]
        ratios = self._age_ratio[first + 1 :]
        before = moment[first] - moment[0]
        latencies = self._latencies.since(self._before or Latencies())
        return Outcome(
            throughput_mean=done / (moment[last] - moment[first]),
            throughput_median=statistics.median(rates),
            throughput_p1=percentile(rates, 1),
            age_ratio_mean=statistics.fmean(ratios),
            age_ratio_max=max(ratios),
            checkpoint_age_max=max(self._checkpoint[first + 1 :]),
            recovery_seconds_max=max(self._recovery[first + 1 :]),
            pages_dirty_max=max(self._dirty[first + 1 :]),
            sync_flush_seconds=sum(sync[i] > sync[i - 1] for i in range(first + 1, last + 1)),
            stall_seconds=self._stalled[last] - self._stalled[first],
            pages_per_commit=(self._pages[last] - self._pages[first]) / done if done else 0.0,
            latency_p50=latencies.percentile(50),
            latency_p99=latencies.percentile(99),
            redo_rate_before=(self._lsn[first] - self._lsn[0]) / before if before > 0.0 else 0.0,
        )

    def rates(self, measured_from: float) -> list[float]:
        """Return the commits/s between each two readings from a moment on.

        Args:
            measured_from: seconds after the first reading.

        Raises:
            ValueError: fewer than two readings from there on.
        """
        return self._rates(*self._counted(measured_from))

    def _rates(self, first: int, last: int) -> list[float]:
        commits, moment = self._commits, self._moment
        return [
            (commits[i] - commits[i - 1]) / (moment[i] - moment[i - 1]) for i in range(first + 1, last + 1)
        ]

    def _counted(self, measured_from: float) -> tuple[int, int]:
        """Return the places of the first reading that counts and of the last."""
        start = self._moment[0] + measured_from
        first = next((i for i, moment in enumerate(self._moment) if moment >= start), len(self))
        last = len(self) - 1
        if last - first < 1:
            raise ValueError(
                f"{max(0, last - first + 1)} readings from second {measured_from:g} on; two are needed"
            )
        return first, last

    def settling(self, within: float = SETTLED_WITHIN) -> float | None:
        """Return the seconds after which the age ratio stays where it ends, None when it never does.

        From then on its 30-second mean is within so much of the mean over the last third of the run, whose
        every second has a reading.
        """
        ratios = self._age_ratio
        count = len(ratios)
        if count < 3 * SETTLED_OVER:
            return None
        final = statistics.fmean(ratios[count - count // 3 :])
        window = sum(ratios[count - SETTLED_OVER :])
        settled: int | None = None
        for end in range(count, SETTLED_OVER - 1, -1):
            if abs(window / SETTLED_OVER - final) > within:
                break
            settled = end - 1
            if end > SETTLED_OVER:
                window += ratios[end - SETTLED_OVER - 1] - ratios[end - 1]
        return None if settled is None else self._moment[settled] - self._moment[0]
