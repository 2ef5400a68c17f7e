"""The age ratio worth holding: as high as the load's headroom, the alarm cap and the budgets allow."""

from __future__ import annotations

import math
from collections.abc import Mapping
from enum import StrEnum
from typing import NamedTuple

from policies.types import Suggestion

FLUSH_ORDER_LAG = 2 * 1024 * 1024
"""Bytes that a checkpoint stays behind the oldest modification (MySQL 8.0 and later; no other server)."""

HIGHEST = 0.93
LOWEST = 0.30
"""No load, budget or guard asks for less: below it the server's law needs five times the demand and more."""

NOISE = 0.03  # What the age ratio wanders around the set-point
STEADY_NOISE = 0.01  # The same under a load that has been steady for long
WANDER_SECONDS = 1.0  # Redo of this time is what the age of a steady load wanders by

STEADY_SECONDS = 8.0
"""Under such a load the set-point may be above ``HIGHEST`` as long as the sync point stays so much farther
away than what makes an emergency."""

BASELINE_SECONDS = 1.0  # The same where the baseline holds the age beyond it

CLEAR = 0.92
"""Headroom that ends between this share of the age ratio where the law asks for all of M, and that ratio,
ends here: held in between, the age of a load with bursts wanders past it again and again, and each time all
of M is asked for, which is more than the load needs and may be all that the device gives. Commits starved
every half minute on a redo log of 96 MiB (``h04-tiny-redo``)."""

LEAST_MARGIN_SHARE = 0.5  # Share of that which stays free whatever an optimiser suggests
REACTION_SECONDS = 4.0  # Sampling, decision, write, and the server's next cleaner loop

WAITING = 2.0
"""So many times that is kept free where writers wait from the sync point on: there being late is no longer
only dear."""

SAWTOOTH_SECONDS = 8.0
"""Redo of this time is reckoned with between two checkpoints: seven, and a loop; more once more is seen.

MySQL 5.6 to 9.7 under load; of other servers the facts say it.
"""

STEP = 0.015  # A set-point moves only by more than this, so that it causes no writes by itself
STEADY_STEP = 0.5 * STEP  # Likewise for a rise under a steady load


class SetPointSource(StrEnum):
    """Who or what decides the set-point."""

    PERSON = "person"
    SCHEDULE = "schedule"
    OPTIMISER = "optimiser"
    HEADROOM = "headroom"
    ALARM = "alarm"
    HIGHEST = "highest"
    RECOVERY = "recovery"
    SHUTDOWN = "shutdown"
    DEGRADED = "degraded"
    FLUSH_LAW = "flush_law"
    FREE_PAGES = "free_pages"
    ROLE = "role"


class Headroom(NamedTuple):
    """What bounds the set-point; bytes and bytes/s."""

    flush_limit: float  # A
    sync_point: float  # modified age where sync flushing starts
    redo_capacity: float  # S
    checkpoint_lag: float  # highest recent distance of checkpoint age beyond modified age
    redo_rate: float  # R, mean of the last minutes, or what it comes to at rest where that is more
    burst_bytes: float  # redo that a burst adds beyond what the device takes
    max_checkpoint_age_ratio: float  # highest checkpoint age allowed, share of S
    flush_order_lag: float = FLUSH_ORDER_LAG  # what a checkpoint stays behind the oldest modification
    sawtooth_seconds: float = SAWTOOTH_SECONDS  # time between two checkpoints that is reckoned with
    sync_stalls: bool = False  # writers wait from the sync point on
    combining_exponent: float = 0.5  # b over the ages of the last hours; what a higher age saves
    emergency_seconds: float = 8.0  # time to the sync point that makes an emergency
    steady: bool = False  # the load has been steady for long
    # age ratio at which the settings that the server was found with come to rest; 0 for unknown, and where
    # somebody has asked for a lower checkpoint age than ``HIGHEST_CHECKPOINT_AGE_RATIO``
    baseline: float = 0.0
    full_rate_ratio: float = math.inf  # age ratio from which on the flush law asks for all of M

    @property
    def least(self) -> float:
        """Return the age ratio below which nothing but the headroom and budgets bound the set-point.

        A steady load that the baseline holds beyond the alarm is no better off below it. Near the sync point
        it is: there the baseline is held by sync flushing, and a set-point of ours by emergencies.
        """
        if not self.steady or self.sync_stalls:
            return 0.0
        room = self.sync_point - (self.emergency_seconds + BASELINE_SECONDS) * self.redo_rate
        return min(self.baseline, room / self.flush_limit)

    @property
    def noise(self) -> float:
        """Return what is left free below headroom and alarm for the age to wander, as an age ratio."""
        return STEADY_NOISE if self.steady else NOISE

    @property
    def wander(self) -> float:
        """Return by what age ratio a steady load's age wanders, which is little on a large redo log."""
        return WANDER_SECONDS * self.redo_rate / self.flush_limit

    @property
    def highest(self) -> float:
        """Return the highest age ratio that is ever derived."""
        if not self.steady or self.sync_stalls:
            return HIGHEST
        seconds = self.emergency_seconds + STEADY_SECONDS
        return max(HIGHEST, (self.sync_point - seconds * self.redo_rate) / self.flush_limit - self.noise)

    @property
    def highest_lag(self) -> float:
        """Return the bytes that the checkpoint age may lie beyond the modified age by, sawtooth included."""
        return max(self.checkpoint_lag, self.flush_order_lag + self.sawtooth_seconds * self.redo_rate)

    @property
    def reaction_bytes(self) -> float:
        """Return the redo written before the server answers to what the loop has seen."""
        seconds = REACTION_SECONDS * WAITING if self.sync_stalls else REACTION_SECONDS
        return seconds * self.redo_rate


def bounds_of(
    headroom: Headroom, budgets: Mapping[str, float], *, noise: float | None = None
) -> dict[str, float]:
    """Return every bound by name, as age ratios.

    Args:
        budgets: further bounds by name, as age ratios.
        noise: what is left free below headroom and alarm for the age to wander, as an age ratio; None: as the
            load wants it.
    """
    noise = headroom.noise if noise is None else noise
    room = headroom.sync_point - headroom.burst_bytes - headroom.reaction_bytes
    burst, full = room / headroom.flush_limit - noise, headroom.full_rate_ratio
    alarm = (
        headroom.max_checkpoint_age_ratio * headroom.redo_capacity - headroom.highest_lag
    ) / headroom.flush_limit
    alarm -= min(NOISE, headroom.wander) if headroom.steady else noise
    return {
        "headroom": CLEAR * full if CLEAR * full < burst < full else burst,
        "alarm": max(alarm, headroom.least),
        "highest": max(headroom.highest, headroom.least),
        **budgets,
    }


def highest_ratio(
    headroom: Headroom, budgets: Mapping[str, float], *, noise: float | None = None
) -> tuple[float, SetPointSource]:
    """Return the highest age ratio that all bounds allow, and which of them decided; as ``bounds_of``."""
    bounds = bounds_of(headroom, budgets, noise=noise)
    name = min(bounds, key=bounds.__getitem__)
    return max(LOWEST, bounds[name]), SetPointSource(name)


def suggested_ratio(
    headroom: Headroom, budgets: Mapping[str, float], suggestion: Suggestion
) -> tuple[float, SetPointSource]:
    """Return the age ratio that an optimiser's suggestion comes to, inside all bounds, and that it is that.

    It may use a part of what is left free for the age to wander, and hold less than the bounds allow;
    headroom, alarm and budgets themselves it cannot pass.
    """
    noise = headroom.noise * max(LEAST_MARGIN_SHARE, suggestion.margin_share)
    bound = min(bounds_of(headroom, budgets, noise=noise).values())
    derived, _ = highest_ratio(headroom, budgets, noise=noise)
    return max(LOWEST, min(bound, derived + suggestion.offset)), SetPointSource.OPTIMISER


def with_hysteresis(held: float | None, wanted: float, *, steady: bool = False) -> float:
    """Return the set-point to hold next: another one only when it is worth it.

    Args:
        held: the one before; None for none.
        wanted: the one that the bounds allow now.
        steady: the load has been steady for long, so that a smaller rise is worth it.
    """
    rise = STEADY_STEP if steady else STEP
    return wanted if held is None or held - wanted > STEP or wanted - held > rise else held
