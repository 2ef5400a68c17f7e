"""What a trial of InnoBrim's values against the baseline came to."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from msgspec import Meta, Struct

from tuner.records.server import Capacity


class TrialSide(StrEnum):
    """Whose values a block of a trial has in force: the originals, or those that the loop chooses."""

    BASELINE = "baseline"
    OURS = "ours"


class TrialVerdict(StrEnum):
    """What the bounds of a trial show of InnoBrim's values."""

    BETTER = "better"
    WORSE = "worse"
    NO_DIFFERENCE = "no_difference"
    TOO_FEW = "too_few"


class TrialEnd(StrEnum):
    """Why a trial is over."""

    TIME = "time"
    STOPPED = "stopped"
    EMERGENCY = "emergency"
    HELD = "held"
    OVERRULED = "overruled"  # of early journals: one of the next six
    DRAIN = "drain"
    OVERRIDE = "override"
    RESTORE = "restore"
    ADVISORY = "advisory"
    LOW_WATER = "low_water"
    LIMITS = "limits"
    ORIGINALS = "originals"
    BASELINE_GUARD = "baseline_guard"
    RESTARTED = "restarted"
    OTHER_SERVER = "other_server"


class PairedRatio(Struct, frozen=True):
    """One figure of both sides, and ours over the baseline's with 95 % bounds: t on the pairs' log ratios."""

    baseline: Annotated[float, Meta(description="geometric mean of its blocks")]
    ours: Annotated[float, Meta(description="geometric mean of ours")]
    ratio: Annotated[float, Meta(description="ours over the baseline, geometric mean of the pairs")]
    low: Annotated[float, Meta(description="lower bound of the ratio")]
    high: Annotated[float, Meta(description="upper bound of the ratio")]


class TrialResult(Struct, frozen=True):
    """What a trial came to, or has come to so far; a figure is none before two pairs, or where unseen."""

    began: Annotated[float, Meta(description="when it began, Unix time")]
    baseline: Annotated[Capacity, Meta(description="the originals, which ours was compared with")]
    seed: Annotated[int, Meta(description="of the order of the blocks, drawn pair by pair")]
    verdict: TrialVerdict
    by: Annotated[str, Meta(description="field of this record that the verdict goes by; empty without one")]
    ended: Annotated[float | None, Meta(description="when it ended, Unix time; none while it goes on")] = None
    end: Annotated[TrialEnd | None, Meta(description="why it ended; none while it goes on")] = None
    pairs: Annotated[int, Meta(description="pairs of blocks that are counted")] = 0
    discarded: Annotated[int, Meta(description="pairs that something else spoilt")] = 0
    more_hours: Annotated[
        float | None,
        Meta(description="hours more that would show a difference of one per cent; none where one is shown"),
    ] = None
    commits: Annotated[PairedRatio | None, Meta(description="engine commits, 1/s")] = None
    row_changes: Annotated[PairedRatio | None, Meta(description="row changes, 1/s")] = None
    pages_per_row: Annotated[
        PairedRatio | None, Meta(description="pages dirtied, which at rest is those written, per row change")
    ] = None
    page_writes: Annotated[
        PairedRatio | None, Meta(description="pages that InnoDB wrote to the data files, pages/s")
    ] = None
    latency: Annotated[
        PairedRatio | None,
        Meta(description="mean time of a writing statement or commit, seconds; none where it is not shown"),
    ] = None


class TrialProgress(Struct, frozen=True):
    """How far a trial is; the last one's result where none is under way."""

    result: TrialResult
    running: Annotated[bool, Meta(description="it is under way")] = False
    side: Annotated[TrialSide, Meta(description="whose values the present block has")] = TrialSide.OURS
    counted: Annotated[bool, Meta(description="the block has settled, and is counted")] = False
    ends: Annotated[float | None, Meta(description="when its time is over, Unix time")] = None
    block_seconds: Annotated[float, Meta(description="how long a block lasts, its settling included")] = 0.0
    waits: Annotated[str, Meta(description="what it waits for; empty while it goes on")] = ""
    who: Annotated[str, Meta(description="who asked for it, with where from")] = ""
    room: Annotated[
        int, Meta(description="pairs that its time is expected to hold, counted ones included")
    ] = 0
