"""Fills the memory for the charts with the hours before a restart, beside the loop and never in its way."""

from __future__ import annotations

import contextlib
import threading
import time
from pathlib import Path

from tuner.daemon.board import Board
from tuner.daemon.history import KEEP_SECONDS, History
from tuner.journal.reader import earlier_ticks
from tuner.journal.tables import JournalError
from tuner.records import Sample, TickRecord
from tuner.system.logs import get_logger

PAUSE_SECONDS = 0.02
"""Between two readings, so that the loop and the journal's writer go first."""

FIRST_TICK_SECONDS = 60.0
"""Wait for the first tick; without one there is nothing to go before."""

LONGEST_SECONDS = 120.0
"""A disk that is slower than this leaves the charts as they are."""

log = get_logger("innobrim")


class Recall:
    """One reading of the journal, in a thread of its own that ends with it."""

    def __init__(self, board: Board, directory: Path, *, identity: str, until: float) -> None:
        """Prepare; nothing is read before ``start``.

        Args:
            board: whose history is filled, after its first tick.
            directory: the state directory.
            identity: of the server; another one's ticks are left out.
            until: when this run begins, Unix time.
        """
        self._board = board
        self._directory = directory
        self._identity = identity
        self._until = until
        self._found = History(0)
        self._kept = self._unreadable = self._others = 0
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._work, name="recall", daemon=True)

    def start(self) -> None:
        """Begin; returns at once."""
        self._thread.start()

    def stop(self) -> None:
        """Read no further; returns at once."""
        self._end.set()

    def _work(self) -> None:
        if not self._journal_and_loop_at_work():
            return
        try:
            why = self._read()
        except (JournalError, OSError) as error:
            why = str(error)
        except Exception as error:  # noqa: BLE001 - charts without their past are no reason for a traceback
            why = f"{type(error).__name__}: {error}"
        if self._end.is_set():
            return
        if self._kept:
            self._board.history.precede(self._found)
        self._found = History(0)  # gives 1.6 MB back
        self._say(why)

    def _read(self) -> str:
        """Take what the journal has; return why that is not all, empty where it is."""
        deadline = time.monotonic() + LONGEST_SECONDS
        self._found = History()
        chunks = earlier_ticks(
            self._directory, since=self._until - KEEP_SECONDS, until=self._until, most=KEEP_SECONDS
        )
        with contextlib.closing(chunks):
            for ticks in chunks:
                for tick in ticks:
                    self._take(tick)
                if self._end.wait(PAUSE_SECONDS):
                    return ""
                if time.monotonic() > deadline:
                    return f"not read whole within {LONGEST_SECONDS:.0f} s"
        return (
            f"{self._unreadable} ticks are damaged, or of a version with other records"
            if self._unreadable
            else ""
        )

    def _take(self, tick: TickRecord | None) -> None:
        """Keep a tick that read this server; one whose reading failed is a gap, as no tick is."""
        if tick is None:
            self._unreadable += 1
        elif isinstance(tick.tick.reading, Sample):
            if tick.tick.reading.identity == self._identity:
                self._found.add(tick)
                self._kept += 1
            else:
                self._others += 1

    def _say(self, why: str) -> None:
        if self._others:
            log.info("the charts leave out what the journal has of another server", ticks=self._others)
        if why:
            log.warning("the charts lack some of the time before this start", reason=why, ticks=self._kept)
        elif self._kept:
            log.info("the charts go on from before this start", ticks=self._kept)

    def _journal_and_loop_at_work(self) -> bool:
        """Wait for the first tick and the journal's first commit, which has rolled back what a crash left."""
        deadline = time.monotonic() + FIRST_TICK_SECONDS
        while time.monotonic() < deadline:
            tally = self._board.tally()
            if tally.ticks and "journal" in tally.success:
                return True
            if self._end.wait(0.1):
                return False
        log.warning("the charts start again", reason="the journal was not written within a minute")
        return False
