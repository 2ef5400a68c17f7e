"""What a simulated server did in counted seconds, and the cells that hold it against the older figures."""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Sequence
from typing import Protocol

from msgspec import Struct

from lab.bench.statistics import percentile
from tuner.core.window import list_flushed
from tuner.records import Sample


class Counted(Struct, frozen=True):
    """What the plant did in the counted seconds.

    Attributes:
        mean: commits/s.
        p5: 5th percentile of the commits in one second.
        lowest: fewest commits in one second.
        deviation: standard deviation of the commits in one second.
        age: mean checkpoint age over the age that it is compared with.
        pages: flush-list pages/s.
        sync: sync-flushed pages/s.
    """

    mean: float
    p5: float
    lowest: float
    deviation: float
    age: float
    pages: float
    sync: float


def counted(window: Sequence[Sample], *, limit: float) -> Counted:
    """Return what readings a second apart amount to.

    Args:
        window: two readings or more; the first one is where counting begins.
        limit: the age that the checkpoint age is told as a share of, bytes.
    """
    first, last = window[0], window[-1]
    rates = [float(after.commits - before.commits) for before, after in itertools.pairwise(window)]
    return Counted(
        mean=statistics.fmean(rates),
        p5=percentile(rates, 5),
        lowest=min(rates),
        deviation=statistics.pstdev(rates),
        age=statistics.fmean(sample.checkpoint_age for sample in window[1:]) / limit,
        pages=(list_flushed(last) - list_flushed(first)) / len(rates),
        sync=(last.pages_sync - first.pages_sync) / len(rates),
    )


class Commits(Protocol):
    """Commits/s of one setting, simulated or measured."""

    @property
    def mean(self) -> float: ...
    @property
    def p5(self) -> float: ...
    @property
    def lowest(self) -> float: ...
    @property
    def deviation(self) -> float: ...


def commit_cells(found: Commits, row: Commits) -> str:
    """Return the cells of a table about commits/s: plant / measured, and the plant's error in the mean."""
    return (
        f"| {found.mean:.0f} / {row.mean:.0f} | {found.mean / row.mean - 1:+.1%} "
        f"| {found.p5:.0f} / {row.p5:.0f} | {found.lowest:.0f} / {row.lowest:.0f} "
        f"| {found.deviation:.0f} / {row.deviation:.0f} "
    )
