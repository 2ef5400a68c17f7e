"""The referee's books about the clocks: what passed in a gap between them is nobody's rate."""

from __future__ import annotations

from tests.core.pacing import Pacing
from tuner.core.state import State
from tuner.core.writes.plan import MOST_RATIO
from tuner.records import DecisionKind, Sample, TickRecord

SURELY = 3.5
"""Seconds, besides a share for drift, from which on no whole second and no slow reading explains a gap."""

WARM = 8.9
BELIEVED = 2.5
"""Span of the readings after a gap from which on the pace decides again, and an emergency may."""

ABOUT_TO = 2.0
"""So many times what makes an emergency is soon enough for a park that goes further than a step."""


class Timekeeping:
    """When the readings since the last gap began; ``judge`` calls every breach.

    Attributes:
        last: the newest reading.
        first: the first reading after the last gap; None where the rates since are warm, or without one.
    """

    def __init__(self) -> None:
        self.last: Sample | None = None
        self.first: Sample | None = None

    def judge(self, record: TickRecord, after: State) -> None:
        """Compare one tick with these books."""
        reading, decision = record.tick.reading, record.decision
        if not isinstance(reading, Sample):
            return
        begun = any(event.code in {"restarted", "other_server"} for event in record.events)
        if self.last is not None and not begun and self._gap(self.last, reading):
            self.first = reading
            assert record.estimate is None, "5: an estimate across a gap in time"
            assert decision.kind in {DecisionKind.KEEP, DecisionKind.LOW_WATER}, "5: a write across one"
        elif begun:
            self.first = None
        self.last = reading
        if self.first is None:
            return
        span = reading.monotonic - self.first.monotonic
        if decision.kind is DecisionKind.EMERGENCY:
            assert span >= BELIEVED, "5: an emergency by rates of a moment after a gap"
        elif decision.kind is DecisionKind.PARK and not self._about_to(reading, after):
            self._one_step(record, reading, after)
        if span >= WARM:
            self.first = None

    @staticmethod
    def _gap(last: Sample, now: Sample) -> bool:
        """Tell whether one clock went on by seconds that another did not count."""
        elapsed = now.monotonic - last.monotonic
        ran = (now.uptime - last.uptime, now.wall - last.wall)
        allowed = SURELY + now.read_seconds + 0.05 * max(0.0, elapsed)
        return any(abs(seconds - elapsed) > allowed for seconds in ran)

    def _about_to(self, reading: Sample, after: State) -> bool:
        """Tell whether the readings since the gap show the age on its way to the sync or the stall point."""
        first = self.first
        assert first is not None
        seconds = max(1e-3, reading.monotonic - first.monotonic)
        grown = (reading.checkpoint_age - first.checkpoint_age) / seconds
        left = min(reading.sync_point, reading.stall_point) - reading.checkpoint_age
        return left <= max(0.0, grown) * ABOUT_TO * after.settings.emergency_seconds

    @staticmethod
    def _one_step(record: TickRecord, reading: Sample, after: State) -> None:
        """See that a park goes no further than one write may."""
        target, chosen = record.decision.target, after.settings
        assert target is not None
        slack = (chosen.ratio or MOST_RATIO) / 2.0
        least = Pacing.least(chosen)
        most = max(reading.io_capacity_max * chosen.step_factor, least) + slack
        assert target.io_capacity_max <= most, "3: a park by more than a step after a gap in time"
