"""What a static setting has to keep to where it is held against a policy."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from msgspec import Struct

from lab.plant.disk import MEGABYTE, PAGE_BYTES

if TYPE_CHECKING:
    from lab.plant.parameters import DiskParameters
    from lab.scenarios.schema import Scenario
    from lab.scenarios.trace import Outcome
    from tuner.settings import Settings


class Caps(Struct, frozen=True):
    """What a contender keeps to and a static setting therefore has to.

    Attributes:
        checkpoint_age: highest checkpoint age, as a share of the redo capacity.
        recovery_seconds: longest crash recovery predicted.
        pages_dirty: most dirty pages that a shutdown may find.
    """

    checkpoint_age: float
    recovery_seconds: float = math.inf
    pages_dirty: float = math.inf

    def keep(self, outcome: Outcome) -> bool:
        """Return whether an outcome is inside them."""
        return (
            outcome.checkpoint_age_max <= self.checkpoint_age
            and outcome.recovery_seconds_max <= self.recovery_seconds
            and outcome.pages_dirty_max <= self.pages_dirty
        )


def caps_of(settings: Settings, scenario: Scenario) -> Caps:
    """Return the caps of a policy's run; a shutdown flushes at the slowest rate that the disk has."""
    rate = slowest_flush(scenario.disk, scenario.server.in_force.doublewrite_pages)
    return Caps(
        checkpoint_age=settings.max_checkpoint_age_ratio,
        recovery_seconds=math.inf if settings.max_recovery_seconds is None else settings.max_recovery_seconds,
        pages_dirty=math.inf
        if settings.max_shutdown_seconds is None
        else settings.max_shutdown_seconds * rate,
    )


def slowest_flush(disk: DiskParameters, doublewrite_pages: int) -> float:
    """Return the pages/s that a disk takes at its slowest, all for itself and without credits.

    The least of its write operations, its bandwidth, what its latency lets through with so many pages in
    flight, and what the server can write.

    Args:
        disk: the device.
        doublewrite_pages: pages in a batch of the doublewrite file.
    """
    operations = disk.page_operations(doublewrite_pages)
    rates = [min(change.write_iops for change in disk.timeline) / operations, disk.pages_per_second]
    if disk.megabytes_per_second is not None:
        rates.append(disk.megabytes_per_second * MEGABYTE / PAGE_BYTES)
    if disk.latency > 0.0:
        rates.append(disk.queued_pages / disk.latency)
    return min(rates)


def calm(outcome: Outcome) -> bool:
    """Return whether no page was sync-flushed and the first percentile is at least half the median."""
    return outcome.sync_flush_seconds == 0 and outcome.throughput_p1 >= 0.5 * outcome.throughput_median
