"""Which M makes the server flush at a rate, from what its flush law remembers just now.

A round of the page cleaner asks for ``n = min(M, (PCT + F' + min(p, 2 M)) / 3)``: PCT is what the law asks
for at this age, in proportion to M; F' the mean rate of the flushing so far, and p the pages that the mean
redo rate needs (``Adaptive_flush::page_recommendation`` in MySQL 9.7, storage/innobase/buf/buf0flu.cc). How
many terms there are, and how far p counts, is the law's. Both means are renewed every
``innodb_flushing_avg_loops`` seconds by half. So they are far above the need for minutes after a bulk load,
when M alone bounds n, and still at the old rate when the load has changed. The server exports n, PCT and p:
F' is what is left.
"""

from __future__ import annotations

from msgspec import Struct

from policies.flushlaw import FlushLaw
from tuner.core.tail import CAPPED_SHARE
from tuner.core.window import Window, idled
from tuner.records import Estimate, Sample

REQUEST_SECONDS = 5.0
"""Rounds of this time are averaged: one round's request follows the unrest of the load."""

ANSWER_SECONDS = 1.5
"""A round that began before a write still asks by the old M."""


class Cleaner(Struct, frozen=True):
    """What the last rounds show of the page cleaner.

    Attributes:
        asked: n, pages/s.
        mean_rate: F', pages/s; at the cap, where n shows only the least it can be, that or the rate now.
        by_age: p, pages/s.
    """

    asked: float
    mean_rate: float
    by_age: float

    def capacity_for(self, law: FlushLaw, *, flush_rate: float, ratio: float) -> float:
        """Return the M, pages/s, with which the server flushes at a rate; never less than that rate.

        Args:
            law: the server's.
            flush_rate: wanted, pages/s.
            ratio: age ratio.
        """
        if law.alone and ratio >= 1.0:
            return max(flush_rate, law.asking(ratio, flush_rate))
        rest = max(0.0, law.terms * flush_rate - self.mean_rate)
        need_is_capped = rest / (1.0 / law.asking(ratio, 1.0) + law.need_cap)
        if law.need_cap * need_is_capped <= self.by_age:
            return max(flush_rate, need_is_capped)
        return max(flush_rate, law.asking(ratio, max(0.0, rest - self.by_age)))


def cleaner(
    law: FlushLaw, window: Window, sample: Sample, found: Estimate, *, wrote: float | None
) -> Cleaner:
    """Return what the page cleaner does; as if at rest where the server does not say, or is idle.

    Args:
        law: the server's.
        window: the readings of the last seconds.
        sample: the newest of them.
        found: rates.
        wrote: time of the last write, seconds; None before the first.
    """
    if idled(window) or sample.degraded or sample.flush_requested <= 0:
        return Cleaner(asked=found.flush_rate, mean_rate=found.flush_rate, by_age=found.demand)
    since = sample.monotonic - REQUEST_SECONDS
    if wrote is not None:
        since = max(since, wrote + ANSWER_SECONDS)
    rounds = [point.requested for point in window if point.at > since] or [sample.flush_requested]
    asked, highest = sum(rounds) / len(rounds), float(sample.io_capacity_max)
    by_law = sample.io_capacity * sample.flush_percentage / 100.0
    mean_rate = law.terms * asked - by_law - min(float(sample.flush_by_age), law.need_cap * highest)
    if asked >= CAPPED_SHARE * highest:
        mean_rate = max(mean_rate, found.flush_rate)
    return Cleaner(asked=asked, mean_rate=max(0.0, mean_rate), by_age=float(sample.flush_by_age))
