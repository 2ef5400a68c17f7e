"""The last resort for an age: the LOG section of SHOW ENGINE INNODB STATUS, told from what statements wrote.

The server holds latches for it that statements need, and counts its per-second averages anew from then on,
so it is asked seldom; the last answer stands in between. Source: ``log_print`` in log/log0log.cc of each
version; the labels' widths vary.

The text of a statement, of a row or of a name may hold any line, headings of the status itself among them. It
stands in the sections of ``TEXTS`` alone, printed before the LOG section (``srv_printf_innodb_monitor`` in
srv/srv0srv.cc of MySQL 5.6 to 9, Percona Server from 5.7 on and MariaDB), so that the last LOG section is the
server's own; Percona Server up to 5.6 printed the transactions behind it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from tuner.servers.port import ServerError
from tuner.servers.session import Session
from tuner.servers.values import text

LONGEST = 1024 * 1024 - 1
"""Bytes that mysqld cuts the status to (``MAX_STATUS_SIZE`` in handler/ha_innodb.cc): the transactions in the
middle, or else its end, where the LOG section is."""

TEXTS = ("LATEST FOREIGN KEY ERROR", "LATEST DETECTED DEADLOCK", "TRANSACTIONS")
"""Sections with what statements wrote."""

BEFORE = ("BACKGROUND THREAD", "SEMAPHORES")
"""Sections that come before those, likewise; every supported server prints them."""

BEHIND = ("BUFFER POOL AND MEMORY", "ROW OPERATIONS")
"""Sections that follow the LOG section and hold the server's own words alone."""

END = "END OF INNODB MONITOR OUTPUT"
_RULE = re.compile(r"-{3,}")
_TRANSACTION = re.compile(r"---TRANSACTION |\*\*\* |(MySQL|MariaDB) thread id ")

SECONDS = 5.0
"""Between two times that it is asked."""

_LINES = {
    "engine_lsn": "Log sequence number",
    "engine_oldest": "Pages flushed up to",
    "engine_checkpoint": "Last checkpoint at",
}


def log_section(status: str) -> Sequence[str]:
    """Return the lines of the server's own LOG section, without its heading.

    Args:
        status: all of the answer.

    Raises:
        ValueError: there is none, or what statements wrote cannot be told from it.
    """
    lines = status.replace("\r\n", "\n").split("\n")
    logs = _headings(lines, "LOG")
    if not logs:
        raise ValueError("SHOW ENGINE INNODB STATUS without a LOG section")
    if _servers_own(lines[: logs[0] - 1]):
        return _section(lines, logs[0])
    if [line for line in lines if line.strip("=")][-1:] != [END]:
        raise ValueError("SHOW ENGINE INNODB STATUS was cut before its end, and perhaps its LOG section")
    whole = len(status.encode()) < LONGEST
    if not (whole and len(logs) == 1) and not _undisputed(lines[logs[-1] :]):
        raise ValueError(
            f"SHOW ENGINE INNODB STATUS of whose LOG sections ({len(logs)}) none is surely its own"
        )
    return _section(lines, logs[-1])


def _headings(lines: Sequence[str], title: str) -> list[int]:
    """Return where a section begins: its title between two rules as long as it is."""
    rule = "-" * len(title)
    return [
        at
        for at in range(1, len(lines) - 1)
        if lines[at] == title and lines[at - 1] == rule and lines[at + 1] == rule
    ]


def _section(lines: Sequence[str], title: int) -> Sequence[str]:
    """Return the lines of a section up to the rule of the next one."""
    found: list[str] = []
    for line in lines[title + 2 :]:
        if _RULE.fullmatch(line):
            break
        found.append(line)
    return found


def _written(line: str) -> bool:
    """Tell whether a line begins what statements may have written."""
    return line in TEXTS or _TRANSACTION.match(line) is not None


def _servers_own(beginning: Sequence[str]) -> bool:
    """Tell whether nothing that a statement wrote can be in the beginning of a status."""
    if any(map(_written, beginning)):
        return False
    return not any(beginning) or any(_headings(beginning, title) for title in BEFORE)


def _undisputed(rest: Sequence[str]) -> bool:
    """Tell whether nothing that a statement wrote can be in the rest of a status."""
    if any(map(_written, rest)) or rest.count(END) > 1:
        return False
    return all(_headings(rest, title) for title in BEHIND)


class EngineStatus:
    """What it said last."""

    def __init__(self) -> None:
        self._said: Mapping[str, str] = {}
        self._at = float("-inf")

    def read(self, session: Session, now: float) -> Mapping[str, str]:
        """Return LSNs by name: ``engine_lsn``, ``engine_oldest``, ``engine_checkpoint``.

        Args:
            session: who asks.
            now: monotonic time, seconds.

        Raises:
            Unreachable: nothing answers in time.
            pymysql.MySQLError: the server refused.
            ValueError: the answer has no such lines.
            ServerError: there was no answer last time, and it is not time to ask again.
        """
        if now - self._at >= SECONDS:
            self._said, self._at = {}, now
            self._said = parse(text(session.query("SHOW ENGINE INNODB STATUS")[0][2]))
        if not self._said:
            raise ServerError(
                f"{session.endpoint}: SHOW ENGINE INNODB STATUS gave no ages; it is asked every {SECONDS:g} s"
            )
        return self._said


def parse(status: str) -> dict[str, str]:
    """Return the three LSNs that tell the ages, from the server's own LOG section alone.

    Raises:
        ValueError: a line is missing, or comes twice.
    """
    section = "\n".join(log_section(status))
    found = {
        name: re.findall(rf"^{label} +(\d{{1,20}})$", section, re.MULTILINE) for name, label in _LINES.items()
    }
    for name, values in found.items():
        if len(values) != 1:
            raise ValueError(f"SHOW ENGINE INNODB STATUS with {len(values)} lines {_LINES[name]!r}")
    return {name: values[0] for name, values in found.items()}
