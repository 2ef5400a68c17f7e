"""What a smaller or larger redo log would bring, from watching the one that there is.

For each size the age is taken to be held at the same share of the flush limit, which grows with the log; what
that makes of page writes is ``combining``. Where the device is the limit, commits take the time of it that
fewer page writes leave: ``load`` says how much that is. The row of today's size is what ``gain`` makes its
verdict of.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Annotated, Literal

from msgspec import Meta, Struct

from policies.setpoint import highest_ratio
from tuner.core.laws import law_of
from tuner.core.limits import bounds
from tuner.core.setpoint.choose import headroom_of
from tuner.core.setpoint.resting import MOST_RATIO, resting_ratio
from tuner.core.state import State
from tuner.findings.combining import Figure
from tuner.findings.devicewrites import DeviceWrites
from tuner.findings.load import SHORT_SECONDS, Load, load_of
from tuner.records import Capacity, Estimate, Sample, TickRecord

Sure = Literal["high", "medium", "low"]

FACTORS = (0.5, 1.0, 2.0, 4.0, 8.0, 16.0)
"""Sizes that are looked at, over today's."""

LOWER, MUCH_LOWER = 0.55, 0.4
"""Share of the set-point that the age may rest at instead, as bursts lower it; where load or device moved."""

FARTHEST, CERTAIN = 10.0, 5.0
"""No age of more than the first times the one seen is certain to be reached; the second times is."""

BELOW, HIGHEST = 0.9, 1.05
"""Share of the set-point, and age ratio, that an age which was above the set-point rests between."""

NARROW = 0.4
"""Width of the range of the page writes saved, share of today's, up to which figures can be sure."""

MOST_SHARE = 0.99
"""Share of the device's time that page writes are taken to be at most."""

NOTHING_MORE = {"device": 0.02, "pages": 0.05}
"""Doubling the log brings nothing more where it saves less than this share of what the device writes today,
or, where that is not known, of the page writes."""

ENOUGH_SECONDS = 3600.0
"""A page is written about once in the time of redo that the log holds, however often it is changed: from an
hour on few page writes are left, and a larger log saves little whatever share of them that is."""


class Size(Struct, frozen=True):
    """What a redo log of one size comes to, M following the load."""

    redo_capacity: Annotated[int, Meta(description="size, bytes")]
    holds_seconds: Annotated[
        float, Meta(description="time in which the busiest minute's redo rate fills it, seconds")
    ]
    age_ratio: Annotated[float, Meta(description="age held, over the flush limit")]
    pages_per_row: Annotated[
        Figure | None, Meta(description="pages written per row change; null without row changes")
    ]
    page_writes_saved: Annotated[
        Figure, Meta(description="share of today's page writes for the same work; below 0: more")
    ]
    device_writes_saved: Annotated[
        Figure | None,
        Meta(description="share of all that the device writes today, for the same work; null where unknown"),
    ]
    commits_gained: Annotated[
        Figure | None,
        Meta(description="commits/s gained where the device is the limit, share of today's; null: unknown"),
    ]
    recovery_seconds: Annotated[float, Meta(description="crash recovery of InnoDB, seconds")]
    shutdown_seconds: Annotated[float, Meta(description="flushing of all dirty pages at shutdown, seconds")]
    sure: Annotated[Sure, Meta(description="how sure the figures are: high, medium or low")]
    bound_by: Annotated[
        str, Meta(description="why the age is held lower than today, in words; else empty")
    ] = ""


class Sizing(Struct, frozen=True):
    """The table, and what it was worked out from."""

    seconds: Annotated[int, Meta(description="how long was watched: readings, one a second")]
    redo_capacity: Annotated[int, Meta(description="size of today, bytes")]
    age_ratio: Annotated[float, Meta(description="age of today, over the flush limit")]
    pages_per_row: Annotated[float | None, Meta(description="pages written per row change today")]
    commit_rate: Annotated[float, Meta(description="engine commits of today, 1/s")]
    pages_share: Annotated[
        float | None, Meta(description="share of the device's work that is page writes; null where unknown")
    ]
    pages_share_from: Annotated[
        str,
        Meta(description="load: commits fell as pages rose; counts: counted writes; both: these differ"),
    ]
    device_is_limit: Annotated[
        bool | None, Meta(description="commits wait for the device; null where the time did not show it")
    ]
    ages_seen: Annotated[int, Meta(description="classes of ages seen, of 15 % each; one tells little")]
    lru_share: Annotated[
        float, Meta(description="share of page writes made for free pages, whatever the log")
    ]
    sizes: Annotated[tuple[Size, ...], Meta(description="half to sixteen times today's")]
    redo_rate: Annotated[float, Meta(description="redo of the busiest minute watched, bytes/s")]
    knee: Annotated[
        int | None, Meta(description="size from which on more gains nothing or little, bytes; null: larger")
    ]
    knee_by: Annotated[
        Literal["saving", "hour", ""],
        Meta(
            description="saving: doubling it saves next to nothing; hour: it holds an hour of redo at "
            "redo_rate; empty: knee is null"
        ),
    ]
    as_set: Annotated[
        float | None,
        Meta(
            description="share of today's page writes saved at sixteen times today's size with C and M as "
            "they are; null where no M moves the age"
        ),
    ]
    writes: Annotated[DeviceWrites | None, Meta(description="writes counted meanwhile; null: not counted")]


def sizing(
    records: Sequence[TickRecord],
    state: State,
    writes: DeviceWrites | None,
    factors: Sequence[float] = FACTORS,
) -> Sizing | None:
    """Return the table; None where there was no load.

    Args:
        records: of the time watched.
        state: after it.
        writes: what was written to the device meanwhile; None where that was not counted.
        factors: sizes to look at, over today's.
    """
    load = load_of(records, writes)
    last = last_seen(records)
    if load is None or last is None:
        return None
    sample, estimate = last
    table = Table(load, state, sample, set_point=set_point_of(load, state, sample, estimate))
    sizes = tuple(table.size(factor) for factor in factors)
    cost = load.page_cost
    knee, knee_by = _knee(sizes)
    return Sizing(
        seconds=len(records),
        redo_capacity=sample.redo_capacity,
        age_ratio=load.age_ratio,
        pages_per_row=table.per_row(load.density),
        commit_rate=load.commit_rate,
        pages_share=None if cost.share is None else cost.share.likeliest,
        pages_share_from=cost.share_from,
        device_is_limit=cost.device_is_limit,
        ages_seen=load.ages_seen,
        lru_share=load.lru_rate / load.dirty_rate,
        sizes=sizes,
        redo_rate=load.busiest_redo_rate,
        knee=knee,
        knee_by=knee_by,
        as_set=table.as_set(factors[-1]),
        writes=writes,
    )


def last_seen(records: Sequence[TickRecord]) -> tuple[Sample, Estimate] | None:
    """Return the newest reading that an estimate was made of, and that; None without one."""
    for one in reversed(records):
        if isinstance(one.tick.reading, Sample) and one.estimate is not None:
            return one.tick.reading, one.estimate
    return None


def today(load: Load, state: State, sample: Sample, estimate: Estimate) -> Size:
    """Return what the log that there is comes to."""
    set_point = set_point_of(load, state, sample, estimate)
    return Table(load, state, sample, set_point=set_point).size(1.0)


def set_point_of(load: Load, state: State, sample: Sample, estimate: Estimate) -> float:
    """Return the set-point that is held once the load has come to what fewer page writes let it."""
    gained = Table(load, state, sample, set_point=state.set_point_now).size(1.0).commits_gained
    more = 0.0 if gained is None or load.page_cost.share_from == "counts" else max(0.0, gained.likeliest)
    headroom = headroom_of(state, sample, estimate)
    grown = headroom._replace(redo_rate=headroom.redo_rate * (1.0 + more), baseline=0.0)
    return min(state.set_point_now, highest_ratio(grown, {})[0])


class Table:
    """One row after the other.

    Args:
        load: what was watched.
        state: of which facts, law, settings and what is known of recovery count.
        last: the newest reading.
        set_point: age ratio that is held where M moves the age.
    """

    def __init__(self, load: Load, state: State, last: Sample, *, set_point: float) -> None:
        self._load, self._state, self._last = load, state, last
        self._law, self._fixed = law_of(state), load.fixed_density
        self._held = set_point if self._law.m_moves_age else self._rests

    def per_row(self, density: float) -> float | None:
        """Return pages per row change, from pages per redo byte."""
        return density * self._load.redo_rate / self._load.row_rate if self._load.row_rate > 0.0 else None

    def size(self, factor: float) -> Size:
        """Return what a log of so many times today's size comes to."""
        limit = factor * self._last.flush_limit
        set_point, bound_by = self._rest(limit)
        held = self._ages(set_point, limit)
        age = held.likeliest * limit
        saved = self.saved(held, limit)
        recovery = self._state.estimator.recovery
        dirty = min(self._dirty(age), float(self._last.pages_total))
        lag = max(0, self._last.checkpoint_age - self._last.modified_age)
        wholes = [(1.0 - one) * self._load.density for one in (saved.high, saved.likeliest, saved.low)]
        per_row = [one for one in map(self.per_row, wholes) if one is not None]
        share = self._load.page_cost.share
        capacity = round(factor * self._last.redo_capacity)
        return Size(
            redo_capacity=capacity,
            holds_seconds=capacity / self._load.busiest_redo_rate,
            age_ratio=held.likeliest,
            pages_per_row=Figure(*per_row) if per_row else None,
            page_writes_saved=saved,
            device_writes_saved=None if share is None else _times(share, saved),
            commits_gained=None if share is None else _gained(_times(share, saved)),
            recovery_seconds=recovery.recovery_of(round(age + lag), round(age), round(dirty)),
            shutdown_seconds=dirty / recovery.flush_rate,
            sure=self._sure(set_point, limit, saved),
            bound_by=bound_by,
        )

    def saved(self, held: Figure, limit: float) -> Figure:
        """Return the share of today's page writes that ages save for the same work.

        How pages combine and which age is held are off apart from each other: both together make the range.
        An age no higher than today's saves nothing: it is held against what the curve has for today's, as the
        pages counted are others where the age moved meanwhile.

        Args:
            held: age ratios: the likeliest, and between which it lies.
            limit: flush limit, bytes.
        """
        curves, curve = self._load.combining, self._load.combining.curves[0]
        today = self._load.age_ratio * self._load.flush_limit
        lowered = held.likeliest * limit <= today
        base = curve.at(today) + self._fixed if lowered else self._load.density

        def at(density: float) -> float:
            saved = 1.0 - (density + self._fixed) / base
            return min(0.0, saved) if lowered else saved

        by_pages = curves.at(held.likeliest * limit)
        likeliest = at(by_pages.likeliest)
        low, high = at(by_pages.high), at(by_pages.low)
        lower, higher = sorted(at(curve.at(ratio * limit)) for ratio in (held.low, held.high))
        return Figure(
            likeliest - math.hypot(likeliest - low, likeliest - lower),
            likeliest,
            min(0.0 if lowered else 1.0, likeliest + math.hypot(high - likeliest, higher - likeliest)),
        )

    def as_set(self, factor: float) -> float | None:
        """Return the share of page writes saved by such a log alone; None where no M moves the age."""
        if not self._law.m_moves_age:
            return None
        limit = factor * self._last.flush_limit
        age = self._resting(limit, self._last.capacity) * limit
        return 1.0 - (self._load.combining.curves[0].at(age) + self._fixed) / self._load.density

    def _ages(self, set_point: float, limit: float) -> Figure:
        """Return the age ratio that comes, and between which it lies, where one is to be held."""
        if not self._law.m_moves_age:
            return Figure(set_point, set_point, set_point)
        today = self._load.age_ratio * self._load.flush_limit / limit
        if today > set_point:
            highest = min(today, HIGHEST)
            return Figure(BELOW * set_point, max(BELOW * set_point, 0.5 * (set_point + highest)), highest)
        lowest = max(today, set_point * (MUCH_LOWER if self._load.moved else LOWER))
        if set_point > FARTHEST * today:
            lowest = min(MUCH_LOWER * set_point, CERTAIN * today)
        if self._load.below_low_water:
            lowest = today  # what has pages written there may go on
        highest = min(HIGHEST, 1.1 * max(self._held, self._state.set_point_now))
        return Figure(lowest, set_point, max(set_point, highest))

    def _sure(self, set_point: float, limit: float, saved: Figure) -> Sure:
        today = self._load.age_ratio * self._load.flush_limit / limit
        short = self._load.seconds < SHORT_SECONDS
        moves = self._load.moved or self._load.rising is not None
        if short or moves or self._last.degraded or set_point > FARTHEST * today:
            return "low"
        known = self._load.page_cost.device_is_limit is not None
        return "high" if known and saved.high - saved.low <= NARROW else "medium"

    @property
    def _rests(self) -> float:
        """Return the age ratio at which as many pages would be dirty for good as are on average today."""
        return self._load.dirty / self._load.density / self._last.flush_limit

    def _rest(self, limit: float) -> tuple[float, str]:
        """Return the age ratio that is held with such a flush limit, and what keeps it lower than today."""
        ratio, why = self._held, ""
        if self._law.m_moves_age:
            lowest, _ = bounds(self._state)
            rests = self._resting(limit, Capacity(max(1, lowest // 2), lowest))
            if rests < min(ratio, MOST_RATIO):
                ratio, why = rests, f"innodb_io_capacity_max would go below its lowest of {lowest}"
        most = self._last.dirty_limit / 100.0 * self._last.pages_total
        if self._dirty(ratio * limit) > most:
            low, high = 0.0, ratio
            for _ in range(40):
                middle = 0.5 * (low + high)
                low, high = (middle, high) if self._dirty(middle * limit) <= most else (low, middle)
            ratio, why = low, "as many pages as innodb_max_dirty_pages_pct allows are dirty there"
        return ratio, why

    def _dirty(self, age: float) -> float:
        return self._listed(age) * age

    def _listed(self, age: float) -> float:
        """Return the pages that the flush list has to write at an age, per redo byte."""
        return self._load.combining.curves[0].at(age) + self._load.created_density

    def _resting(self, limit: float, pair: Capacity) -> float:
        load = self._load
        share = 0.0 if load.page_cost.share is None else min(MOST_SHARE, load.page_cost.share.likeliest)
        return resting_ratio(
            self._law,
            lambda log_ratio: self._listed(math.exp(log_ratio) * limit),
            pair=pair,
            redo_rate=load.redo_rate,
            flush_rate=load.dirty_rate - load.lru_rate,
            response=share / (1.0 - share) / load.density,
        )


def _times(share: Figure, saved: Figure) -> Figure:
    """Return the share of all that the device does that fewer page writes save."""
    each = [one * part for one in (share.low, share.high) for part in (saved.low, saved.high)]
    return Figure(min(each), share.likeliest * saved.likeliest, max(each))


def _gained(saved: Figure) -> Figure:
    """Return the commits that fit into the time of the device that is saved, share of today's."""
    return Figure(
        *(1.0 / (1.0 - min(MOST_SHARE, one)) - 1.0 for one in (saved.low, saved.likeliest, saved.high))
    )


def _knee(sizes: Sequence[Size]) -> tuple[int | None, Literal["saving", "hour", ""]]:
    """Return the smallest size, today's at least, from which on more gains nothing or little, and why."""
    for size, doubled in pairwise(sizes[1:]):
        if size.holds_seconds >= ENOUGH_SECONDS:
            return size.redo_capacity, "hour"
        if size.device_writes_saved is not None and doubled.device_writes_saved is not None:
            more = doubled.device_writes_saved.likeliest - size.device_writes_saved.likeliest
            least = NOTHING_MORE["device"]
        else:
            more = doubled.page_writes_saved.likeliest - size.page_writes_saved.likeliest
            least = NOTHING_MORE["pages"]
        if more < least:
            return size.redo_capacity, "saving"
    largest = sizes[-1]
    return (largest.redo_capacity, "hour") if largest.holds_seconds >= ENOUGH_SECONDS else (None, "")
