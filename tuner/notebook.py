"""The journal for a command that writes once, without a daemon around it."""

from __future__ import annotations

from pathlib import Path

import msgspec

from tuner.core.snapshot import encode_state
from tuner.core.standing import Standing
from tuner.core.state import State
from tuner.journal.ending import left_after
from tuner.journal.tables import OFFLINE
from tuner.journal.writer import JournalWriter
from tuner.records import TickRecord

NOTE_SECONDS = 2.0
"""How long the disk may take for a note."""


class Notebook:
    """The journal, as far as a park or a restore needs it: a write is on disk before it is carried out.

    A disk that takes nothing is no reason not to write to the server.
    """

    def __init__(self, directory: Path, *, keep_ticks: int) -> None:
        """Use a state directory; nothing is touched before the first note.

        Args:
            directory: where the journal is.
            keep_ticks: ticks that it holds.
        """
        self._why = ""
        self._journal: JournalWriter | None = None
        self._last: TickRecord | None = None
        self._directory = directory
        self._keep_ticks = keep_ticks

    def begin(self, state: State, *, number: int, wall: float) -> None:
        """Begin a run with the state before its first tick, after the tick of that number."""
        self._opened().begin_run(
            settings=state.settings,
            facts=state.facts,
            state=encode_state(state),
            tick_number=number,
            wall=wall,
        )

    def done(self, message: str, *, wall: float, who: str) -> None:
        """Note what was done to a server without its daemon, for whoever asks for the status."""
        self._opened().note(wall=wall, code=OFFLINE, message=message, who=who)

    def record(self, record: TickRecord) -> None:
        """Put a tick on disk."""
        if self._journal is not None:
            self._last = record
            self._journal.record(record)
            self._journal.flush(NOTE_SECONDS)

    def stands(self, standing: Standing) -> None:
        """Put on disk what the next daemon has to know of a server."""
        journal = self._opened()
        journal.save_standing(standing.identity, msgspec.json.encode(standing).decode())
        journal.flush(NOTE_SECONDS)

    def given_back(self, identity: str) -> None:
        """Note that a server has its originals again."""
        self._opened().given_back(identity)

    @property
    def begun(self) -> bool:
        """Tell whether anything was noted."""
        return self._journal is not None

    def end(self, wall: float) -> None:
        """Note that the run ended in order, and which pair it leaves."""
        if self._journal is not None:
            self._journal.end_run(wall, left=left_after(self._last))

    def close(self) -> str:
        """Write what is left; return why something was lost, empty where nothing was."""
        if self._journal is None or self._journal.close(NOTE_SECONDS):
            return ""
        return self._why or f"{self._directory}: the disk took no notes within {NOTE_SECONDS:.0f} s"

    def _opened(self) -> JournalWriter:
        if self._journal is None:
            self._journal = JournalWriter(
                self._directory, keep_ticks=self._keep_ticks, on_error=self._note_trouble
            )
            self._journal.start()
        return self._journal

    def _note_trouble(self, message: str) -> None:
        self._why = self._why or message
