"""How high and how low M may go: what settings, server and procedure allow, and how low a policy may take it.

A light load is held high by a low M only. But from a low M the way up is longer, and a surge meets an age
that is high already. So a policy takes M below the floor only where the load was watched for a while, nothing
surged within hours, and no burst is expected at this hour of the week; and then not all the way to the
set-point.
"""

from __future__ import annotations

import math

from tuner.core.state import State
from tuner.core.writes.lowest import CALM_SECONDS, FLOOR, HIGHEST
from tuner.records import Capacity, Facts
from tuner.settings import Settings

BURSTS = 0.01  # Redo beyond the device that is no burst, share of the flush limit

WORTH = 0.03
"""By what share of itself M has to be above it to follow: combining is known better the higher the age is."""


def bounds(state: State) -> tuple[int, int]:
    """Return the lowest and highest M allowed by settings and server, pages/s."""
    return allowed(state.settings, state.facts)


def home_of(state: State, current: Capacity) -> int:
    """Return the C that the server was set to before us, pages/s; the one in force while nothing is ours."""
    return (current if state.originals is None else state.originals.capacity).io_capacity


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
        lowest_c = f"innodb_io_capacity is at least {facts.capacity_minimum}"
        asked.append(f"{lowest_c}, so that innodb_io_capacity_max is at least {least}")
    return f"no innodb_io_capacity_max{multiple} is allowed: {', and '.join(asked)}"


def _both(settings: Settings, facts: Facts) -> tuple[int, int]:
    """Return the lowest and the highest M, the first above the second where they contradict each other."""
    lowest = max(settings.min_io_capacity_max, facts.capacity_minimum * (settings.ratio or 1))
    highest = min(settings.max_io_capacity_max, facts.capacity_maximum)
    if facts.procedure is not None:
        lowest = max(lowest, facts.procedure.lowest_io_capacity_max)
        highest = min(highest, facts.procedure.highest_io_capacity_max)
    return lowest, highest


def floor(state: State, current: int) -> int:
    """Return the lowest M that this load lets the policy choose, pages/s; 0 where only the limits count.

    Below the floor it is the M with which the age rests at ``HIGHEST``: the pages newly dirtied a second,
    fewer by write combining the higher the age is; and M as it is, where that is little more.
    """
    estimate, last = state.estimate, state.estimator.last
    if state.settings.policy == "fixed" or estimate is None or last is None:
        return 0
    calm = state.sawtooth.calm_seconds >= CALM_SECONDS
    if not calm or estimate.burst_bytes > BURSTS * last.flush_limit:
        return FLOOR
    fewer = math.pow(estimate.age_ratio / HIGHEST, estimate.combining_exponent)
    lowest = min(FLOOR, round(estimate.dirty_rate * fewer))
    return current if (1.0 - WORTH) * current < lowest <= current <= FLOOR else lowest
