"""The journal's thread. Nothing here makes the loop wait: it puts things down and goes on."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path

from tuner.journal.items import (
    TICKS,
    Advice,
    Backlog,
    BarrierItem,
    EndItem,
    GivenBackItem,
    Item,
    LearnedItem,
    NoteItem,
    OriginalsItem,
    RunItem,
    SnapshotItem,
    StandingItem,
    advice_of,
    rows_item,
    tick_item,
)
from tuner.journal.keeper import FAILURES, Keeper
from tuner.journal.tables import FILE_NAME, Originals
from tuner.records import Capacity, Facts, TickRecord
from tuner.settings import Settings

BATCH_SECONDS = 5.0
"""Ticks wait at most this long for their commit; decisions, events and originals do not wait."""


class JournalWriter:
    """Writes the journal of one state directory from a thread of its own.

    Every method returns at once, except ``flush`` and ``close``. A disk that is full, slow or
    gone costs ticks, oldest first, and never the loop.
    """

    def __init__(
        self,
        directory: Path,
        *,
        keep_ticks: int,
        on_error: Callable[[str], None],
        batch_seconds: float = BATCH_SECONDS,
        queue_ticks: int = TICKS,
        file_name: str = FILE_NAME,
    ) -> None:
        """Prepare; nothing is touched before ``start``, or the first thing to write.

        Args:
            directory: state directory; must exist and be writable.
            keep_ticks: ticks to keep; older ones are deleted.
            on_error: called from the journal's thread with one line: when writing stops, when it works
                again, and when a damaged journal was set aside.
            batch_seconds: longest time between two commits.
            queue_ticks: ticks held in memory while the disk takes none.
            file_name: the journal's, in that directory.
        """
        self._batch_seconds = batch_seconds
        self._backlog = Backlog(queue_ticks)
        self._keeper = Keeper(directory / file_name, keep_ticks=keep_ticks, on_error=on_error)
        self._wake = threading.Event()
        self._started = self._closing = self._ended = False
        self._advice: Advice | None = None
        self._thread = threading.Thread(target=self._work, name="journal", daemon=True)

    @property
    def dropped(self) -> int:
        """Return how many ticks were dropped since the start."""
        return self._backlog.dropped

    @property
    def alive(self) -> bool:
        """Tell whether its thread lives."""
        return self._thread.is_alive()

    @property
    def started(self) -> bool:
        """Tell whether it has begun, by ``start`` or with the first thing to write."""
        return self._started

    @property
    def trouble(self) -> str:
        """Return why nothing can be written just now; empty while it works."""
        if self._started and not self._closing and not self.alive:
            return "its thread is dead; the log has the error"
        return self._keeper.trouble

    @property
    def written(self) -> float | None:
        """Return when something was put on disk last, Unix time; None where nothing was yet."""
        return self._keeper.written

    def start(self) -> None:
        """Start the thread, which opens or makes the journal at once."""
        self._started = True
        self._wake.set()
        self._thread.start()

    def begin_run(
        self, *, settings: Settings, facts: Facts, state: bytes, tick_number: int, wall: float
    ) -> None:
        """Note that a run starts: what a replay begins with.

        Args:
            settings: in force at the start.
            facts: the server.
            state: the loop's encoded state before the run's first tick.
            tick_number: number of the tick before the first one; 0 at the daemon's start.
            wall: Unix time.
        """
        self._put(RunItem(settings, facts, state, tick_number, wall), urgent=True)

    def record(self, record: TickRecord) -> None:
        """Take one tick; the oldest is dropped where the disk has taken none for long."""
        self._put(tick_item(record), urgent=False)
        rows = rows_item(record, self._advice)
        if rows is not None:
            if rows.decision is not None:
                self._advice = advice_of(record)
            self._put(rows, urgent=rows.urgent)

    def snapshot(self, tick_number: int, blob: bytes) -> None:
        """Take the loop's encoded state after a tick; a replay can begin there."""
        self._put(SnapshotItem(tick_number, blob), urgent=False)

    def save_originals(  # noqa: PLR0917 - what is kept, in the order of its columns
        self,
        identity: str,
        originals: Capacity,
        started: float,
        version: str,
        wall: float,
        done: Callable[[], None],
    ) -> None:
        """Keep the pair that a server had, in place of what was kept for it before.

        Args:
            identity: which server.
            originals: C and M, pages/s.
            started: when the server had started, Unix time.
            version: the server's version.
            wall: now, Unix time.
            done: called from the journal's thread when they are on disk for good, and only then.
        """
        self._put(OriginalsItem(Originals(identity, originals, started, version, wall), done), urgent=True)

    def save_standing(self, identity: str, text: str, done: Callable[[], None] = lambda: None) -> None:
        """Keep what the next daemon has to know about a server, in place of what was kept before.

        Args:
            identity: which server.
            text: what.
            done: called from the journal's thread when it is on disk for good, and only then.
        """
        self._put(StandingItem(identity, text, done), urgent=True)

    def given_back(self, identity: str) -> None:
        """Forget a server's originals: they are in force again, and the next ones may be others."""
        self._put(GivenBackItem(identity), urgent=True)

    def save_learned(self, identity: str, blob: bytes) -> None:
        """Keep what was learned about a server, in place of what was known before."""
        self._put(LearnedItem(identity, time.time(), blob), urgent=False)

    def end_run(self, wall: float, *, left: Capacity | None = None) -> None:
        """Note that the run ends in order: nothing is left to be done in its place.

        Args:
            wall: when, Unix time.
            left: the pair that it left in force; None where that is not known, or none of its business.
        """
        self._put(EndItem(wall, left), urgent=True)

    def note(self, *, wall: float, code: str, message: str, who: str) -> None:
        """Put an event beside the ticks."""
        self._put(NoteItem((wall, code, message, who)), urgent=True)

    def flush(self, timeout: float) -> bool:
        """Wait until everything taken so far is on disk; False when it is not in time (seconds)."""
        barrier = BarrierItem()
        self._put(barrier, urgent=True)
        return barrier.reached.wait(timeout)

    def close(self, timeout: float) -> bool:
        """Write what is left and stop; False when the disk did not take it in time (seconds), or it died."""
        self._closing = True
        if not self._started:
            return True
        self._wake.set()
        self._thread.join(timeout)
        return self._ended and not self._keeper.trouble

    def _put(self, item: Item, *, urgent: bool) -> None:
        if self._backlog.put(item) or urgent:
            self._wake.set()
        if not self._started:
            self.start()

    def _work(self) -> None:
        while True:
            self._wake.wait(self._batch_seconds)
            self._wake.clear()
            closing = self._closing
            items = self._backlog.take()
            try:
                self._keeper.write([item for _, item in items], dropped=self._backlog.dropped)
            except FAILURES as error:
                self._backlog.put_back(items)
                self._keeper.failed(error)
            else:
                for _, item in items:
                    if isinstance(item, OriginalsItem | StandingItem):
                        item.done()
                    elif isinstance(item, BarrierItem):
                        item.reached.set()
            if closing:
                self._keeper.close()
                self._ended = True
                return
