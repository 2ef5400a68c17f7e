"""What a smaller or larger redo log would bring, from watching the one that there is.

For each size the age is taken to be held at the same share of the flush limit, which grows with the log; what
that makes of page writes is ``combining``, and of the load, where the device is its limit,
``policies.equilibrium``: it gives up so much redo for each page that is written.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from itertools import pairwise
from typing import Annotated

from msgspec import Meta, Struct

from policies.equilibrium import rate_at_rest
from tuner.core.estimate.window import all_flushed, list_flushed
from tuner.core.laws import law_of
from tuner.core.limits import bounds
from tuner.core.setpoint.resting import MOST_RATIO, resting_ratio
from tuner.core.state import State
from tuner.findings.combining import Combining, Figure, classes, fit
from tuner.findings.devicewrites import DeviceWrites
from tuner.findings.slope import line
from tuner.records import Capacity, Estimate, Sample, TickRecord

FACTORS = (0.5, 1.0, 2.0, 4.0, 8.0, 16.0)
"""Sizes that are looked at, over today's."""

HELD = 0.85
"""Age ratio that is taken to be held where the loop has no set-point yet."""

WINDOW = 2
"""Readings that a mean is taken of where commits are told from page writes: the server counts the pages of a
batch at its end, the commits that it held up before that. With more, the answer is mixed with what the load
dirties the more for it."""

CERTAIN = 4.0
"""Over its standard error: what the load gives up for a page is believed from there on."""

MOST_CREATED = 0.95
"""Share of the pages flushed that new ones are taken to be at most."""

FEWEST = 20  # Such means that an answer of the load is told from at least

NOTHING_MORE = {"device": 0.02, "pages": 0.05}
"""Doubling the log brings nothing more where it saves less than this share of what the device writes today,
or, where that is not known, of the page writes."""


class Size(Struct, frozen=True):
    """What a redo log of one size comes to, M following the load."""

    redo_capacity: Annotated[int, Meta(description="size, bytes")]
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
    bound_by: Annotated[
        str, Meta(description="why the age is held lower than today, in words; else empty")
    ] = ""


class Sizing(Struct, frozen=True):
    """The table, and what it was worked out from."""

    seconds: Annotated[int, Meta(description="how long was watched")]
    redo_capacity: Annotated[int, Meta(description="size of today, bytes")]
    age_ratio: Annotated[float, Meta(description="age of today, over the flush limit")]
    pages_per_row: Annotated[float | None, Meta(description="pages written per row change today")]
    commit_rate: Annotated[float, Meta(description="engine commits of today, 1/s")]
    pages_share: Annotated[
        float | None, Meta(description="share of the device's work that is page writes; null where unknown")
    ]
    pages_share_from: Annotated[
        str, Meta(description="load: commits fell as pages rose; counts: counted writes; else empty")
    ]
    device_is_limit: Annotated[bool, Meta(description="commits were seen to fall as page writes rose")]
    ages_seen: Annotated[int, Meta(description="classes of ages seen, of 15 % each; one tells little")]
    lru_share: Annotated[
        float, Meta(description="share of page writes made for free pages, whatever the log")
    ]
    sizes: Annotated[tuple[Size, ...], Meta(description="half to sixteen times today's")]
    knee: Annotated[
        int | None, Meta(description="size from which on doubling brings nothing more, bytes; null: larger")
    ]
    as_set: Annotated[
        float | None,
        Meta(
            description="share of today's page writes saved at sixteen times today's size with C and M as "
            "they are; null where no M moves the age"
        ),
    ]
    writes: Annotated[DeviceWrites | None, Meta(description="writes counted meanwhile; null: not counted")]


class _Load(Struct, frozen=True):
    """Means of the time watched."""

    redo_rate: float  # bytes/s
    flush_rate: float  # pages/s from the flush list
    lru_rate: float  # pages/s for free pages
    created_rate: float  # new pages, pages/s; 0 where not counted
    row_rate: float  # rows/s
    commit_rate: float  # 1/s
    dirty: float  # dirty pages
    dirty_rate: float  # pages newly dirtied, pages/s
    age_ratio: float
    response: float  # redo given up for each page flushed, bytes; 0: none seen, or none known
    response_from: str  # as ``Sizing.pages_share_from``

    @property
    def fixed_density(self) -> float:
        """Return the pages written whatever the age, for free pages and as they are new, per redo byte."""
        return self.lru_rate / self.redo_rate + self.created_density

    @property
    def created_density(self) -> float:
        """Return the new pages among those in the flush list, per redo byte."""
        return min(self.created_rate, MOST_CREATED * self.flush_rate) / self.redo_rate


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
    ticks = [(one.tick.reading, one.estimate) for one in records]
    seen = [(s, e) for s, e in ticks if isinstance(s, Sample) and e is not None and e.redo_rate > 0.0]
    if len(seen) <= 1 or seen[-1][0].lsn_current <= seen[0][0].lsn_current:
        return None
    first, last = seen[0][0], seen[-1][0]
    load = _load([sample for sample, _ in seen], [estimate for _, estimate in seen], writes)
    ages = classes([(_combined(s, e, load), max(0.0, e.new_density - load.fixed_density)) for s, e in seen])
    combining = fit(ages, rows=load.row_rate / load.redo_rate)
    if not combining.curves or load.dirty_rate <= 0.0:
        return None
    table = _Table(load, state, last, combining)
    sizes = tuple(table.size(factor) for factor in factors)
    share = load.response * table.now / (1.0 + load.response * table.now) if load.response_from else None
    return Sizing(
        seconds=round(last.monotonic - first.monotonic),
        redo_capacity=last.redo_capacity,
        age_ratio=load.age_ratio,
        pages_per_row=table.per_row(table.now),
        commit_rate=load.commit_rate,
        pages_share=share,
        pages_share_from=load.response_from,
        device_is_limit=load.response_from == "load",
        ages_seen=len(ages),
        lru_share=load.lru_rate / load.redo_rate / table.now,
        sizes=sizes,
        knee=_knee(sizes),
        as_set=table.as_set(factors[-1]),
        writes=writes,
    )


class _Table:
    """One row after the other."""

    def __init__(self, load: _Load, state: State, last: Sample, combining: Combining) -> None:
        self._load, self._state, self._last, self._combining = load, state, last, combining
        self._law, self._fixed = law_of(state), load.fixed_density
        self.now = load.dirty_rate / load.redo_rate
        """Pages written per redo byte today: those newly dirtied, as the age may have moved meanwhile."""
        self._held = (state.set_point or HELD) if self._law.m_moves_age else self._rests

    def per_row(self, density: float) -> float | None:
        """Return pages per row change, from pages per redo byte."""
        return density * self._load.redo_rate / self._load.row_rate if self._load.row_rate > 0.0 else None

    def size(self, factor: float) -> Size:
        """Return what a log of so many times today's size comes to."""
        limit = factor * self._last.flush_limit
        ratio, bound_by = self._rest(limit)
        age = ratio * limit
        density = self._combining.at(age)
        wholes = [one + self._fixed for one in (density.low, density.likeliest, density.high)]
        low, likeliest, high = wholes
        recovery = self._state.estimator.recovery
        dirty = min(self._dirty(age), float(self._last.pages_total))
        lag = max(0, self._last.checkpoint_age - self._last.modified_age)
        known = bool(self._load.response_from)
        per_row = [one for one in map(self.per_row, wholes) if one is not None]
        return Size(
            redo_capacity=round(factor * self._last.redo_capacity),
            age_ratio=ratio,
            pages_per_row=Figure(*per_row) if per_row else None,
            page_writes_saved=Figure(*(1.0 - one / self.now for one in (high, likeliest, low))),
            device_writes_saved=Figure(*map(self._saved, (high, likeliest, low))) if known else None,
            commits_gained=Figure(*map(self._gained, (high, likeliest, low))) if known else None,
            recovery_seconds=recovery.recovery_of(round(age + lag), round(age), round(dirty)),
            shutdown_seconds=dirty / recovery.flush_rate,
            bound_by=bound_by,
        )

    def as_set(self, factor: float) -> float | None:
        """Return the share of page writes saved by such a log alone; None where no M moves the age."""
        if not self._law.m_moves_age:
            return None
        limit = factor * self._last.flush_limit
        age = self._resting(limit, self._last.capacity) * limit
        return 1.0 - (self._combining.curves[0].at(age) + self._fixed) / self.now

    @property
    def _rests(self) -> float:
        """Return the age ratio at which as many pages would be dirty for good as are on average today."""
        return self._load.dirty / self.now / self._last.flush_limit

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
        return self._combining.curves[0].at(age) + self._load.created_density

    def _resting(self, limit: float, pair: Capacity) -> float:
        return resting_ratio(
            self._law,
            lambda log_ratio: self._listed(math.exp(log_ratio) * limit),
            pair=pair,
            redo_rate=self._load.redo_rate,
            flush_rate=self._load.dirty_rate - self._load.lru_rate,
            response=self._load.response,
        )

    def _gained(self, density: float) -> float:
        load = self._load
        rate = rate_at_rest(
            redo_rate=load.redo_rate,
            flush_rate=load.dirty_rate,
            density=density,
            response=load.response,
        )
        return rate / load.redo_rate - 1.0

    def _saved(self, density: float) -> float:
        return 1.0 - 1.0 / (1.0 + self._gained(density))


def _load(samples: Sequence[Sample], estimates: Sequence[Estimate], writes: DeviceWrites | None) -> _Load:
    first, last = samples[0], samples[-1]
    seconds = last.monotonic - first.monotonic
    redo_rate = (last.lsn_current - first.lsn_current) / seconds
    flush_rate = (list_flushed(last) - list_flushed(first)) / seconds
    lru_rate = (last.pages_lru - first.pages_lru) / seconds
    response = max(_answer(samples), 0.0)
    source = "load" if response > 0.0 else ""
    pages = flush_rate + lru_rate
    if not source and writes is not None and writes.pages and writes.logs > 0 and pages > 0.0:
        response, source = writes.pages / writes.logs * redo_rate / pages, "counts"
    return _Load(
        redo_rate=redo_rate,
        flush_rate=flush_rate,
        lru_rate=lru_rate,
        dirty=statistics.fmean(one.pages_dirty for one in samples),
        dirty_rate=pages + (last.pages_dirty - first.pages_dirty) / seconds,
        created_rate=0.0 if writes is None else writes.created / seconds,
        row_rate=(last.row_changes - first.row_changes) / seconds,
        commit_rate=(last.commits - first.commits) / seconds,
        age_ratio=statistics.fmean(one.age_ratio for one in estimates),
        response=response,
        response_from=source,
    )


def _combined(sample: Sample, estimate: Estimate, load: _Load) -> float:
    """Return the dirty pages without those that are written whatever the age."""
    fixed = min(1.0, load.fixed_density / estimate.new_density) if estimate.new_density > 0.0 else 0.0
    return sample.pages_dirty * (1.0 - fixed)


def _answer(samples: Sequence[Sample]) -> float:
    """Return the redo that the load gave up for each page written, bytes; 0 where that is not certain."""
    marks = samples[::WINDOW]
    pages, redo = [], []
    for before, after in pairwise(marks):
        seconds = after.monotonic - before.monotonic
        pages.append((all_flushed(after) - all_flushed(before)) / seconds)
        redo.append((after.lsn_current - before.lsn_current) / seconds)
    found = line(pages, redo) if len(pages) >= FEWEST else None
    return -found.slope if found is not None and -found.slope > CERTAIN * found.error else 0.0


def _knee(sizes: Sequence[Size]) -> int | None:
    """Return the smallest size, today's at least, that saves nothing more when it is doubled."""
    for size, doubled in pairwise(sizes[1:]):
        if size.device_writes_saved is not None and doubled.device_writes_saved is not None:
            more = doubled.device_writes_saved.likeliest - size.device_writes_saved.likeliest
            least = NOTHING_MORE["device"]
        else:
            more = doubled.page_writes_saved.likeliest - size.page_writes_saved.likeliest
            least = NOTHING_MORE["pages"]
        if more < least:
            return size.redo_capacity
    return None
