"""The last resort for an age: the LOG section of SHOW ENGINE INNODB STATUS.

The server holds latches for it that statements need, and counts its per-second averages anew from then on,
so it is asked seldom; the last answer stands in between. Source: ``log_print`` in log/log0log.cc of each
version; the labels' widths vary.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from tuner.servers.connect import Session, text
from tuner.servers.port import ServerError
from tuner.servers.statustext import log_section

SECONDS = 5.0
"""Between two times that it is asked."""

_LINES = {
    "engine_lsn": "Log sequence number",
    "engine_oldest": "Pages flushed up to",
    "engine_checkpoint": "Last checkpoint at",
}


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
