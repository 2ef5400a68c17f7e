"""A bar on a terminal for what takes longer than a moment; nothing anywhere else."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, TaskID, TaskProgressColumn, TextColumn
from rich.progress import Progress as RichProgress

from lab.scenarios.progress import Progress
from tuner.cli.answer import interruptible, like_ctrl_c
from tuner.cli.wording import duration

QUIET_SECONDS = 2.0
"""How long nothing is shown."""

REDRAW_SECONDS = 0.1
"""Shortest time between two drawings."""

KNOWN_FROM = 0.005
"""Share from which on the time left can be told."""


@contextmanager
def working(interrupted: str) -> Iterator[Bar]:
    """Have a bar while something is worked out; Ctrl-C and its like end it with these words."""
    with interruptible(interrupted), like_ctrl_c(), Bar() as bar:
        yield bar


class Bar:
    """Bar, percent, stage and time left, in one line of stderr that is gone at the end."""

    def __init__(self) -> None:
        """Start the clock."""
        self._since = time.monotonic()
        self._due = self._since + QUIET_SECONDS
        self._task = TaskID(0)
        self._stage, self._share = "", 0.0
        console = Console(stderr=True)
        columns = (BarColumn(24), TaskProgressColumn(), TextColumn("{task.description}", markup=False))
        self._shown = RichProgress(
            *columns,
            console=console,
            auto_refresh=False,
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
            disable=not console.is_terminal,
        )

    def __enter__(self) -> Self:
        """Return itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Take the line away."""
        if self._shown.live.is_started:
            self._shown.stop()

    def show(self, progress: Progress) -> None:
        """Draw how far it is; the bar of one stage never goes back."""
        now = time.monotonic()
        if progress.stage != self._stage:
            self._stage, self._since, self._share = progress.stage, now, 0.0
        self._share = max(self._share, min(progress.share, 1.0))
        if now < self._due:
            return
        self._due = now + REDRAW_SECONDS
        if not self._shown.live.is_started:
            self._task = self._shown.add_task("", total=1.0)
            self._shown.start()
        words = progress.stage + (f", {progress.detail}" if progress.detail else "")
        if self._share >= KNOWN_FROM:
            most = "at most about " if progress.at_least else ""
            left = max(1.0, (now - self._since) * (1.0 - self._share) / self._share)
            words += f"  {most}{duration(left)} left"
        self._shown.update(self._task, completed=self._share, description=words, refresh=True)
