"""What minutes and hours have shown of load and device: means, bursts, what the device keeps up."""

from __future__ import annotations

import math

from msgspec import Struct
from msgspec.structs import replace

from tuner.core.bursts import Bursts
from tuner.core.window import RATE_SECONDS, Window, checkpoint_interval

RATE_MEMORY_SECONDS = 120.0
CAPACITY_MEMORY_SECONDS = 1800.0
LAG_MEMORY_SECONDS = 600.0

NEED_SECONDS = 120.0

FORGOTTEN = 4.0
"""What the device kept up is forgotten when it may be so many times as much by now."""

STEADY = 0.05
"""Relative deviation of R below which a load is steady."""

STEADY_SECONDS = 600.0
"""How long it has to be so."""

AUTHORITY_LOST = 0.85
"""Below this share of the pages asked for, the device is the limit."""

SHOWN_SECONDS = 3.0
SHOWN_MEMORY_SECONDS = 600.0
"""For how long of this time the device has to be the limit to bound M once it is the limit no more: the
seconds in which the server answers a large raise show nothing."""


class Seen(Struct, frozen=True):
    """One reading's rates.

    Attributes:
        redo_rate: R, bytes/s.
        flush_rate: F, pages/s.
        demand: P, pages/s.
        authority: pages flushed per page asked for.
        age: modified age, bytes.
        elapsed: seconds since the last reading.
        wall: Unix time of the reading, seconds.
        need_share: pages that the server counts as due for their age over F; None where it does not say.
    """

    redo_rate: float
    flush_rate: float
    demand: float
    authority: float
    age: float
    elapsed: float
    wall: float
    need_share: float | None = None

    @property
    def limited(self) -> bool:
        """Tell whether the device was the limit."""
        return self.authority < AUTHORITY_LOST


class MeanRates(Struct, frozen=True):
    """What load and flushing did together in the last time, while M is moved on purpose.

    Attributes:
        redo_rate: mean of R, bytes/s.
        flush_rate: mean of F, pages/s.
    """

    redo_rate: float
    flush_rate: float

    def follow(self, *, redo_rate: float, flush_rate: float, elapsed: float, memory: float) -> MeanRates:
        """Return the means with ``elapsed`` seconds more at these rates; they span ``memory`` seconds."""
        weight = min(1.0, elapsed / memory)
        return MeanRates(
            self.redo_rate + weight * (redo_rate - self.redo_rate),
            self.flush_rate + weight * (flush_rate - self.flush_rate),
        )


class Trends(Struct, frozen=True):
    """What is remembered beyond the window.

    Attributes:
        rate_seconds: time that the two means stand for, seconds.
        rate_mean: mean of R, bytes/s.
        rate_square: mean of its square.
        sustained: D, pages/s; None until the device was the limit, and when that is too long ago.
        measured: D when the device was the limit last, pages/s.
        limited_seconds: for how long the device was the limit, fading, seconds.
        bursts: redo beyond the device.
        checkpoint_seconds: longest time between two checkpoints, fading.
        need_share: mean of two minutes of what the server counts as due for its age, over F.
        calm_seconds: since when R has hardly deviated from its mean, seconds.
    """

    rate_seconds: float = 0.0
    rate_mean: float = 0.0
    rate_square: float = 0.0
    sustained: float | None = None
    measured: float = 0.0
    limited_seconds: float = 0.0
    bursts: Bursts = Bursts()
    checkpoint_seconds: float = 0.0
    need_share: float = 1.0
    calm_seconds: float = 0.0

    def follow(self, seen: Seen, window: Window) -> Trends:
        """Return the trends with one reading more."""
        sustained, measured = _device(self, seen)
        faded = self.limited_seconds * math.exp(-seen.elapsed / SHOWN_MEMORY_SECONDS)
        seconds = min(RATE_MEMORY_SECONDS, self.rate_seconds + seen.elapsed)
        weight = min(1.0, seen.elapsed / seconds)
        return Trends(
            rate_seconds=seconds,
            rate_mean=self.rate_mean + weight * (seen.redo_rate - self.rate_mean),
            rate_square=self.rate_square + weight * (seen.redo_rate**2 - self.rate_square),
            sustained=sustained,
            measured=measured,
            limited_seconds=faded + (seen.elapsed if seen.limited else 0.0),
            bursts=_bursts(self.bursts, seen, sustained),
            checkpoint_seconds=_between_checkpoints(self.checkpoint_seconds, seen, window),
            need_share=self._need(seen),
            calm_seconds=self.calm_seconds + seen.elapsed if self.burstiness < STEADY else 0.0,
        )

    def _need(self, seen: Seen) -> float:
        if seen.need_share is None:
            return self.need_share
        return self.need_share + min(1.0, seen.elapsed / NEED_SECONDS) * (seen.need_share - self.need_share)

    def restarted(self) -> Trends:
        """Return what a restart of mysqld leaves of it."""
        return replace(self.interrupted(), sustained=None)

    def interrupted(self) -> Trends:
        """Return it where a time begins that nothing is known of."""
        return replace(self, bursts=self.bursts.interrupted())

    @property
    def shown(self) -> bool:
        """Tell whether the device was the limit for long enough to bound M by what it gave."""
        return self.limited_seconds >= SHOWN_SECONDS

    @property
    def steady(self) -> bool:
        """Tell whether the load has been steady for long."""
        return self.calm_seconds >= STEADY_SECONDS

    @property
    def burstiness(self) -> float:
        """Return the standard deviation of R over its mean."""
        variance = max(0.0, self.rate_square - self.rate_mean**2)
        return math.sqrt(variance) / self.rate_mean if self.rate_mean > 0 else 0.0

    def checkpoint_lag(self, flush_order_lag: int) -> float:
        """Return the bytes that the checkpoint age may exceed the modified age by.

        Args:
            flush_order_lag: those that it stays behind the oldest modification at least.
        """
        return flush_order_lag + self.checkpoint_seconds * self.rate_mean


def _device(trends: Trends, seen: Seen) -> tuple[float | None, float]:
    """Learn D where the device was the limit; where it was not, believe in less and less of it.

    Returns:
        D now, and when the device was the limit last, pages/s.
    """
    sustained, measured = trends.sustained, trends.measured
    if seen.limited and seen.flush_rate > 0:
        weight = min(1.0, seen.elapsed / RATE_SECONDS)
        known = seen.flush_rate if sustained is None else sustained
        found = known + weight * (seen.flush_rate - known)
        return found, found
    if sustained is None:
        return None, measured
    faded = sustained * math.exp(min(seen.elapsed, CAPACITY_MEMORY_SECONDS) / CAPACITY_MEMORY_SECONDS)
    return (None if faded > FORGOTTEN * measured else max(faded, seen.flush_rate)), measured


def _bursts(bursts: Bursts, seen: Seen, sustained: float | None) -> Bursts:
    """Follow the redo beyond the device while the device is the limit.

    An age that M lets grow is no burst, however dear its tail.
    """
    beyond = None
    if seen.limited and sustained is not None and seen.demand > 0:
        beyond = seen.redo_rate * (1.0 - sustained / seen.demand)
    return bursts.follow(beyond, age=seen.age, wall=seen.wall, elapsed=seen.elapsed)


def _between_checkpoints(kept: float, seen: Seen, window: Window) -> float:
    """Keep the longest time between two checkpoints, fading, seconds."""
    between = checkpoint_interval(window)
    if between is None:
        return kept
    fading = kept + (between - kept) * min(1.0, seen.elapsed / LAG_MEMORY_SECONDS)
    return max(between, fading)
