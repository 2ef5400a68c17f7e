"""The lowest and highest M that settings, server and the definer procedure allow together."""

from __future__ import annotations

from tuner.core.state import State
from tuner.records import Facts
from tuner.settings import Settings


def bounds(state: State) -> tuple[int, int]:
    """Return the lowest and highest M allowed by settings and server, pages/s."""
    return allowed(state.settings, state.facts)


def allowed(settings: Settings, facts: Facts) -> tuple[int, int]:
    """Return the lowest and highest M allowed by such settings on such a server, pages/s.

    Where they leave none, both are the highest: ``contradiction`` says so, and nothing is written then.
    """
    lowest, highest = _both(settings, facts)
    return min(lowest, highest), highest


def contradiction(settings: Settings, facts: Facts) -> str:
    """Say why no M is allowed by such settings on such a server; empty where one is."""
    lowest, highest = _both(settings, facts)
    ratio = settings.ratio or 1
    if highest // ratio * ratio >= lowest:
        return ""
    multiple = "" if settings.ratio is None else f" that is a multiple of ratio {ratio}"
    asked = [f"the limits are {settings.min_io_capacity_max} to {settings.max_io_capacity_max}"]
    bounds = facts.procedure
    if bounds is not None:
        taken = f"{bounds.lowest_io_capacity_max} to {bounds.highest_io_capacity_max}"
        asked.append(f"the procedure takes {taken}")
    if (least := facts.capacity_minimum * ratio) > highest:
        asked.append(f"C is at least {facts.capacity_minimum}, so that M is at least {least}")
    return f"no M{multiple} is allowed: {', and '.join(asked)}"


def _both(settings: Settings, facts: Facts) -> tuple[int, int]:
    """Return the lowest and the highest M, the first above the second where they contradict each other."""
    lowest = max(settings.min_io_capacity_max, facts.capacity_minimum * (settings.ratio or 1))
    highest = min(settings.max_io_capacity_max, facts.capacity_maximum)
    if facts.procedure is not None:
        lowest = max(lowest, facts.procedure.lowest_io_capacity_max)
        highest = min(highest, facts.procedure.highest_io_capacity_max)
    return lowest, highest
