"""Time in the simulated server: phases of constant rates between events."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING

from lab.plant.access import streams
from lab.plant.cleaner import Cleaner
from lab.plant.disk import Disk
from lab.plant.endless import IN_HAND, MOST_PHASES, Endless, why_endless
from lab.plant.flavour import Sync
from lab.plant.latency import Latencies
from lab.plant.load import Clients
from lab.plant.lru import Lru
from lab.plant.mariadb import MariaDBCleaner
from lab.plant.mysql56 import OldCleaner
from lab.plant.pages import Ledger
from lab.plant.pool import pool
from lab.plant.redo import Redo
from lab.plant.timeline import Timeline

if TYPE_CHECKING:
    from lab.plant.parameters import LoadChange, PlantParameters

FIRST_LSN = 20_000_000
CLEANER_PHASE = 0.37
"""Seconds by which the page cleaner's loop is off the whole second, as in a real server."""

POLL_SECONDS = 0.02
"""How often blocked writers look for room, standing in for the server's polling."""

INSTANT = 1e-6
"""Seconds that count as the same moment."""

NO_ROOM = 1.0
"""Bytes of redo that are too few for any writer."""


_CLEANERS = {Sync.WRITERS: OldCleaner, Sync.FURIOUS: MariaDBCleaner}
"""Page cleaners other than that of MySQL from 5.7 on."""


class Engine:
    """One server, its disk and its load, from event to event.

    An event is the end of a flush batch, the page cleaner's waking, a checkpoint that is due,
    the log running full, a whole second, a change of load, disk or redo size, the end of a queue, or
    the end of the step. Between two events all rates are constant.

    Attributes:
        now: simulated seconds since the start.
        commits: commits so far.
        stalled: seconds in which all writers waited for redo space or for sync flushing.
        waits: writers that waited for redo space so far (``log_on_file_space_waits``).
        latencies: how long commits took.
        redo_per_commit: redo that one commit adds now, bytes.
    """

    __slots__ = (
        "_commit_bytes",
        "_in_hand",
        "_own",
        "_second",
        "_timeline",
        "_waits_for_sync",
        "cleaner",
        "commits",
        "disk",
        "latencies",
        "ledger",
        "load",
        "lru",
        "now",
        "redo",
        "redo_per_commit",
        "stalled",
        "waits",
    )

    def __init__(self, parameters: PlantParameters, *, seed: int) -> None:
        """Start with an empty flush list at time 0."""
        server = parameters.server
        touched = streams(parameters.load)
        self.now = 0.0
        self.redo = Redo(capacity=server.redo_capacity, lsn=float(FIRST_LSN), now=0.0, flavour=server.kind)
        self.ledger = Ledger(touched, lsn=float(FIRST_LSN))
        self.cleaner = _CLEANERS.get(server.kind.sync, Cleaner)(server, self.redo, now=CLEANER_PHASE - 1.0)
        self.disk = Disk(parameters.disk, doublewrite_pages=server.doublewrite_pages)
        self.load = Clients(parameters.load, seed=seed, latency=self.disk.commit_latency)
        found = pool(server.buffer_pool_pages, touched)
        depth, reads = server.lru_scan_depth, parameters.disk.read_iops
        self.lru = None if found is None else Lru(found, depth, reads, lsn=float(FIRST_LSN))
        self._own = parameters.load
        self.redo_per_commit = 0.0
        self._change(parameters.load.timeline[0])
        self._commit_bytes = parameters.load.commit_bytes
        self._timeline = self._planned(parameters)
        self._waits_for_sync = self.cleaner.waits_for_sync()
        self._second = 0.0
        self._in_hand = float(IN_HAND)
        self.commits = 0.0
        self.stalled = 0.0
        self.waits = 0
        self.latencies = Latencies()

    def _planned(self, parameters: PlantParameters) -> Timeline:
        """Return what changes by itself."""
        timeline = Timeline()
        disk, load = parameters.disk, parameters.load
        timeline.add([(one.at, partial(self._change, one)) for one in load.timeline], repeat=load.repeat)
        timeline.add(
            [(one.at, partial(self.disk.limit, one.write_iops)) for one in disk.timeline], repeat=disk.repeat
        )
        timeline.add(
            [(one.at, partial(self._resize, one.redo_capacity)) for one in parameters.server.resizes]
        )
        return timeline

    def _change(self, now: LoadChange) -> None:
        own = self._own
        self.load.change(now)
        self.ledger.appends(own.appended_pages if now.appended_pages is None else now.appended_pages)
        redo = now.redo_bytes_per_commit
        self.redo_per_commit = own.redo_bytes_per_commit if redo is None else redo

    def _resize(self, capacity: int) -> None:
        self.redo.resize(capacity, self.ledger.oldest(self.redo.lsn))

    def advance_to(self, until: float) -> None:
        """Let time pass up to ``until``, seconds since the start; ``Endless`` where that would never end."""
        left = min(IN_HAND, self._in_hand + MOST_PHASES * (until - self.now))
        while self.now < until - INSTANT:
            self._events()
            self._phase(until)
            left -= 1.0
            if left < 0.0:
                raise Endless(why_endless(self))
        self._in_hand = left

    def _events(self) -> None:
        """Do all that is due now."""
        now = self.now + INSTANT
        if now >= self._second:
            self._whole_second(now)
        if now >= self._timeline.next:
            self._timeline.pass_to(now)
        if now >= self.redo.due:
            self._checkpoint()
        if now >= self.cleaner.wake_at:
            self.cleaner.wake(self.now, self.redo, self.ledger, self.commits)

    def _whole_second(self, now: float) -> None:
        """Do what happens once a second."""
        self._second = math.floor(now) + 1.0
        self.load.next_second()
        if self.lru is not None:
            self.lru.next_second(self.ledger, self.commits, self.redo.lsn)
        if self.redo.resizing:
            self.redo.shrink(self.ledger.oldest(self.redo.lsn))

    def _checkpoint(self) -> bool:
        """Let the checkpointer ask for sync flushing and write what is available; False when nothing is."""
        redo, cleaner = self.redo, self.cleaner
        oldest = self.ledger.oldest(redo.lsn)
        redo.make_available(oldest)
        if cleaner.wakes_for_sync() and redo.sync_flush_lsn(oldest) is not None:
            cleaner.wake_at = min(cleaner.wake_at, self.now)
        return redo.write_checkpoint(self.now)

    def _blocked(self) -> bool:
        """Return whether writers wait: for a batch of sync flushing, or for room in the log.

        Those that find no room have woken the checkpointer first.
        """
        redo, cleaner = self.redo, self.cleaner
        if not self.load.threads:
            return False
        if self._waits_for_sync:
            if not cleaner.holds_writers and redo.sync_flush_lsn(self.ledger.oldest(redo.lsn)) is not None:
                self.waits += self.load.threads
                cleaner.hold_writers(redo, self.ledger)
            if cleaner.holds_writers:
                return True
        if redo.room() > NO_ROOM:
            return False
        self.waits += self.load.threads
        freed = self._checkpoint()
        if freed and redo.room() > NO_ROOM:
            return False
        cleaner.out_of_room(self.now, redo, self.ledger, self.commits)
        return redo.room() <= NO_ROOM

    def _phase(self, until: float) -> None:
        """Move to the next event."""
        redo, load, cleaner, disk = self.redo, self.load, self.cleaner, self.disk
        blocked = self._blocked()
        end = min(until, self._second, redo.due, self._timeline.next, self.now + disk.until_spent())
        most = 0.0 if blocked else load.most_commits
        operations = load.operations_per_commit
        if self.lru is not None:
            operations += self.lru.pages_per_commit * disk.page_operations()
            most = min(most, self.lru.most_commits)
        cost = disk.commit_seconds(operations, self._commit_bytes)
        batch_end = math.inf
        if cleaner.left > 0.0:
            commits, pages = disk.shared(commit_seconds=cost, most_commits=most, waiting=load.waiting)
            batch_end = self.now + cleaner.left / pages
            end = min(end, batch_end)
        else:
            pages = 0.0
            commits = disk.alone(commit_seconds=cost, most_commits=most)
            end = min(end, cleaner.wake_at)
        if blocked:
            if not cleaner.holds_writers:
                end = min(end, self.now + POLL_SECONDS)
        elif commits > 0.0:
            end = min(end, self.now + self._until_full(commits), self.now + load.until_served(commits))
        seconds = max(0.0, end - self.now)
        flushed = 0.0
        if pages > 0.0:
            written = cleaner.left if end >= batch_end else pages * seconds
            flushed = self.ledger.take(written)
            cleaner.wrote(flushed)
        done = commits * seconds
        if blocked:
            self.stalled += seconds
        self.latencies.add(load.latency(end, seconds, done), done)
        if done > 0.0:
            self.commits += done
            redo.lsn += done * self.redo_per_commit
            self.ledger.update(commits=done, lsn=redo.lsn, flushing=flushed > 0.0)
        load.queue(commits, seconds)
        disk.used(done * operations + flushed * disk.page_operations(), seconds)
        self.now = max(self.now, end)
        if end >= batch_end:
            cleaner.finish(self.now, redo, self.ledger)

    def _until_full(self, commits: float) -> float:
        """Return the seconds until the log is full, or the sync point is reached where writers wait there."""
        redo = self.redo
        room = redo.room()
        if self._waits_for_sync:
            age = redo.lsn - self.ledger.oldest(redo.lsn)
            room = min(room, redo.sync_trigger - age + NO_ROOM)
        return room / (commits * self.redo_per_commit)
