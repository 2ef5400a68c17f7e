"""A bar on a terminal for what takes longer than a moment; nothing anywhere else."""

from __future__ import annotations

import os
import sys
import time
from typing import TYPE_CHECKING

from tuner.cli.wording import duration

if TYPE_CHECKING:
    from typing import Self

    from lab.scenarios.progress import Progress

QUIET_SECONDS = 2.0
"""How long nothing is shown."""

REDRAW_SECONDS = 0.1
"""Shortest time between two drawings."""

KNOWN_FROM = 0.005
"""Share from which on the time left can be told."""

CLEAR = "\r\033[K"
CELLS = 24
COLUMNS = 80


class Bar:
    """Stage, bar, percent and time left, in one line of stderr that is gone at the end."""

    def __init__(self) -> None:
        """Start the clock."""
        self._began = self._since = time.monotonic()
        self._terminal = sys.stderr.isatty()
        self._due = self._began + QUIET_SECONDS
        self._stage = ""
        self._share = 0.0
        self._shown = False

    def __enter__(self) -> Self:
        """Return itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Take the line away."""
        if self._shown:
            sys.stderr.write(CLEAR)
            sys.stderr.flush()
            self._shown = False

    def show(self, progress: Progress) -> None:
        """Draw how far it is, in place of what was there; the bar of one stage never goes back."""
        now = time.monotonic()
        if progress.stage != self._stage:
            self._stage, self._since, self._share = progress.stage, now, 0.0
        self._share = max(self._share, min(progress.share, 1.0))
        if not self._terminal or now < self._due:
            return
        self._due = now + REDRAW_SECONDS
        self._shown = True  # before it is: Ctrl-C may come while it is drawn
        sys.stderr.write(CLEAR + drawn(progress, self._share, now - self._since, _columns() - 1))
        sys.stderr.flush()


def drawn(progress: Progress, share: float, seconds: float, columns: int) -> str:
    """Return one line, no longer than so many columns; the bar goes first where there is no room.

    Args:
        progress: what goes on.
        share: how far it is, 0 to 1.
        seconds: since the stage began.
        columns: of the terminal.
    """
    full = round(CELLS * share)
    percent = f"{int(100.0 * share):3d} %"
    words = [progress.stage + (f", {progress.detail}" if progress.detail else "")]
    if share >= KNOWN_FROM:
        most = "at most about " if progress.at_least else ""
        words.append(f"{most}{duration(max(1.0, seconds * (1.0 - share) / share))} left")
    line = f"[{'#' * full}{'-' * (CELLS - full)}] {percent}  {'  '.join(words)}"
    if len(line) > columns:
        line = f"{percent}  {'  '.join(words)}"
    return line[:columns]


def _columns() -> int:
    """Return the width of the terminal."""
    try:
        return os.get_terminal_size(sys.stderr.fileno()).columns or COLUMNS
    except (OSError, ValueError):
        return COLUMNS
