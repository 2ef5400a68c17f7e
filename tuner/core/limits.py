"""The lowest and highest M that settings, server and the definer procedure allow together."""

from __future__ import annotations

from tuner.core.state import State
from tuner.records import Facts
from tuner.settings import Settings


def bounds(state: State) -> tuple[int, int]:
    """Return the lowest and highest M allowed by settings and server, pages/s."""
    return allowed(state.settings, state.facts)


def allowed(settings: Settings, facts: Facts) -> tuple[int, int]:
    """Return the lowest and highest M allowed by such settings on such a server, pages/s."""
    lowest = max(settings.min_io_capacity_max, facts.capacity_minimum * (settings.ratio or 1))
    highest = min(settings.max_io_capacity_max, facts.capacity_maximum)
    if facts.procedure is not None:
        lowest = max(lowest, facts.procedure.lowest_io_capacity_max)
        highest = min(highest, facts.procedure.highest_io_capacity_max)
    return lowest, max(lowest, highest)
