"""A trace's readings as one row of values each, rates worked out from the server's counters."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from tuner.core.estimate.window import all_flushed
from tuner.journal.items import Advice
from tuner.records import Sample, TickRecord

LATENCY_SECONDS = 12.0
"""How long a latency counts: a server is asked for it every ten seconds (``tuner.servers.surroundings``)."""

GAP_SECONDS = 2.5
"""A step between readings longer than so many intervals has no rate: nobody knows what went on in it."""

COLUMNS = (
    "row_changes",
    "commits",
    "write_latency",
    "modified_age",
    "checkpoint_age",
    "flush_limit",
    "max_checkpoint_age",
    "redo_capacity",
    "age_ratio",
    "set_point",
    "io_capacity",
    "io_capacity_max",
    "pages_flushed",
    "sync_pages",
    "lru_pages",
    "redo_rate",
    "dirty_share",
    "dirty_limit",
)
"""What a trace has for each tick: bytes, pages/s, 1/s, seconds, percent; rates since the reading before."""


class Rates:
    """Turns counters into rates, from one reading to the next.

    Attributes:
        advice: the last that was taken for news; kept here for whoever notes decisions.
        stall_waits: writers that waited for redo space so far.
        sync_pages: pages flushed by sync flushing so far; None while no reading showed it.
    """

    def __init__(self) -> None:
        self._zero: float | None = None
        self._last: Sample | None = None
        self._steps: list[float] = []
        self._latency: tuple[float, float] | None = None
        self.advice: Advice | None = None
        self.stall_waits = 0
        self.sync_pages: int | None = None

    def zero(self, record: TickRecord) -> float:
        """Return the first tick's time."""
        if self._zero is None:
            self._zero = record.tick.now
        return self._zero

    def values(self, record: TickRecord) -> Iterator[float | None]:
        """Return a tick's values in the order of ``COLUMNS``."""
        sample = record.tick.reading
        if not isinstance(sample, Sample):
            self._last = self._latency = None
            return itertools.repeat(None, len(COLUMNS))
        last, self._last = self._last, sample
        step = self._step(last, sample)
        if step is not None and last is not None:
            self.stall_waits += max(0, sample.redo_space_waits - last.redo_space_waits)
            if not sample.degraded:
                self.sync_pages = (self.sync_pages or 0) + max(0, sample.pages_sync - last.pages_sync)

        def rate(now: float, before: float) -> float | None:
            return None if step is None or now < before else (now - before) / step

        known = last or sample
        flushed, before = all_flushed(sample), all_flushed(known)
        found = (
            rate(sample.row_changes, known.row_changes),
            rate(sample.commits, known.commits),
            self._latency_at(sample, last),
            None if sample.degraded else float(sample.modified_age),
            float(sample.checkpoint_age),
            float(sample.flush_limit),
            float(sample.stall_point),
            float(sample.redo_capacity),
            sample.age_ratio,
            record.decision.set_point,
            float(sample.io_capacity),
            float(sample.io_capacity_max),
            rate(flushed, before),
            None if sample.degraded else rate(sample.pages_sync, known.pages_sync),
            None if sample.degraded else rate(sample.pages_lru, known.pages_lru),
            rate(sample.lsn_current, known.lsn_current),
            100.0 * sample.pages_dirty / sample.pages_total if sample.pages_total else None,
            sample.dirty_limit,
        )
        return iter(found)

    def _latency_at(self, sample: Sample, last: Sample | None) -> float | None:
        """Return the mean time of a writing statement, until the server has been asked for it again."""
        found = _latency(sample, last)
        if found is not None:
            self._latency = (sample.monotonic, found)
        if self._latency is None or sample.monotonic - self._latency[0] > LATENCY_SECONDS:
            return None
        return self._latency[1]

    def _step(self, last: Sample | None, sample: Sample) -> float | None:
        """Return the seconds since the last reading; None where it says nothing of what went on."""
        if last is None or sample.identity != last.identity or sample.uptime < last.uptime:
            return None
        if sample.degraded != last.degraded:
            return None  # other counters: docs/degraded.md
        step = sample.monotonic - last.monotonic
        usual = sorted(self._steps)[len(self._steps) // 2] if self._steps else step
        self._steps = [*self._steps[-20:], step]
        return step if 0 < step <= GAP_SECONDS * usual else None


def _latency(sample: Sample, last: Sample | None) -> float | None:
    """Return the mean time of a writing statement since the last reading, seconds; None where unknown."""
    if last is None or last.write_time is None or last.write_statements is None:
        return None
    if sample.write_time is None or sample.write_statements is None:
        return None
    statements = sample.write_statements - last.write_statements
    return (sample.write_time - last.write_time) / statements if statements > 0 else None
