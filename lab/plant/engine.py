"""Time in the simulated server: phases of constant rates between events."""

from __future__ import annotations

import heapq
import math
from functools import partial
from typing import TYPE_CHECKING

from lab.plant.cleaner import Cleaner
from lab.plant.disk import Commits, Disk
from lab.plant.flavour import Sync
from lab.plant.latency import Latencies
from lab.plant.load import Clients, LoadChange, appending, streams
from lab.plant.mariadb import MariaDBCleaner, MariaDBRedo
from lab.plant.mysql5 import MySQL56Cleaner, MySQL57Cleaner
from lab.plant.neighbours import flush_list_for
from lab.plant.pool import Flow, Lru, kept
from lab.plant.redo import Redo
from lab.plant.space import Space

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from lab.plant.parameters import PlantParameters


class Timeline:
    """Changes in order of time, seconds since the start."""

    def __init__(self) -> None:
        # when, a number of its own, what, and after how long again (0: never)
        self._changes: list[tuple[float, int, Callable[[], None], float]] = []

    @property
    def next(self) -> float:
        """Return when the next one is due; infinite when there is none."""
        return self._changes[0][0] if self._changes else math.inf

    def add(
        self, changes: Iterable[tuple[float, Callable[[], None]]], *, repeat: float | None = None
    ) -> None:
        """Add changes; those at 0 only happen again, as the start has their values."""
        for at, change in changes:
            if at > 0.0 or repeat:
                number = len(self._changes)
                heapq.heappush(self._changes, (at or repeat or 0.0, number, change, repeat or 0.0))

    def pass_to(self, now: float) -> None:
        """Let everything happen that is due."""
        while self.next <= now:
            at, number, change, repeat = heapq.heappop(self._changes)
            change()
            if repeat > 0.0:
                heapq.heappush(self._changes, (at + repeat, number, change, repeat))


MOST_PHASES = 5000
"""Phases of a simulated second, at most and on average: a server at work has ten, one whose writers wait for
room again and again hundreds.
"""

IN_HAND = 300_000
"""Phases that may come above that, all together: some three seconds of a processor."""


class Endless(Exception):  # noqa: N818 - reads as the state it names
    """Parameters under which so much happens in a second that a run would never end."""


FIRST_LSN = 20_000_000
CLEANER_PHASE = 0.37
"""Seconds by which the page cleaner's loop is off the whole second, as in a real server."""

INSTANT = 1e-6
"""Seconds that count as the same moment."""

_CLEANERS = {Sync.WRITERS: MySQL56Cleaner, Sync.BATCH: MySQL57Cleaner, Sync.FURIOUS: MariaDBCleaner}
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
        lru: the end of the LRU list; None where the pool holds all that is ever touched.
        latencies: how long commits took.
        redo_per_commit: redo that one commit adds now, bytes.
    """

    def __init__(self, parameters: PlantParameters, *, seed: int) -> None:
        """Start with an empty flush list at time 0."""
        server = parameters.server
        touched = self._touched = streams(parameters.load)
        self.now = 0.0
        log = MariaDBRedo if server.kind.sync is Sync.FURIOUS else Redo
        self.redo = log(capacity=server.redo_capacity, lsn=float(FIRST_LSN), now=0.0, flavour=server.kind)
        holds_all = kept(touched) <= server.buffer_pool_pages and not any(
            one.pages == math.inf for one in touched
        )
        self.flush_list = flush_list_for(
            touched,
            neighbours=server.in_force.flush_neighbors and holds_all,
            counts_written_neighbours=server.kind.sync is Sync.FURIOUS,
            instances=server.pool_instances,
            until_limit=self.redo.flush_limit / parameters.load.redo_bytes_per_commit,
            lsn=float(FIRST_LSN),
        )
        self.lru: Lru | None = None
        if not holds_all:
            self.lru = Lru(
                touched,
                self.flush_list,
                frames=server.buffer_pool_pages,
                scan_depth=server.lru_scan_depth,
                read_iops=parameters.disk.read_iops,
                lsn=float(FIRST_LSN),
            )
        cleaner = _CLEANERS.get(server.kind.sync, Cleaner)
        self.cleaner = cleaner(server, self.redo, self.flush_list, now=CLEANER_PHASE - 1.0)
        self.disk = Disk(parameters.disk, doublewrite_pages=server.in_force.doublewrite_pages)
        self.load = Clients(parameters.load, seed=seed, latency=self.disk.commit_latency)
        self.space = Space(self.redo, self.flush_list, self.cleaner, self.disk, self.load)
        self._own = parameters.load
        self.redo_per_commit = 0.0
        self.change_load(parameters.load.timeline[0])
        self._commit_bytes = parameters.load.commit_bytes
        self._timeline = self._planned(parameters)
        self._second = 0.0
        self._in_hand = float(IN_HAND)
        self.commits = 0.0
        self.stalled = 0.0
        self.latencies = Latencies()

    def _planned(self, parameters: PlantParameters) -> Timeline:
        found = Timeline()
        disk, load, server = parameters.disk, parameters.load, parameters.server
        found.add(((one.at, partial(self.change_load, one)) for one in load.timeline), repeat=load.repeat)
        found.add(
            ((one.at, partial(self.disk.limit, one.write_iops)) for one in disk.timeline), repeat=disk.repeat
        )
        found.add((one.at, partial(self.redo.resize, one.redo_capacity)) for one in server.resizes)
        return found

    def change_load(self, now: LoadChange) -> None:
        """Go on with another load; its ``at`` counts for nothing."""
        own = self._own
        self.load.change(now)
        new = own.appended_pages if now.appended_pages is None else now.appended_pages
        touched = appending(self._touched, new)
        self.flush_list.change(touched)
        if self.lru is not None:
            self.lru.change(touched)
        redo = now.redo_bytes_per_commit
        self.redo_per_commit = own.redo_bytes_per_commit if redo is None else redo

    def advance_to(self, until: float) -> None:
        """Let time pass up to ``until``, seconds since the start; ``Endless`` where that would never end."""
        left = min(IN_HAND, self._in_hand + MOST_PHASES * (until - self.now))
        while self.now < until - INSTANT:
            self._events()
            self._phase(until)
            left -= 1.0
            if left < 0.0:
                raise Endless(self._why_endless())
        self._in_hand = left

    def _why_endless(self) -> str:
        """Return what makes the seconds of this server so long, with the values that do it."""
        redo, cleaner, load = self.redo, self.cleaner, self.load
        return (
            f"{self.now:.1f} s after the start more than {MOST_PHASES:,} things happen in each second; the "
            f"run would hardly end. Either redo_capacity = {redo.capacity:,} is too small for threads = "
            f"{load.threads:,} with redo_bytes_per_commit = {self.redo_per_commit:,.15g}, which commit up to "
            f"{load.fastest:,.0f} times a second, or io_capacity = {cleaner.io_capacity:,} is too low for a "
            f"disk with write_iops = {self.disk.data.baseline:,.15g}"
        )

    def _events(self) -> None:
        now = self.now + INSTANT
        if now >= self._second:
            self._whole_second(now)
        self._timeline.pass_to(now)
        if now >= self.redo.due:
            self.space.checkpoint(self.now)
        if now >= self.cleaner.wake_at:
            self.cleaner.wake(self.now, self.commits)

    def _whole_second(self, now: float) -> None:
        self._second = math.floor(now) + 1.0
        self.load.next_second()
        if self.lru is not None:
            self.lru.next_second(self.now, self.commits, self.redo.lsn, self.load.threads)
        self.redo.next_second(self.now, self.commits)

    def _phase(self, until: float) -> None:
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
            flushed = self.flush_list.take(written)
            cleaner.wrote(flushed)
        done = commits * seconds
        if blocked:
            self.stalled += seconds
        self.latencies.add(load.latency(end, seconds, done, device_seconds=cost), done)
        if done > 0.0:
            self.commits += done
            redo.lsn += done * self.redo_per_commit
            self.flush_list.update(commits=done, lsn=redo.lsn, flushing=flushed > 0.0)
        load.queue(commits, seconds)
        replaced, evicted = flow.replaced * seconds, flow.evicted * seconds
        if self.lru is not None:
            self.lru.wrote(replaced=replaced, evicted=evicted)
        pages = flushed + replaced + evicted
        disk.used(commits=done * load.operations_per_commit, pages=pages, seconds=seconds)
        self.now = max(self.now, end)
        if end >= batch_end:
            cleaner.finish(self.now)

    def _flow(self, cost: float, *, blocked: bool) -> Flow:
        """Return the rates from now to the next event, with the device's time for one commit, seconds."""
        load, flushing, lru = self.load, self.cleaner.left > 0.0, self.lru
        most = 0.0 if blocked else load.most_commits(cost)
        waiting = self.disk.commit_seconds(load.waiting, load.threads * self._commit_bytes)
        asked = Commits(cost, most, waiting)
        if lru is None:
            return Flow(*self.disk.shared(asked)) if flushing else Flow(self.disk.alone(asked), 0.0)
        if self.now >= lru.sweeps_at and lru.room() <= 0.0:
            lru.sweep(self.now, self.commits, self.redo.lsn, load.threads)
        return lru.flow(self.disk, load.threads, asked, flushing=flushing)
