"""What the daemon makes different: where the server would be without it, and how much of a burst it absorbs.

Where the age would settle is the estimate's ``baseline_ratio``, by which set-point and budgets go too.
"""

from __future__ import annotations

import math
from typing import Annotated

from msgspec import Meta, Struct
from msgspec.structs import replace

from policies.equilibrium import FARTHEST_AGE
from policies.registry import LAWS
from tuner.records import LOW_WATER_MARK, Capacity, Estimate, Facts, LowWaterMark, Sample, TickRecord
from tuner.settings import Mode, Settings

AS_MANY = 0.05
"""Page writes within this share are called as many."""

TO_LIMIT = "it would grow to the flush limit before anything is flushed"


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
    reading, found, originals = record.tick.reading, record.estimate, record.originals
    if record.mode is not Mode.ACTIVE or originals is None or facts is None or found is None:
        return None
    law = LAWS.get(facts.flush_law)
    if not isinstance(reading, Sample) or law is None or not law.m_moves_age or law.sleeps:
        return None
    if found.redo_rate <= 0.0 or found.age_ratio <= 0.0:
        return None
    return _foretold(found, originals, reading, record.low_water)


def _foretold(
    found: Estimate, originals: Capacity, reading: Sample, mark: LowWaterMark | None
) -> Without | None:
    pair = (
        f"innodb_io_capacity {originals.io_capacity} and innodb_io_capacity_max {originals.io_capacity_max}"
    )
    if reading.capacity == originals and (mark is None or not mark.ours):
        text = f"{pair}, as found, are in force now: nothing would be otherwise"
        return Without(originals, round(found.age_ratio, 3), 1.0, text)
    if mark is not None and mark.ours and mark.operator == 0:
        text = f"with {pair}, and {LOW_WATER_MARK} = 0 as found, neither would move the age: {TO_LIMIT}"
        return Without(originals, None, None, text)
    if found.baseline_ratio is None:
        return None
    rests = max(found.baseline_ratio, _kept_up(found))
    if rests > 1.0:
        text = f"with {pair} it would come to sync flushing at this load (predicted)"
        return Without(originals, None, None, text)
    settles = max(0.01, min(1.0, reading.low_water_age / reading.flush_limit), rests)
    writes = _denser(found, settles)
    share = (settles * reading.flush_limit + found.checkpoint_lag) / reading.stall_point
    many = _many(writes, farther=found.age_ratio / settles > FARTHEST_AGE)
    text = f"with {pair} the age would settle at {min(share, 1.0):.0%} of Max Checkpoint Age, with {many}"
    return Without(originals, round(settles, 3), round(writes, 2), text)


def burst_of(record: TickRecord, settings: Settings | None) -> Burst | None:
    """Return how long a burst could last, the load being ``park_slack`` times the present one meanwhile.

    The device then flushes what it is known to keep up, or no more than now where that is not known.
    """
    reading, found = record.tick.reading, record.estimate
    if not isinstance(reading, Sample) or found is None or settings is None:
        return None
    burst = Burst(load=settings.park_slack, seconds=None)
    if found.demand <= 0.0:
        return burst
    flushed = found.flush_rate if found.sustained_capacity is None else found.sustained_capacity
    growth = found.redo_rate * (burst.load - flushed / found.demand)
    if growth <= 0.0:
        return burst
    return replace(burst, seconds=round(max(0.0, reading.sync_point - reading.modified_age) / growth, 1))


def _kept_up(found: Estimate) -> float:
    """Return the age ratio below which the page writes are more than the device is known to keep up; or 0."""
    if found.sustained_capacity is None or found.demand <= 0.0 or found.combining_exponent <= 0.0:
        return 0.0
    times = found.demand / max(1.0, found.sustained_capacity)
    return found.age_ratio * math.pow(times, 1.0 / found.combining_exponent)


def _denser(found: Estimate, ratio: float) -> float:
    """Return the page writes per byte of redo at an age, over those at the present one."""
    farther = min(FARTHEST_AGE, max(1.0 / FARTHEST_AGE, found.age_ratio / ratio))
    return math.pow(farther, found.combining_exponent)


def _many(writes: float, *, farther: bool) -> str:
    if abs(writes - 1.0) < AS_MANY:
        return "as many page writes as now (predicted)"
    if writes > 1.0:
        return f"{'more than ' if farther else ''}{writes:.1f} times the page writes of now (predicted)"
    return f"{1.0 - writes:.0%} fewer page writes than now (predicted)"
