"""How far the checkpoint age really gets beyond the modified age between two checkpoints.

Checkpoints are written every seven seconds under load, and the age that people are alarmed by is highest
just before one. The set-point keeps that peak below the operator's share of the redo log, unless a person, or
a baseline that rests higher, has it beyond. Beforehand eight seconds of redo are reckoned with. Where a load
goes on, the highest peaks of the last five to ten minutes say how much it is, and are believed where they are
less; but not while a surge has taken the age past what the set-point allows within the last hours, for then
the margin is needed for the next one.
"""

from __future__ import annotations

import math

from msgspec import Struct
from msgspec.structs import replace

from policies.setpoint import STEP
from tuner.records import Sample

SPAN_SECONDS = 300.0  # Half the time that a peak counts for
SURGE_SECONDS = 6 * 3600.0  # How long a surge is remembered

SURGE = 1.02
"""Checkpoint age over the highest that is allowed from which on it is a surge, and no tip of a tooth."""

LEAST = 0.9
"""Share of the time between two checkpoints that is reckoned with at least: readings a second apart miss
the tip of a tooth."""

SETTLING = 3.0  # Times that the load writes the age's redo until an age has come down to a lower set-point

LONGEST_GAP = 10.5
"""Readings farther apart than this are another time's, seconds: the longest interval, and a little."""


class Sawtooth(Struct, frozen=True):
    """What was seen of late."""

    at: float | None = None  # time of the last reading, seconds; None before the first
    begun: float = 0.0  # when the present half began, seconds
    highest: float = 0.0  # highest peak of this half, seconds of redo
    before: float | None = None  # that of the half before; None while there was none
    surged: float | None = None  # when the checkpoint age was too high last, seconds; None where it never was
    since: float = 0.0  # when the readings began, seconds
    # age ratio by which the set-point lies beyond what the operator's share of the redo log allows. It
    # follows the set-point down as slowly as an age does
    beyond: float = 0.0
    aim: float = 0.0  # where it goes: that of the set-point in force

    def allowed(self, sample: Sample, *, share: float) -> float:
        """Return the checkpoint age above which it is higher than anybody wants it, bytes.

        Args:
            sample: redo capacity and flush limit.
            share: the operator's highest checkpoint age, share of the redo capacity.
        """
        return share * sample.redo_capacity + self.beyond * sample.flush_limit

    def held(self, *, beyond: float) -> Sawtooth:
        """Return it with a set-point in force that lies so far beyond; a step's difference is none."""
        aim = beyond if beyond > STEP else 0.0
        return replace(self, beyond=max(self.beyond, aim), aim=aim)

    def see(
        self, *, now: float, lag: float, redo_rate: float, checkpoint_age: float, allowed: float
    ) -> Sawtooth:
        """Return it with one reading more.

        Args:
            lag: checkpoint age beyond the modified age, less what it is right after a checkpoint, bytes.
            redo_rate: R, mean of the last minutes, bytes/s.
            allowed: the highest that it may get to, bytes.
        """
        surged = now if checkpoint_age > SURGE * allowed else self.surged
        if self.at is None or not 0.0 < now - self.at <= LONGEST_GAP:
            return Sawtooth(at=now, begun=now, surged=surged, since=now, beyond=self.beyond, aim=self.aim)
        peak = lag / redo_rate if redo_rate > 0.0 else 0.0
        settling = max(SPAN_SECONDS, SETTLING * checkpoint_age / redo_rate) if redo_rate > 0.0 else math.inf
        beyond = self.aim + (self.beyond - self.aim) * math.exp(-(now - self.at) / settling)
        seen = replace(self, at=now, highest=max(self.highest, peak), surged=surged, beyond=beyond)
        if now - self.begun < SPAN_SECONDS:
            return seen
        return replace(seen, begun=now, before=seen.highest, highest=0.0)

    @property
    def surges(self) -> bool:
        """Tell whether a surge is remembered."""
        return self.surged is not None and self.at is not None and self.at - self.surged < SURGE_SECONDS

    @property
    def calm_seconds(self) -> float:
        """Return for how long the age was watched without a surge; 0 where one is remembered."""
        return 0.0 if self.at is None or self.surges else self.at - self.since

    def seconds(self, reckoned: float) -> float:
        """Return the seconds of redo between two checkpoints to reckon with; at most those of beforehand."""
        if self.before is None or self.surges:
            return reckoned
        return min(reckoned, max(LEAST * reckoned, self.highest, self.before))
