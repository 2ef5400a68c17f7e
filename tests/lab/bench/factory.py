"""Readings of a server and seconds of a load, as a bench has them."""

from __future__ import annotations

from typing import Any

from lab.bench.figures import Reading
from lab.servers.disk import DeviceCounters
from lab.workloads.reports import Second
from tests.factory import sample


def look(at: float, *, age_ratio: float = 0.5, **changes: Any) -> Reading:  # noqa: ANN401 - any field
    """Return a reading of a server that flushes 100 pages and writes 250 blocks a second."""
    second = int(at)
    made = sample(at, age=age_ratio * sample().flush_limit, **{"pages_adaptive": 100 * second, **changes})
    device = DeviceCounters(
        reads=10 * second, writes=250 * second, read_bytes=0, write_bytes=4096 * second, source="test"
    )
    return Reading(at, made, 0.5 * second, device)


def beat(at: float, commits: float = 1000.0) -> Second:
    """Return a second of the load."""
    return Second(at, commits, 0.02, 0.0)
