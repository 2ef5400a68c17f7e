"""The journal's thread. Nothing here makes the loop wait: it puts things down and goes on."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

from tuner.journal.items import (
    TICKS,
    Advice,
    Backlog,
    Barrier,
    Done,
    Item,
    LearnedItem,
    TickItem,
    advice_of,
    rows_item,
    tick_item,
)
from tuner.journal.keeper import FAILURES, Keeper
from tuner.journal.tables import FILE_NAME, Snapshot
from tuner.records import TickRecord

PATIENT = (TickItem, Snapshot, LearnedItem)
"""Items that wait for the next batch; originals, and what people or the next daemon go by, do not."""

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

    def put(self, item: Item, done: Done | None = None) -> None:
        """Take something to be kept.

        Args:
            item: what.
            done: called from the journal's thread when it is on disk for good, and only then.
        """
        self._put(item, done, urgent=not isinstance(item, PATIENT))

    def record(self, record: TickRecord) -> None:
        """Take one tick; the oldest is dropped where the disk has taken none for long."""
        self.put(tick_item(record))
        rows = rows_item(record, self._advice)
        if rows is not None:
            if rows.decision is not None:
                self._advice = advice_of(record)
            self._put(rows, urgent=rows.urgent)

    def flush(self, timeout: float) -> bool:
        """Wait until everything taken so far is on disk; False when it is not in time (seconds)."""
        reached = threading.Event()
        self.put(Barrier(), reached.set)
        return reached.wait(timeout)

    def close(self, timeout: float) -> bool:
        """Write what is left and stop; False when the disk did not take it in time (seconds), or it died."""
        self._closing = True
        if not self._started:
            return True
        self._wake.set()
        self._thread.join(timeout)
        return self._ended and not self._keeper.trouble

    def _put(self, item: Item, done: Done | None = None, *, urgent: bool) -> None:
        if self._backlog.put(item, done) or urgent:
            self._wake.set()
        if not self._started:
            self.start()

    def _work(self) -> None:
        while True:
            self._wake.wait(self._batch_seconds)
            self._wake.clear()
            closing = self._closing
            entries = self._backlog.take()
            try:
                self._keeper.write([entry.item for entry in entries], dropped=self._backlog.dropped)
            except FAILURES as error:
                self._backlog.put_back(entries)
                self._keeper.failed(error)
            else:
                for entry in entries:
                    if entry.done is not None:
                        entry.done()
            if closing:
                self._keeper.close()
                self._ended = True
                return
