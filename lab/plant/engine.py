"""Time in the simulated server: phases of constant rates between events."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from lab.plant.cleaner import Cleaner
from lab.plant.disk import Disk
from lab.plant.load import ClosedLoad
from lab.plant.pages import Ledger
from lab.plant.redo import Redo

if TYPE_CHECKING:
    from lab.plant.parameters import PlantParameters

FIRST_LSN = 20_000_000
CLEANER_PHASE = 0.37
"""Seconds by which the page cleaner's loop is off the whole second, as in a real server."""

POLL_SECONDS = 0.02
"""How often blocked writers look for room, standing in for the server's polling."""

INSTANT = 1e-6
"""Seconds that count as the same moment."""

NO_ROOM = 1.0
"""Bytes of redo that are too few for any writer."""


class Engine:
    """One server, its disk and its load, from event to event.

    An event is the end of a flush batch, the page cleaner's waking, a checkpoint that is due,
    the log running full, a whole second, a change of load or disk, or the end of the step.
    Between two events all rates are constant.

    Attributes:
        now: simulated seconds since the start.
        commits: commits so far.
        stalled: seconds in which all writers waited for redo space.
        waits: writers that waited for redo space so far (``log_on_file_space_waits``).
    """

    __slots__ = (
        "_changes",
        "_redo_per_commit",
        "_second",
        "cleaner",
        "commits",
        "disk",
        "ledger",
        "load",
        "now",
        "redo",
        "stalled",
        "waits",
    )

    def __init__(self, parameters: PlantParameters, *, seed: int) -> None:
        """Start with an empty flush list at time 0."""
        self.now = 0.0
        self.redo = Redo(capacity=parameters.server.redo_capacity, lsn=float(FIRST_LSN), now=0.0)
        self.ledger = Ledger(hot_pages=parameters.load.hot_pages, lsn=float(FIRST_LSN))
        self.cleaner = Cleaner(parameters.server, self.redo, now=CLEANER_PHASE - 1.0)
        self.disk = Disk(parameters.disk)
        self.load = ClosedLoad(parameters.load, seed=seed)
        self._redo_per_commit = parameters.load.redo_bytes_per_commit
        self._changes = _changes(parameters)
        self._second = 0.0
        self.commits = 0.0
        self.stalled = 0.0
        self.waits = 0

    def advance_to(self, until: float) -> None:
        """Let time pass up to ``until``, seconds since the start."""
        while self.now < until - INSTANT:
            self._events()
            self._phase(until)

    def _events(self) -> None:
        """Do all that is due now."""
        now = self.now + INSTANT
        if now >= self._second:
            self._second = math.floor(now) + 1.0
            self.load.next_second()
        while self._changes and now >= self._changes[-1][0]:
            _, threads, write_iops = self._changes.pop()
            if threads is not None:
                self.load.change(threads)
            if write_iops is not None:
                self.disk.write_iops = write_iops
        if now >= self.redo.due:
            self._checkpoint()
        if now >= self.cleaner.wake_at:
            self.cleaner.wake(self.now, self.redo, self.ledger, self.commits)

    def _checkpoint(self) -> bool:
        """Let the checkpointer ask for sync flushing and write what is available; False when nothing is."""
        redo = self.redo
        oldest = self.ledger.oldest(redo.lsn)
        redo.make_available(oldest)
        if self.cleaner.left <= 0.0 and redo.sync_flush_lsn(oldest) is not None:
            self.cleaner.wake_at = min(self.cleaner.wake_at, self.now)
        return redo.write_checkpoint(self.now)

    def _blocked(self) -> bool:
        """Return whether writers find no room in the log although the checkpointer was woken."""
        redo = self.redo
        if redo.room() > NO_ROOM or not self.load.threads:
            return False
        self.waits += self.load.threads
        freed = self._checkpoint()
        if self.cleaner.wake_at <= self.now:
            self.cleaner.wake(self.now, redo, self.ledger, self.commits)
        return not freed or redo.room() <= NO_ROOM

    def _phase(self, until: float) -> None:
        """Move to the next event."""
        redo, load, cleaner = self.redo, self.load, self.cleaner
        blocked = self._blocked()
        end = min(until, self._second, redo.due)
        if self._changes:
            end = min(end, self._changes[-1][0])
        most = 0.0 if blocked else load.most_commits
        batch_end = math.inf
        if cleaner.left > 0.0:
            commits, pages = self.disk.shared(
                operations_per_commit=load.operations_per_commit, most_commits=most, waiting=load.waiting
            )
            batch_end = self.now + cleaner.left / pages
            end = min(end, batch_end)
        else:
            pages = 0.0
            commits = self.disk.alone(operations_per_commit=load.operations_per_commit, most_commits=most)
            end = min(end, cleaner.wake_at)
        if blocked:
            end = min(end, self.now + POLL_SECONDS)
        elif commits > 0.0:
            end = min(end, self.now + redo.room() / (commits * self._redo_per_commit))
        seconds = max(0.0, end - self.now)
        if blocked:
            self.stalled += seconds
        flushed = 0.0
        if pages > 0.0:
            written = cleaner.left if end >= batch_end else pages * seconds
            flushed = self.ledger.take(written)
            cleaner.wrote(flushed)
        done = commits * seconds
        if done > 0.0:
            self.commits += done
            redo.lsn += done * self._redo_per_commit
            self.ledger.update(updates=done, lsn=redo.lsn, flushed_meanwhile=flushed)
        self.now = max(self.now, end)
        if end >= batch_end:
            cleaner.finish(self.now)


def _changes(parameters: PlantParameters) -> list[tuple[float, int | None, float | None]]:
    """Return the changes of load and disk after the start, latest first."""
    found: list[tuple[float, int | None, float | None]] = [
        (load.at, load.threads, None) for load in parameters.load.timeline[1:]
    ]
    found += [(disk.at, None, disk.write_iops) for disk in parameters.disk.timeline[1:]]
    return sorted(found, key=lambda change: -change[0])
