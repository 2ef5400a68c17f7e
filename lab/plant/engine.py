"""Time in the simulated server: phases of constant rates between events."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING

from lab.plant.access import appending, streams
from lab.plant.cleaner import Cleaner
from lab.plant.disk import Disk
from lab.plant.endless import IN_HAND, MOST_PHASES, Endless, why_endless
from lab.plant.flavour import Sync
from lab.plant.flow import Flow, crowded
from lab.plant.flush_list import flush_list
from lab.plant.latency import Latencies
from lab.plant.load import Clients
from lab.plant.lru import Lru
from lab.plant.mariadb import MariaDBCleaner
from lab.plant.mariadb_redo import MariaDBRedo
from lab.plant.mysql56 import OldCleaner
from lab.plant.mysql57 import ForcedCleaner
from lab.plant.pool import kept
from lab.plant.redo import Redo
from lab.plant.space import Space
from lab.plant.timeline import Timeline

if TYPE_CHECKING:
    from lab.plant.parameters import LoadChange, PlantParameters

FIRST_LSN = 20_000_000
CLEANER_PHASE = 0.37
"""Seconds by which the page cleaner's loop is off the whole second, as in a real server."""

INSTANT = 1e-6
"""Seconds that count as the same moment."""

_CLEANERS = {Sync.WRITERS: OldCleaner, Sync.BATCH: ForcedCleaner, Sync.FURIOUS: MariaDBCleaner}
"""Page cleaners other than that of MySQL from 8.0 on."""


class Engine:
    """One server, its disk and its load, from event to event.

    An event is the end of a flush batch, the page cleaner's waking, a checkpoint that is due,
    the log running full, a whole second, a change of load, disk or redo size, the end of a queue, or
    the end of the step. Between two events all rates are constant.

    Attributes:
        now: simulated seconds since the start.
        commits: commits so far.
        stalled: seconds in which all writers waited for redo space or for sync flushing.
        space: room in the log, and writers that waited for it.
        latencies: how long commits took.
        redo_per_commit: redo that one commit adds now, bytes.
    """

    __slots__ = (
        "_commit_bytes",
        "_in_hand",
        "_own",
        "_second",
        "_timeline",
        "_touched",
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
        "space",
        "stalled",
    )

    def __init__(self, parameters: PlantParameters, *, seed: int) -> None:
        """Start with an empty flush list at time 0."""
        server = parameters.server
        touched = self._touched = streams(parameters.load)
        self.now = 0.0
        log = MariaDBRedo if server.kind.sync is Sync.FURIOUS else Redo
        self.redo = log(capacity=server.redo_capacity, lsn=float(FIRST_LSN), now=0.0, flavour=server.kind)
        self.lru = self._lru(parameters)
        self.ledger = flush_list(
            touched,
            neighbours=server.in_force.flush_neighbors and self.lru is None,
            lists_written=server.kind.sync is Sync.FURIOUS,
            instances=server.pool_instances,
            until_limit=self.redo.flush_limit / parameters.load.redo_bytes_per_commit,
            lsn=float(FIRST_LSN),
        )
        self.cleaner = _CLEANERS.get(server.kind.sync, Cleaner)(server, self.redo, now=CLEANER_PHASE - 1.0)
        self.disk = Disk(parameters.disk, doublewrite_pages=server.in_force.doublewrite_pages)
        self.load = Clients(parameters.load, seed=seed, latency=self.disk.commit_latency)
        self.space = Space(self.redo, self.ledger, self.cleaner, self.disk, self.load)
        self._own = parameters.load
        self.redo_per_commit = 0.0
        self._change(parameters.load.timeline[0])
        self._commit_bytes = parameters.load.commit_bytes
        self._timeline = self._planned(parameters)
        self._second = 0.0
        self._in_hand = float(IN_HAND)
        self.commits = 0.0
        self.stalled = 0.0
        self.latencies = Latencies()

    def _lru(self, parameters: PlantParameters) -> Lru | None:
        """Return the end of the LRU list; None where the pool holds all that is ever touched."""
        frames, touched = parameters.server.buffer_pool_pages, self._touched
        if kept(touched) <= frames and not any(one.pages == math.inf for one in touched):
            return None
        return Lru(
            touched,
            frames=frames,
            scan_depth=parameters.server.lru_scan_depth,
            read_iops=parameters.disk.read_iops,
            lsn=float(FIRST_LSN),
        )

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
        new = own.appended_pages if now.appended_pages is None else now.appended_pages
        touched = appending(self._touched, new)
        self.ledger.change(touched)
        if self.lru is not None:
            self.lru.change(touched)
        redo = now.redo_bytes_per_commit
        self.redo_per_commit = own.redo_bytes_per_commit if redo is None else redo

    def _resize(self, capacity: int) -> None:
        self.redo.resize(capacity)

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
            self.space.checkpoint(self.now)
        if now >= self.cleaner.wake_at:
            self.cleaner.wake(self.now, self.redo, self.ledger, self.commits)

    def _whole_second(self, now: float) -> None:
        """Do what happens once a second."""
        self._second = math.floor(now) + 1.0
        self.load.next_second()
        if self.lru is not None:
            self.lru.next_second(self.now, self.ledger, self.commits, self.redo.lsn, self.load.threads)
        self.redo.next_second(self.now, self.commits)

    def _phase(self, until: float) -> None:
        """Move to the next event."""
        now, redo, load, cleaner, disk = self.now, self.redo, self.load, self.cleaner, self.disk
        blocked = self.space.blocked(now, self.commits)
        end = min(until, self._second, redo.due, self._timeline.next, now + disk.until_spent())
        cost = disk.commit_seconds(load.operations_per_commit, self._commit_bytes)
        flow = self._flow(cost, blocked=blocked)
        commits, pages = flow.commits, flow.pages
        batch_end = now + cleaner.left / pages if cleaner.left > 0.0 else math.inf
        end = min(end, batch_end if cleaner.left > 0.0 else cleaner.wake_at)
        if blocked:
            end = min(end, now + self.space.until_looked(now))
        elif commits > 0.0:
            full = self.space.until_full(commits * self.redo_per_commit)
            end = min(end, now + min(full, load.until_served(commits), flow.lasts))
        seconds = max(0.0, end - now)
        flushed = 0.0
        if pages > 0.0:
            written = cleaner.left if end >= batch_end else pages * seconds
            flushed = self.ledger.take(written)
            cleaner.wrote(flushed)
        done = commits * seconds
        if blocked:
            self.stalled += seconds
        self.latencies.add(load.latency(end, seconds, done, device_seconds=cost), done)
        if done > 0.0:
            self.commits += done
            redo.lsn += done * self.redo_per_commit
            self.ledger.update(commits=done, lsn=redo.lsn, flushing=flushed > 0.0)
        load.queue(commits, seconds)
        replaced, evicted = flow.replaced * seconds, flow.evicted * seconds
        if self.lru is not None:
            self.lru.wrote(self.ledger, replaced=replaced, evicted=evicted)
        pages = flushed + replaced + evicted
        disk.used(commits=done * load.operations_per_commit, pages=pages, seconds=seconds)
        self.now = max(self.now, end)
        if end >= batch_end:
            cleaner.finish(self.now, redo, self.ledger)

    def _flow(self, cost: float, *, blocked: bool) -> Flow:
        """Return the rates from now to the next event, with the device's time for one commit, seconds."""
        load, flushing, lru = self.load, self.cleaner.left > 0.0, self.lru
        most = 0.0 if blocked else load.most_commits(cost)
        if lru is None and not flushing:
            return Flow(self.disk.alone(commit_seconds=cost, most_commits=most), 0.0)
        waiting = self.disk.commit_seconds(load.waiting, load.threads * self._commit_bytes)
        if lru is None:
            return Flow(*self.disk.shared(commit_seconds=cost, most_commits=most, waiting=waiting))
        if self.now >= lru.sweeps_at and lru.room(self.ledger) <= 0.0:
            lru.sweep(self.now, self.ledger, self.commits, self.redo.lsn, load.threads)
        return crowded(
            self.disk,
            lru,
            self.ledger,
            load.threads,
            cost=cost,
            most=most,
            waiting=waiting,
            flushing=flushing,
        )
