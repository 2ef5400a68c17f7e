"""An age that does not answer to M: noticed, left alone, and looked at again ever more seldom.

By the flush law the age grows with ``R * (1 - F / P)``. Where something else than the flush list's pages
decides, such as LRU flushing, it does not, and a loop that goes on moving M moves it for nothing, often by a
lot. So what the law foretells is held against what the age does. Where they differ twice in a row M goes to
the best setting that was seen meanwhile, the one that the server was found with among them, and rests there;
then it is tried again, each time after twice as long.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from tuner.records import Estimate, Sample

TELLING = 0.1  # Foretold move of the age that is held against what it does, share of the flush limit
ANSWER = 0.3  # Share of it that the age has to move by at least
CLEAR = 0.2  # F this share below P foretells that the age grows

FAR = 0.2
"""So far below the set-point an age that does not grow is judged: nearer to it is where it comes to rest."""

MISSES = 2  # Unanswered moves in a row after which M rests

FIRST_REST_SECONDS = 1200.0
LONGEST_REST_SECONDS = 4 * 3600.0

SHOWN_SECONDS = 20.0
"""Rows and waits count as those of a new M from so long after a large change to it on."""

KEPT = 16  # Settings that are remembered at most
LEAST_SECONDS = 30.0  # A setting that was seen for less says nothing

MEMORY_SECONDS = 1800.0
WIDTH = 0.2
"""Settings nearer to each other than this, in ln M, are one."""

AS_MANY = 0.03
"""Rows fewer by less than this share are as many; then it counts how even they come, and then the waits for
free pages."""

LONGEST_GAP = 10.0  # Between two readings no more time than this counts, seconds
LRU_DECIDES = 0.2  # Share of the LRU in the pages flushed from which on it is what decides


class Tried(Struct, frozen=True):
    """What one setting came to, averaged."""

    io_capacity_max: int  # pages/s
    seconds: float = 0.0  # time that the means stand for
    rows: float = 0.0  # row changes/s
    disturbance: float = 0.0  # how far R of three seconds is from that of ten, as a share of it
    waits: float = 0.0  # waits for a free page, 1/s


class Unanswered(Struct, frozen=True):
    """What is remembered."""

    at: float | None = None  # time of the last reading, monotonic seconds; None before the first
    waits: int = 0  # waits for a free page counted by then
    began: float = 0.0  # modified age when the move that is looked at began, bytes
    foretold: float = 0.0  # what it should have moved by since, bytes
    misses: int = 0  # unanswered moves in a row
    anchor: int = 0  # M that the one in force is near to, pages/s
    anchored_at: float = 0.0  # since when, monotonic seconds
    seen: tuple[Tried, ...] = ()  # settings and what they came to
    until: float | None = None  # end of the rest, monotonic seconds; None while there is none
    rest: float = 0.0  # how long the last rest was, seconds
    why: str = ""  # what decides in place of M, in words

    @property
    def best(self) -> int | None:
        """Return the M of the best setting that was seen, pages/s; None where none was seen long enough."""
        known = [one for one in self.seen if one.seconds >= LEAST_SECONDS]
        if not known:
            return None
        most = max(one.rows for one in known)
        good = [one for one in known if one.rows >= (1.0 - AS_MANY) * most]
        return min(good, key=lambda one: (round(one.disturbance, 1), one.waits)).io_capacity_max


class Circumstances(NamedTuple):
    """What the loop knows besides reading and estimate."""

    set_point: float  # f in force
    lru_share: float  # share of the LRU in the pages flushed, mean of minutes
    lru_rules: bool  # LRU flushing does nearly all of the writing
    counts: bool  # M is the policy's own choice, and the load goes on as it is


def update(
    state: Unanswered, sample: Sample, estimate: Estimate, circumstances: Circumstances, *, now: float
) -> Unanswered:
    """Return what is remembered with one reading more.

    Args:
        circumstances: what the loop knows besides.
    """
    elapsed = 0.0 if state.at is None else min(LONGEST_GAP, max(0.0, now - state.at))
    waits = max(0, sample.free_page_waits - state.waits) / elapsed if elapsed > 0.0 else 0.0
    state = replace(state, at=now, waits=sample.free_page_waits)
    if not circumstances.counts:
        return replace(state, began=estimate.modified_age, foretold=0.0)
    m = sample.capacity.gain
    if state.anchor == 0 or abs(math.log(m / state.anchor)) > WIDTH:
        state = replace(state, anchor=m, anchored_at=now)
    if now - state.anchored_at >= SHOWN_SECONDS:
        state = replace(state, seen=_with(state.seen, m, estimate, waits, elapsed))
    if state.until is None:
        return _judged(state, sample, estimate, circumstances, elapsed, now=now)
    if now < state.until:
        return state
    return replace(state, until=None, misses=MISSES - 1, foretold=0.0, began=estimate.modified_age)


def _judged(
    state: Unanswered,
    sample: Sample,
    estimate: Estimate,
    circumstances: Circumstances,
    elapsed: float,
    *,
    now: float,
) -> Unanswered:
    """Return it after holding what the law foretells against what the age does."""
    balance = 1.0 - estimate.flush_rate / estimate.demand if estimate.demand > 0.0 else 0.0
    fresh = replace(state, began=estimate.modified_age, foretold=0.0)
    if balance < CLEAR or estimate.age_ratio > circumstances.set_point - FAR:
        return replace(fresh, misses=0)
    foretold = state.foretold + estimate.redo_rate * balance * elapsed
    if not circumstances.lru_rules:
        if foretold < TELLING * sample.flush_limit:
            return replace(state, foretold=foretold)
        if estimate.modified_age - state.began >= ANSWER * foretold:
            return replace(fresh, misses=0, rest=0.0)
        if state.misses + 1 < MISSES:
            return replace(fresh, misses=state.misses + 1)
    rest = min(LONGEST_REST_SECONDS, max(FIRST_REST_SECONDS, 2.0 * state.rest))
    return replace(fresh, misses=0, until=now + rest, rest=rest, why=_why(circumstances.lru_share))


def _disturbance(estimate: Estimate) -> float:
    return abs(estimate.redo_rate_now / estimate.redo_rate - 1.0) if estimate.redo_rate > 0.0 else 0.0


def _why(lru_share: float) -> str:
    if lru_share >= LRU_DECIDES:
        return "the buffer pool is short of free pages, so LRU flushing decides the age"
    return "the age does not move as the flush law predicts: innodb_io_capacity_max does not decide it"


def _with(
    seen: tuple[Tried, ...], io_capacity_max: int, estimate: Estimate, waits: float, elapsed: float
) -> tuple[Tried, ...]:
    away = [(abs(math.log(one.io_capacity_max / io_capacity_max)), place) for place, one in enumerate(seen)]
    nearest = min(away, default=(WIDTH, -1))
    known = seen[nearest[1]] if nearest[0] < WIDTH else Tried(io_capacity_max)
    seconds = min(MEMORY_SECONDS, known.seconds + elapsed)
    weight = elapsed / seconds if seconds > 0.0 else 1.0
    fresh = replace(
        known,
        seconds=seconds,
        rows=known.rows + weight * (estimate.row_rate - known.rows),
        disturbance=known.disturbance + weight * (_disturbance(estimate) - known.disturbance),
        waits=known.waits + weight * (waits - known.waits),
    )
    return (*(one for one in seen if one is not known), fresh)[-KEPT:]
