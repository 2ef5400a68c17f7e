"""Readings of a server and seconds of a load, as a bench has them."""

from __future__ import annotations

from lab.bench.figures import Reading
from lab.servers.disk import DeviceCounters
from lab.workloads.reports import Second

REDO = 100 * 1024 * 1024


def look(at: float, **other: object) -> Reading:
    """Return a reading of a server that flushes 100 pages and writes 250 blocks a second."""
    second = int(at)
    values = {
        "monotonic": at,
        "age_ratio": 0.5,
        "checkpoint_ratio": 0.4,
        "lsn": 1_000_000 * second,
        "adaptive": 100 * second,
        "sync": 0,
        "background": 0,
        "lru": 0,
        "space_waits": 0,
        "io_capacity": 1000,
        "io_capacity_max": 2000,
        "cpu_idle": 0.5 * second,
        "modified_age": 40_000_000,
        "checkpoint_age": 50_000_000,
        "flush_limit": 70_000_000,
        "stall_point": 85_000_000,
        "device": DeviceCounters(
            reads=10 * second, writes=250 * second, read_bytes=0, write_bytes=4096 * second, source="test"
        ),
    }
    return Reading(**{**values, **other})  # type: ignore[arg-type]  # a table of every field's value


def beat(at: float, commits: float = 1000.0) -> Second:
    """Return a second of the load."""
    return Second(at, commits, 0.02, 0.0)
