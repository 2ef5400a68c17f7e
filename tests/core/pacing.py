"""The referee's books about how often M may be written, how far one write may go, and what is exempt."""

from __future__ import annotations

from tests.factory import FACTS
from tuner.core.writes.plan import MOST_RATIO
from tuner.records import Decision, DecisionKind, Sample
from tuner.settings import Settings

HOUR = 3600.0

MOST_RELIEFS = 20
"""That begin within an hour, each with an end."""

BACK = 1.2
"""So many times the M that was too low, rounded up to a whole ratio: there a way back is over."""


class Pacing:
    """Books about the writes on one server; ``judge`` and ``relieves`` call every breach.

    Attributes:
        writes: time and kind of every write.
        counted: times of those that use up the hourly budget.
        raised_from: M before the emergencies that made the one in force; 0 where none did.
        reliefs: when each of the last hour began.
    """

    def __init__(self) -> None:
        self.writes: list[tuple[float, DecisionKind]] = []
        self.counted: list[float] = []
        self.raised_from = 0
        self.reliefs: list[float] = []

    def judge(self, decision: Decision, reading: Sample, chosen: Settings, now: float) -> None:
        """See that dwell, budget and step factor were kept; the way back from an emergency is always open."""
        target = decision.target
        assert target is not None
        last = max((at for at, kind in self.writes if kind is not DecisionKind.PARK), default=float("-inf"))
        assert now - last >= chosen.dwell_seconds, "3: dwell"
        if self._goes_back(decision, reading):
            return
        counted = [at for at in self.counted if now - at < HOUR]
        assert len(counted) < chosen.max_changes_per_hour, "3: budget"
        old, new = reading.io_capacity_max, target.io_capacity_max
        ratio = chosen.ratio or MOST_RATIO
        factor, slack = chosen.step_factor, ratio / 2.0
        back = chosen.max_io_capacity_max - ratio <= new < old
        back = back or old < new <= self.least(chosen) + ratio
        assert back or old / factor - slack <= new <= old * factor + slack, "3: step"

    @staticmethod
    def least(chosen: Settings) -> int:
        """Return the lowest M that may be written, pages/s."""
        return max(chosen.min_io_capacity_max, FACTS.capacity_minimum * (chosen.ratio or 1))

    def relieves(self, decision: Decision, reading: Sample, chosen: Settings, now: float) -> None:
        """See that a relief lowers M and its end raises it, at most so often, and never a person's M."""
        target = decision.target
        assert target is not None
        assert chosen.policy != "fixed", "a relief of an M that is a person's"
        if decision.reason == "relief":
            assert target.io_capacity_max < reading.io_capacity_max, "3: a relief never raises M"
            begun = [at for at in self.reliefs if now - at < HOUR]
            assert len(begun) < MOST_RELIEFS, "3: reliefs"
        else:
            assert decision.reason == "relief_over"
            assert self.reliefs, "3: the end of no relief"
            assert target.gain > reading.capacity.gain, "3: the end of a relief raises M"

    def note(self, decision: Decision, reading: Sample, now: float) -> None:
        """Note a write, what it uses up of the budget, and where an emergency came from."""
        target = decision.target
        assert target is not None
        self.writes.append((now, decision.kind))
        if decision.reason == "relief":
            self.reliefs = [*(at for at in self.reliefs if now - at < HOUR), now]
        if decision.kind is DecisionKind.EMERGENCY:
            self.raised_from = self.raised_from or reading.io_capacity_max
            return
        back = decision.kind is DecisionKind.SET and self._goes_back(decision, reading)
        if decision.kind in {DecisionKind.SET, DecisionKind.DRAIN, DecisionKind.RELIEF} and not back:
            self.counted.append(now)
        if not back or target.io_capacity_max <= BACK * self.raised_from:
            self.raised_from = 0

    def _goes_back(self, decision: Decision, reading: Sample) -> bool:
        """Tell whether a write leads back from an emergency, to no less than there was before it."""
        target = decision.target
        assert target is not None
        return 0 < self.raised_from <= target.io_capacity_max < reading.io_capacity_max
