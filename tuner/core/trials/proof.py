"""Trials of our values against the baseline, for a person: pairs of blocks, one of each side, order drawn.

It is the switch-back engine's blocks and counters, with the originals in place of a suggestion. The order
within each pair is drawn from the seed, and the time is what a person gave it, so that the figures are looked
at once. Whatever spoils a block discards its pair, which is begun again.
"""

from __future__ import annotations

import hashlib
import math

from msgspec import Struct
from msgspec.structs import replace

from tuner.core.estimate.window import all_flushed
from tuner.core.trials import switchback
from tuner.core.trials.engine import block_of, counters
from tuner.core.trials.paired import MEASURES, Figures, Pair, judged, more_hours, paired
from tuner.core.trials.switchback import Counters
from tuner.records import (
    Capacity,
    Estimate,
    Sample,
    TrialEnd,
    TrialProgress,
    TrialResult,
    TrialSide,
    TrialVerdict,
)

SHORTEST_BLOCK = 60.0  # Seconds
LONGEST_BLOCK = 7200.0  # Seconds; where a block takes longer, nothing is tried
FEWEST_PAIRS = 3  # Pairs that the time asked for has to hold
MOST_PAIRS = 300  # A longer time has longer blocks: each pair is kept, and costs two ways

RESTS = "a pair was discarded, and the next one begins a block's time later"

ENDED = {
    TrialEnd.TIME: "its time was over",
    TrialEnd.STOPPED: "a person stopped it",
    TrialEnd.EMERGENCY: "an emergency ended it",
    TrialEnd.HELD: "a hold ended it",
    TrialEnd.OVERRULED: "something else that was asked for ended it",
    TrialEnd.DRAIN: "a drain ended it",
    TrialEnd.OVERRIDE: "an override ended it",
    TrialEnd.RESTORE: "a restore ended it",
    TrialEnd.ADVISORY: "advisory mode ended it",
    TrialEnd.LOW_WATER: "loop.low_water_mark ended it",
    TrialEnd.LIMITS: "it ended as the limits left the originals out",
    TrialEnd.ORIGINALS: "it ended as the originals have changed",
    TrialEnd.BASELINE_GUARD: "InnoBrim's own baseline guard ended it",
    TrialEnd.RESTARTED: "it ended as mysqld was restarted",
    TrialEnd.OTHER_SERVER: "it ended as another server answered",
}
"""Why a trial is over, in words."""


class Mark(Struct, frozen=True):
    """Where the counters stood as the counted part of a block began."""

    counters: Counters
    commits: int
    flushed: int
    statements: int | None
    seconds: float | None


class Running(Struct, frozen=True):
    """A trial under way; wall times are Unix seconds, the others monotonic."""

    seed: int  # of the order
    who: str  # who asked for it
    began: float  # when, wall time
    ends: float  # when its time is over, wall time
    baseline: Capacity  # the originals
    block_seconds: float  # how long a block lasts
    settling_seconds: float  # its first part, which is not counted
    pairs: tuple[Pair, ...] = ()  # those that are whole
    discarded: int = 0  # pairs that something spoilt
    first: Figures | None = None  # of the present pair, once its first block has ended
    ours: Capacity | None = None  # what the loop had in force as its last block ended
    since: float | None = None  # since when the present block has its values in force; None on the way
    way_begun: float = 0.0  # when the present block's way there began
    start: Mark | None = None  # None while the block settles
    waits: str = ""  # what it waits for; empty while it goes on
    rests_until: float = 0.0  # when the next pair may begin after one that was discarded
    way_seconds: float = 0.0  # how long a way to the originals takes: as reckoned, then as the last one took

    @property
    def pair_seconds(self) -> float:
        """Return how long a pair takes, its way to the originals included; the way back is one write."""
        return 2.0 * self.block_seconds + self.way_seconds

    @property
    def room(self) -> int:
        """Return how many pairs its time is expected to hold, those that are counted among them."""
        whole = int((self.ends - self.began) / max(1.0, self.pair_seconds))
        return max(len(self.pairs), whole - self.discarded)

    @property
    def side(self) -> TrialSide:
        """Return whose values the present block has; ours while the trial waits."""
        drawn = len(self.pairs) + self.discarded
        toss = hashlib.blake2b(f"{self.seed} {drawn}".encode(), digest_size=1).digest()[0] % 2 == 0
        baseline = not self.waits and toss is (self.first is None)
        return TrialSide.BASELINE if baseline else TrialSide.OURS


class Proof(Struct, frozen=True):
    """The slice of state: the trial under way, and what the last one came to."""

    running: Running | None = None
    result: TrialResult | None = None
    back: Capacity | None = None  # ours, which is still to come back after a trial that ended at the baseline

    @property
    def at_baseline(self) -> bool:
        """Tell whether a block of the baseline is under way, or the way there."""
        return self.running is not None and self.running.side is TrialSide.BASELINE

    def asks_for(self, in_force: Capacity) -> Capacity | None:
        """Return the pair that the present block needs in force; None where the loop chooses for itself."""
        running = self.running
        if running is None:
            return self.back
        if running.side is TrialSide.BASELINE:
            return running.baseline
        return running.ours if in_force == running.baseline else None


def blocks_of(
    estimate: Estimate, *, set_point: float, flush_limit: float, seconds: float
) -> tuple[float, float]:
    """Return how long a block of a trial of so many seconds lasts, and settles, seconds.

    The age is taken to be at the set-point at least.
    """
    age = max(estimate.modified_age, set_point * flush_limit)
    block, settling = block_of(replace(estimate, modified_age=round(age)), shortest=SHORTEST_BLOCK)
    return max(block, seconds / (2 * MOST_PAIRS)), settling


def least_seconds(running: Running) -> float:
    """Return the shortest time that holds enough pairs of such a trial, and half as much again, seconds."""
    return math.ceil(FEWEST_PAIRS * running.pair_seconds * 1.5 / 60.0) * 60.0


def spoilt(running: Running, why: str, *, now: float) -> Running:
    """Return the trial with its present pair discarded, and what it waits for until the next.

    Whatever spoils pairs again and again costs no more ways to the originals than one in a block's time.
    """
    begun = running.first is not None or running.start is not None
    rests = running.rests_until if running.waits else now + running.block_seconds
    return replace(
        running,
        discarded=running.discarded + begun,
        first=None,
        since=None,
        start=None,
        way_begun=now,
        waits=why,
        rests_until=rests,
    )


def advanced(running: Running, sample: Sample, *, now: float) -> Running:
    """Take a reading in: wait for the values, settle, count, and end a block."""
    if running.waits:
        running = replace(running, waits="", way_begun=now)
    baseline = running.side is TrialSide.BASELINE
    if running.since is None:
        if (sample.capacity == running.baseline) is not baseline:
            return running
        way = now - running.way_begun if baseline else running.way_seconds
        return replace(running, since=now, way_seconds=way)
    if baseline and sample.capacity != running.baseline:
        return spoilt(running, "", now=now)
    lasted = now - running.since
    if running.start is None:
        return replace(running, start=_mark(sample)) if lasted >= running.settling_seconds else running
    return (
        _block_ended(running, running.start, sample, now=now) if lasted >= running.block_seconds else running
    )


def _block_ended(running: Running, start: Mark, sample: Sample, *, now: float) -> Running:
    found, baseline = (
        _figures(start, _mark(sample), age_ratio=sample.age_ratio),
        running.side is TrialSide.BASELINE,
    )
    if found is None:
        return spoilt(running, "", now=now)
    kept = running.ours if baseline else sample.capacity
    ended = replace(running, since=None, start=None, way_begun=now, ours=kept)
    if running.first is None:
        return replace(ended, first=found)
    pair = Pair(running.first, found) if not baseline else Pair(found, running.first)
    return replace(ended, pairs=(*running.pairs, pair), first=None)


def result_of(running: Running, *, end: TrialEnd | None = None, ended: float | None = None) -> TrialResult:
    """Return what a trial has come to."""
    found = {figure: paired(running.pairs, figure) for figure in MEASURES}
    verdict, by = judged(found)
    one, more = (found[by] if by else None), None
    if verdict is TrialVerdict.NO_DIFFERENCE and one is not None:
        more = more_hours(one, len(running.pairs), running.pair_seconds)
    return TrialResult(
        began=running.began,
        baseline=running.baseline,
        seed=running.seed,
        verdict=verdict,
        by=by,
        ended=ended,
        end=end,
        pairs=len(running.pairs),
        discarded=running.discarded,
        more_hours=more,
        **found,
    )


def progress(proof: Proof) -> TrialProgress | None:
    """Return how far the trial is, or what the last one came to; None before the first."""
    running = proof.running
    if running is None:
        return None if proof.result is None else TrialProgress(proof.result)
    return TrialProgress(
        result=result_of(running),
        running=True,
        side=running.side,
        counted=running.start is not None,
        ends=running.ends,
        block_seconds=running.block_seconds,
        waits=running.waits,
        who=running.who,
        room=running.room,
    )


def _mark(sample: Sample) -> Mark:
    return Mark(
        counters(sample), sample.commits, all_flushed(sample), sample.write_statements, sample.write_time
    )


def _figures(start: Mark, end: Mark, *, age_ratio: float) -> Figures | None:
    """Return the figures between two marks; None where nothing was written, or counters began anew."""
    block = switchback.counted(start.counters, end.counters)
    if block is None or end.commits < start.commits or end.flushed < start.flushed:
        return None
    latency = None
    if None not in (start.statements, end.statements, start.seconds, end.seconds):
        count, seconds = end.statements - start.statements, end.seconds - start.seconds  # type: ignore[operator]  # none is None
        latency = seconds / count if count > 0 and seconds > 0.0 else None
    return Figures(
        commits=(end.commits - start.commits) / block.seconds,
        row_changes=math.exp(block.rows),
        pages_per_row=math.exp(-block.pages),
        page_writes=(end.flushed - start.flushed) / block.seconds,
        latency=latency,
        redo_rate=block.redo_rate,
        age_ratio=age_ratio,
    )
