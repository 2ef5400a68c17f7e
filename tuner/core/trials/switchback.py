"""A trial as a switch-back: analytic and suggested in turn, block after block, and what the difference is.

Each suggested block is compared with the mean of the analytic ones before and after it, which takes out a
load that grows or falls evenly. Neighbouring differences share a block, which the error allows for; that the
sums are looked at more than once is paid for in the quantiles of Student's t.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from statistics import fmean, stdev

from msgspec import Struct
from msgspec.structs import replace

from policies.types import LoadContext, Suggestion

LOOKS: Mapping[int, float] = {4: 4.857, 8: 3.128, 16: 2.694}
"""Suggested blocks after which the difference is looked at, and the quantile: 0.025 / 3, one-sided, n - 1."""

MOST_BLOCKS = 2 * max(LOOKS) + 1  # Blocks that a trial takes at most

SHARED = 4.0 / 3.0
"""Differences that share an analytic block correlate by 1/6: so much larger is the variance of their mean."""

UNEVEN = 0.75  # Share by which the longest block is longer than the shortest

GOLDEN = (math.sqrt(5.0) - 1.0) / 2.0

EQUAL = 0.003  # Row changes/s are the same where the bounds of their difference, as ln, lie within this
ALIKE = 0.35  # Two neighbouring blocks whose ln R differs by more are of different loads


class Block(Struct, frozen=True):
    """The counted part of one block."""

    rows: float  # ln of the row changes/s
    pages: float  # ln of the row changes for each page dirtied, which at rest is each page flushed
    redo_rate: float  # R, bytes/s
    seconds: float  # how long was counted


class Counters(Struct, frozen=True):
    """Where a block's counters stood as its counted part began: seconds, rows, pages, bytes.

    Pages are those flushed and those that are dirty still: an age that has not come to rest does not count.
    """

    at: float
    rows: int
    pages: int
    lsn: int


class Running(Struct, frozen=True):
    """A trial under way."""

    number: int  # of the trial
    suggestion: Suggestion  # what is tried
    context: LoadContext  # the load as it began
    retest: bool  # the suggestion is in use, and has to show again that it is better
    begun: float  # monotonic time, seconds
    block_begun: float  # when the present block began, the same
    block_seconds: float  # how long a block is at least
    settling_seconds: float  # first part of such a block, which is not counted
    # counters as the counted part of the present block began; None while it settles
    start: Counters | None = None
    blocks: tuple[Block, ...] = ()  # those that ended; even places analytic, odd ones suggested

    @property
    def suggested(self) -> bool:
        """Tell whether the present block is a suggested one."""
        return len(self.blocks) % 2 == 1

    @property
    def compared(self) -> bool:
        """Tell whether each tried block has an analytic one before and after it, and there is one."""
        return len(self.blocks) > 1 and self.suggested

    @property
    def longer(self) -> float:
        """Return the factor on the present block's seconds: equal ones would beat with a load's own period.

        Something that the load does every ten minutes would fall on every second block of five. The golden
        section spreads the factors evenly, and no trial has those of the one before.
        """
        return 1.0 + UNEVEN * ((GOLDEN * (len(self.blocks) + MOST_BLOCKS * self.number)) % 1.0)


class Difference(Struct, frozen=True):
    """Suggested over analytic, in ln: mean, standard error, bounds of confidence; whether of the pages."""

    mean: float
    error: float
    low: float
    high: float
    by_pages: bool = False

    def __str__(self) -> str:
        bounds = f"{100 * self.low:+.2f} to {100 * self.high:+.2f}"
        what = "row changes for each page" if self.by_pages else "row changes/s"
        return f"{100 * self.mean:+.2f} % {what} ({bounds})"


def judged(blocks: tuple[Block, ...], quantile: float) -> Difference:
    """Return the difference that counts: row changes/s where the load saturates the server, pages elsewhere.

    A load that is offered at a rate of its own shows by row changes/s that are surely the same: then the
    fewest pages for each are the better.
    """
    rows = difference([one.rows for one in blocks], quantile)
    if rows.low < -EQUAL or rows.high > EQUAL:
        return rows
    return replace(difference([one.pages for one in blocks], quantile), by_pages=True)


def differences(merits: Sequence[float]) -> list[float]:
    """Return each suggested block over the mean of its neighbours, where it has both."""
    return [merits[i] - (merits[i - 1] + merits[i + 1]) / 2.0 for i in range(1, len(merits) - 1, 2)]


def difference(merits: Sequence[float], quantile: float) -> Difference:
    """Return the mean difference; with a single one nothing is known of its error.

    Args:
        merits: of the blocks that ended, at least three.
        quantile: of Student's t, for the bounds.
    """
    deltas = differences(merits)
    mean = fmean(deltas)
    if len(deltas) == 1:
        return Difference(mean, math.inf, -math.inf, math.inf)
    error = stdev(deltas) * math.sqrt(SHARED / len(deltas))
    return Difference(mean, error, mean - quantile * error, mean + quantile * error)


def same_load(blocks: tuple[Block, ...]) -> bool:
    """Tell whether the newest block may be compared with the one before."""
    if len(blocks) < 2:  # noqa: PLR2004 - one has nothing to be compared with
        return True
    return abs(math.log(blocks[-1].redo_rate / blocks[-2].redo_rate)) <= ALIKE


def ended(running: Running, now: Counters) -> Block | None:
    """Return the block that ends with these counters; None where nothing was written or flushed in it."""
    return None if running.start is None else counted(running.start, now)


def counted(start: Counters, now: Counters) -> Block | None:
    """Return the block between two counts; None where nothing was written or flushed in it."""
    if now.at <= start.at:
        return None
    rows, pages, redo = now.rows - start.rows, now.pages - start.pages, now.lsn - start.lsn
    if min(rows, pages, redo) <= 0:
        return None
    seconds = now.at - start.at
    return Block(math.log(rows / seconds), math.log(rows / pages), redo / seconds, seconds)
