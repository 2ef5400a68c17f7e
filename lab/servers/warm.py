"""A server that was just filled, brought to where it flushes by its law again."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator

from lab.servers.base import LabServer
from lab.servers.reader import Reader

WARM_RATIO = 0.25
WARM_SECONDS = 45.0
LOW = (100, 200)


LOOPS = "innodb_flushing_avg_loops"
FORGET_SECONDS = 12.0
"""Time in which mean rates that are renewed every second forget all but a thousandth of what was."""


@contextlib.contextmanager
def forgetting(server: LabServer) -> Iterator[None]:
    """Have a server renew its mean rates every second, under the load that they are to be of.

    Its flush law goes by the mean redo and page rate, which it renews by half every
    ``innodb_flushing_avg_loops`` seconds: for minutes after filling it flushes at the pace of that.
    """
    before = int(server.query(f"SELECT @@GLOBAL.{LOOPS}")[0][0])
    server.query(f"SET GLOBAL {LOOPS} = 1")
    try:
        yield
    finally:
        server.query(f"SET GLOBAL {LOOPS} = {before}")


def age_ratio(server: LabServer) -> float:
    """Return the modified age over the flush limit, as the server's counters have it.

    Raises:
        LabServerError: no reading could be had.
    """
    with contextlib.closing(Reader(server)) as reader:
        return _ratio(reader)


def warm(server: LabServer) -> bool:
    """Raise the age of a server under load, then set C and M as it was started; tell whether it got there.

    Below the low-water mark its percentage is 0, and shows nobody which law it flushes by.

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
