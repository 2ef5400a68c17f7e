"""How far the trials of the low-water mark are, for whoever watches."""

from __future__ import annotations

from tuner.core.mark import consented, owed
from tuner.core.state import State
from tuner.core.switchback import MOST_BLOCKS
from tuner.records import LowWaterProgress


def progress(state: State, *, now: float) -> LowWaterProgress | None:
    """Return what a watcher may want to know; None without consent, where nothing of ours is in force."""
    mark = state.mark
    if not consented(state) and mark.original is None:
        return None
    running, used = mark.running, mark.used
    return LowWaterProgress(
        why=mark.why,
        operator=mark.original,
        tried=None if running is None else mark.tried,
        number=mark.number,
        blocks=0 if running is None else len(running.blocks),
        most_blocks=0 if running is None else MOST_BLOCKS,
        suggested=running is not None and running.suggested,
        used=None if used is None else used.mark,
        gain=0.0 if used is None else used.gain,
        low=0.0 if used is None else used.low,
        high=0.0 if used is None else used.high,
        rest_seconds=max(0.0, mark.rest_until - now),
        owed=owed(state),
    )
