"""What the default policy does while changes are scarce: it rests, a little on the safe side.

A load, or a disk, that moves all the time makes every answer too late: by the time that one shows, the next
one is wanted, and the answers themselves keep the age moving. What is left then is one M that is right on
the mean. It is the M with which the age rests at the set-point, by averages of minutes, and a little more,
as what is not followed needs room. From there

* an emergency that raised M was one that this M was too low for: the way back ends a little above it;
* a mean error that lasts moves it, but for an age on its way up; or lands anew for another load.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from policies.types import Situation

AVERAGE_SECONDS = 150.0  # Span of the mean error, and the shortest time between two corrections by it
SAFE = 1.1  # M to rest with over the M with which the age rests at the set-point
RETURN_MARGIN = 1.08  # M to go back to after an emergency over the M that it found too low

LOW = 0.12
HIGH = 0.06
"""Mean error below and above the set-point that is left alone."""

STAYS = 0.5
"""Share of an error below the set-point that the M in force leaves; with less the age is on its way there."""

CALM = 0.09
"""Swing of the age ratio below which saving ends when there are changes enough: more would begin it again."""

SWING_SECONDS = 300.0

ANOTHER = 0.25  # Difference in ln M from which on the load is another one, and is landed for anew
SAME = 0.02  # Difference in ln M that rounding makes


@dataclass(frozen=True, slots=True)
class Saving:
    """What is remembered while changes are scarce."""

    at: float | None = None  # time of the last tick, seconds; None before the first
    error: float = 0.0  # mean error
    ratio: float = 0.0  # mean age ratio
    swing: float = 0.0  # how far the age ratio was from that of late, fading
    kept: float = 0.0  # M to rest with, pages/s; 0 while there are changes enough
    in_force: float = 0.0  # M as this left it, pages/s
    since: float = 0.0  # since when M is as it is, seconds
    on: bool = False  # changes are scarce, or were and the age is not calm since

    def watch(self, situation: Situation) -> Saving:
        """Return it with the error of one tick more; nothing is kept while there are changes enough."""
        elapsed = AVERAGE_SECONDS if self.at is None else max(0.0, situation.now - self.at)
        weight = min(1.0, elapsed / AVERAGE_SECONDS)
        ratio = self.ratio + weight * (situation.age_ratio - self.ratio)
        away = abs(situation.age_ratio - ratio)
        swing = max(away, self.swing + min(1.0, elapsed / SWING_SECONDS) * (away - self.swing))
        goes_on = situation.saving or (self.kept > 0.0 and swing > CALM)
        return Saving(
            at=situation.now,
            error=self.error + weight * (situation.error - self.error),
            ratio=ratio,
            swing=swing,
            kept=self.kept if goes_on else 0.0,
            in_force=self.in_force,
            since=self.since,
            on=goes_on,
        )

    def rest(self, situation: Situation, *, resting: float, gain: float) -> tuple[Saving, bool]:
        """Return the M to rest with, in ``kept``, and whether it is worth a change.

        Args:
            resting: M with which the age rests at the set-point, pages/s.
            gain: d ln M per d ln(age ratio) that a mean error is answered with.
        """
        now, current = situation.now, float(situation.io_capacity_max)
        if self.kept <= 0.0:
            return replace(self, kept=SAFE * resting, in_force=current, since=now), True
        if not _same(current, self.in_force):
            too_low = _same(self.in_force, self.kept) and current > self.kept and situation.error > 0.0
            kept = RETURN_MARGIN * self.kept if too_low else self.kept
            return replace(self, kept=kept, in_force=current, since=now), False
        if not _same(current, self.kept):
            return self, current < self.kept or situation.error <= 0.0
        lasting = now - self.since >= AVERAGE_SECONDS and not -LOW < self.error < HIGH
        arrives = self.error < 0.0 and situation.error_ahead > STAYS * self.error
        if not lasting or arrives or self.error * situation.error <= 0.0:
            return self, False
        kept = current * math.exp(gain * apart(self.error, situation.set_point))
        if resting > 0.0 and abs(math.log(SAFE * resting / current)) > ANOTHER:
            kept = SAFE * resting
        return replace(self, kept=kept, since=now), True

    def wrote(self, io_capacity_max: int) -> Saving:
        """Return it with what a change came to."""
        return replace(self, in_force=float(io_capacity_max), since=self.at or 0.0)


def apart(error: float, set_point: float) -> float:
    """Return how far the age ratio is from a set-point, in ln, with a bound where nothing is left of it."""
    return math.log1p(max(-0.9, error / set_point))


def _same(one: float, other: float) -> bool:
    return one > 0.0 and other > 0.0 and abs(math.log(one / other)) <= SAME
