"""A PID on the age ratio in velocity form, in log M: no model of the load, only feedback.

``d ln M = gain * (d e + e dt / Ti + Td d(de/dt))`` with the residence time as the plant's own
time scale. Bumpless by construction: it always starts from the M in force, so limits,
rounding and refused writes cannot wind it up.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from policies.types import Proposal, Situation

GAIN = 1.2
INTEGRAL_HORIZONS = 4.0
DERIVATIVE_HORIZONS = 0.35
PERIODS_PER_HORIZON = 4.0
BAND = 0.02
STEP_LIMIT = 0.5
FULL_AUTHORITY = 0.8


@dataclass(frozen=True, slots=True)
class PidState:
    """Where the last period ended."""

    at: float | None = None
    error: float = 0.0
    slope: float = 0.0


@dataclass(frozen=True, slots=True)
class Pid:
    """Feedback alone."""

    name: str = "pid"

    def start(self) -> PidState:
        """Return the state before the first period."""
        return PidState()

    def propose(self, state: PidState, situation: Situation) -> tuple[PidState, Proposal]:
        """Return M in force, moved by this period's terms; content within a period and inside the band."""
        error = situation.error
        slope = situation.age_slope / situation.flush_limit
        now = PidState(at=situation.now, error=error, slope=slope)
        current = float(situation.io_capacity_max)
        if state.at is None:
            return now, Proposal(current, {"error": error}, act=False)
        elapsed = situation.now - state.at
        if elapsed < situation.horizon / PERIODS_PER_HORIZON:
            return state, Proposal(current, {"error": error}, act=False)
        proportional = GAIN * (error - state.error)
        integral = GAIN * error * elapsed / (INTEGRAL_HORIZONS * situation.horizon)
        derivative = GAIN * DERIVATIVE_HORIZONS * situation.horizon * (slope - state.slope)
        if situation.authority < FULL_AUTHORITY and error > 0:
            integral = min(integral, 0.0)
        move = max(-STEP_LIMIT, min(STEP_LIMIT, proportional + integral + derivative))
        settled = abs(error) < BAND and abs(situation.error_ahead) < BAND
        return now, Proposal(
            io_capacity_max=current * math.exp(move),
            terms={
                "error": error,
                "proportional": proportional,
                "integral": integral,
                "derivative": derivative,
            },
            act=not settled,
        )

    def wrote(self, state: PidState, io_capacity_max: int) -> PidState:  # noqa: ARG002 - the protocol's
        """Keep the state: the next period starts from what is in force anyway."""
        return state

    def resumed(self, state: PidState, now: float) -> PidState:  # noqa: ARG002 - the protocol's
        """Return the state in which the next period begins anew."""
        return PidState()
