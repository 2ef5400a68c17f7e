"""How long crash recovery and shutdown would take from where a row went, by the daemon's own model; pure.

It is the daemon's prior: what a daemon learns from recoveries and from a device at its limit is not in a row.
Instead a limited disk counts as what it is limited to, and no rate below what the row flushed is believed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tuner.core.estimate.recovery import Recovery

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lab.bench.plan import DiskPlan
    from lab.bench.sampler import Reading

WRITES_PER_PAGE = 2.0
"""The doublewrite buffer writes every page twice."""

PAGE_MIB = 16.0 / 1024.0


def predicted(readings: Sequence[Reading], disk: DiskPlan, flushed: float) -> dict[str, float | None]:
    """Return the longest recovery and shutdown that a row could have ended in, seconds.

    Args:
        readings: of the counted seconds; where dirty pages are not known in all of them, neither are these.
        disk: its limits.
        flushed: what the row flushed on average, pages/s.
    """
    dirty = [pages for one in readings if (pages := one.pages_dirty) is not None]
    if len(dirty) < len(readings) or not dirty:
        return {"recovery_seconds_predicted": None, "shutdown_seconds_predicted": None}
    model = Recovery(limited=sustained(disk), fastest=flushed)
    recovery = max(
        model.recovery_of(one.checkpoint_age, one.modified_age, pages)
        for one, pages in zip(readings, dirty, strict=True)
    )
    return {
        "recovery_seconds_predicted": round(recovery, 1),
        "shutdown_seconds_predicted": round(max(dirty) / model.flush_rate, 1),
    }


def sustained(disk: DiskPlan) -> float:
    """Return the pages/s that a limited disk keeps up at its slowest, 0 where it has no limit."""
    writes = [one for one in (disk.write_iops, disk.alternate_iops) if one is not None]
    rates = [min(writes) / WRITES_PER_PAGE] if writes else []
    rates += [] if disk.write_mib is None else [disk.write_mib / (PAGE_MIB * WRITES_PER_PAGE)]
    return min(rates, default=0.0)
