"""Settings to leave behind: safe for hours without a daemon."""

from __future__ import annotations

import math

from policies.flushlaw import FlushLaw
from policies.pace import AIM
from tuner.core.writes.plan import near
from tuner.records import CAPACITY_MINIMUM, Capacity, Estimate
from tuner.settings import Settings

PARKED_RATIO = 0.70
"""Age ratio that a parked setting leads to under the load it leaves room for."""

RESTORE_FACTOR = 1.25
"""Restoring moves M by no more than this factor in a step; ``latency`` says how often."""

LONGEST_RESTORE = 200
"""No way back to the originals has as many steps."""


def parked(
    estimate: Estimate,
    law: FlushLaw,
    settings: Settings,
    *,
    current: int,
    lowest: int,
    highest: int,
    home: int,
    ratio: float = PARKED_RATIO,
) -> Capacity:
    """Return the pair that holds a load ``park_slack`` times as high clear of sync flushing.

    The demand at the parked age follows from write combining, ``P * (x / ratio) ** b``; the gain
    from the server's own law. Where no M moves the age the demand is that of now, and the gain is
    the pace's. Never below what is in force.

    Args:
        estimate: of the load.
        law: of the server.
        settings: slack, and k.
        current: M that it is not to be below, pages/s.
        lowest: smallest M allowed, pages/s.
        highest: largest M allowed, pages/s.
        home: C that the server was set to, pages/s.
        ratio: age ratio that it leads to.
    """
    demand = max(estimate.demand, estimate.demand_ahead, estimate.flush_rate)
    gain = law.resting_gain(ratio)
    if not law.authority:
        gain = AIM
    elif 0 < estimate.age_ratio < ratio:
        demand *= (estimate.age_ratio / ratio) ** estimate.combining_exponent
    elif estimate.age_ratio > ratio:
        demand *= estimate.age_ratio / ratio
    wanted = settings.park_slack * gain * demand
    return near(max(wanted, float(current)), home=home, ratio=settings.ratio, lowest=lowest, highest=highest)


def restore_step(current: Capacity, originals: Capacity) -> Capacity:
    """Return the next pair on the way back to the originals; the originals themselves at the end.

    On the way M is the originals' own multiple of C, or as large a one as the server's minimum for C allows.
    """
    wanted, now = originals.io_capacity_max, current.io_capacity_max
    low, high = now / RESTORE_FACTOR, now * RESTORE_FACTOR
    if low <= wanted <= high:
        return originals
    following = high if wanted > now else low
    ratio = max(
        1, min(originals.io_capacity_max // originals.io_capacity, int(following) // CAPACITY_MINIMUM)
    )
    capacity = math.floor(following / ratio) if wanted > now else math.ceil(following / ratio)
    return Capacity(io_capacity=capacity, io_capacity_max=capacity * ratio)


def restore_steps(current: Capacity, originals: Capacity) -> int:
    """Return how many steps lead back to the originals; 0 where they are in force."""
    taken = 0
    while current != originals and taken < LONGEST_RESTORE:
        current = restore_step(current, originals)
        taken += 1
    return taken
