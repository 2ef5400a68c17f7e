"""From counters to rates: what load and device look like at this tick.

Every rate is a difference of exact counters over a window of a few seconds, so that nothing
but the window's length smooths it.
"""

from __future__ import annotations

import math

from msgspec import Struct
from msgspec.structs import replace

from policies.flushlaw import LEGACY, FlushLaw
from policies.setpoint import FLUSH_ORDER_LAG, SAWTOOTH_SECONDS
from tuner.core.estimate import window as readings
from tuner.core.estimate.load import Load
from tuner.core.estimate.recovery import Recovery
from tuner.core.estimate.tail import Tail
from tuner.core.estimate.trends import Rates, Trends
from tuner.core.estimate.window import RATE_SECONDS, Window
from tuner.records import Estimate, Sample

FAST_SECONDS = 3.0  # Window of the slope that the emergency looks at

SOME_NEIGHBOURS = 0.05
"""Neighbours for each page flushed in its turn, below which they make no difference to the law."""


class EstimatorState(Struct, frozen=True):
    """All that is remembered of earlier readings."""

    window: Window = ()  # the readings of the last seconds
    tail: Tail = Tail()  # the pages that are flushed next
    last: Sample | None = None  # the newest reading; None before the first
    load: Load = Load()  # what is known of write combining
    trends: Trends = Trends()  # what minutes and hours have shown
    recovery: Recovery = Recovery()  # model of crash recovery and shutdown
    learned_at: int = 0  # flush limit that the load's age ratios are over, bytes; 0 before the first


def update(
    state: EstimatorState,
    sample: Sample,
    *,
    interrupted: bool = False,
    learns: bool = True,
    law: FlushLaw = LEGACY,
    flush_order_lag: int = FLUSH_ORDER_LAG,
    sawtooth_seconds: float = SAWTOOTH_SECONDS,
) -> tuple[EstimatorState, Estimate | None, bool]:
    """Take one reading in.

    Args:
        interrupted: how long it is since the one before is not known: it is taken for the first.
        learns: False where something else goes on than the load: rates, ages and ledger go on, and
            what is known of load and device stays as it is.
        flush_order_lag: redo that this server's checkpoints stay behind the oldest modification, bytes.
        sawtooth_seconds: time between two of them that is reckoned with.

    Returns:
        The next state, the estimate, which is None where rates would span two servers or starts, or counters
        that went off or came back, and whether a counter went back. What was learned about write combining
        stays.
    """
    last = state.last
    if last is None or sample.identity != last.identity:
        return _restart(state, sample), None, False
    if interrupted:
        trends = state.trends.interrupted()
        return replace(_restart(state, sample), trends=trends), None, False
    if sample.degraded != last.degraded:
        return _restart(state, sample), None, False
    elapsed = sample.monotonic - last.monotonic
    if elapsed <= 0 or _reversed(sample, last):
        return _restart(state, sample), None, True
    flushed = readings.all_flushed(sample) - readings.all_flushed(last)
    dirtied = sample.pages_dirty - last.pages_dirty + flushed
    most = state.tail.density * sample.lsn_average_rate if law.stops_early else math.inf
    window = readings.extend(state.window, sample, newly_dirtied=dirtied, most=most)
    tail = state.tail.updated(sample, last, dirtied=dirtied, lists_written=law.lists_written)
    state = replace(state, window=window, tail=tail.reckon_due(sample, window), last=sample)
    if len(window) <= 1:
        return state, None, False
    estimated = _estimate(
        state,
        sample,
        elapsed,
        learns=learns,
        flush_order_lag=flush_order_lag,
        sawtooth_seconds=sawtooth_seconds,
    )
    return *estimated, False


def _need_share(window: Window, sample: Sample, flush_rate: float) -> float | None:
    """Return the pages due for their age over those flushed; 1 without neighbours, None where nobody says.

    A neighbour is flushed with a page whose turn it is, however young it is itself.
    """
    if sample.flush_by_age <= 0 or flush_rate <= 0.0:
        return None
    if readings.neighbours(window) < SOME_NEIGHBOURS:
        return 1.0
    return min(1.0, sample.flush_by_age / flush_rate)


def _restart(state: EstimatorState, sample: Sample) -> EstimatorState:
    return replace(
        state,
        window=(readings.point_of(sample, dirtied=0.0),),
        tail=Tail.at(sample),
        last=sample,
        trends=state.trends.restarted(),
    )


def _reversed(sample: Sample, last: Sample) -> bool:
    return (
        sample.lsn_current < last.lsn_current
        or sample.uptime < last.uptime
        or sample.row_changes < last.row_changes
        or readings.all_flushed(sample) < readings.all_flushed(last)
    )


def _estimate(
    state: EstimatorState,
    sample: Sample,
    elapsed: float,
    *,
    learns: bool,
    flush_order_lag: int,
    sawtooth_seconds: float,
) -> tuple[EstimatorState, Estimate]:
    window = state.window
    new, old = window[-1], readings.since(window, RATE_SECONDS)
    seconds = max(new.at - old.at, 1e-3)
    redo_rate = (new.lsn - old.lsn) / seconds
    flush_rate = (new.flushed - old.flushed) / seconds
    age = float(sample.modified_age)
    slope, fast_slope = readings.slope(window), readings.slope_since(window, FAST_SECONDS)
    filled = age
    if sample.degraded:
        filled = float(sample.checkpoint_age)
        fast_slope = readings.checkpoint_slope_since(window, max(FAST_SECONDS, sawtooth_seconds))
    pages, passed = new.flushed - old.flushed, new.oldest - old.oldest
    tail = state.tail.reckon_density(sample, pages=pages, passed=passed)
    demand = redo_rate * tail.density
    half_residence = 0.5 * age
    ahead = (
        state.tail.pages_ahead(sample, half_residence) / half_residence * redo_rate
        if half_residence > 0
        else demand
    )
    authority = readings.authority(window)
    new_density = max(0.0, new.dirtied - old.dirtied) / max(1.0, new.lsn - old.lsn)
    load, trends = state.load, state.trends
    learned_at = state.learned_at
    if learns and not sample.degraded:
        if learned_at and sample.flush_limit != learned_at:  # a resize: an age is another ratio now
            load = load.shifted(math.log(learned_at / sample.flush_limit))
        learned_at = sample.flush_limit
        load = load.see(
            ratio=sample.age_ratio,
            density=new_density,
            redo_rate=redo_rate,
            flush_rate=flush_rate,
            elapsed=elapsed,
        )
    if learns:
        rates = Rates(
            redo_rate=redo_rate,
            flush_rate=flush_rate,
            demand=demand,
            authority=authority,
            age=age,
            elapsed=elapsed,
            wall=sample.wall,
            need_share=_need_share(window, sample, flush_rate),
        )
        trends = trends.updated(rates, window)
    recovery = state.recovery.see(sample, flush_rate=flush_rate, limited=trends.measured, elapsed=elapsed)
    state = replace(state, tail=tail, load=load, trends=trends, recovery=recovery, learned_at=learned_at)
    return state, Estimate(
        modified_age=age,
        checkpoint_age=float(sample.checkpoint_age),
        age_ratio=sample.age_ratio,
        age_slope=slope,
        redo_rate=redo_rate,
        redo_rate_now=readings.redo_rate_since(window, FAST_SECONDS),
        row_rate=(new.rows - old.rows) / seconds,
        flush_rate=flush_rate,
        sync_rate=(new.synced - old.synced) / seconds,
        lru_rate=(new.lru - old.lru) / seconds,
        demand=demand,
        demand_ahead=ahead,
        demand_density=tail.density,
        ledger=tail.covers(sample),
        combining_exponent=load.combining_exponent,
        new_density=new_density,
        flush_response=load.flush_response(redo_rate=redo_rate, flush_rate=flush_rate),
        sustained_capacity=trends.sustained,
        authority=authority,
        burstiness=trends.burstiness,
        burst_bytes=trends.bursts.expected(sample.wall),
        checkpoint_lag=trends.checkpoint_lag(flush_order_lag),
        seconds_to_sync=_seconds_to(sample.sync_point - filled, fast_slope),
        seconds_to_stall=_seconds_to(sample.stall_point - flush_order_lag - filled, fast_slope),
        recovery_seconds=recovery.recovery_seconds(sample),
        shutdown_seconds=recovery.shutdown_seconds(sample),
    )


def _seconds_to(distance: float, slope: float) -> float | None:
    """Return the time until a distance is used up; None when it grows or stays."""
    if distance <= 0:
        return 0.0
    return distance / slope if slope > 0 else None
