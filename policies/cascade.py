"""The policy that knows what the tail will cost and where the age comes to rest: the inner loop of a cascade.

The outer loop says which age ratio is the set-point (``setpoint``); this one moves M until the age is there,
by feed-forward first and feedback for what remains.

Nothing lowers M while the M in force leads above the set-point: what it flushes less of then is what the age
is about to grow by.

Travelling: the M that brings the age to the set-point within the horizon (``travel``).

Landing: one write, of the M with which the age rests at the set-point (``equilibrium``), once it no longer
``waits``.

Holding: write combining settles the age by itself, so the loop leaves it alone. What remains
is an integral term in velocity form: ``d ln M = g * (s + b) * ln(x / f)`` moves the resting
place onto the set-point, with s the stiffness of the server's law: its exponent where the law decides and 0
where M is the cap. It acts on the mean error, once per settling time, and only on more than
the load's own disturbance: what a load does all the time by itself is no reason for a write.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

from policies.calm import Calm
from policies.disturbance import Disturbance
from policies.equilibrium import Equilibrium
from policies.flushlaw import FlushLaw
from policies.saving import Saving, apart
from policies.travel import ARRIVED, BAND, far, travel, waits
from policies.types import HIGHEST_M, Proposal, Situation

CALM = 1.5  # A load that moves the age by itself widens the band to so many of its standard deviations
WIDEST = 0.04  # Of the band, as an age ratio: a mean error of a settling time is no unrest beyond it
STEADY_BAND = 0.01  # Error that is left alone under a load that has been steady for long

STIRRING = 1.0
"""Relative disturbance of the age ratio per relative disturbance of R / b: the age averages what R does."""

LANDING = 0.02  # Difference in ln M for which a landing is worth its write

LANDING_MARGIN = 1.01
"""A landing where M is the cap is made so much higher: the server rounds down, and below is safer."""

SLOW_SECONDS = 120.0
QUICK_SECONDS = 16.0
"""Spans of the averages: what has lasted since the landing between these two; quick while travelling."""

SETTLED_SECONDS = 2.0 * QUICK_SECONDS
"""Time after which the quick averages are those of another load, or of one that is undisturbed again."""

SETTLING_SHARE = 1.15
"""A write is given this share of the plant's time constant, age / (b * R), to show what it does."""

MEAN_SHARE = 0.5  # Span of the mean error, share of the settling time

HOLD_GAIN = 0.5
"""Share of the equilibrium's error that one write takes out; the plant is steeper than its model."""

STEADY_GAIN = 0.9  # The same under a load that has been steady for long
TRIM_GAIN = 0.8  # Share of what is left that is taken out then: a mean of minutes is no noise

WORTH_SHIFT = 0.012
"""Difference in ln M for which a set-point that was moved on purpose, or a trim, is worth a write."""

LEAST_COMBINING = 0.3  # Write combining that is reckoned with at least; bounds the settling time and the gain


@dataclass(frozen=True, slots=True)
class CascadeState:
    """What is remembered between ticks."""

    at: float = 0.0  # time of the last tick, seconds
    wrote_at: float = -1e9  # time of the last write of ours, seconds; negative before the first
    landed_at: float | None = None  # since when it has been holding, seconds; None while it travels
    # travelling has ended, or the load is another one, and the M to rest with is not written yet
    landing: bool = False
    # time before which it is not, so that the averages are those of the load that is there now
    land_from: float = 0.0
    mean_error: float = 0.0  # error averaged over a part of the settling time while holding
    disturbance: Disturbance = field(default_factory=Disturbance)  # how R wanders by itself since the landing
    rest: float = 0.0  # M to land with that was asked for last, pages/s; 0 before the first
    shift: float = 0.0  # what ln M has to move by still, as the set-point was moved on purpose
    calm: Calm = field(default_factory=Calm)  # since the last write has shown what it does
    saving: Saving = field(default_factory=Saving)  # what is remembered while changes are scarce
    equilibrium: Equilibrium = field(default_factory=Equilibrium)  # what the load shows, averaged


@dataclass(frozen=True, slots=True)
class Cascade:
    """The default policy."""

    law: FlushLaw
    name: str = "cascade"

    def start(self) -> CascadeState:
        """Return the state before the first write."""
        return CascadeState()

    def propose(self, state: CascadeState, situation: Situation) -> tuple[CascadeState, Proposal]:
        """Return the M that brings the age to the set-point, or holds it there."""
        elapsed = max(0.0, situation.now - state.at)
        state = replace(state, at=situation.now)
        if not situation.learns:
            state = replace(state, land_from=situation.now + SETTLED_SECONDS)
        saving = state.saving.watch(situation)
        span = min(SLOW_SECONDS, max(QUICK_SECONDS, self._lasted(state, situation.now)))
        span = SLOW_SECONDS if saving.on else span
        weight = min(1.0, elapsed / span) if situation.learns else 0.0
        equilibrium = state.equilibrium.updated(situation, weight)
        if situation.moved_from > 0.0:
            state, equilibrium = self._follow_aim(state, equilibrium, situation)
        state = replace(state, equilibrium=equilibrium, saving=saving)
        if saving.on:
            return self._rest(state, situation)
        resting = equilibrium.io_capacity_max(self.law, situation)
        if far(situation, equilibrium, travelling=state.landed_at is None):
            state = replace(state, landed_at=None, landing=True, shift=0.0)
            return state, travel(self.law, situation, rest=resting)
        settling = self._settling(situation)
        capped = situation.set_point >= self.law.full_rate_ratio
        state = replace(state, rest=min(HIGHEST_M, resting * (LANDING_MARGIN if capped else 1.0)))
        state = _average_error(state, situation, elapsed=elapsed, settling=settling)
        return state, self._hold(state, situation, settling)

    def wrote(self, state: CascadeState, io_capacity_max: int) -> CascadeState:
        """Remember when, so that the write is given its time; a landing cut short by a guard goes on."""
        landed = state.landed_at is not None and (
            state.rest <= 0.0 or abs(math.log(state.rest) - math.log(io_capacity_max)) <= LANDING
        )
        saving = state.saving.wrote(io_capacity_max)
        return replace(
            state, wrote_at=state.at, landing=state.landing and not landed, shift=0.0, saving=saving
        )

    def resumed(self, state: CascadeState, now: float) -> CascadeState:
        """Return a state that was put aside, as it goes on at a later time; its averages stay."""
        return replace(
            state,
            at=now,
            wrote_at=now,
            landed_at=None if state.landed_at is None else now,
            landing=False,
            land_from=now + SETTLED_SECONDS,
            mean_error=0.0,
            calm=Calm(),
            saving=replace(state.saving, at=now),
        )

    def _follow_aim(
        self, state: CascadeState, equilibrium: Equilibrium, situation: Situation
    ) -> tuple[CascadeState, Equilibrium]:
        """Note by how much M has to move with a set-point that was moved on purpose.

        Less than the band would not be followed at all by the mean error; and what holding has learned of
        the resting place stays in M, as it would not in a landing.
        """
        moved, shift = equilibrium.moved(self.law, situation)
        error = state.mean_error + situation.moved_from - situation.set_point
        return replace(state, mean_error=error, shift=state.shift + shift), moved

    def _lasted(self, state: CascadeState, now: float) -> float:
        """Return the seconds that the averages stand for: since the landing, or since one may be prepared."""
        lasted = 0.0 if state.landed_at is None else now - state.landed_at
        if state.landing and now < state.land_from:
            return min(lasted, now + SETTLED_SECONDS - state.land_from)
        return lasted

    def _rest(self, state: CascadeState, situation: Situation) -> tuple[CascadeState, Proposal]:
        """Keep to one M while changes are scarce."""
        resting = min(HIGHEST_M, state.equilibrium.io_capacity_max(self.law, situation))
        gain = HOLD_GAIN * self._gain(situation)
        saving, act = state.saving.rest(situation, resting=resting, gain=gain)
        terms = {
            "error": situation.error,
            "error_ahead": situation.error_ahead,
            "mean_error": saving.error,
            "rest": resting,
        }
        landed_at = situation.now if state.landed_at is None else state.landed_at
        state = replace(state, saving=saving, landed_at=landed_at, landing=False, shift=0.0)
        return state, Proposal(saving.kept, terms, act=act, saves=True)

    def _settling(self, situation: Situation) -> float:
        """Return the seconds after which a write has shown what it does."""
        return max(
            1.0, SETTLING_SHARE * situation.age / (_combining(situation) * max(situation.redo_rate, 1.0))
        )

    def _gain(self, situation: Situation) -> float:
        """Return d ln M per d ln(age ratio) of the place where the age rests.

        A load that answers flushing moves it farther; the gains allow for a coupling of 1.
        """
        steepness = _combining(situation) / max(1.0, situation.coupling)
        return self.law.resting_stiffness(situation.set_point) + steepness

    def _hold(self, state: CascadeState, situation: Situation, settling: float) -> Proposal:
        """Land where the age rests; then shift its rest by the error that is left, once per settling time."""
        error, mean, rest = situation.error, state.mean_error, state.rest
        disturbance = STIRRING * state.disturbance.deviation * situation.set_point / _combining(situation)
        current = situation.io_capacity_max
        fineness = 1.0 + situation.coupling
        terms = {
            "error": error,
            "error_ahead": situation.error_ahead,
            "mean_error": mean,
            "disturbance": disturbance,
            "rest": rest,
            "settling": settling,
        }
        since = _since_change(state, situation.now)
        ripe = situation.now - state.land_from
        landing = state.landing and ripe >= 0.0 and min(since, ripe) < settling and rest > 0.0
        if landing and abs(math.log(rest) - math.log(current)) > LANDING / fineness:
            if rest < current and waits(situation):
                return Proposal(current, terms, act=False)
            return Proposal(rest if situation.error_ahead <= ARRIVED else max(rest, current), terms)
        if abs(state.shift) > WORTH_SHIFT / fineness:
            return Proposal(current * math.exp(state.shift), terms | {"shift": state.shift})
        least = STEADY_BAND if situation.steady else BAND
        band = max(least, min(WIDEST, CALM * disturbance))
        lasting = abs(mean) > band and error * mean > 0 and abs(error) > least
        act = lasting and since >= settling
        if not act:
            trim = self._move(situation, TRIM_GAIN, state.calm.error(situation.set_point, settling, band))
            if abs(trim) > WORTH_SHIFT / fineness:
                return Proposal(current * math.exp(trim), terms | {"move": trim})
        share = STEADY_GAIN if situation.steady else HOLD_GAIN
        move = self._move(situation, share, mean)
        return Proposal(current * math.exp(move), terms | {"move": move}, act=act)

    def _move(self, situation: Situation, share: float, error: float) -> float:
        """Return by how much ln M has to move to take a share of an error in the age ratio out."""
        gain = share * situation.hold_gain * self._gain(situation)
        return gain * apart(error, situation.set_point)


def _combining(situation: Situation) -> float:
    return max(LEAST_COMBINING, situation.combining_exponent)


def _since_change(state: CascadeState, now: float) -> float:
    return now - max(state.wrote_at, state.landed_at or 0.0)


def _average_error(
    state: CascadeState, situation: Situation, *, elapsed: float, settling: float
) -> CascadeState:
    """Average the error, and how R wanders by itself; see whether the load is another.

    Args:
        elapsed: seconds since the tick before.
        settling: seconds after which a write has shown what it does.
    """
    now, error, rate = situation.now, situation.error, situation.redo_rate
    if state.landed_at is None:
        return replace(state, landed_at=now, mean_error=error, disturbance=Disturbance.begun(rate))
    lasted, quiet = now - state.landed_at, _since_change(state, now) >= settling
    state = replace(
        state,
        calm=state.calm.updated(situation.age_ratio, elapsed) if quiet else Calm(),
        mean_error=state.mean_error
        + min(1.0, elapsed / (MEAN_SHARE * settling)) * (error - state.mean_error),
    )
    if not situation.learns:
        return state
    disturbance = state.disturbance.updated(rate, elapsed=elapsed, lasted=lasted)
    if disturbance.is_another_load(lasted):
        begun = Disturbance.begun(disturbance.medium_rate)
        land_from = now + SETTLED_SECONDS
        return replace(state, landed_at=now, landing=True, land_from=land_from, disturbance=begun)
    around = disturbance.around(state.equilibrium.redo_rate, elapsed=elapsed, lasted=lasted)
    return replace(state, disturbance=around)
