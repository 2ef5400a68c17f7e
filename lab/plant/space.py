"""Writers and room in the log: checkpoints, who waits for one, and for how long."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lab.plant.cleaner import Cleaner
    from lab.plant.disk import Disk
    from lab.plant.flush_list import FlushList
    from lab.plant.load import Clients
    from lab.plant.redo import Redo

SHORTEST_SECONDS = 0.1
"""Shortest time from one checkpoint that writers ask for to the next: a server on a fast device writes more,
and smaller ones, which comes to the same redo a second.
"""

NO_ROOM = 1.0
"""Bytes of redo that are too few for any writer."""


class Space:
    """The room that is left in the log, and those who wait for it.

    A checkpoint takes its time. One that a full log forces takes its own time, and ends no sooner than that
    after the one before; until then, and where it frees nothing, writers wait.

    Attributes:
        waits: writers that waited for redo space or sync flushing so far, each once however long it was.
    """

    def __init__(
        self, redo: Redo, flush_list: FlushList, cleaner: Cleaner, disk: Disk, load: Clients
    ) -> None:
        self._redo = redo
        self._flush_list = flush_list
        self._cleaner = cleaner
        self._disk = disk
        self._load = load
        self._looks_at = 0.0
        self._waiting = False
        self.waits = 0

    def checkpoint(self, now: float) -> None:
        """Let the checkpointer ask for sync flushing and write what is available."""
        redo, cleaner = self._redo, self._cleaner
        oldest = self._flush_list.oldest(redo.lsn)
        redo.make_available(oldest)
        if cleaner.wakes_for_sync() and redo.sync_flush_lsn(oldest) is not None:
            cleaner.wake_at = min(cleaner.wake_at, now)
        redo.write_checkpoint(now)
        seconds = self._disk.checkpoint_seconds(flushing=cleaner.left > 0.0)
        self._looks_at = now + max(SHORTEST_SECONDS, seconds)

    def blocked(self, now: float, activity: float) -> bool:
        """Return whether writers wait: for a batch of sync flushing, or for room in the log.

        Args:
            now: simulated seconds.
            activity: the server's activity counter; commits here.
        """
        found = self._load.threads > 0 and (self._sync_flushed() or self._without_room(now, activity))
        if found and not self._waiting:
            self.waits += self._load.threads
        self._waiting = found
        return found

    def _sync_flushed(self) -> bool:
        """Return whether writers wait for a batch of sync flushing, which begins here if it must."""
        if not self._cleaner.waits_for_sync:
            return False
        redo, cleaner = self._redo, self._cleaner
        if not cleaner.holds_writers and redo.sync_flush_lsn(self._flush_list.oldest(redo.lsn)) is not None:
            cleaner.hold_writers()
            self._waiting = False
        return cleaner.holds_writers

    def _without_room(self, now: float, activity: float) -> bool:
        """Return whether there is no room in the log, not even by a checkpoint."""
        redo = self._redo
        if redo.room() > NO_ROOM:
            return False
        if now >= self._looks_at:
            if not self._waiting:  # they wake the checkpointer and wait for it, be it for a moment
                self.waits += self._load.threads
                self._waiting = True
            self.checkpoint(now)
            if redo.room() > NO_ROOM:
                return False
        self._cleaner.out_of_room(now, activity)
        return redo.room() <= NO_ROOM

    def until_looked(self, now: float) -> float:
        """Return the seconds until writers that wait for room see what a checkpoint has freed."""
        return math.inf if self._cleaner.holds_writers else max(0.0, self._looks_at - now)

    def until_full(self, redo_rate: float) -> float:
        """Return the seconds until the log is full, or the sync point is reached where writers wait there.

        Args:
            redo_rate: bytes/s.
        """
        redo = self._redo
        room = redo.room()
        if self._cleaner.waits_for_sync:
            age = redo.lsn - self._flush_list.oldest(redo.lsn)
            room = min(room, redo.sync_trigger - age + NO_ROOM)
        return room / redo_rate
