"""The law that knows what the tail will cost.

Travelling: the dirty pages that have to go within the horizon, so that the age ends at the
set-point, are known from the ledger; divided by the horizon they are the flush rate wanted,
and the server's own flush law, inverted, says which M gives that rate.

Holding: near the set-point the age settles by itself where the demand equals what M lets
through, because write combining makes demand fall with age. What remains is an integral
term in velocity form: ``d ln M = g * (s + b) * ln(x / f)`` moves that equilibrium onto the
set-point, with s the exponent of the server's law where the law decides and 0 where M is
the cap. It acts on the mean error, once per settling time, so that a write can show what it
does. How near "near" is depends on the load's own unrest: what a load does all the time by
itself is no reason for a write.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from policies.flushlaw import FlushLaw
from policies.types import Proposal, Situation

BAND = 0.03
"""Mean error in the age ratio that is left alone while holding."""

DRIFT = 0.15
"""Error at the end of the horizon that ends holding: the load has changed."""

REACH = 0.12
"""Farther than this from the set-point the law travels."""

UNREST = 1.5
"""A load that moves the age by its spread within a horizon widens drift and reach to so many of them."""

WIDEST = 0.15
"""Farther than this from the set-point the law travels, however restless the load."""

CLIMB_FLOOR = 0.4
"""Share of the demand that is flushed at least while the age still has to grow."""

SETTLING_SHARE = 0.6
"""A write is given this share of the plant's time constant, age / (b * R), to show what it does."""

HOLD_GAIN = 0.6
"""Share of the equilibrium's error that one write takes out; the plant is steeper than its model."""

NEAR_GAIN = 1.5
"""Close to the set-point a write moves ln M by no more than this times the error ahead."""

FARTHEST = 2.0
"""An error ahead larger than this moves M no further: no step may be that large, and exp stays finite."""

LEAST_COMBINING = 0.3
"""Write combining that is reckoned with at least; bounds the settling time and the gain."""


@dataclass(frozen=True, slots=True)
class FeedforwardState:
    """What is remembered between ticks.

    Attributes:
        at: time of the last tick, seconds.
        wrote_at: time of the last write of ours, seconds; negative before the first.
        mean_error: error over about half a settling time while holding.
        holding: the last tick held.
    """

    at: float = 0.0
    wrote_at: float = -1e9
    mean_error: float = 0.0
    holding: bool = False


@dataclass(frozen=True, slots=True)
class Feedforward:
    """The default law."""

    law: FlushLaw
    name: str = "feedforward"

    def start(self) -> FeedforwardState:
        """Return the state before the first write."""
        return FeedforwardState()

    def propose(self, state: FeedforwardState, situation: Situation) -> tuple[FeedforwardState, Proposal]:
        """Return the M that brings the age to the set-point, or holds it there."""
        elapsed = situation.now - state.at
        state = replace(state, at=situation.now)
        unrest = min(WIDEST, UNREST * situation.spread)
        if abs(situation.error) >= max(REACH, unrest) or abs(situation.error_ahead) >= max(DRIFT, unrest):
            return replace(state, holding=False), self._travel(situation)
        settling = self._settling(situation)
        mean = situation.error
        if state.holding:
            weight = min(1.0, 2.0 * elapsed / settling)
            mean = state.mean_error + weight * (situation.error - state.mean_error)
        state = replace(state, mean_error=mean, holding=True)
        return state, self._hold(state, situation, settling)

    def wrote(self, state: FeedforwardState, io_capacity_max: int) -> FeedforwardState:  # noqa: ARG002 - the protocol's
        """Remember when, so that the write is given its time."""
        return replace(state, wrote_at=state.at)

    def _travel(self, situation: Situation) -> Proposal:
        """Aim at the set-point at the end of the horizon; content while the error shrinks at that pace."""
        error, ahead = situation.error, situation.error_ahead
        rate = max(situation.pages_due / situation.horizon, CLIMB_FLOOR * situation.demand)
        gain = self.law.gain_over_demand(situation.set_point)
        wanted = gain * rate
        if abs(error) < REACH:
            reach = math.exp(NEAR_GAIN * min(FARTHEST, abs(ahead)))
            wanted = min(situation.io_capacity_max * reach, max(situation.io_capacity_max / reach, wanted))
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

    def _settling(self, situation: Situation) -> float:
        """Return the seconds after which a write has shown what it does."""
        combining = max(LEAST_COMBINING, situation.combining_exponent)
        return max(1.0, SETTLING_SHARE * situation.age / (combining * max(situation.redo_rate, 1.0)))

    def _hold(self, state: FeedforwardState, situation: Situation, settling: float) -> Proposal:
        """Shift the equilibrium by the error that is left, once per settling time."""
        error, mean = situation.error, state.mean_error
        combining = max(LEAST_COMBINING, situation.combining_exponent)
        by_law = self.law.exponent if situation.set_point < self.law.full_rate_ratio else 0.0
        move = HOLD_GAIN * (by_law + combining) * math.log1p(mean / situation.set_point)
        lasting = abs(mean) > BAND and error * mean > 0 and abs(error) > BAND
        settled = situation.now - state.wrote_at >= settling
        return Proposal(
            io_capacity_max=situation.io_capacity_max * math.exp(move),
            terms={
                "error": error,
                "error_ahead": situation.error_ahead,
                "mean_error": mean,
                "move": move,
                "settling": settling,
            },
            act=lasting and settled,
        )
