"""What a row amounts to: its figures over the counted seconds, and its series over all of them; pure."""

from __future__ import annotations

import itertools
import statistics
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from lab.statistics import percentile
from tuner.core.estimate.recovery import Recovery

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from lab.bench.plan import DiskPlan
    from lab.servers.disk import DeviceCounters
    from lab.workloads.reports import Histogram, Second
    from tuner.records import Sample


Figures = dict[str, Any]
T = TypeVar("T", "Reading", "Second")


@dataclass(frozen=True, slots=True)
class Reading:
    """One look at the server, counters as they stand.

    Attributes:
        monotonic: when, seconds.
        age_ratio: x, modified age over the flush limit A.
        checkpoint_ratio: checkpoint age over the redo capacity.
        lsn: current LSN, bytes.
        adaptive: pages flushed by the flush law.
        sync: pages flushed by sync flushing.
        background: pages flushed while idle.
        lru: pages flushed from the LRU tail.
        space_waits: writers that waited for redo space.
        io_capacity: C, pages/s.
        io_capacity_max: M, pages/s.
        cpu_idle: seconds all processors of the machine idled so far.
        modified_age: bytes.
        checkpoint_age: bytes.
        device: what the server's disk did so far, None where that is not known.
        flush_limit: A, bytes.
        stall_point: where writers wait, bytes.
    """

    monotonic: float
    age_ratio: float
    checkpoint_ratio: float
    lsn: int
    adaptive: int
    sync: int
    background: int
    lru: int
    space_waits: int
    io_capacity: int
    io_capacity_max: int
    cpu_idle: float
    modified_age: int = 0
    checkpoint_age: int = 0
    device: DeviceCounters | None = None
    flush_limit: int = 0
    stall_point: int = 0
    pages_dirty: int | None = None


def reading(sample: Sample, *, now: float, cpu_idle: float, device: DeviceCounters | None = None) -> Reading:
    """Return the reading that a sample of the server amounts to."""
    return Reading(
        monotonic=now,
        age_ratio=sample.modified_age / sample.flush_limit,
        checkpoint_ratio=sample.checkpoint_age / sample.redo_capacity,
        lsn=sample.lsn_current,
        adaptive=sample.pages_adaptive,
        sync=sample.pages_sync,
        background=sample.pages_background,
        lru=sample.pages_lru,
        space_waits=sample.redo_space_waits,
        io_capacity=sample.io_capacity,
        io_capacity_max=sample.io_capacity_max,
        cpu_idle=cpu_idle,
        modified_age=sample.modified_age,
        checkpoint_age=sample.checkpoint_age,
        device=device,
        flush_limit=sample.flush_limit,
        stall_point=sample.stall_point,
        pages_dirty=sample.pages_dirty,
    )


def stall_seconds(waits: Sequence[int]) -> int:
    """Return in how many seconds a writer waited for redo space, from one counter value a second."""
    return sum(1 for before, after in itertools.pairwise(waits) if after > before)


def figures(
    seconds: Sequence[Second],
    readings: Sequence[Reading],
    latency: Histogram | None = None,
    reads: Histogram | None = None,
) -> Figures:
    """Return the figures of a counted window; commits/s, seconds, pages, ratios, as the names say.

    Args:
        seconds: of the load.
        readings: of the server, at least two.
        latency: of every transaction in the window, None where it is not known.
        reads: of every read in it, None where reads are not told apart.

    Raises:
        ValueError: fewer than two readings or no second of the load.
    """
    if len(readings) <= 1 or not seconds:
        raise ValueError(f"a window needs two readings and a second: {len(readings)}, {len(seconds)}")
    commits = [one.commits for one in seconds]
    ratios = [one.age_ratio for one in readings]
    mean, median = statistics.fmean(commits), statistics.median(commits)
    span = readings[-1].monotonic - readings[0].monotonic
    pages = _gone(readings, lambda one: one.adaptive + one.sync + one.background)
    return {
        "seconds": len(commits),
        "commits_mean": round(mean, 1),
        "commits_median": round(median, 1),
        "commits_p1": round(percentile(commits, 1), 1),
        "commits_p5": round(percentile(commits, 5), 1),
        "commits_min": round(min(commits), 1),
        "commits_sd": round(statistics.pstdev(commits), 1),
        "seconds_below_half_median": sum(one < 0.5 * median for one in commits),
        "errors": round(sum(one.errors for one in seconds)),
        "latency_p50": _quantile(latency, 50.0),
        "latency_p99": _quantile(latency, 99.0),
        "latency_p999": _quantile(latency, 99.9),
        "read_latency_p99": _quantile(reads, 99.0),
        "sync_pages": _gone(readings, lambda one: one.sync),
        "lru_pages": _gone(readings, lambda one: one.lru),
        "stall_seconds": stall_seconds([one.space_waits for one in readings]),
        "stall_waits": _gone(readings, lambda one: one.space_waits),
        "pages_per_second": round(pages / span, 1),
        "pages_per_commit": round(pages / span / mean, 4) if mean > 0 else None,
        **_device(readings, mean),
        "redo_bytes_per_second": round(_gone(readings, lambda one: one.lsn) / span),
        "age_ratio_mean": round(statistics.fmean(ratios), 4),
        "age_ratio_min": round(min(ratios), 4),
        "age_ratio_max": round(max(ratios), 4),
        "checkpoint_ratio_max": round(max(one.checkpoint_ratio for one in readings), 4),
        "io_capacity_max_mean": round(statistics.fmean(one.io_capacity_max for one in readings), 1),
        "knob_changes": changes(readings),
        "machine_idle": round((readings[-1].cpu_idle - readings[0].cpu_idle) / span, 3),
    }


def changes(readings: Sequence[Reading]) -> int:
    """Return how often C or M was different from the second before."""
    return sum(
        (before.io_capacity, before.io_capacity_max) != (after.io_capacity, after.io_capacity_max)
        for before, after in itertools.pairwise(readings)
    )


def series(
    seconds: Sequence[Second],
    readings: Sequence[Reading],
    *,
    began: float,
    counted_from: float,
    capacity: int,
) -> dict[str, Any]:
    """Return one value a second for every chart; None where nothing is known of a second.

    Args:
        seconds: of the load.
        readings: of the server.
        began: monotonic time of second 0.
        counted_from: monotonic time where the counted window begins.
        capacity: redo capacity, bytes.
    """
    loads, looks = _by_second(seconds, began), _by_second(readings, began)
    last = max((*loads, *looks), default=-1)
    limits = readings[-1] if readings else None
    at = range(last + 1)

    def load(value: Callable[[Second], float | None]) -> list[float | None]:
        return [None if (one := loads.get(second)) is None else value(one) for second in at]

    def look(value: Callable[[Reading], int]) -> list[int | None]:
        return [None if (one := looks.get(second)) is None else value(one) for second in at]

    def gained(value: Callable[[Reading], int | None]) -> list[int | None]:
        return [_between(looks.get(second - 1), looks.get(second), value) for second in at]

    return {
        "at": list(at),
        "counted_from": round(counted_from - began, 1),
        "commits": load(lambda one: round(one.commits, 1)),
        "latency_p99": load(lambda one: None if one.latency is None else round(one.latency, 5)),
        "modified_age": look(lambda one: one.modified_age),
        "checkpoint_age": look(lambda one: one.checkpoint_age),
        "io_capacity": look(lambda one: one.io_capacity),
        "io_capacity_max": look(lambda one: one.io_capacity_max),
        "pages_flushed": gained(lambda one: one.adaptive + one.sync + one.background),
        "sync_pages": gained(lambda one: one.sync),
        "device_writes": gained(lambda one: one.device.writes if one.device else None),
        "device_reads": gained(lambda one: one.device.reads if one.device else None),
        "flush_limit": limits and limits.flush_limit,
        "max_checkpoint_age": limits and limits.stall_point,
        "redo_capacity": capacity,
    }


def _by_second(found: Sequence[T], began: float) -> dict[int, T]:
    """Return what came once a second by its second.

    Counted from the first, so that one that came milliseconds early or late keeps its place also where the
    others come on the stroke of a second.
    """
    first = found[0].monotonic - began if found else 0.0
    return {int(first) + round(one.monotonic - began - first): one for one in found}


def _between(
    before: Reading | None, after: Reading | None, value: Callable[[Reading], int | None]
) -> int | None:
    """Return how much a counter gained in a second; None where a reading is missing or it went back."""
    if before is None or after is None:
        return None
    old, new = value(before), value(after)
    return None if old is None or new is None or new < old else new - old


def _gone(readings: Sequence[Reading], value: Callable[[Reading], int]) -> int:
    return value(readings[-1]) - value(readings[0])


def _quantile(latency: Histogram | None, percent: float) -> float | None:
    return None if latency is None else round(latency.percentile(percent), 6)


def _device(readings: Sequence[Reading], commits: float) -> Figures:
    """Return device operations per commit, None where the device could not be watched."""
    known = [(one.monotonic, one.device) for one in readings if one.device is not None]
    names = ("device_writes_per_commit", "device_reads_per_commit", "device_write_bytes_per_commit")
    if len(known) <= 1 or commits <= 0:
        return {**dict.fromkeys(names), "device_source": None}
    (began, first), (ended, last) = known[0], known[-1]
    made = commits * (ended - began)
    gains = (last.writes - first.writes, last.reads - first.reads, last.write_bytes - first.write_bytes)
    per = dict(zip(names, (round(gain / made, 4) for gain in gains), strict=True))
    return {**per, "device_source": last.source}


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
