"""What a row amounts to: its figures over the counted seconds, and its series over all of them; pure."""

from __future__ import annotations

import itertools
import statistics
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from lab.statistics import percentile
from tuner.core.estimate.recovery import Recovery
from tuner.core.estimate.window import list_flushed

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
    """One look at a server and its machine.

    Attributes:
        monotonic: when, seconds.
        sample: what the server's counters say.
        cpu_idle: seconds all processors of the machine idled so far.
        device: what the server's disk did so far, None where that is not known.
    """

    monotonic: float
    sample: Sample
    cpu_idle: float
    device: DeviceCounters | None = None


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
    samples = [one.sample for one in readings]
    ratios = [one.age_ratio for one in samples]
    mean, median = statistics.fmean(commits), statistics.median(commits)
    span = readings[-1].monotonic - readings[0].monotonic
    pages = _gone(samples, list_flushed)
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
        "sync_pages": _gone(samples, lambda one: one.pages_sync),
        "lru_pages": _gone(samples, lambda one: one.pages_lru),
        "stall_seconds": stall_seconds([one.redo_space_waits for one in samples]),
        "stall_waits": _gone(samples, lambda one: one.redo_space_waits),
        "pages_per_second": round(pages / span, 1),
        "pages_per_commit": round(pages / span / mean, 4) if mean > 0 else None,
        **_device(readings, mean),
        "redo_bytes_per_second": round(_gone(samples, lambda one: one.lsn_current) / span),
        "age_ratio_mean": round(statistics.fmean(ratios), 4),
        "age_ratio_min": round(min(ratios), 4),
        "age_ratio_max": round(max(ratios), 4),
        "checkpoint_ratio_max": round(max(one.checkpoint_age / one.redo_capacity for one in samples), 4),
        "io_capacity_max_mean": round(statistics.fmean(one.io_capacity_max for one in samples), 1),
        "knob_changes": sum(
            before.capacity != after.capacity for before, after in itertools.pairwise(samples)
        ),
        "machine_idle": round((readings[-1].cpu_idle - readings[0].cpu_idle) / span, 3),
    }


def series(
    seconds: Sequence[Second],
    readings: Sequence[Reading],
    *,
    began: float,
    counted_from: float,
    capacity: int,
) -> dict[str, Any]:
    """Return one value a second for every chart; None where nothing is known of a second.

    ``began`` and ``counted_from`` are monotonic; ``capacity`` is that of the redo log, bytes.
    """
    loads, looks = _by_second(seconds, began), _by_second(readings, began)
    last = max((*loads, *looks), default=-1)
    limits = readings[-1].sample if readings else None
    at = range(last + 1)

    def load(value: Callable[[Second], float | None]) -> list[float | None]:
        return [None if (one := loads.get(second)) is None else value(one) for second in at]

    def look(value: Callable[[Sample], int]) -> list[int | None]:
        return [None if (one := looks.get(second)) is None else value(one.sample) for second in at]

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
        "pages_flushed": gained(lambda one: list_flushed(one.sample)),
        "sync_pages": gained(lambda one: one.sample.pages_sync),
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


def _gone(samples: Sequence[Sample], value: Callable[[Sample], int]) -> int:
    return value(samples[-1]) - value(samples[0])


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


def predicted(readings: Sequence[Reading], disk: DiskPlan, flushed: float) -> dict[str, float]:
    """Return the longest recovery and shutdown that a row could have ended in, seconds.

    Args:
        readings: of the counted seconds.
        disk: its limits.
        flushed: what the row flushed on average, pages/s.
    """
    model = Recovery(limited=sustained(disk), fastest=flushed)
    return {
        f"{name}_seconds_predicted": round(max(seconds(one.sample) for one in readings), 1)
        for name, seconds in (("recovery", model.recovery_seconds), ("shutdown", model.shutdown_seconds))
    }


def sustained(disk: DiskPlan) -> float:
    """Return the pages/s that a limited disk keeps up at its slowest, 0 where it has no limit."""
    writes = [one for one in (disk.write_iops, disk.alternate_iops) if one is not None]
    rates = [min(writes) / WRITES_PER_PAGE] if writes else []
    rates += [] if disk.write_mib is None else [disk.write_mib / (PAGE_MIB * WRITES_PER_PAGE)]
    return min(rates, default=0.0)
