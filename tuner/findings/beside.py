"""What changed C and M while a server was watched: figures are then those of several settings."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from tuner.records import Sample

FIGURES = "the figures are means over what was in force, and no one setting's"


def beside(samples: Sequence[Sample]) -> str:
    """Return in words who else sets C and M, and how often they changed; empty where nobody does.

    Args:
        samples: readings of one run of a server, the oldest first.
    """
    here = any(not one.writer and not one.stranger for one in samples)
    moved = [
        said
        for name, values in (
            ("innodb_io_capacity_max", [one.io_capacity_max for one in samples]),
            ("innodb_io_capacity", [one.io_capacity for one in samples]),
        )
        if (said := _moved(name, values))
    ]
    if not moved:
        return (
            "an active InnoBrim controls this server; it changed nothing while this was watched"
            if here
            else ""
        )
    who = "InnoBrim is active here" if here else "somebody changed the settings while this server was watched"
    return f"{who}: {' and '.join(moved).rstrip(',')}; {FIGURES}"


def _moved(name: str, values: Sequence[int]) -> str:
    changes = sum(old != new for old, new in pairwise(values))
    if not changes:
        return ""
    if changes == 1:
        return f"{name} changed once, from {values[0]} to {values[-1]},"
    return f"{name} changed {changes} times, between {min(values)} and {max(values)},"
