"""Reckons what was saved: the pages that the settings found would have written, less those that we did.

A minute at a time, for the same redo: ``saved = dirtied * (factor - 1)`` with the pages that became dirty,
each of which is written once, and ``factor = (x / x0) ** b``, where x is the age ratio of that minute and x0
the one at which the settings found would rest. Where the server was seen under these with such a load, the
pages for each row change say the factor, and with it the b that counts between the two ages. A trial under
such a load says it better, where it says it more surely than the model.

All that our values brought about counts, emergencies, parks and drains too, also where it is a loss. The
errors of all minutes are taken for one and the same error and are added up: bounds rather too wide.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from msgspec.structs import replace

from tuner.core.baseline.guard import LEAST, Side
from tuner.core.estimate.load import PRIOR_ERROR
from tuner.core.estimate.window import all_flushed
from tuner.core.laws import law_of
from tuner.core.savings.ledger import Block, Savings, said
from tuner.core.savings.tried import MOST, Tried, tried
from tuner.core.setpoint.resting import LEAST_RATIO, baseline_law, heeded_from, resting_ratio
from tuner.core.state import SAME_START_SECONDS, State
from tuner.core.trials.proof import Running
from tuner.records import Estimate, Event, HoldCode, Sample
from tuner.settings import Mode

BLOCK_SECONDS = 60.0
LONGEST_SECONDS = 600.0  # A block with readings farther apart is not counted
WEEK = 7 * 86_400.0

ERRORS = 2.0  # Standard errors from the likeliest to each bound
RESTING_ERROR = 0.2  # Standard error of ln(x0), where no baseline was seen
SEEN_ERROR = 0.05  # Of the pages for each row change that were seen: two loads of a kind are not the same
WAY_ERROR = 0.08  # Of b as the load tells it: on its way an age makes other pages dirty than at rest
APART = 0.2  # Difference of ln(age) from which on what was seen tells a b
DRIFT = 0.05  # What was known of b is off by so much more after a day


class _Minute(NamedTuple):
    """A block that ended: seconds, bytes, rows, pages, and the mean age ratio."""

    seconds: float
    redo: int
    rows: int
    flushed: int
    dirtied: int
    ratio: float


class _Factor(NamedTuple):
    """Pages that the settings found would write for each of ours, as a logarithm; and the b behind it."""

    log: float
    error: float
    exponent: float
    exponent_error: float


def update(state: State, sample: Sample | None) -> tuple[State, list[Event]]:
    """Take in the tick that was just decided, and say once a week what was saved."""
    if sample is None:
        return state, []
    savings, counts = state.savings, _counts(state, sample)
    block = savings.block
    if block is not None and not _goes_on(block, sample):
        block = None
    if block is None:
        block = _begun(sample) if counts else None
        return replace(state, savings=replace(savings, block=block)), []
    ratio = max(LEAST_RATIO, sample.age_ratio)
    block = replace(
        block,
        last=sample.monotonic,
        readings=block.readings + 1,
        log_ratios=block.log_ratios + math.log(ratio),
    )
    if counts and sample.monotonic - block.at < BLOCK_SECONDS:
        return replace(state, savings=replace(savings, block=block)), []
    total = _with(state, sample, block)
    following = _begun(sample) if counts else None
    state = replace(state, savings=replace(savings, total=total, block=following))
    if total.since == 0.0 or sample.wall - max(total.since, total.told) < WEEK:
        return state, []
    event = Event(code="saved", message=said(total, page_size=state.facts.page_size))
    told = replace(total, told=sample.wall)
    return replace(state, savings=replace(savings, total=told, block=following)), [event]


def taught(state: State, running: Running) -> State:
    """Take in what a trial against the baseline showed that just ended."""
    last, savings = state.estimator.last, state.savings
    if last is None:
        return state
    found = tried(running, server=_server(state), flush_limit=float(last.flush_limit))
    if found is None:
        return state
    return replace(state, savings=replace(savings, tried=(*savings.tried, found)[-MOST:]))


def _counts(state: State, sample: Sample) -> bool:
    """Tell whether values of ours are in force: not those found, and not another's."""
    originals = state.originals
    if state.mode is not Mode.ACTIVE or originals is None or sample.degraded:
        return False
    found = sample.capacity == originals.capacity and not state.low_water.ours
    return not found and all(hold.code is not HoldCode.FOREIGN_CHANGE for hold in state.holds)


def _begun(sample: Sample) -> Block:
    return Block(
        at=sample.monotonic,
        uptime=sample.uptime,
        lsn=sample.lsn_current,
        rows=sample.row_changes,
        flushed=all_flushed(sample),
        dirty=sample.pages_dirty,
        last=sample.monotonic,
    )


def _goes_on(block: Block, sample: Sample) -> bool:
    """Tell whether a reading's counters are those of the block's start of mysqld, and near enough."""
    elapsed = sample.monotonic - block.at
    same_start = abs(sample.uptime - block.uptime - elapsed) <= SAME_START_SECONDS
    back = (
        sample.lsn_current < block.lsn
        or sample.row_changes < block.rows
        or all_flushed(sample) < block.flushed
    )
    return same_start and not back and 0.0 < sample.monotonic - block.last <= LONGEST_SECONDS


def _with(state: State, sample: Sample, block: Block) -> Savings:
    """Return the ledger with the block that ends; one without load adds its time."""
    flushed = all_flushed(sample) - block.flushed
    minute = _Minute(
        seconds=sample.monotonic - block.at,
        redo=sample.lsn_current - block.lsn,
        rows=sample.row_changes - block.rows,
        flushed=flushed,
        dirtied=flushed + sample.pages_dirty - block.dirty,
        ratio=math.exp(block.log_ratios / block.readings),
    )
    total = state.savings.total
    total = replace(
        total,
        since=total.since or sample.wall - minute.seconds,
        seconds=total.seconds + minute.seconds,
        error=min(PRIOR_ERROR, math.hypot(total.error, DRIFT * math.sqrt(minute.seconds / 86_400.0))),
    )
    if state.estimate is None or min(minute.redo, minute.dirtied) <= 0:
        return total
    found = _found(state, sample, state.estimate, minute)
    margin = ERRORS * found.error
    least, likely, most = (minute.dirtied * math.expm1(found.log + one) for one in (-margin, 0.0, margin))
    return replace(
        total,
        written=total.written + minute.dirtied,
        least=total.least + least,
        likely=total.likely + likely,
        most=total.most + most,
        exponent=found.exponent,
        error=found.exponent_error,
    )


def _found(state: State, sample: Sample, estimate: Estimate, minute: _Minute) -> _Factor:
    """Return the factor by what is known best: a trial, what was seen, or the model."""
    foretold = _foretold(state, sample, estimate, minute)
    shown = _tried(state, sample, estimate, minute)
    if shown is not None and shown.error <= foretold.error:
        return shown
    return _seen(state, sample, estimate, minute) or foretold


def _foretold(state: State, sample: Sample, estimate: Estimate, minute: _Minute) -> _Factor:
    """Return the factor by write combining, whose exponent is that of now or an earlier, better known one."""
    exponent, error = _exponent(state)
    away = _away(state, sample, estimate, minute, exponent)
    return _Factor(exponent * away, math.hypot(away * error, exponent * RESTING_ERROR), exponent, error)


def _seen(state: State, sample: Sample, estimate: Estimate, minute: _Minute) -> _Factor | None:
    """Return the factor by what such a load wrote under the settings found; None where that was not seen."""
    guard = state.baseline_guard
    if guard.side is not Side.OURS or guard.block is None or not guard.kinds or minute.rows <= 0:
        return None
    pages = guard.kinds[-1].baseline.pages
    if pages.count < LEAST or pages.mean <= 0.0:
        return None
    log = math.log(pages.mean * minute.rows / minute.dirtied)
    error = math.hypot(pages.error / pages.mean, SEEN_ERROR)
    return _by_server(state, sample, estimate, minute, log=log, error=error)


def _tried(state: State, sample: Sample, estimate: Estimate, minute: _Minute) -> _Factor | None:
    """Return the factor by the newest trial under such a load; None where there was none."""
    savings, originals = state.savings, state.originals
    if state.baseline_guard.side is not Side.OURS or originals is None or not savings.tried:
        return None
    if minute.rows <= 0:
        return None
    now = Tried(
        baseline=originals.capacity,
        server=_server(state),
        redo_rate=minute.redo / minute.seconds,
        row_bytes=minute.redo / minute.rows,
        age_ratio=minute.ratio,
        flush_limit=float(sample.flush_limit),
        log=0.0,
        error=0.0,
    )
    shown = next((one for one in reversed(savings.tried) if one.counts_for(now)), None)
    if shown is None:
        return None
    error = math.hypot(shown.error, SEEN_ERROR)
    return _by_server(state, sample, estimate, minute, log=shown.log, error=error)


def _server(state: State) -> str:
    return f"{state.facts.version} {state.facts.flush_law}"


def _by_server(
    state: State, sample: Sample, estimate: Estimate, minute: _Minute, *, log: float, error: float
) -> _Factor:
    """Return a factor that the server showed, with the b that it tells."""
    exponent, exponent_error = _exponent(state)
    away = _away(state, sample, estimate, minute, exponent)
    if abs(away) >= APART:
        exponent, exponent_error = log / away, error / abs(away)
    return _Factor(log, error, exponent, exponent_error)


def _exponent(state: State) -> tuple[float, float]:
    """Return b and its standard error, by the load of late or as it was known before."""
    total, (late, error) = state.savings.total, state.estimator.load.exponent_and_error()
    return min((late, math.hypot(error, WAY_ERROR)), (total.exponent, total.error), key=lambda one: one[1])


def _away(state: State, sample: Sample, estimate: Estimate, minute: _Minute, exponent: float) -> float:
    """Return ln(x / x0): how far the age was from where the settings found would hold it.

    No M holds an age below innodb_adaptive_flushing_lwm, so that one seen below it saves nothing.
    """
    operator, at = state.low_water.operators_beside_ours, math.log(minute.ratio)
    law, originals = baseline_law(law_of(state), operator), state.originals
    if not law.m_moves_age or originals is None:
        return at
    density = (1.0 - state.caution.lru_share) * minute.dirtied / minute.redo
    rests = resting_ratio(
        law,
        lambda log_ratio: density * math.exp(-exponent * (log_ratio - at)),
        pair=originals.capacity,
        redo_rate=minute.redo / minute.seconds,
        flush_rate=minute.flushed / minute.seconds,
        response=estimate.flush_response,
        heeded=heeded_from(sample, operator, combining_exponent=exponent),
    )
    unflushed = min(minute.ratio, sample.low_water_age / sample.flush_limit)
    return at - math.log(max(rests, unflushed))
