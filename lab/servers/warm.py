"""A server that was just filled, brought to where it flushes by its law again."""

from __future__ import annotations

import contextlib
import time

from lab.servers.base import LabServer
from lab.servers.reader import Reader

WARM_RATIO = 0.25
WARM_SECONDS = 45.0
LOW = (100, 200)


def age_ratio(server: LabServer) -> float:
    """Return the modified age over the flush limit, as the server's counters have it.

    Raises:
        LabServerError: no reading could be had.
    """
    with contextlib.closing(Reader(server)) as reader:
        return _ratio(reader)


def warm(server: LabServer) -> bool:
    """Raise the age of a server under load, then set C and M as it was started; tell whether it got there.

    For minutes after a burst such as the data load the server's smoothed redo rate is far too high: it
    flushes as fast as the disk takes pages, at next to no age and a percentage of 0.

    Raises:
        LabServerError: no reading could be had.
    """
    end = time.monotonic() + WARM_SECONDS
    server.set_capacity(*LOW)
    try:
        with contextlib.closing(Reader(server)) as reader:
            while _ratio(reader) < WARM_RATIO:
                if time.monotonic() >= end:
                    return False
                time.sleep(0.5)  # the server announces no age
        return True
    finally:
        server.set_capacity(server.spec.io_capacity, server.spec.io_capacity_max)


def _ratio(reader: Reader) -> float:
    found = reader.read()
    return found.modified_age / found.flush_limit
