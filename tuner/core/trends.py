"""What minutes and hours have shown of load and device: means, bursts, what the device keeps up."""

from __future__ import annotations

import math

from msgspec import Struct
from msgspec.structs import replace

from policies.setpoint import FLUSH_ORDER_LAG
from tuner.core.window import RATE_SECONDS, Window

RATE_MEMORY_SECONDS = 120.0
BURST_MEMORY_SECONDS = 6 * 3600.0
CAPACITY_MEMORY_SECONDS = 1800.0
LAG_MEMORY_SECONDS = 600.0

STEADY_SHARE = 0.25
"""The age counts as steady while it grows or falls by less than this share of R."""

LIMITED_AUTHORITY = 0.85
"""Below this share of the pages asked for, the device is the limit."""


class Seen(Struct, frozen=True):
    """One reading's rates.

    Attributes:
        redo_rate: R, bytes/s.
        flush_rate: F, pages/s.
        demand: P, pages/s.
        authority: pages flushed per page asked for.
        slope: growth of the modified age, bytes/s.
        elapsed: seconds since the last reading.
    """

    redo_rate: float
    flush_rate: float
    demand: float
    authority: float
    slope: float
    elapsed: float

    @property
    def limited(self) -> bool:
        """Tell whether the device was the limit."""
        return self.authority < LIMITED_AUTHORITY


class Trends(Struct, frozen=True):
    """What is remembered beyond the window.

    Attributes:
        rate_seconds: time that the two means stand for, seconds.
        rate_mean: mean of R, bytes/s.
        rate_square: mean of its square.
        sustained: D, pages/s; None until the device was the limit.
        excess: redo beyond the device in the burst under way, bytes.
        burst_bytes: the largest such burst, fading.
        checkpoint_seconds: longest time that the checkpoint was behind the oldest change, fading.
    """

    rate_seconds: float = 0.0
    rate_mean: float = 0.0
    rate_square: float = 0.0
    sustained: float | None = None
    excess: float = 0.0
    burst_bytes: float = 0.0
    checkpoint_seconds: float = 0.0

    def follow(self, seen: Seen, window: Window) -> Trends:
        """Return the trends with one reading more."""
        trends = _mean(_bursts(_device(self, seen), seen), seen)
        return _checkpoints(trends, seen, window)

    def restarted(self) -> Trends:
        """Return what a restart of mysqld leaves of it."""
        return replace(self, excess=0.0, sustained=None)

    @property
    def burstiness(self) -> float:
        """Return the standard deviation of R over its mean."""
        variance = max(0.0, self.rate_square - self.rate_mean**2)
        return math.sqrt(variance) / self.rate_mean if self.rate_mean > 0 else 0.0

    @property
    def checkpoint_lag(self) -> float:
        """Return the bytes that the checkpoint age may exceed the modified age by."""
        return FLUSH_ORDER_LAG + self.checkpoint_seconds * self.rate_mean


def _device(trends: Trends, seen: Seen) -> Trends:
    """Learn D where the device was the limit; forget it slowly where it was not."""
    sustained = trends.sustained
    if seen.limited and seen.flush_rate > 0:
        weight = min(1.0, seen.elapsed / RATE_SECONDS)
        known = seen.flush_rate if sustained is None else sustained
        sustained = known + weight * (seen.flush_rate - known)
    elif sustained is not None:
        forgotten = math.exp(min(seen.elapsed, CAPACITY_MEMORY_SECONDS) / CAPACITY_MEMORY_SECONDS)
        sustained = max(sustained * forgotten, seen.flush_rate)
    return replace(trends, sustained=sustained)


def _bursts(trends: Trends, seen: Seen) -> Trends:
    """Sum up the redo beyond the device while the device is the limit; keep the largest sum.

    An age that M lets grow is no burst, however dear its tail.
    """
    excess = 0.0
    if seen.limited and trends.sustained is not None and seen.demand > 0:
        beyond = seen.redo_rate * (1.0 - trends.sustained / seen.demand)
        excess = max(0.0, trends.excess + beyond * seen.elapsed)
    faded = trends.burst_bytes * math.exp(-seen.elapsed / BURST_MEMORY_SECONDS)
    return replace(trends, excess=excess, burst_bytes=max(excess, faded))


def _mean(trends: Trends, seen: Seen) -> Trends:
    seconds = min(RATE_MEMORY_SECONDS, trends.rate_seconds + seen.elapsed)
    weight = min(1.0, seen.elapsed / seconds)
    return replace(
        trends,
        rate_seconds=seconds,
        rate_mean=trends.rate_mean + weight * (seen.redo_rate - trends.rate_mean),
        rate_square=trends.rate_square + weight * (seen.redo_rate**2 - trends.rate_square),
    )


def _checkpoints(trends: Trends, seen: Seen, window: Window) -> Trends:
    """Keep the longest time that the checkpoint was behind; an age on the move says nothing."""
    if seen.redo_rate <= 0.0 or abs(seen.slope) > STEADY_SHARE * seen.redo_rate:
        return trends
    behind = max(p.checkpoint_age - p.age for p in window) - FLUSH_ORDER_LAG
    seconds = min(LAG_MEMORY_SECONDS, max(0.0, behind / max(seen.redo_rate, trends.rate_mean)))
    kept = trends.checkpoint_seconds
    fading = kept + (seconds - kept) * min(1.0, seen.elapsed / LAG_MEMORY_SECONDS)
    return replace(trends, checkpoint_seconds=max(seconds, fading))
