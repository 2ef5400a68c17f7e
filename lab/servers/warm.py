"""A server that was just filled, brought to where it flushes by its law again."""

from __future__ import annotations

import time

from lab.servers.base import LabServer
from tuner.servers.limits import redo_limits

WARM_RATIO = 0.25
WARM_SECONDS = 45.0
LOW = (100, 200)


def age_ratio(server: LabServer) -> float:
    """Return the modified age over the flush limit, as the server's counters have it."""
    counters = dict(
        server.query(
            "SELECT name, count FROM information_schema.innodb_metrics"
            " WHERE name IN ('log_lsn_current', 'log_lsn_buf_pool_oldest_approx')"
        )
    )
    age = int(counters["log_lsn_current"]) - int(counters["log_lsn_buf_pool_oldest_approx"])
    return age / redo_limits(server.spec.redo_capacity).flush_limit


def warm(server: LabServer) -> bool:
    """Raise the age of a server under load, then set C and M as it was started; tell whether it got there.

    For minutes after a burst such as the data load the server's smoothed redo rate is far too high: it
    flushes as fast as the disk takes pages, at next to no age and a percentage of 0.
    """
    end = time.monotonic() + WARM_SECONDS
    server.set_capacity(*LOW)
    try:
        while age_ratio(server) < WARM_RATIO:
            if time.monotonic() >= end:
                return False
            time.sleep(0.5)  # the server announces no age
        return True
    finally:
        server.set_capacity(server.spec.io_capacity, server.spec.io_capacity_max)
