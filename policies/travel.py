"""The way to the set-point from far away: the flush rate that brings the age there within the horizon.

The dirty pages that have to go within the horizon, so that the age ends at the set-point, are known from the
ledger; divided by the horizon they are the flush rate wanted, and the server's own flush law, inverted, says
which M gives that rate.
"""

from __future__ import annotations

from policies.equilibrium import Equilibrium
from policies.flushlaw import FlushLaw
from policies.types import Proposal, Situation

BAND = 0.03  # Error at the end of the horizon that is left alone on the way
NEAR = 0.08  # On the way up M is not lowered while it leads to within so much below the set-point
SHORT = 0.05  # Instead of ``NEAR`` where the age has stopped rising: there nothing is left to wait for
STOPPED = 0.005  # Rise of the age ratio within ``RISING_SECONDS`` below which it has stopped

RISING_SECONDS = 10.0
"""An age that rises so as to be near the set-point within this time is not helped on its way by less M."""

CLIMB_SHARE = 0.9
"""Where batches end early, M stays at this share of the M to rest with at least while the age has to grow."""

LOW = 0.2
"""Farther than this below the set-point the policy travels: too low costs throughput, and heals by itself."""

HIGH = 0.12  # Farther than this above it the policy travels, and wherever the sync point is reached

OVER = 0.09
"""An age that leads farther than this beyond the sync point ends holding before the error is there."""

ARRIVED = 0.1  # Travelling ends this near the set-point
DAMPED = 0.55  # Share of a passing change in R that is taken to be over before the horizon is
CLIMB_FLOOR = 0.4  # Share of the demand that is flushed at least while the age still has to grow


def far(situation: Situation, equilibrium: Equilibrium, *, travelling: bool) -> bool:
    """Tell whether the age is where only travelling helps.

    Args:
        travelling: the policy is on the way already, which ends nearer to the set-point than it begins.
    """
    error = situation.error
    if travelling:
        return abs(error) >= ARRIVED
    room = situation.sync_point / situation.flush_limit - situation.set_point
    passing = (situation.redo_rate - equilibrium.redo_rate) * situation.horizon
    ahead = situation.error_ahead - DAMPED * passing / situation.flush_limit
    return error <= -LOW or error >= min(HIGH, room) or ahead >= room + OVER


def waits(situation: Situation) -> bool:
    """Tell whether M is not to be lowered yet, although the age would rest at the set-point with less.

    On the way up that is so while the M in force leads near the set-point: pages that were dirtied at a
    lower age lie closer, and until they are flushed the M to rest with lets the age run past it. An age
    that has stopped short of it is waited for no more. And while the age is about to be there by its own
    pace, whatever the ledger says. On the way down it is so until the age is back, where the sync point is
    near: there the ledger tells too little of where the age is led, and an emergency costs more writes than
    a minute of too much M does.
    """
    near = situation.sync_point / situation.flush_limit - situation.set_point < HIGH
    if near and situation.error > BAND:
        return True
    rise = situation.age_slope * RISING_SECONDS / situation.flush_limit
    arrives = rise > 0.0 and situation.error + rise > -BAND
    if arrives and (near or situation.error < 0.0):
        return True
    stopped = rise < STOPPED and situation.error < -BAND
    return situation.error < 0.0 and situation.error_ahead > -(SHORT if stopped else NEAR)


def travel(law: FlushLaw, situation: Situation, *, rest: float) -> Proposal:
    """Aim at the set-point at the end of the horizon; content while the error shrinks at that pace.

    Args:
        rest: M with which the age rests at the set-point, pages/s. Where batches end early the ledger
            foresees too little to go far below it, and the way back up would take two writes more.
    """
    error, ahead = situation.error, situation.error_ahead
    rate = situation.answered(max(situation.pages_due / situation.horizon, CLIMB_FLOOR * situation.demand))
    gain = law.resting_gain(situation.set_point)
    wanted = gain * rate
    if error < 0.0 and law.stops_early:
        wanted = max(wanted, CLIMB_SHARE * rest)
    if ahead > BAND or waits(situation):
        wanted = max(wanted, situation.io_capacity_max)
    return Proposal(
        io_capacity_max=wanted,
        terms={
            "error": error,
            "error_ahead": ahead,
            "flush_rate_wanted": rate,
            "law_gain": gain,
            "horizon": situation.horizon,
        },
        act=abs(ahead) > max(BAND, 0.5 * abs(error)),
    )
