"""What a status says, in the words that every command has for it."""

from __future__ import annotations

import time
from collections.abc import Sequence

from api.models import (
    DrainInForce,
    RestoreUnderWay,
    Status,
)
from tuner.core.setpoint.announced import DECIDED_BY
from tuner.records import Capacity, InUse
from tuner.system.amounts import share, size


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
    aim = "the originals" if wanted is None else f"the originals ({pair_text(wanted)})"
    left = f"{restore.steps_left} left, {duration(restore.seconds_left)} at least"
    return f"step {restore.step} on the way to {aim}; in force: {pair_text(now)}; {left}"


def age_text(status: Status) -> str:
    """Return the age and its set-point in percent of the flush limit, and what decides the set-point."""
    estimate, limits, source = status.estimate, status.limits, status.decision.set_point_source
    if estimate is None or limits is None:
        return "unknown"
    limit = size(limits.flush_limit)
    sizes = f"{size(estimate.modified_age).removesuffix(limit[-4:])} of {limit}"
    age = f"{share(estimate.age_ratio)} of the flush limit ({sizes})"
    if status.set_point is None:
        return age
    return f"{age}; set-point {share(status.set_point)}" + (
        f" ({DECIDED_BY.get(source, source)})" if source else ""
    )


def drain_text(drain: DrainInForce) -> str:
    """Return how far a drain is: where the age is, what is left to go, and when it ends."""
    age = "unknown" if drain.age is None else size(drain.age)
    if drain.reached is not None:
        progress = "there"
    elif drain.seconds_left is None:
        progress = "not falling yet"
    else:
        progress = f"about {duration(drain.seconds_left)} to go"
    way = f"uncheckpointed {age}; from {size(drain.start_age)} down to {size(drain.target)}"
    if drain.start_age <= drain.target:
        way = f"uncheckpointed {age}; to be kept at {size(drain.target)} at most"
    if drain.lowest:
        way = f"{way}, the lowest that is safe"
    return f"{way}; {progress}; ends in {duration(drain.ends_in)}"


def stamp(wall: float) -> str:
    """Return a Unix time as people read it."""
    return time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(wall))


def to_write(status: Status) -> str:
    """Return what to type for the daemon to write."""
    resume = any(hold.resume for hold in status.holds)
    return "innobrim mode active" + (" and innobrim resume" if resume else "")


def pair_text(pair: Capacity | None) -> str:
    """Return both values with their names."""
    return "unknown" if pair is None else pair.in_words
