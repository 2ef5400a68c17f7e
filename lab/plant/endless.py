"""A run that would never end: how it is noticed, and what is said of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lab.plant.engine import Engine

MOST_PHASES = 5000
"""Phases of a simulated second, at most and on average: a server at work has ten, one whose writers wait for
room again and again hundreds.
"""

IN_HAND = 300_000
"""Phases that may come above that, all together: some three seconds of a processor."""


class Endless(Exception):  # noqa: N818 - reads as the state it names
    """Parameters under which so much happens in a second that a run would never end."""


def why_endless(engine: Engine) -> str:
    """Return what makes the seconds of a server so long, with the values that do it."""
    redo, cleaner, load = engine.redo, engine.cleaner, engine.load
    return (
        f"{engine.now:.1f} s after the start more than {MOST_PHASES:,} things happen in each second; the "
        f"run would hardly end. Either redo_capacity = {redo.capacity:,} is too small for threads = "
        f"{load.threads:,} with redo_bytes_per_commit = {engine.redo_per_commit:,.15g}, which commit up to "
        f"{load.fastest:,.0f} times a second, or io_capacity = {cleaner.io_capacity:,} is too low for a disk "
        f"with write_iops = {engine.disk.write_iops:,.15g}"
    )
