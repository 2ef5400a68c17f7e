"""One server's disk: the limit it is under, kept over its restarts, and what it did."""

from __future__ import annotations

from collections.abc import Callable

from lab.servers.controlgroup import ControlGroup, Write, counters, enforce, write_line
from lab.servers.disk import DeviceCounters, DiskLimit

Place = tuple[ControlGroup, str]
"""The server's control group and its disk, ``major:minor``."""

NO_LATENCY = (
    "latency not added: the block I/O controller limits operations and bytes per second, nothing else"
)


class NoLimitError(Exception):
    """A disk that no limit can be had for; the message says why."""


class Throttle:
    """Limits and counts.

    Attributes:
        limit: what was asked for last.
        counted: whether the control group counts; None until it was first asked.
    """

    def __init__(self, find: Callable[[], Place], write: Write = write_line) -> None:
        """Prepare, without touching anything.

        Args:
            find: returns group and disk of the server that runs now, or raises ``NoLimitError`` or OSError.
            write: how a line gets into a controller's file.
        """
        self.limit = DiskLimit()
        self._find = find
        self._write = write
        self._place: Place | None = None
        self._asked = False
        self._obeyed = False
        self.counted: bool | None = None

    def set(self, limit: DiskLimit) -> tuple[str, ...]:
        """Put a limit in force from now on.

        Returns:
            A sentence for everything that could not be limited; none when all is in force.
        """
        self._place = None
        try:
            refusals = enforce(*self._where(), limit, self._write)
        except (NoLimitError, OSError) as error:
            refusals = (f"disk not limited: {error}",)
        self.limit, self._asked, self._obeyed = limit, True, not refusals
        return refusals if limit.latency is None else (*refusals, NO_LATENCY)

    def again(self) -> None:
        """Have the limit in force for a server that was just started again."""
        self._place = None
        if self._asked:
            self.set(self.limit)

    def counters(self) -> DeviceCounters | None:
        """Return the control group's counts; None where there are none, and then always.

        A source that changed in between would make every difference wrong.
        """
        if not self._asked:
            self.set(self.limit)  # version 1 starts to count with this
        found = self._look()
        if self.counted is None:
            self.counted = found is not None and (self._obeyed or found.writes > 0)
        return found if self.counted else None

    def _where(self) -> Place:
        """Return the place; asked for once a start, as counts are read every second."""
        if self._place is None:
            self._place = self._find()
        return self._place

    def _look(self) -> DeviceCounters | None:
        try:
            return counters(*self._where())
        except (NoLimitError, OSError):
            return None
