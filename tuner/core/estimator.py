"""From counters to rates: what load and device look like at this tick.

Every rate is a difference of exact counters over a window of a few seconds, so that nothing
but the window's length smooths it.
"""

from __future__ import annotations

import math
from enum import StrEnum

from msgspec import Struct
from msgspec.structs import replace

from policies.setpoint import FLUSH_ORDER_LAG
from tuner.core.ledger import Ledger
from tuner.core.load import Load
from tuner.records import Estimate, Sample

WINDOW_SECONDS = 16.0
"""Readings kept for rates and slope."""

RATE_SECONDS = 10.0
"""Window of the rates that decisions use."""

FAST_SECONDS = 3.0
"""Window of the slope that the emergency looks at."""

LAG_MEMORY_SECONDS = 600.0
STEADY_SHARE = 0.25
"""The age counts as steady while it grows or falls by less than this share of R."""

RATE_MEMORY_SECONDS = 120.0
BURST_MEMORY_SECONDS = 6 * 3600.0
CAPACITY_MEMORY_SECONDS = 1800.0
CAPPED_SHARE = 0.97
"""The law asks for all that M allows when it asks for this share of M."""

LIMITED_AUTHORITY = 0.85
"""Below this share of the pages asked for, the device is the limit."""


class Quality(StrEnum):
    """What a reading is good for."""

    GOOD = "good"
    FIRST = "first"
    REVERSED = "reversed"


class Point(Struct, frozen=True):
    """One reading, reduced to what the window needs."""

    at: float
    lsn: int
    oldest: int
    flushed: int
    synced: int
    lru: int
    rows: int
    requested: int
    dirtied: float
    checkpoint_age: int


class EstimatorState(Struct, frozen=True):
    """All that is remembered of earlier readings."""

    window: tuple[Point, ...] = ()
    ledger: Ledger = Ledger()
    last: Sample | None = None
    checkpoint_seconds: float = 0.0
    excess: float = 0.0
    burst_bytes: float = 0.0
    sustained: float | None = None
    density: float = 0.0
    rate_seconds: float = 0.0
    rate_mean: float = 0.0
    rate_square: float = 0.0
    load: Load = Load()


def update(state: EstimatorState, sample: Sample) -> tuple[EstimatorState, Estimate | None, Quality]:
    """Take one reading in.

    Returns:
        The next state, the estimate (None for a first or reversed reading), and what the
        reading was good for. A reversed counter starts the window afresh; what was learned
        about write combining stays.
    """
    last = state.last
    if last is None or sample.identity != last.identity:
        return _restart(state, sample), None, Quality.FIRST
    elapsed = sample.monotonic - last.monotonic
    if elapsed <= 0 or _reversed(sample, last):
        return _restart(state, sample), None, Quality.REVERSED
    dirtied = sample.pages_dirty - last.pages_dirty + _all_flushed(sample) - _all_flushed(last)
    ledger = state.ledger.add(
        lsn=sample.lsn_current, new_pages=dirtied, oldest=sample.lsn_oldest, flush_limit=sample.flush_limit
    )
    point = _point(sample, dirtied=state.window[-1].dirtied + dirtied)
    window = (*(p for p in state.window if p.at > sample.monotonic - WINDOW_SECONDS), point)
    state = replace(state, window=window, ledger=ledger, last=sample)
    if len(window) < 2:  # noqa: PLR2004 - a rate needs two readings
        return state, None, Quality.FIRST
    return *_estimate(state, sample, elapsed), Quality.GOOD


def pages_ahead(state: EstimatorState, sample: Sample, span: float) -> float:
    """Return the dirty pages in the oldest ``span`` bytes, from the ledger where it reaches."""
    if span <= 0:
        return 0.0
    if not state.ledger.covers(sample.lsn_oldest):
        return state.density * span
    return state.ledger.between(sample.lsn_oldest, sample.lsn_oldest + span)


def age_ahead(state: EstimatorState, sample: Sample, found: Estimate, seconds: float) -> float:
    """Return the modified age that the present M leads to, bytes, walking the tail through the ledger.

    Without a ledger that reaches the tail the present slope is drawn out.
    """
    if not state.ledger.covers(sample.lsn_oldest):
        return max(0.0, found.modified_age + found.age_slope * seconds)
    capped = sample.flush_requested >= CAPPED_SHARE * sample.io_capacity_max
    full = float(sample.io_capacity_max) * min(1.0, found.authority)
    rate = full if capped else min(full, found.flush_rate)
    tail = state.ledger.after(sample.lsn_oldest, rate * seconds)
    return max(0.0, sample.lsn_current + found.redo_rate * seconds - tail)


def _restart(state: EstimatorState, sample: Sample) -> EstimatorState:
    return replace(
        state,
        window=(_point(sample, dirtied=0.0),),
        ledger=Ledger().add(
            lsn=sample.lsn_current, new_pages=0.0, oldest=sample.lsn_oldest, flush_limit=sample.flush_limit
        ),
        last=sample,
        excess=0.0,
        sustained=None,
        density=0.0,
    )


def _reversed(sample: Sample, last: Sample) -> bool:
    return (
        sample.lsn_current < last.lsn_current
        or sample.uptime < last.uptime
        or sample.row_changes < last.row_changes
        or _all_flushed(sample) < _all_flushed(last)
    )


def _all_flushed(sample: Sample) -> int:
    return _list_flushed(sample) + sample.pages_lru


def _list_flushed(sample: Sample) -> int:
    return sample.pages_adaptive + sample.pages_sync + sample.pages_background


def _point(sample: Sample, *, dirtied: float) -> Point:
    return Point(
        at=sample.monotonic,
        lsn=sample.lsn_current,
        oldest=sample.lsn_oldest,
        flushed=_list_flushed(sample),
        synced=sample.pages_sync,
        lru=sample.pages_lru,
        rows=sample.row_changes,
        requested=sample.flush_requested,
        dirtied=dirtied,
        checkpoint_age=sample.checkpoint_age,
    )


def _estimate(state: EstimatorState, sample: Sample, elapsed: float) -> tuple[EstimatorState, Estimate]:
    window = state.window
    new, old = window[-1], _since(window, RATE_SECONDS)
    seconds = max(new.at - old.at, 1e-3)
    redo_rate = (new.lsn - old.lsn) / seconds
    flush_rate = (new.flushed - old.flushed) / seconds
    tail = new.oldest - old.oldest
    age = float(sample.modified_age)
    slope = _slope(window)
    fast = _since(window, FAST_SECONDS)
    fast_slope = ((new.lsn - new.oldest) - (fast.lsn - fast.oldest)) / max(new.at - fast.at, 1e-3)
    density = _tail_density(state, sample, pages=new.flushed - old.flushed, tail=tail)
    demand = redo_rate * density
    half_residence = 0.5 * age
    ahead = (
        pages_ahead(state, sample, half_residence) / half_residence * redo_rate
        if half_residence > 0
        else demand
    )
    authority = _authority(window)
    new_density = max(0.0, new.dirtied - old.dirtied) / max(1.0, new.lsn - old.lsn)
    load = state.load.see(
        ratio=sample.age_ratio,
        density=new_density,
        redo_rate=redo_rate,
        flush_rate=flush_rate,
        elapsed=elapsed,
    )
    state = replace(state, density=density, load=load)
    state = _follow_device(state, flush_rate, authority, elapsed)
    limited = authority < LIMITED_AUTHORITY
    state = _follow_bursts(state, redo_rate, demand, elapsed, limited=limited)
    state = _follow_checkpoints(state, redo_rate, slope, elapsed)
    return state, Estimate(
        modified_age=age,
        checkpoint_age=float(sample.checkpoint_age),
        age_ratio=sample.age_ratio,
        age_slope=slope,
        redo_rate=redo_rate,
        row_rate=(new.rows - old.rows) / seconds,
        flush_rate=flush_rate,
        sync_rate=(new.synced - old.synced) / seconds,
        lru_rate=(new.lru - old.lru) / seconds,
        demand=demand,
        demand_ahead=ahead,
        demand_density=density,
        ledger=state.ledger.covers(sample.lsn_oldest),
        combining_exponent=load.combining_exponent,
        new_density=new_density,
        flush_response=load.flush_response(redo_rate=redo_rate, flush_rate=flush_rate),
        sustained_capacity=state.sustained,
        authority=authority,
        burstiness=_burstiness(state),
        burst_bytes=state.burst_bytes,
        checkpoint_lag=FLUSH_ORDER_LAG + state.checkpoint_seconds * state.rate_mean,
        seconds_to_sync=_seconds_to(sample.sync_point - age, fast_slope),
        seconds_to_stall=_seconds_to(sample.stall_point - FLUSH_ORDER_LAG - age, fast_slope),
    )


def _since(window: tuple[Point, ...], seconds: float) -> Point:
    """Return the newest point at least so old, or the oldest there is."""
    end = window[-1].at
    for point in reversed(window):
        if end - point.at >= seconds - 0.2:
            return point
    return window[0]


def _slope(window: tuple[Point, ...]) -> float:
    """Return the least-squares growth of the modified age, bytes/s."""
    origin = window[-1].at
    count = len(window)
    mean_t = sum(p.at - origin for p in window) / count
    mean_a = sum(p.lsn - p.oldest for p in window) / count
    spread = sum((p.at - origin - mean_t) ** 2 for p in window)
    if spread <= 0:
        return 0.0
    return sum((p.at - origin - mean_t) * (p.lsn - p.oldest - mean_a) for p in window) / spread


def _tail_density(state: EstimatorState, sample: Sample, *, pages: int, tail: int) -> float:
    """Return dirty pages per redo byte at the tail: from the ledger, else from what flushing it took."""
    span = sample.flush_limit / 16
    if state.ledger.covers(sample.lsn_oldest) and sample.modified_age > span:
        return pages_ahead(state, sample, span) / span
    if tail > sample.flush_limit / 200 and pages > 0:
        return pages / tail
    if state.density > 0:
        return state.density
    return sample.pages_dirty / sample.modified_age if sample.modified_age > 0 else 0.0


def _authority(window: tuple[Point, ...]) -> float:
    """Return pages flushed per page asked for over the window; 1 when next to nothing was asked."""
    asked = sum(p.requested for p in window[1:]) * (window[-1].at - window[0].at) / max(1, len(window) - 1)
    flushed = window[-1].flushed - window[0].flushed
    if asked < 50:  # noqa: PLR2004 - below this the ratio is noise
        return 1.0
    return min(1.5, flushed / asked)


def _follow_checkpoints(
    state: EstimatorState, redo_rate: float, slope: float, elapsed: float
) -> EstimatorState:
    """Keep the longest time that the checkpoint was behind, fading; an age on the move says nothing."""
    if redo_rate <= 0.0 or abs(slope) > STEADY_SHARE * redo_rate:
        return state
    behind = max(p.checkpoint_age - (p.lsn - p.oldest) for p in state.window) - FLUSH_ORDER_LAG
    seconds = min(LAG_MEMORY_SECONDS, max(0.0, behind / max(redo_rate, state.rate_mean)))
    kept = state.checkpoint_seconds
    fading = kept + (seconds - kept) * min(1.0, elapsed / LAG_MEMORY_SECONDS)
    return replace(state, checkpoint_seconds=max(seconds, fading))


def _follow_device(
    state: EstimatorState, flush_rate: float, authority: float, elapsed: float
) -> EstimatorState:
    """Learn D where the device was the limit; forget it slowly where it was not."""
    sustained = state.sustained
    if authority < LIMITED_AUTHORITY and flush_rate > 0:
        weight = min(1.0, elapsed / RATE_SECONDS)
        sustained = flush_rate if sustained is None else sustained + weight * (flush_rate - sustained)
    elif sustained is not None:
        forgotten = math.exp(min(elapsed, CAPACITY_MEMORY_SECONDS) / CAPACITY_MEMORY_SECONDS)
        sustained = max(sustained * forgotten, flush_rate)
    return replace(state, sustained=sustained)


def _follow_bursts(
    state: EstimatorState, redo_rate: float, demand: float, elapsed: float, *, limited: bool
) -> EstimatorState:
    """Sum up the redo beyond the device while the device is the limit; keep the largest, fading over hours.

    An age that M lets grow is no burst, however dear its tail.
    """
    excess = 0.0
    if limited and state.sustained is not None and demand > 0:
        excess = max(0.0, state.excess + redo_rate * (1.0 - state.sustained / demand) * elapsed)
    faded = state.burst_bytes * math.exp(-elapsed / BURST_MEMORY_SECONDS)
    seen = min(RATE_MEMORY_SECONDS, state.rate_seconds + elapsed)
    weight = min(1.0, elapsed / seen)
    return replace(
        state,
        excess=excess,
        burst_bytes=max(excess, faded),
        rate_seconds=seen,
        rate_mean=state.rate_mean + weight * (redo_rate - state.rate_mean),
        rate_square=state.rate_square + weight * (redo_rate**2 - state.rate_square),
    )


def _burstiness(state: EstimatorState) -> float:
    variance = max(0.0, state.rate_square - state.rate_mean**2)
    return math.sqrt(variance) / state.rate_mean if state.rate_mean > 0 else 0.0


def _seconds_to(distance: float, slope: float) -> float | None:
    """Return the time until a distance is used up; None when it grows or stays."""
    if distance <= 0:
        return 0.0
    return distance / slope if slope > 0 else None
