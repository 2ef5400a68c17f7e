"""What a time of watching shows of a load: its means, the pages it makes dirty at each age, what pages cost.

Where the device is the limit, commits and pages share it: what a page costs, in commits, is what the commits
of a second fall by with each page written in it, and then commits and pages, at that cost, add up to the same
in all seconds. Where they do not, the device is not known to be the limit.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from tuner.core.estimate.window import all_flushed, list_flushed
from tuner.findings.combining import Combining, Figure, classes, fit
from tuner.findings.devicewrites import DeviceWrites
from tuner.findings.slope import line
from tuner.records import Estimate, Sample, TickRecord

LEAST_PAGES = 5.0
"""Pages a second below which there is no load by which anything could be judged."""

LONGEST_GAP = 3.0
"""Two readings that are farther apart say nothing of the seconds between, seconds."""

SHOWN = 3.0
"""Standard errors that the cost of a page has to be away from nothing."""

CLOSE = 0.02
"""Share of the commits that page writes cost at most, where they are seen to cost none."""

FULL = 0.9
"""Mean over the 95th percentile of a second's commits and pages, at their cost, of a full device."""

SHORT_SECONDS = 55
"""Less is short of a minute, and says little of what is sustained; the first readings of one tell nothing."""

FEWEST = 30
"""Seconds that tell what a page costs."""

BLOCK, UNEVEN = 10, 0.25
"""Seconds of a block, and the relative deviation of their redo from which load or device moved."""

BUSIEST = 60
"""Seconds of which the busiest is looked for."""

EARLY = 0.7
"""Time that a page stays dirty over the age from which on down some are written before their turn."""

CLEARLY = 0.5
"""Share of innodb_adaptive_flushing_lwm below which an age does not merely swing around it."""

RISEN, MORE = 1.1, 1.15
"""Age of the last third over that of the first, and pages newly dirtied over written, of a rising age."""

OUTSIDE = 0.1
"""Share of the ages of either third that may lie among those of the other."""

MOST_CREATED = 0.95
"""Share of the pages flushed that new ones are taken to be at most."""


class PageCost(Struct, frozen=True):
    """What page writes take of the device's time.

    Attributes:
        device_is_limit: commits wait for the device; None where the time did not show it.
        share: of the device's time; None where it is not known.
        share_from: ``load``: from commits that fell as pages rose; ``counts``: from the writes counted;
            ``both``: from either, as they contradict each other; empty without a share.
    """

    device_is_limit: bool | None
    share: Figure | None = None
    share_from: Literal["", "load", "counts", "both"] = ""


class Load(Struct, frozen=True):
    """Means of the time watched, and what they say of ages that were not seen."""

    seconds: float
    flush_limit: int  # bytes
    redo_rate: float  # bytes/s
    busiest_redo_rate: float  # of the busiest minute, bytes/s
    row_rate: float  # rows changed, 1/s
    commit_rate: float  # 1/s
    flush_rate: float  # pages/s from the flush list
    lru_rate: float  # pages/s for free pages
    created_rate: float  # new pages, pages/s; 0 where not counted
    dirty: float  # dirty pages
    dirty_rate: float  # pages newly dirtied, pages/s
    age_ratio: float  # modified age over flush limit
    sync_share: float  # share of the pages of the flush list that sync flushing wrote
    space_waits: float  # writers that waited for redo space, 1/s
    low_water_age: float  # modified age below which no M has pages flushed, bytes
    moved: bool  # load or device did
    page_cost: PageCost
    combining: Combining = Combining(())
    ages_seen: int = 0  # classes of ages
    rising: tuple[float, float] | None = (
        None  # mean age ratio of the first and last third, where the age rose
    )

    @property
    def density(self) -> float:
        """Return the pages newly dirtied per redo byte; those written are others while the age moves."""
        return self.dirty_rate / self.redo_rate

    @property
    def below_low_water(self) -> bool:
        """Tell whether the age is clearly one at which M asks for no page, so that others are written."""
        return self.age_ratio * self.flush_limit < CLEARLY * self.low_water_age

    @property
    def fixed_density(self) -> float:
        """Return the pages written whatever the age, for free pages and as they are new, per redo byte."""
        return self.lru_rate / self.redo_rate + self.created_density

    @property
    def created_density(self) -> float:
        """Return the new pages among those in the flush list, per redo byte."""
        return min(self.created_rate, MOST_CREATED * self.flush_rate) / self.redo_rate


def load_of(records: Sequence[TickRecord], writes: DeviceWrites | None = None) -> Load | None:
    """Return what ticks of one run of a server show; None where there was no load.

    Args:
        records: of the time watched, in order.
        writes: what was written to the device meanwhile; None where that was not counted.
    """
    samples = [one.tick.reading for one in records if isinstance(one.tick.reading, Sample)]
    pairs = [(a, b) for a, b in pairwise(samples) if _tells(a, b)]
    seconds = sum(b.monotonic - a.monotonic for a, b in pairs)

    def rate(count: Callable[[Sample], int]) -> float:
        return sum(count(b) - count(a) for a, b in pairs) / seconds

    if not pairs or rate(lambda one: one.lsn_current) <= 0.0:
        return None
    flush_rate, lru_rate = rate(list_flushed), rate(lambda one: one.pages_lru)
    dirty_rate = flush_rate + lru_rate + rate(lambda one: one.pages_dirty)
    if dirty_rate < LEAST_PAGES:
        return None
    redo = [(b.lsn_current - a.lsn_current) / (b.monotonic - a.monotonic) for a, b in pairs]
    load = Load(
        seconds=seconds,
        flush_limit=samples[-1].flush_limit,
        redo_rate=rate(lambda one: one.lsn_current),
        busiest_redo_rate=_busiest(redo),
        row_rate=rate(_rows),
        commit_rate=rate(_commits),
        flush_rate=flush_rate,
        lru_rate=lru_rate,
        created_rate=0.0 if writes is None else writes.created / seconds,
        dirty=statistics.fmean(one.pages_dirty for one in samples),
        dirty_rate=dirty_rate,
        age_ratio=statistics.fmean(one.age_ratio for one in samples),
        sync_share=rate(lambda one: one.pages_sync) / flush_rate if flush_rate > 0.0 else 0.0,
        space_waits=rate(lambda one: one.redo_space_waits),
        low_water_age=samples[-1].low_water_age,
        moved=_uneven(redo),
        rising=_rising(
            [one.age_ratio for one in samples], dirty_rate / max(LEAST_PAGES, flush_rate + lru_rate)
        ),
        page_cost=_page_cost(pairs, writes),
    )
    return _with_combining(_with_early(load) if samples[-1].degraded else load, records)


def _with_early(load: Load) -> Load:
    """Return a load without counters with the pages that it must have written for free pages.

    What is written in its turn stays dirty for as long as the age takes; on average pages stay for less the
    more of them are written from the LRU tail, where no age counts.
    """
    turn = load.age_ratio * load.flush_limit / load.redo_rate
    share = load.dirty / load.dirty_rate / turn if turn > 0.0 else 1.0
    early = load.flush_rate * (1.0 - share) if share < EARLY else 0.0
    return replace(load, flush_rate=load.flush_rate - early, lru_rate=load.lru_rate + early)


def _with_combining(load: Load, records: Sequence[TickRecord]) -> Load | None:
    seen = [
        (_combined(one.tick.reading, one.estimate, load), one.estimate.new_density - load.fixed_density)
        for one in records
        if isinstance(one.tick.reading, Sample) and one.estimate is not None
    ]
    ages = classes(seen)
    combining = fit(ages, rows=load.row_rate / load.redo_rate)
    return replace(load, combining=combining, ages_seen=len(ages)) if combining.curves else None


def _combined(sample: Sample, estimate: Estimate, load: Load) -> float:
    """Return the dirty pages without those that are written whatever the age."""
    fixed = min(1.0, load.fixed_density / estimate.new_density) if estimate.new_density > 0.0 else 0.0
    return sample.pages_dirty * (1.0 - fixed)


def _commits(sample: Sample) -> int:
    return sample.commits


def _rows(sample: Sample) -> int:
    return sample.row_changes


def _tells(old: Sample, new: Sample) -> bool:
    forward = 0.0 < new.monotonic - old.monotonic <= LONGEST_GAP
    counted = list_flushed(new) >= list_flushed(old) and new.commits >= old.commits
    counted = counted and new.row_changes >= old.row_changes and new.pages_lru >= old.pages_lru
    return forward and counted and new.lsn_current >= old.lsn_current


def _busiest(rates: Sequence[float]) -> float:
    starts = range(0, len(rates) - BUSIEST + 1, BLOCK)
    return max(statistics.fmean(rates), *(statistics.fmean(rates[i : i + BUSIEST]) for i in starts), 0.0)


def _uneven(rates: Sequence[float]) -> bool:
    blocks = [statistics.fmean(rates[i : i + BLOCK]) for i in range(0, len(rates) - BLOCK + 1, BLOCK)]
    return len(blocks) > 1 and statistics.pstdev(blocks) > UNEVEN * statistics.fmean(blocks)


def _rising(ages: Sequence[float], dirtied: float) -> tuple[float, float] | None:
    """Return the mean age ratio of the first and the last third of the time; None where the age did not rise.

    While it rises, pages become dirty that are not written yet: more than are written at rest.

    Args:
        ages: age ratios, in order.
        dirtied: pages newly dirtied over pages written.
    """
    third = len(ages) // 3
    first, last = sorted(ages[:third]), sorted(ages[len(ages) - third :])
    if not third or dirtied < MORE or last[int(OUTSIDE * third)] <= first[-1 - int(OUTSIDE * third)]:
        return None
    before, after = statistics.fmean(first), statistics.fmean(last)
    return (before, after) if after >= RISEN * before else None


def _page_cost(pairs: Sequence[tuple[Sample, Sample]], writes: DeviceWrites | None) -> PageCost:
    """Return what pages cost, by the seconds with more and those with fewer; else by the writes counted.

    Where the two contradict each other the range is that of both. With a binary log that is synced the
    seconds show too little: MySQL 8.0.31 saved 17 % of the device's writes, and 3 % (1 to 5) were foretold
    (docs/results/redo-sizing.md).
    """
    seen = _cost_seen(pairs)
    counted = None if writes is None else writes.pages_share
    if counted is None:
        return seen
    if not seen.device_is_limit or seen.share is None:
        return PageCost(seen.device_is_limit, counted, "counts")
    if seen.share.low <= counted.high and counted.low <= seen.share.high:
        return seen
    low, high = min(seen.share.low, counted.low), max(seen.share.high, counted.high)
    between = statistics.fmean((seen.share.likeliest, counted.likeliest))
    return replace(seen, share=Figure(low, between, high), share_from="both")


def _cost_seen(pairs: Sequence[tuple[Sample, Sample]]) -> PageCost:
    counted = _commits if pairs[-1][1].commits > pairs[0][0].commits else _rows
    lasted = [b.monotonic - a.monotonic for a, b in pairs]
    commits = [(counted(b) - counted(a)) / time for (a, b), time in zip(pairs, lasted, strict=True)]
    pages = [(all_flushed(b) - all_flushed(a)) / time for (a, b), time in zip(pairs, lasted, strict=True)]
    found = line(pages, commits) if len(pairs) >= FEWEST else None
    work, written = statistics.fmean(commits), statistics.fmean(pages)
    if found is None or work <= 0.0 or written <= 0.0:
        return PageCost(device_is_limit=None)
    cost = max(0.0, -found.slope)  # commits that a page is worth
    if cost < SHOWN * found.error + 1e-9 and found.error * written < CLOSE * work:
        return PageCost(device_is_limit=False)
    sums = sorted(c + cost * p for c, p in zip(commits, pages, strict=True))
    peak = sums[int(0.95 * (len(sums) - 1))] or sums[-1]  # a burst in an idle time
    if cost < SHOWN * found.error or statistics.fmean(sums) < FULL * peak:
        return PageCost(device_is_limit=None)
    low, likeliest, high = (
        max(0.0, one) * written / (max(0.0, one) * written + work)
        for one in (cost - 2.0 * found.error, cost, cost + 2.0 * found.error)
    )
    return PageCost(device_is_limit=True, share=Figure(low, likeliest, high), share_from="load")
