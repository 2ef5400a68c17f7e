"""What the server showed under the values of one side, and whether it did worse under ours."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator

from msgspec import Struct

from policies.suggestions import distance
from policies.types import Context

LEAST, MOST = 10, 60
"""Blocks of each side that a comparison needs, and that a mean stands for at most: it forgets older ones."""

ERRORS = 5.0
"""Standard errors that a difference has to have: it is looked at every minute, of as few as ten blocks."""

ROWS, PAGES, STARVED, WAITS = 0.02, 0.05, 0.01, 1.0
"""What is worse: fewer rows, more pages by this share; more starved time by this part of it; waits, 1/s."""

NEAR = 0.5
"""Distance within which two loads are of a kind."""


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
    """What one side showed under one kind of load.

    Attributes:
        rows: row changes/s.
        pages: pages dirtied, which at rest is those written, for each row change.
        starved: share of the time in which hardly any rows came through.
        waits: waits for a free page, 1/s.
        beyond: share of the time in which the age was where none may be: sync flushing, or above the limit.
        concurrency: writing statements under way; 0 where the server does not show it.
    """

    rows: Mean = Mean()
    pages: Mean = Mean()
    starved: Mean = Mean()
    waits: Mean = Mean()
    beyond: Mean = Mean()
    concurrency: Mean = Mean()


def alike(one: Context, other: Context) -> bool:
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
    length = f"{ours.rows.count} minutes of InnoBrim's values, {baseline.rows.count} of the server's own"
    before, after = baseline.concurrency, ours.concurrency
    if min(before.mean, after.mean, baseline.rows.mean) > 0.0:
        kept = min(1.0, after.mean / before.mean)
        lost = 1.0 - ours.rows.mean / baseline.rows.mean / kept
        noise = math.hypot(*(_relative(one) for one in (baseline.rows, ours.rows, before, after)))
        if lost > max(part * ROWS, errors * noise if errors else 0.0):
            figures = f"{ours.rows.mean:.0f} row changes/s in place of {baseline.rows.mean:.0f}"
            yield f"{figures}, with as many statements under way ({length})"
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
            yield f"{new.mean:.3g} {what} in place of {old.mean:.3g} ({length})"


def _relative(mean: Mean) -> float:
    return mean.error / mean.mean
