"""How long a crash recovery and a shutdown would take from here, by priors and by what was measured.

Recovery (storage/innobase/log/log0recv.cc, MySQL 8.0 to 9.7): ``recv_recovery_begin`` reads and parses
all redo from the checkpoint LSN on; then the pages it names are read and the records applied, page by
page (``recv_read_in_area``, ``recv_recover_page``), pages among them that had been flushed since the
checkpoint, because only reading one shows its LSN. A recovery of 8.0.31 took no less time than a shutdown
from the same ages, so none is taken to be faster than the device writes::

    recovery = factor * (START + checkpoint age / SCAN_RATE + pages / READ_RATE)
    pages = dirty pages * checkpoint age / modified age

Shutdown (buf/buf0flu.cc, ``SRV_SHUTDOWN_FLUSH_PHASE``; innodb_fast_shutdown 0 or 1): all dirty pages are
flushed, as fast as the device takes them.
"""

from __future__ import annotations

import math

from msgspec import Struct
from msgspec.structs import replace

from policies.setpoint import FLUSH_ORDER_LAG
from tuner.records import Sample

START_SECONDS = 2.0  # Opening files and doublewrite buffer before the first redo is read
SCAN_RATE = 100.0 * 1024 * 1024  # Redo read and parsed, by one thread, bytes/s: what a modest volume streams

READ_RATE = 1000.0
"""Pages read and applied, pages/s: a random read each, on a volume of little more IOPS. A device that was
seen to write more pages than that is taken to read as many, and none more than it is known to write."""

FLUSH_RATE = 500.0
"""Pages flushed at shutdown where nothing is known yet, pages/s: modest for a volume of 1000 IOPS,
since the doublewrite buffer writes every page twice."""

SLOWEST_FLUSH_RATE = 100.0
"""No device is believed to be slower, pages/s: one disk of 7200 revolutions a minute does as much."""

FASTEST_MEMORY_SECONDS = 6 * 3600.0
DENSITY_SECONDS = 60.0

LEAST_GROWTH = 0.1
"""Dirty pages are taken to grow at least with this power of the age, however well the load combines."""

LONGEST_UNSEEN = 60.0
"""A server out of sight for longer before it started again may have written much meanwhile, seconds."""

LEAST_FACTOR, MOST_FACTOR = 0.05, 20.0  # What was measured is not believed to differ more from the prior
WEIGHT = 0.5  # Share of a new measurement in the factor, in its logarithm


class Recovery(Struct, frozen=True):
    """What is known about recovery and shutdown of one server."""

    factor: float = 1.0  # crash recoveries measured over what the priors predicted, averaged
    measured_on: str = ""  # server version of these recoveries; empty before the first
    pages_per_byte: float = 0.0  # dirty pages per byte of modified age, mean of the last minute
    seen_at: float = 0.0  # modified age that this was seen at, mean of the last minute, bytes
    fastest: float = 0.0  # highest flush rate since the device was the limit, fading, pages/s
    # the flush rate when the device was the limit last, pages/s; 0 before the first time
    limited: float = 0.0
    # what a recovery of which the duration is not known yet was predicted to take with a factor of 1,
    # seconds; None without one
    awaited: float | None = None
    share: float = 0.0  # part of that which redo and pages made, and not the start alone

    def see(self, sample: Sample, *, flush_rate: float, limited: float, elapsed: float) -> Recovery:
        """Return it with one reading more.

        Args:
            limited: D when the device was the limit last, pages/s; 0 before the first time.
        """
        age = max(sample.modified_age, FLUSH_ORDER_LAG)
        density = sample.pages_dirty / age
        weight = min(1.0, elapsed / DENSITY_SECONDS) if self.pages_per_byte > 0.0 else 1.0
        fading = self.fastest * math.exp(-elapsed / FASTEST_MEMORY_SECONDS)
        kept = fading if limited == self.limited else 0.0
        return replace(
            self,
            pages_per_byte=self.pages_per_byte + weight * (density - self.pages_per_byte),
            seen_at=self.seen_at + weight * (age - self.seen_at),
            fastest=max(flush_rate, kept),
            limited=limited,
        )

    def recovery_seconds(self, sample: Sample) -> float:
        """Return how long InnoDB would recover if mysqld crashed now."""
        return self.recovery_of(sample.checkpoint_age, sample.modified_age, sample.pages_dirty)

    def recovery_of(self, checkpoint_age: int, modified_age: int, pages_dirty: int) -> float:
        """Return how long InnoDB would recover from such ages, bytes, and dirty pages."""
        return self.factor * (START_SECONDS + self._work_seconds(checkpoint_age, modified_age, pages_dirty))

    def pages_at(self, age: float, combining_exponent: float) -> float:
        """Return the dirty pages at another age: ``age ** (1 - b)``, as changes fall on dirty pages."""
        if age <= 0.0 or self.seen_at <= 0.0:
            return max(0.0, age) * self.pages_per_byte
        growth = max(LEAST_GROWTH, 1.0 - combining_exponent)
        return self.pages_per_byte * self.seen_at * math.pow(age / self.seen_at, growth)

    def recovery_at(self, checkpoint_age: float, combining_exponent: float) -> float:
        """Return how long a recovery takes from such an age, bytes, with the pages that are dirty there."""
        pages = self.pages_at(checkpoint_age, combining_exponent)
        return self.factor * (START_SECONDS + checkpoint_age / SCAN_RATE + pages / self.read_rate)

    def shutdown_at(self, age: float, combining_exponent: float) -> float:
        """Return how long a shutdown flushes from such an age, bytes."""
        return self.pages_at(age, combining_exponent) / self.flush_rate

    @property
    def read_rate(self) -> float:
        """Return the pages/s that a recovery reads: what the device was seen to write, the prior at least.

        Where D is known it is no more than a shutdown flushes.
        """
        most = self.flush_rate if self.limited > 0.0 else math.inf
        return min(max(READ_RATE, self.fastest), most)

    def shutdown_seconds(self, sample: Sample) -> float:
        """Return how long InnoDB would flush if mysqld were shut down now."""
        return sample.pages_dirty / self.flush_rate

    @property
    def flush_rate(self) -> float:
        """Return the pages/s that a shutdown flushes: D and what was seen since, else the prior at least."""
        known = self.limited if self.limited > 0.0 else FLUSH_RATE
        return max(SLOWEST_FLUSH_RATE, known, self.fastest)

    def crashed(self, sample: Sample, *, unseen: float = 0.0) -> Recovery:
        """Remember what the recovery from the last reading before a crash should take.

        Args:
            unseen: time from it to the new start of mysqld, seconds; after too long nothing is predicted.
        """
        if unseen > LONGEST_UNSEEN:
            return replace(self, awaited=None, pages_per_byte=0.0)
        work = self._work_seconds(sample.checkpoint_age, sample.modified_age, sample.pages_dirty)
        return replace(
            self, awaited=START_SECONDS + work, share=work / (START_SECONDS + work), pages_per_byte=0.0
        )

    def measured(self, seconds: float, *, version: str) -> Recovery:
        """Return it with one measured recovery more; one that was nearly all start says little."""
        if self.awaited is None:
            return self
        ratio = min(MOST_FACTOR, max(LEAST_FACTOR, seconds / self.awaited))
        weight = WEIGHT * self.share
        factor = math.exp((1.0 - weight) * math.log(self.factor) + weight * math.log(ratio))
        return replace(self, factor=factor, measured_on=version, awaited=None, share=0.0)

    @property
    def valid(self) -> bool:
        """Tell whether a factor that was kept can be true."""
        return math.isfinite(self.factor) and LEAST_FACTOR <= self.factor <= MOST_FACTOR

    def _work_seconds(self, checkpoint_age: int, modified_age: int, pages_dirty: int) -> float:
        """Return what redo and pages add to a recovery with a factor of 1."""
        share = checkpoint_age / max(modified_age, FLUSH_ORDER_LAG)
        pages = pages_dirty * max(1.0, share)
        return checkpoint_age / SCAN_RATE + pages / self.read_rate
