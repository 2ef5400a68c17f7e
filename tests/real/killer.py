"""Who kills a daemon between two of its statements, seen through a proxy."""

from __future__ import annotations

import contextlib
import os
import re
import signal

from msgspec.structs import replace

from tuner.records import Capacity

KNOB = re.compile(
    r"(?:SET GLOBAL |CALL innobrim\.set_global\(')innodb_(io_capacity|io_capacity_max)(?: = |', )(\d+)\)?$"
)
"""A SET of a knob, or a call of the procedure that sets it, with its name and value."""


class Killer:
    """Kills a daemon instead of one statement, counted from its first SET of a knob.

    Attributes:
        seen: the statements from that SET on, the one that the kill came before as the last.
    """

    def __init__(self) -> None:
        self.seen: list[str] = []
        self._victim: int | None = None
        self._number = 0

    def __call__(self, statement: str) -> bool:
        """Say whether a statement goes through."""
        if self._victim is None or not (self.seen or KNOB.match(statement)):
            return True
        self.seen.append(statement)
        if len(self.seen) < self._number:
            return True
        with contextlib.suppress(ProcessLookupError):
            os.kill(self._victim, signal.SIGKILL)
        self._victim = None
        return False

    def aim(self, victim: int, number: int) -> None:
        """Kill this process before the statement with this number."""
        self.seen = []
        self._number = number
        self._victim = victim  # last: from here on another thread counts

    def target(self, old: Capacity) -> Capacity:
        """Return the pair that the SETs seen lead to."""
        sets = [found for one in self.seen if (found := KNOB.match(one))]
        return replace(old, **{one[1]: int(one[2]) for one in sets})
