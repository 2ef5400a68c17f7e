"""The law that knows what the tail will cost.

The dirty pages that have to go within the horizon, so that the age ends at the set-point,
are known from the ledger; divided by the horizon they are the flush rate wanted. The
server's own flush law, inverted, says which M gives that rate. What remains is taken out by
an integral term in log M, and only while the server really flushes what it is asked.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from policies.flushlaw import FlushLaw
from policies.types import Proposal, Situation

BAND = 0.03
"""Error in the age ratio, now or at the end of the horizon, that is left alone."""

CLIMB_FLOOR = 0.4
"""Share of the demand that is flushed at least while the age still has to grow."""

TRIM_GAIN = 0.25
TRIM_LIMIT = 0.25
TRIM_REACH = 0.12
"""The trim learns only near the set-point, where the model's error is what is left."""

FULL_AUTHORITY = 0.9


@dataclass(frozen=True, slots=True)
class FeedforwardState:
    """What is remembered between ticks.

    Attributes:
        trim: correction of the model in log M.
        pending: change of the trim that the next write would put into force.
    """

    trim: float = 0.0
    pending: float = 0.0


@dataclass(frozen=True, slots=True)
class Feedforward:
    """The default law."""

    law: FlushLaw
    name: str = "feedforward"

    def start(self) -> FeedforwardState:
        """Return the state without a correction."""
        return FeedforwardState()

    def propose(self, state: FeedforwardState, situation: Situation) -> tuple[FeedforwardState, Proposal]:
        """Return the M that brings the age to the set-point within the horizon.

        It is content while the error at the end of the horizon is small against the error
        now, so that an approach under way is left alone.
        """
        error, ahead = situation.error, situation.error_ahead
        due = situation.pages_due / situation.horizon
        rate = max(due, CLIMB_FLOOR * situation.demand)
        gain = self.law.gain_over_demand(situation.set_point)
        tolerance = max(BAND, 0.5 * abs(error))
        act = abs(ahead) > tolerance
        pending = 0.0
        if act and abs(error) < TRIM_REACH and situation.authority >= FULL_AUTHORITY and rate > 0:
            pending = TRIM_GAIN * error
        trim = _clip(state.trim + pending)
        wanted = gain * rate * math.exp(trim)
        return replace(state, pending=pending), Proposal(
            io_capacity_max=wanted,
            terms={
                "error": error,
                "error_ahead": ahead,
                "flush_rate_wanted": rate,
                "law_gain": gain,
                "trim": trim,
                "horizon": situation.horizon,
            },
            act=act,
        )

    def wrote(self, state: FeedforwardState, io_capacity_max: int) -> FeedforwardState:  # noqa: ARG002 - the protocol's
        """Take the pending correction over, now that it is in force."""
        return FeedforwardState(trim=_clip(state.trim + state.pending))


def _clip(trim: float) -> float:
    return max(-TRIM_LIMIT, min(TRIM_LIMIT, trim))
