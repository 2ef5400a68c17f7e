"""MariaDB's low-water mark of dirty pages: its name, its unit, and how far the trials of it are."""

from __future__ import annotations

from msgspec import Struct

LOW_WATER_MARK = "innodb_max_dirty_pages_pct_lwm"
"""The variable that says from which share of dirty pages on the age counts."""

MILLIONTHS = 1_000_000
"""A mark is a whole number of millionths of a percent, the finest that a server shows."""

LOWEST_ABOVE_ZERO = 1_000
"""0.001 percent: the age counts as soon as a few pages are dirty."""

SET_LOW_WATER = "innobrim.set_low_water_mark"
"""The definer procedure that sets the mark to 0 or 0.001, where an administrator asked for it."""


def percent(mark: int) -> str:
    """Return a mark, in millionths of a percent, as a statement has it."""
    whole, part = divmod(mark, MILLIONTHS)
    return f"{whole}.{part:06d}".rstrip("0").rstrip(".")


class LowWaterProgress(Struct, frozen=True):
    """How far the trials are; marks in millionths of a percent.

    Attributes:
        why: what keeps it from a trial; empty while nothing does.
        operator: the mark that comes back in the end; None where nothing of ours may be in force.
        tried: the other one, of the trial under way; None without one.
        number: of the trial that is under way; of the last one otherwise.
        blocks: blocks of it that have ended.
        most_blocks: blocks that it takes at most.
        suggested: the present block is one of the other mark.
        used: the mark that won, where it is in use; None otherwise.
        gain: what it won, as ln of the figure of merit.
        low: lower bound of that.
        high: upper bound.
        rest_seconds: until the next trial may begin.
        owed: ours is in force and the operator's is to be put back.
    """

    why: str = ""
    operator: int | None = None
    tried: int | None = None
    number: int = 0
    blocks: int = 0
    most_blocks: int = 0
    suggested: bool = False
    used: int | None = None
    gain: float = 0.0
    low: float = 0.0
    high: float = 0.0
    rest_seconds: float = 0.0
    owed: bool = False
