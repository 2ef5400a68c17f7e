"""How long a server took to recover, by its own error log, and what makes a start a cold one."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from lab.servers.spec import LabServerError

if TYPE_CHECKING:
    from lab.servers.base import LabServer

STARTED, ENDED = "MY-013576", "MY-013577"
"""The server's codes for: InnoDB initialization has started, has ended."""


def initialisation(server: LabServer) -> float:
    """Return how long InnoDB's last initialisation took by the server's error log, seconds.

    Raises:
        LabServerError: the log does not have both lines.
    """
    rows = server.query(
        "SELECT error_code, UNIX_TIMESTAMP(logged) FROM performance_schema.error_log"
        f" WHERE error_code IN ('{STARTED}', '{ENDED}') ORDER BY logged"
    )
    return last_span([(str(code), float(logged)) for code, logged in rows])


def last_span(lines: list[tuple[str, float]]) -> float:
    """Return the seconds from the last start to the end after it.

    Args:
        lines: code and Unix time, oldest first.

    Raises:
        LabServerError: there is no such pair.
    """
    started: float | None = None
    span: float | None = None
    for code, at in lines:
        if code == STARTED:
            started, span = at, None
        elif started is not None:
            span = at - started
    if span is None:
        raise LabServerError(f"the error log does not say when InnoDB was ready: {lines}")
    return span


def drop_caches(directory: Path | None) -> int:
    """Let the page cache forget every file under a directory and return how many there are.

    Raises:
        LabServerError: the directory cannot be reached from here.
    """
    if directory is None or not directory.is_dir():
        raise LabServerError(f"the data directory cannot be reached from here: {directory}")
    count = 0
    for path in directory.rglob("*"):
        if not path.is_file():
            continue
        number = os.open(path, os.O_RDONLY)
        try:
            os.fsync(number)  # only clean pages are forgotten
            os.posix_fadvise(number, 0, 0, os.POSIX_FADV_DONTNEED)
        finally:
            os.close(number)
        count += 1
    return count
