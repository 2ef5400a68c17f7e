"""How long InnoDB's last initialisation took, by the server's error log."""

from __future__ import annotations

import re
from datetime import datetime

from lab.servers.spec import LabServerError

STARTED, ENDED = "MY-013576", "MY-013577"
"""The server's codes for: InnoDB initialization has started, has ended."""

_BOOT = re.compile(r"starting .*as process \d+", re.IGNORECASE)
_READY = re.compile(r"InnoDB: (\S+ started; )?log sequence number \d+")
_INNODB = "InnoDB: "
_STAMP = re.compile(r"(\d{4}-\d\d-\d\d)[T ]\s*(\d?\d:\d\d:\d\d(?:\.\d{1,6})?)")


def text_marks(log: str) -> list[tuple[str, float]]:
    """Return when InnoDB's initialisations began and ended by an error log that has no codes for it.

    One begins with the first line of InnoDB's after "starting as process", and ends with the line that names
    the log sequence number it starts from: MariaDB from 10.5 to 11.8, MySQL 5.6 to 8.0.

    Args:
        log: its lines, each with one stamp or, in front of it, a finer one of somebody else's.

    Returns:
        Code and time, seconds; only differences mean something.
    """
    marks: list[tuple[str, float]] = []
    booting = False
    for line in log.splitlines():
        found = _STAMP.search(line)
        if found is None:
            continue
        at = datetime.fromisoformat(f"{found[1]} {found[2].zfill(8)}+00:00").timestamp()
        if _BOOT.search(line):
            booting = True
        elif booting and _INNODB in line:
            booting = False
            marks.append((STARTED, at))
        if _READY.search(line) and marks and marks[-1][0] == STARTED:
            marks.append((ENDED, at))
    return marks


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
