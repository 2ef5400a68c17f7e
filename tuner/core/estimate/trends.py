"""How the rates of load and device go: means, bursts, and what the device keeps up.

A burst is redo that the load writes beyond what the device flushes. With P > D the age grows, whatever M: by
the integral of ``R * max(0, 1 - D / P)``, which is the redo to keep free for the next burst. By more than the
age has grown a burst is not believed to have been: D and P of the first seconds are means that reach back
before it.

How much to keep free, the last hours tell; and because loads follow the working week, so do the same hour of
earlier weeks and, until that was seen twice, the same hour of other days. A quarter of an hour ahead is
looked at as well: it takes time to bring the age down.
"""

from __future__ import annotations

import math

from msgspec import Struct
from msgspec.structs import astuple, replace

from tuner.core.estimate.window import RATE_SECONDS, Window, checkpoint_interval

HOURS = 168  # Hours of a week; the first is the one that begins on Monday at 00:00 UTC

DAY = 24
HOUR_SECONDS = 3600.0
EPOCH_HOUR = 72
"""Unix time begins on a Thursday at 00:00 UTC."""

RECENT_SECONDS = 6 * HOUR_SECONDS  # Memory of the largest burst of late, whatever the hour

OVER_SECONDS = 120.0
"""The same while the load is steady: what the last hours saw, such as the filling of a server that was just
started, is over."""

LEAD_SECONDS = 900.0  # A burst is prepared for so long before its hour begins
KEPT = 0.7  # Share of an hour's burst that is believed in after a week in which it did not come
SEEN_SECONDS = 0.5 * HOUR_SECONDS  # An hour of which less was seen says nothing

OWN_VISITS = 2
"""An hour of the week seen so often speaks for itself; before, the same hour of other days is heard too."""

LARGEST_BURST = float(2**44)
"""No burst is believed to have been larger, bytes: 16 TiB. It comes to no more than the age has grown by,
which the redo capacity bounds, of 512 GiB on MySQL at most (``LOG_CAPACITY_MAX`` in log0constants.h, 8.0.39
to 9.1). No such maximum is known of the one file of newer MariaDB, hence 32 times as much."""

RATE_MEMORY_SECONDS = 120.0
CAPACITY_MEMORY_SECONDS = 1800.0
LAG_MEMORY_SECONDS = 600.0

NEED_SECONDS = 120.0

FORGOTTEN = 4.0  # What the device kept up is forgotten when it may be so many times as much by now
STEADY = 0.05  # Relative deviation of R below which a load is steady
STEADY_SECONDS = 600.0  # How long it has to be so
AUTHORITY_LOST = 0.85  # Below this share of the pages asked for, the device is the limit

SHOWN_SECONDS = 3.0
SHOWN_MEMORY_SECONDS = 600.0
"""For how long of this time the device has to be the limit to bound M once it is the limit no more: the
seconds in which the server answers a large raise show nothing."""


def possible(burst: float) -> bool:
    """Tell whether a burst of so many bytes can have been."""
    return math.isfinite(burst) and 0.0 <= burst <= LARGEST_BURST


def hour_of_week(wall: float) -> int:
    """Return the hour of the week of a Unix time, 0 to 167, in UTC."""
    return (int(wall // HOUR_SECONDS) + EPOCH_HOUR) % HOURS


class Week(Struct, frozen=True):
    """The largest burst that began in each hour of the week."""

    # redo beyond the device, fading where a week passes without, one number an hour
    bytes: tuple[float, ...] = (0.0,) * HOURS
    visits: tuple[int, ...] = (0,) * HOURS  # weeks in which that hour was seen

    def visited(self, hour: int, burst: float) -> Week:
        """Return the week with that hour seen once more, and the largest burst that began in it."""
        kept = self._with(hour, max(burst, KEPT * self.bytes[hour]))
        visits = (*self.visits[:hour], self.visits[hour] + 1, *self.visits[hour + 1 :])
        return replace(kept, visits=visits)

    def met(self, hour: int, burst: float) -> Week:
        """Return the week with a burst that began in that hour, if it is the largest."""
        return self._with(hour, burst) if burst > self.bytes[hour] else self

    def expected(self, hour: int) -> float:
        """Return the burst to be ready for in that hour, bytes."""
        if self.visits[hour] >= OWN_VISITS:
            return self.bytes[hour]
        return max(self.bytes[hour % DAY :: DAY])

    @property
    def valid(self) -> bool:
        """Tell whether what was kept can be true."""
        whole = len(self.bytes) == HOURS == len(self.visits)
        return whole and all(map(possible, self.bytes)) and all(visits >= 0 for visits in self.visits)

    def _with(self, hour: int, burst: float) -> Week:
        return replace(self, bytes=(*self.bytes[:hour], burst, *self.bytes[hour + 1 :]))


class Late(Struct, frozen=True):
    """What the last hours showed, as it outlives a daemon."""

    at: float = 0.0  # Unix time up to which they were seen, seconds; 0 where nothing was
    recent: float = 0.0  # the largest burst of the last hours as of then, bytes
    seen: float = 0.0  # seconds of the hour of that time that were seen
    hours_burst: float = 0.0  # the largest burst that began in it, bytes

    @property
    def valid(self) -> bool:
        """Tell whether what was kept can be true."""
        whole = all(math.isfinite(one) and one >= 0.0 for one in astuple(self))
        return whole and possible(self.recent) and possible(self.hours_burst)


class Bursts(Struct, frozen=True):
    """What is known of the load's bursts."""

    excess: float = 0.0  # redo beyond the device in the burst under way, bytes; 0 without one
    largest: float = 0.0  # the most that this burst came to, bytes
    # modified age at the last reading that was not in a burst, bytes; None before the first
    before: float | None = None
    began: int = 0  # hour of the week in which it began
    recent: float = 0.0  # the largest burst of the last hours, fading, bytes
    hour: int | None = None  # hour of the week that is being seen; None before the first reading
    seen: float = 0.0  # seconds of it that were seen
    hours_burst: float = 0.0  # the largest burst that began in it, bytes
    week: Week = Week()  # what earlier hours came to
    at: float = 0.0  # Unix time of the last reading that was followed, seconds; 0 before the first
    resumed: bool = False  # that was an earlier daemon's, and no reading has been followed since

    @classmethod
    def recalled(cls, week: Week, late: Late) -> Bursts:
        """Return what an earlier daemon knew; its first reading tells how long nobody has looked."""
        if late.at == 0.0:
            return cls(week=week)
        hour = hour_of_week(late.at)
        return cls(
            recent=late.recent,
            hour=hour,
            seen=late.seen,
            hours_burst=late.hours_burst,
            week=week,
            at=late.at,
            resumed=True,
        )

    def late(self) -> Late:
        """Return what the last hours showed, for the next daemon."""
        return Late(self.at, self.recent, self.seen, self.hours_burst)

    def updated(
        self, beyond: float | None, *, age: float, wall: float, elapsed: float, steady: bool = False
    ) -> Bursts:
        """Return the bursts with one reading more.

        Args:
            beyond: redo written beyond what the device flushes now, bytes/s; None where the device is not
                the limit.
            steady: the load has been steady for long.
        """
        if self.resumed:
            taken_up = self._taken_up(wall)
            return taken_up.updated(beyond, age=age, wall=wall, elapsed=elapsed, steady=steady)
        hour = hour_of_week(wall)
        known = self if hour == self.hour else self._turn(hour)
        grown = 0.0 if known.before is None else age - known.before
        excess = 0.0 if beyond is None else max(0.0, min(grown, known.excess + beyond * elapsed))
        if excess == 0.0:
            known = replace(known.ended(), before=age)
        elif known.excess == 0.0:
            known = replace(known, began=hour, largest=0.0)
        memory = OVER_SECONDS if steady else RECENT_SECONDS
        recent = max(excess, known.recent * math.exp(-elapsed / memory))
        largest = max(known.largest, excess)
        seen = known.seen + elapsed
        return replace(known, excess=excess, largest=largest, recent=recent, seen=seen, at=wall)

    def expected(self, wall: float) -> float:
        """Return the redo to keep free for the load's bursts, bytes; ``wall`` is Unix time, seconds."""
        soon = {hour_of_week(wall), hour_of_week(wall + LEAD_SECONDS)}
        return max(self.recent, *(self.week.expected(hour) for hour in soon))

    def interrupted(self) -> Bursts:
        """Return what a restart of mysqld leaves: the burst under way is over."""
        return replace(self.ended(), excess=0.0, before=None)

    def disowned(self, before: Bursts) -> Bursts:
        """Return the bursts without the one under way, which is not the load's."""
        return replace(self, excess=0.0, largest=0.0, recent=min(self.recent, before.recent))

    def ended(self) -> Bursts:
        """Return the bursts with the one that was under way booked in the hour in which it began."""
        if self.largest == 0.0:
            return self
        if self.began == self.hour:
            return replace(self, largest=0.0, hours_burst=max(self.hours_burst, self.largest))
        return replace(self, largest=0.0, week=self.week.met(self.began, self.largest))

    def _taken_up(self, wall: float) -> Bursts:
        """Return the bursts as they have faded while no daemon looked; a clock that went back lets none fade.

        The hour goes on if it is the same one, and not the one a week later.
        """
        same = wall // HOUR_SECONDS == self.at // HOUR_SECONDS
        known = self if same else self._turn(hour_of_week(wall))
        away = max(0.0, wall - self.at)
        return replace(known, recent=self.recent * math.exp(-away / RECENT_SECONDS), resumed=False)

    def _turn(self, hour: int) -> Bursts:
        """Book the hour that is over, and begin another."""
        week = self.week
        if self.hour is not None and self.seen >= SEEN_SECONDS:
            week = week.visited(self.hour, self.hours_burst)
        elif self.hour is not None:
            week = week.met(self.hour, self.hours_burst)
        return replace(self, hour=hour, seen=0.0, hours_burst=0.0, week=week)


class Rates(Struct, frozen=True):
    """One reading's rates."""

    redo_rate: float  # R, bytes/s
    flush_rate: float  # F, pages/s
    demand: float  # P, pages/s
    authority: float  # pages flushed per page asked for
    age: float  # modified age, bytes
    elapsed: float  # seconds since the last reading
    wall: float  # Unix time of the reading, seconds
    # pages that the server counts as due for their age over F; None where it does not say
    need_share: float | None = None

    @property
    def limited(self) -> bool:
        """Tell whether the device was the limit."""
        return self.authority < AUTHORITY_LOST


class MeanRates(Struct, frozen=True):
    """What load and flushing did together in the last time, while M is moved on purpose."""

    redo_rate: float  # mean of R, bytes/s
    flush_rate: float  # mean of F, pages/s

    def updated(self, *, redo_rate: float, flush_rate: float, elapsed: float, memory: float) -> MeanRates:
        """Return the means with ``elapsed`` seconds more at these rates; they span ``memory`` seconds."""
        weight = min(1.0, elapsed / memory)
        return MeanRates(
            self.redo_rate + weight * (redo_rate - self.redo_rate),
            self.flush_rate + weight * (flush_rate - self.flush_rate),
        )


class Trends(Struct, frozen=True):
    """What is remembered beyond the window."""

    rate_seconds: float = 0.0  # time that the two means stand for, seconds
    rate_mean: float = 0.0  # mean of R, bytes/s
    rate_square: float = 0.0  # mean of its square
    # D, pages/s; None until the device was the limit, and when that is too long ago
    sustained: float | None = None
    measured: float = 0.0  # D when the device was the limit last, pages/s
    limited_seconds: float = 0.0  # for how long the device was the limit, fading, seconds
    bursts: Bursts = Bursts()  # redo beyond the device
    checkpoint_seconds: float = 0.0  # longest time between two checkpoints, fading
    need_share: float = 1.0  # mean of two minutes of what the server counts as due for its age, over F
    calm_seconds: float = 0.0  # since when R has hardly deviated from its mean, seconds

    def updated(self, rates: Rates, window: Window) -> Trends:
        """Return the trends with one reading more."""
        sustained, measured = _device(self, rates)
        faded = self.limited_seconds * math.exp(-rates.elapsed / SHOWN_MEMORY_SECONDS)
        seconds = min(RATE_MEMORY_SECONDS, self.rate_seconds + rates.elapsed)
        weight = min(1.0, rates.elapsed / seconds)
        return Trends(
            rate_seconds=seconds,
            rate_mean=self.rate_mean + weight * (rates.redo_rate - self.rate_mean),
            rate_square=self.rate_square + weight * (rates.redo_rate**2 - self.rate_square),
            sustained=sustained,
            measured=measured,
            limited_seconds=faded + (rates.elapsed if rates.limited else 0.0),
            bursts=_bursts(self.bursts, rates, sustained, steady=self.steady),
            checkpoint_seconds=_between_checkpoints(self.checkpoint_seconds, rates, window),
            need_share=self._need(rates),
            calm_seconds=self.calm_seconds + rates.elapsed if self.burstiness < STEADY else 0.0,
        )

    def _need(self, rates: Rates) -> float:
        if rates.need_share is None:
            return self.need_share
        return self.need_share + min(1.0, rates.elapsed / NEED_SECONDS) * (rates.need_share - self.need_share)

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


def _device(trends: Trends, rates: Rates) -> tuple[float | None, float]:
    """Learn D where the device was the limit; where it was not, believe in less and less of it.

    Returns:
        D now, and when the device was the limit last, pages/s.
    """
    sustained, measured = trends.sustained, trends.measured
    if rates.limited and rates.flush_rate > 0:
        weight = min(1.0, rates.elapsed / RATE_SECONDS)
        known = rates.flush_rate if sustained is None else sustained
        capacity = known + weight * (rates.flush_rate - known)
        return capacity, capacity
    if sustained is None:
        return None, measured
    faded = sustained * math.exp(min(rates.elapsed, CAPACITY_MEMORY_SECONDS) / CAPACITY_MEMORY_SECONDS)
    return (None if faded > FORGOTTEN * measured else max(faded, rates.flush_rate)), measured


def _bursts(bursts: Bursts, rates: Rates, sustained: float | None, *, steady: bool) -> Bursts:
    """Follow the redo beyond the device while the device is the limit.

    An age that M lets grow is no burst, however dear its tail.
    """
    beyond = None
    if rates.limited and sustained is not None and rates.demand > 0:
        beyond = rates.redo_rate * (1.0 - sustained / rates.demand)
    return bursts.updated(beyond, age=rates.age, wall=rates.wall, elapsed=rates.elapsed, steady=steady)


def _between_checkpoints(kept: float, rates: Rates, window: Window) -> float:
    """Keep the longest time between two checkpoints, fading, seconds."""
    between = checkpoint_interval(window)
    if between is None:
        return kept
    fading = kept + (between - kept) * min(1.0, rates.elapsed / LAG_MEMORY_SECONDS)
    return max(between, fading)
