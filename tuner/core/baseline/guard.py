"""What the server shows under our values, held against what the same server showed under its own.

Minutes in which nothing else goes on are averaged for each kind of load and each side. The server is believed
over the model: where it does worse under our values than noise explains, the baseline shall come back.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator
from enum import StrEnum
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from policies.suggestions import distance, plausible
from policies.types import LoadContext
from tuner.core.estimate.window import all_flushed
from tuner.records import Capacity, Sample

LEAST, MOST = 10, 60
"""Blocks of each side that a comparison needs, and that a mean stands for at most: it forgets older ones."""

ERRORS = 5.0
"""Standard errors that a difference has to have: it is looked at every minute, of as few as ten blocks."""

ROWS, PAGES, STARVED, WAITS = 0.02, 0.05, 0.01, 1.0
"""What is worse: fewer rows, more pages by this share; more starved time by this part of it; waits, 1/s."""

NEAR = 0.5  # Distance within which two loads are of a kind


class Mean(Struct, frozen=True):
    """A mean that forgets, with its variance; of how many blocks."""

    count: int = 0
    mean: float = 0.0
    variance: float = 0.0

    def add(self, value: float) -> Mean:
        """Return it with a block more."""
        count = min(MOST, self.count + 1)
        away = value - self.mean
        step = away / count
        return Mean(count, self.mean + step, (1.0 - 1.0 / count) * (self.variance + away * step))

    @property
    def error(self) -> float:
        """Return the standard error of the mean."""
        return math.sqrt(self.variance / (self.count - 1)) if self.count > 1 else math.inf


class Shown(Struct, frozen=True):
    """What one side showed under one kind of load."""

    rows: Mean = Mean()  # row changes/s
    pages: Mean = Mean()  # pages dirtied, which at rest is those written, for each row change
    starved: Mean = Mean()  # share of the time in which hardly any rows came through
    waits: Mean = Mean()  # waits for a free page, 1/s
    # share of the time in which the age was where none may be: sync flushing, or above the limit
    beyond: Mean = Mean()
    concurrency: Mean = Mean()  # writing statements under way; 0 where the server does not show it


def alike(one: LoadContext, other: LoadContext) -> bool:
    """Tell whether two loads are of a kind: the rows for each are, and either the concurrency or the rate.

    A load that is offered keeps its rate whatever M does, and one that waits for the server its concurrency;
    the share of the LRU follows M in both. Where no concurrency is seen the rate may be what M made of it.
    """
    other = dataclasses.replace(other, lru_share=one.lru_share)
    if distance(one, dataclasses.replace(other, redo_rate=one.redo_rate)) <= NEAR:
        return True
    seen = one.concurrency > 0.0 and other.concurrency > 0.0
    return seen and distance(one, dataclasses.replace(other, concurrency=one.concurrency)) <= NEAR


def worse(baseline: Shown, ours: Shown, *, errors: float = ERRORS, part: float = 1.0) -> Iterator[str]:
    """Yield what is worse by so many standard errors, and by so large a part of what matters.

    Fewer rows are a loss where as many statements are under way: a load that asks for less has fewer of both.
    More pages, waits or starved time are none where more rows come through, nor are more pages than a
    baseline writes that keeps the age where it may not be.
    """
    length = f"{ours.rows.count} minutes with InnoBrim's values, {baseline.rows.count} with the originals"
    before, after = baseline.concurrency, ours.concurrency
    if min(before.mean, after.mean, baseline.rows.mean) > 0.0:
        kept = min(1.0, after.mean / before.mean)
        lost = 1.0 - ours.rows.mean / baseline.rows.mean / kept
        noise = math.hypot(*(_relative(one) for one in (baseline.rows, ours.rows, before, after)))
        if lost > max(part * ROWS, errors * noise if errors else 0.0):
            figures = f"{ours.rows.mean:.0f} row changes/s instead of {baseline.rows.mean:.0f}"
            yield f"{figures}, with as many statements running ({length})"
    if ours.rows.mean > (1.0 + ROWS) * baseline.rows.mean:
        return
    allowed = baseline.beyond.mean < STARVED
    for what, old, new, least in (
        ("pages for each row change", baseline.pages, ours.pages, PAGES * abs(baseline.pages.mean)),
        ("of the time with hardly a row change", baseline.starved, ours.starved, STARVED),
        (
            "waits for a free page a second",
            baseline.waits,
            ours.waits,
            max(WAITS, PAGES * baseline.waits.mean),
        ),
    ):
        noise = errors * math.hypot(old.error, new.error) if errors else 0.0
        if new.mean - old.mean > max(part * least, noise) and (allowed or old is not baseline.pages):
            yield f"{new.mean:.3g} {what} instead of {old.mean:.3g} ({length})"


def _relative(mean: Mean) -> float:
    return mean.error / mean.mean


BLOCK_SECONDS = 60.0
LEAST_SETTLING, LONGEST_SETTLING = 120.0, 1200.0
"""Time after a change of side, one residence time within these, from which on a block counts, seconds."""

IN_A_ROW = 3  # Blocks in a row at whose end our values have to be worse
KINDS = 6  # Kinds of load that are kept, those seen last
APART_SECONDS = 600.0  # A load that is of another kind for so long is another one

LONGEST_GAP = 10.5
PACE_SECONDS = 120.0
LONGEST_DIP = 60.0
"""Time with less than half of the mean rows of two minutes is starved where the rows come back so soon."""


class Side(StrEnum):
    """Whose values are in force: the server's own, ours, or another's that are not compared."""

    BASELINE = "baseline"
    OURS = "ours"
    NEITHER = "neither"


class Kind(Struct, frozen=True):
    """One kind of load: what it was like when first seen, what both sides showed, and losses in a row."""

    context: LoadContext
    baseline: Shown = Shown()
    ours: Shown = Shown()
    losses: int = 0


class Counters(Struct, frozen=True):
    """Where the counters stood as a block began."""

    at: float
    rows: int
    pages: int
    waits: int
    lsn: int
    timed: tuple[float, float] | None
    statements: tuple[int, int] | None


class Block(Struct, frozen=True):
    """A block under way: where it began, and its starved seconds and those beyond so far."""

    start: Counters
    starved: float = 0.0
    beyond: float = 0.0


class Returned(Struct, frozen=True):
    """The baseline is back because the server did worse under our values."""

    why: str  # what was worse, in words
    context: LoadContext  # under which load
    ours: Shown  # what our values showed
    again: Shown = Shown()  # what the baseline has shown since
    apart: float = 0.0  # how long the load has been another one, seconds


class BaselineGuard(Struct, frozen=True):
    """What is remembered."""

    at: float | None = None  # time of the last reading, monotonic seconds; None before the first
    side: Side = Side.NEITHER  # whose values were in force at it
    since: float = 0.0  # since when, monotonic seconds
    pace: float = 0.0  # row changes/s, mean of two minutes
    dip: float = 0.0  # how long they have been less than half of that, seconds
    # when the time that writing statements took was seen to change last, and what it was, seconds
    timed: tuple[float, float] | None = None
    block: Block | None = None  # under way; None without one
    pair: Capacity | None = None  # the baseline that the kinds know
    kinds: tuple[Kind, ...] = ()  # of load, the one seen last at the end
    returned: Returned | None = None  # set while the baseline is back for the guard

    def restarted(self) -> BaselineGuard:
        """Return what outlives a start of mysqld, whose settings and buffer pool are others now."""
        returned = self.returned
        return BaselineGuard(
            returned=None if returned is None else replace(returned, again=Shown(), apart=0.0)
        )

    def interrupted(self) -> BaselineGuard:
        """Return it where a time begins that nothing is known of: no block and no pace goes on across it."""
        return replace(self, at=None, timed=None, block=None)

    def forgiven(self) -> BaselineGuard:
        """Return it where our values shall be tried again: what they showed there is forgotten."""
        if self.returned is None:
            return self
        context = self.returned.context
        fresh = (
            replace(one, ours=Shown(), losses=0) if alike(one.context, context) else one for one in self.kinds
        )
        return replace(self, kinds=tuple(fresh), returned=None)

    def relearned(self) -> BaselineGuard:
        """Return it where the baseline shows no better after all: what it showed before is out of date."""
        if self.returned is None:
            return self
        context, again = self.returned.context, self.returned.again
        kinds = (replace(one, baseline=again) if alike(one.context, context) else one for one in self.kinds)
        return replace(self, kinds=tuple(kinds)).forgiven()


class BaselineTick(NamedTuple):
    """What one tick has to say."""

    now: float  # monotonic time, seconds
    sample: Sample  # the reading
    side: Side  # whose values are in force
    disturbed: bool  # something goes on that this block must not be counted with
    rows_now: float  # row changes/s of the last three seconds
    beyond: bool  # the server sync-flushes, or the age is above what is allowed
    settling: float  # one residence time, seconds


class Ended(NamedTuple):
    """A block that just ended: of which kind of load, and what is worse under our values; or empty."""

    kind: Kind
    loss: str = ""


def update(state: BaselineGuard, tick: BaselineTick) -> tuple[BaselineGuard, Ended | None]:
    """Return what is remembered with one reading more, and the block that ends with it."""
    now, sample = tick.now, tick.sample
    elapsed = 0.0 if state.at is None else max(0.0, now - state.at)
    gap = state.at is None or not 0.0 < elapsed <= LONGEST_GAP
    state, starved = _paced(state, tick, elapsed)
    if tick.side is not state.side:
        state = replace(state, side=tick.side, since=now, block=None)
    if tick.side is Side.BASELINE and state.pair != sample.capacity:
        others = tuple(replace(one, baseline=Shown(), losses=0) for one in state.kinds)
        state = replace(state, pair=sample.capacity, kinds=others, since=now, block=None)
    settled = now - state.since >= min(LONGEST_SETTLING, max(LEAST_SETTLING, tick.settling))
    if tick.disturbed or tick.side is Side.NEITHER or gap or not settled:
        return replace(state, block=None), None
    if state.block is None:
        return replace(state, block=Block(_counters(state, sample))), None
    block = replace(
        state.block,
        starved=state.block.starved + starved,
        beyond=state.block.beyond + (elapsed if tick.beyond else 0.0),
    )
    if sample.monotonic - block.start.at < BLOCK_SECONDS:
        return replace(state, block=block), None
    end = _counters(state, sample)
    state = replace(state, block=Block(end))
    context = _context(block.start, end, sample)
    return (state, None) if context is None else _counted(state, block, end, context)


def no_better(returned: Returned) -> bool:
    """Tell whether the baseline, now that it is back, shows no better than our values did."""
    again, ours = returned.again, returned.ours
    enough = min(again.rows.count, ours.rows.count) >= LEAST
    return enough and not any(worse(again, ours, errors=0.0, part=0.5))


def _paced(state: BaselineGuard, tick: BaselineTick, elapsed: float) -> tuple[BaselineGuard, float]:
    """Follow the rows; return the starved seconds that ended with them."""
    sample, timed, starved = tick.sample, state.timed, 0.0
    if sample.write_time is not None and (timed is None or sample.write_time != timed[1]):
        timed = (sample.monotonic, sample.write_time)
    weight = min(1.0, elapsed / PACE_SECONDS) if state.pace > 0.0 else 1.0
    dip = state.dip + elapsed
    if tick.rows_now >= 0.5 * state.pace:
        dip, starved = 0.0, state.dip if state.dip <= LONGEST_DIP else 0.0
    pace = state.pace + weight * (tick.rows_now - state.pace)
    return replace(state, at=tick.now, pace=pace, dip=dip, timed=timed), starved


def _counters(state: BaselineGuard, sample: Sample) -> Counters:
    selects, changes = sample.select_statements, sample.change_statements
    return Counters(
        at=sample.monotonic,
        rows=sample.row_changes,
        pages=all_flushed(sample) + sample.pages_dirty,
        waits=sample.free_page_waits,
        lsn=sample.lsn_current,
        timed=state.timed,
        statements=None if selects is None or changes is None else (selects, changes),
    )


def _context(start: Counters, end: Counters, sample: Sample) -> LoadContext | None:
    """Return what the load of a block was like; None where it says nothing of one."""
    seconds, rows, redo = end.at - start.at, end.rows - start.rows, end.lsn - start.lsn
    if min(rows, redo) <= 0 or end.waits < start.waits:
        return None
    concurrency, reads = 0.0, None
    if start.timed is not None and end.timed is not None and end.timed[0] > start.timed[0]:
        concurrency = max(0.0, (end.timed[1] - start.timed[1]) / (end.timed[0] - start.timed[0]))
    if start.statements is not None and end.statements is not None:
        selects, changes = (new - old for old, new in zip(start.statements, end.statements, strict=True))
        reads = selects / (selects + changes) if min(selects, changes) >= 0 < selects + changes else None
    context = LoadContext(redo / seconds, redo / rows, 0.0, concurrency, float(sample.flush_limit), reads)
    return context if plausible(context) else None


def _counted(
    state: BaselineGuard, block: Block, end: Counters, context: LoadContext
) -> tuple[BaselineGuard, Ended]:
    kind = next((one for one in reversed(state.kinds) if alike(one.context, context)), Kind(context))
    others = tuple(one for one in state.kinds if one is not kind)
    ours, loss = state.side is Side.OURS, ""
    shown = _with(kind.ours if ours else kind.baseline, block, end, context)
    kind = replace(kind, ours=shown) if ours else replace(kind, baseline=shown)
    if ours:
        lost = _compared(kind)
        kind = replace(kind, losses=kind.losses + 1 if lost else 0)
        loss = lost if kind.losses >= IN_A_ROW else ""
    returned = state.returned
    if returned is not None and not ours:
        if alike(returned.context, context):
            returned = replace(returned, again=_with(returned.again, block, end, context), apart=0.0)
        else:
            returned = replace(returned, apart=returned.apart + end.at - block.start.at)
    return replace(state, kinds=(*others, kind)[-KINDS:], returned=returned), Ended(kind, loss)


def _with(shown: Shown, block: Block, end: Counters, context: LoadContext) -> Shown:
    start = block.start
    seconds, rows = end.at - start.at, end.rows - start.rows
    return Shown(
        rows=shown.rows.add(rows / seconds),
        pages=shown.pages.add((end.pages - start.pages) / rows),
        starved=shown.starved.add(min(1.0, block.starved / seconds)),
        waits=shown.waits.add((end.waits - start.waits) / seconds),
        beyond=shown.beyond.add(min(1.0, block.beyond / seconds)),
        concurrency=shown.concurrency.add(context.concurrency),
    )


def _compared(kind: Kind) -> str:
    """Return what is worse under our values, in words with figures; empty where nothing surely is."""
    baseline, ours = kind.baseline, kind.ours
    if min(baseline.rows.count, ours.rows.count) < LEAST:
        return ""
    return next(worse(baseline, ours), "")
