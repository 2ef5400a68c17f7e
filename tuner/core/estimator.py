"""From counters to rates: what load and device look like at this tick.

Every rate is a difference of exact counters over a window of a few seconds, so that nothing
but the window's length smooths it.
"""

from __future__ import annotations

import math
from enum import StrEnum

from msgspec import Struct
from msgspec.structs import replace

from policies.setpoint import FLUSH_ORDER_LAG, SAWTOOTH_SECONDS
from tuner.core import window as readings
from tuner.core.ledger import Ledger
from tuner.core.load import Load
from tuner.core.recovery import Recovery
from tuner.core.trends import Seen, Trends
from tuner.core.window import RATE_SECONDS, Window
from tuner.records import Estimate, Sample

FAST_SECONDS = 3.0
"""Window of the slope that the emergency looks at."""

CAPPED_SHARE = 0.97
"""The law asks for all that M allows when it asks for this share of M."""


SOME_NEIGHBOURS = 0.05
"""Neighbours for each page flushed in its turn, below which they make no difference to the law."""

LEAST_DUE = 0.01
"""Share of the ledger that is believed in at least, so that it stays one to divide by."""


class Quality(StrEnum):
    """What a reading is good for."""

    GOOD = "good"
    FIRST = "first"
    REVERSED = "reversed"
    OTHERWISE = "otherwise"


class EstimatorState(Struct, frozen=True):
    """All that is remembered of earlier readings.

    Attributes:
        window: the readings of the last seconds.
        ledger: pages by the redo position at which they were dirtied.
        due: share of the ledger's pages that are flushed still when the tail passes them.
        beside: pages flushed as neighbours that may be in the list still, where the server leaves them there.
        last: the newest reading; None before the first.
        density: dirty pages per redo byte at the tail.
        load: what is known of write combining.
        trends: what minutes and hours have shown.
        recovery: model of crash recovery and shutdown.
    """

    window: Window = ()
    ledger: Ledger = Ledger()
    due: float = 1.0
    beside: float = 0.0
    last: Sample | None = None
    density: float = 0.0
    load: Load = Load()
    trends: Trends = Trends()
    recovery: Recovery = Recovery()


def update(
    state: EstimatorState,
    sample: Sample,
    *,
    learns: bool = True,
    flush_order_lag: int = FLUSH_ORDER_LAG,
    sawtooth_seconds: float = SAWTOOTH_SECONDS,
    stops_early: bool = False,
    lists_written: bool = False,
) -> tuple[EstimatorState, Estimate | None, Quality]:
    """Take one reading in.

    Args:
        state: after the reading before.
        sample: the new one.
        learns: False where something else goes on than the load: rates, ages and ledger go on, and
            what is known of load and device stays as it is.
        flush_order_lag: redo that this server's checkpoints stay behind the oldest modification, bytes.
        sawtooth_seconds: time between two of them that is reckoned with.
        stops_early: a batch of this server goes no further than a second's redo.
        lists_written: this server counts pages as dirty for a time after they were written as neighbours.

    Returns:
        The next state, the estimate (None for a first or reversed reading), and what the
        reading was good for. A reversed counter starts the window afresh, and so do counters that
        went off or came back; what was learned about write combining stays.
    """
    last = state.last
    if last is None or sample.identity != last.identity:
        return _restart(state, sample), None, Quality.FIRST
    if sample.degraded != last.degraded:
        return _restart(state, sample), None, Quality.OTHERWISE
    elapsed = sample.monotonic - last.monotonic
    if elapsed <= 0 or _reversed(sample, last):
        return _restart(state, sample), None, Quality.REVERSED
    flushed = readings.all_flushed(sample) - readings.all_flushed(last)
    dirtied = sample.pages_dirty - last.pages_dirty + flushed
    beside, gone = _left(state, sample, last, dirtied) if lists_written else (0.0, 0.0)
    ledger = state.ledger.without(gone).add(
        lsn=sample.lsn_current, new_pages=dirtied, oldest=sample.lsn_oldest, flush_limit=sample.flush_limit
    )
    most = state.density * sample.lsn_average_rate if stops_early else math.inf
    window = readings.extend(state.window, sample, newly_dirtied=dirtied, most=most)
    due = _due(ledger, window, sample)
    state = replace(state, window=window, ledger=ledger, due=due, beside=beside, last=sample)
    if len(window) <= 1:
        return state, None, Quality.FIRST
    estimated = _estimate(
        state,
        sample,
        elapsed,
        learns=learns,
        flush_order_lag=flush_order_lag,
        sawtooth_seconds=sawtooth_seconds,
    )
    return *estimated, Quality.GOOD


def pages_ahead(state: EstimatorState, sample: Sample, span: float) -> float:
    """Return the dirty pages in the oldest ``span`` bytes, from the ledger where it reaches."""
    if span <= 0:
        return 0.0
    if not state.ledger.covers(sample.lsn_oldest):
        return state.density * span
    return state.due * state.ledger.between(sample.lsn_oldest, sample.lsn_oldest + span)


def age_ahead(
    state: EstimatorState, sample: Sample, found: Estimate, seconds: float, *, flushed_share: float = 1.0
) -> float:
    """Return the modified age that the present M leads to, bytes, walking the tail through the ledger.

    ``flushed_share`` is what is flushed of what is asked for where batches end early, 0 to 1.
    Without a ledger that reaches the tail the present slope is drawn out. What is flushed beyond all that is
    dirty now is dirtied meanwhile.
    """
    if not state.ledger.covers(sample.lsn_oldest):
        return max(0.0, found.modified_age + found.age_slope * seconds)
    capped = sample.flush_requested >= CAPPED_SHARE * sample.io_capacity_max
    full = float(sample.io_capacity_max) * min(flushed_share, found.authority)
    rate = full if capped else min(full, found.flush_rate)
    pages, written = rate * seconds, found.redo_rate * seconds
    tail = state.ledger.after(sample.lsn_oldest, pages / state.due)
    beyond = pages - state.due * state.ledger.between(sample.lsn_oldest, sample.lsn_current)
    if beyond > 0:
        tail += min(written, beyond / found.new_density) if found.new_density > 0 else written
    return max(0.0, sample.lsn_current + written - tail)


def _left(state: EstimatorState, sample: Sample, last: Sample, dirtied: int) -> tuple[float, float]:
    """Return the neighbours that may be in the list still, and how many have left it since the last reading.

    When such a page is written the list stays as long as it is, which looks like a page newly dirtied. That
    is taken back when the list gets shorter without a write: then the page was not changed again before the
    end of the list came to it.
    """
    beside = state.beside + sample.pages_neighbour - last.pages_neighbour
    gone = min(max(0.0, -float(dirtied)), max(0.0, beside))
    return min(beside - gone, float(sample.pages_dirty)), gone


def _due(ledger: Ledger, window: Window, sample: Sample) -> float:
    """Return the share of the ledger's pages that are still to be flushed.

    Neighbours and the LRU's pages leave before their turn, and may enter again at once: after a bulk load
    into few extents the ledger has several times the pages that are dirty. Where neighbours go all the time
    that is no saving: each page flushed in its turn takes so many more with it.
    """
    known = ledger.between(sample.lsn_oldest, sample.lsn_current)
    if known <= 0.0:
        return 1.0
    ahead = sample.pages_dirty * (1.0 + readings.neighbours(window))
    return min(1.0, max(LEAST_DUE, ahead / known))


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
        ledger=Ledger().add(
            lsn=sample.lsn_current, new_pages=0.0, oldest=sample.lsn_oldest, flush_limit=sample.flush_limit
        ),
        due=1.0,
        beside=0.0,
        last=sample,
        density=0.0,
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
    tail = new.oldest - old.oldest
    age = float(sample.modified_age)
    slope, fast_slope = readings.slope(window), readings.slope_since(window, FAST_SECONDS)
    filled = age
    if sample.degraded:
        filled = float(sample.checkpoint_age)
        fast_slope = readings.checkpoint_slope_since(window, max(FAST_SECONDS, sawtooth_seconds))
    density = _tail_density(state, sample, pages=new.flushed - old.flushed, tail=tail)
    demand = redo_rate * density
    half_residence = 0.5 * age
    ahead = (
        pages_ahead(state, sample, half_residence) / half_residence * redo_rate
        if half_residence > 0
        else demand
    )
    authority = readings.authority(window)
    new_density = max(0.0, new.dirtied - old.dirtied) / max(1.0, new.lsn - old.lsn)
    load, trends = state.load, state.trends
    if learns and not sample.degraded:
        load = load.see(
            ratio=sample.age_ratio,
            density=new_density,
            redo_rate=redo_rate,
            flush_rate=flush_rate,
            elapsed=elapsed,
        )
    if learns:
        seen = Seen(
            redo_rate=redo_rate,
            flush_rate=flush_rate,
            demand=demand,
            authority=authority,
            age=age,
            elapsed=elapsed,
            wall=sample.wall,
            need_share=_need_share(window, sample, flush_rate),
        )
        trends = trends.follow(seen, window)
    recovery = state.recovery.see(sample, flush_rate=flush_rate, limited=trends.measured, elapsed=elapsed)
    state = replace(state, density=density, load=load, trends=trends, recovery=recovery)
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
        demand_density=density,
        ledger=state.ledger.covers(sample.lsn_oldest),
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


def _seconds_to(distance: float, slope: float) -> float | None:
    """Return the time until a distance is used up; None when it grows or stays."""
    if distance <= 0:
        return 0.0
    return distance / slope if slope > 0 else None
