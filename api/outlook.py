"""What the daemon makes different: where the server would be without it, and how much of a burst it absorbs.

Where the age would settle is the estimate's ``baseline_ratio``, by which set-point and budgets go too.
"""

from __future__ import annotations

import math
from typing import Annotated

from msgspec import Meta, Struct

from policies.equilibrium import FARTHEST_AGE
from policies.registry import LAWS
from tuner.records import LOW_WATER_MARK, Capacity, Estimate, Facts, LowWaterMark, Sample, TickRecord
from tuner.settings import Mode, Settings
from tuner.system.amounts import share

AS_MANY = 0.05
"""Page writes within this share are called as many."""

TO_LIMIT = "the age grows to the flush limit before the server flushes"


class Without(Struct, frozen=True):
    """The same load with the values that were there before the daemon wrote, as predicted."""

    capacity: Annotated[Capacity, Meta(description="the originals")]
    age_ratio: Annotated[
        float | None, Meta(description="where the age would settle; none where it would at none")
    ]
    page_writes: Annotated[
        float | None,
        Meta(
            description="page writes per byte of redo, over those at the present age; of an age that is "
            f"farther than {FARTHEST_AGE:g} times away, those at that distance"
        ),
    ]
    text: Annotated[str, Meta(description="the same in words")]


class Burst(Struct, frozen=True):
    """How much of a burst the free redo log absorbs."""

    load: Annotated[float, Meta(description="the burst, over the present load")]
    seconds: Annotated[
        float | None,
        Meta(description="until sync flushing; none where the device flushes it as it comes"),
    ]


def without_of(record: TickRecord, facts: Facts | None) -> Without | None:
    """Return what the originals would make of the present load.

    None in advisory mode, where nothing is written and what is seen is the server without a daemon; before
    the first estimate; and where M does not move the age, or at times only.
    """
    sample, estimate, originals = record.tick.reading, record.estimate, record.originals
    if record.mode is not Mode.ACTIVE or originals is None or facts is None or estimate is None:
        return None
    law = LAWS.get(facts.flush_law)
    if not isinstance(sample, Sample) or law is None or not law.m_moves_age or law.sleeps:
        return None
    if estimate.redo_rate <= 0.0 or estimate.age_ratio <= 0.0:
        return None
    return _predicted(estimate, originals, sample, record.low_water)


def _predicted(
    estimate: Estimate, originals: Capacity, sample: Sample, mark: LowWaterMark | None
) -> Without | None:
    pair = (
        f"innodb_io_capacity {originals.io_capacity} and innodb_io_capacity_max {originals.io_capacity_max}"
    )
    our_mark = mark is not None and mark.ours
    if sample.capacity == originals and not our_mark:
        text = f"the originals, {pair}, are in force now"
        return Without(originals, round(estimate.age_ratio, 3), 1.0, text)
    if mark is not None and our_mark and mark.operator == 0:
        text = f"with {pair}, and {LOW_WATER_MARK} = 0 as found, no value moves the age: {TO_LIMIT}"
        return Without(originals, None, None, text)
    if estimate.baseline_ratio is None:
        return None
    rest = max(estimate.baseline_ratio, _lowest_kept_up_with(estimate))
    if rest > 1.0:
        text = f"with {pair} this load would end in sync flushing (predicted)"
        return Without(originals, None, None, text)
    rest = max(0.01, min(1.0, sample.low_water_age / sample.flush_limit), rest)
    distance = estimate.age_ratio / rest
    bounded = min(FARTHEST_AGE, max(1.0 / FARTHEST_AGE, distance))
    page_writes = math.pow(bounded, estimate.combining_exponent)
    many = _in_words(page_writes, more=distance > FARTHEST_AGE)
    text = f"with {pair} the age would settle at {share(rest)} of the flush limit, with {many}"
    return Without(originals, round(rest, 3), round(page_writes, 2), text)


def burst_of(record: TickRecord, settings: Settings | None) -> Burst | None:
    """Return how long a burst could last, the load being ``park_slack`` times the present one meanwhile.

    The device then flushes what it is known to keep up, or no more than now where that is not known.
    """
    sample, estimate = record.tick.reading, record.estimate
    if not isinstance(sample, Sample) or estimate is None or settings is None:
        return None
    load, growth = settings.park_slack, 0.0
    if estimate.demand > 0.0:
        known = estimate.sustained_capacity
        flushed = estimate.flush_rate if known is None else known
        growth = estimate.redo_rate * (load - flushed / estimate.demand)
    room = max(0.0, sample.sync_point - sample.modified_age)
    return Burst(load, round(room / growth, 1) if growth > 0.0 else None)


def _lowest_kept_up_with(estimate: Estimate) -> float:
    """Return the age ratio below which the device is known not to keep up with the page writes; or 0."""
    known = estimate.sustained_capacity
    if known is None or estimate.demand <= 0.0 or estimate.combining_exponent <= 0.0:
        return 0.0
    times = estimate.demand / max(1.0, known)
    return estimate.age_ratio * math.pow(times, 1.0 / estimate.combining_exponent)


def _in_words(page_writes: float, *, more: bool) -> str:
    if abs(page_writes - 1.0) < AS_MANY:
        return "as many page writes as now (predicted)"
    if page_writes > 1.0:
        return f"{'more than ' if more else ''}{page_writes:.1f} times the page writes of now (predicted)"
    return f"{1.0 - page_writes:.0%} fewer page writes than now (predicted)"
