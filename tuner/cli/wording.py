"""What a status says, in the words that every command has for it."""

from __future__ import annotations

import time
from collections.abc import Sequence

from api.models import (
    DrainInForce,
    RestoreUnderWay,
    Status,
)
from tuner.records import Capacity, InUse
from tuner.system.amounts import size


def duration(seconds: float) -> str:
    """Return a time in the two units that matter."""
    whole = round(seconds)
    for least, unit, smaller, letter in ((86_400, "d", 3600, "h"), (3600, "h", 60, "m"), (60, "m", 1, "s")):
        if whole >= least:
            rest = whole % least // smaller
            return f"{whole // least}{unit}" + (f" {rest}{letter}" if rest else "")
    return f"{seconds:.1f} s" if seconds < 1 else f"{whole} s"


def counted(number: int, one: str, more: str = "") -> str:
    """Return a number of things, as ``1 run`` and ``2 runs``; ``more``: where several have no s."""
    return f"{number} {one if number == 1 else more or f'{one}s'}"


def columns(rows: Sequence[Sequence[str]], *, indent: str = "  ") -> list[str]:
    """Return a table's rows as lines, each column as wide as its longest cell."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        (indent + "  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True))).rstrip()
        for row in rows
    ]


def gain_text(won: InUse) -> str:
    """Return what a suggestion won, in percent with its bounds."""
    return f"{100 * won.gain:+.2f} % ({100 * won.low:+.2f} to {100 * won.high:+.2f})"


def restore_text(restore: RestoreUnderWay, now: Capacity | None, wanted: Capacity | None) -> str:
    """Return how far a restore is: the step, where it is, where it goes, and what is left at least."""
    at = "unknown" if now is None else str(now)
    aim = "the originals" if wanted is None else str(wanted)
    left = f"{restore.steps_left} left, {duration(restore.seconds_left)} at least"
    return f"step {restore.step}, at {at} of {aim}; {left}"


def set_point_text(status: Status) -> str:
    """Return the age ratio that is held, and what it comes from."""
    if status.set_point is None:
        return "unknown"
    source = status.decision.set_point_source
    return f"{status.set_point:.3f}" + (f" ({source})" if source else "")


def drain_text(drain: DrainInForce) -> str:
    """Return how far a drain is: where the age is, what is left to go, and when it ends."""
    age = "unknown" if drain.age is None else size(drain.age)
    if drain.reached is not None:
        progress = "there"
    elif drain.seconds_left is None:
        progress = "not falling yet"
    else:
        progress = f"about {duration(drain.seconds_left)} to go"
    way = f"checkpoint age {age}, from {size(drain.start_age)} down to {size(drain.target)}"
    if drain.start_age <= drain.target:
        way = f"checkpoint age {age}, to be kept at {size(drain.target)} at most"
    if drain.lowest:
        way = f"{way}, as low as it safely goes"
    return f"{way}; {progress}; ends in {duration(drain.ends_in)}"


def stamp(wall: float) -> str:
    """Return a Unix time as people read it."""
    return time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(wall))


def to_write(status: Status) -> str:
    """Return what to type for the daemon to write."""
    resume = any(hold.resume for hold in status.holds)
    return "innobrim mode active" + (" and innobrim resume" if resume else "")


def pair_text(pair: Capacity | None) -> str:
    """Return C and M with their names."""
    return "unknown" if pair is None else f"C {pair.io_capacity}, M {pair.io_capacity_max}"
