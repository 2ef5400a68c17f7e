"""The referee's audits: clocks, how often and how far M is written, what goes on beside the load, bounds."""

from __future__ import annotations

from msgspec.structs import replace

from policies.registry import LAWS
from policies.setpoint import LOWEST, STEP
from tests.factory import FACTS
from tuner.core.estimate.occurrences import CALM_SECONDS
from tuner.core.setpoint import budgets
from tuner.core.setpoint.choose import headroom_of
from tuner.core.state import State
from tuner.core.writes.plan import MOST_RATIO
from tuner.records import Decision, DecisionKind, Estimate, HoldCode, Sample, TickRecord
from tuner.settings import Settings

SURELY = 3.5
"""Seconds, besides a share for drift, from which on no whole second and no slow reading explains a gap."""

WARM = 8.9
BELIEVED = 2.5
"""Span of the readings after a gap from which on the pace decides again, and an emergency may."""

ABOUT_TO = 2.0
"""So many times what makes an emergency is soon enough for a park that goes further than a step."""


class ClockAudit:
    """When the readings since the last gap began; ``judge`` calls every breach.

    Attributes:
        last: the newest reading.
        first: the first reading after the last gap; None where the rates since are warm, or without one.
    """

    def __init__(self) -> None:
        self.last: Sample | None = None
        self.first: Sample | None = None

    def judge(self, record: TickRecord, after: State) -> None:
        """Compare one tick with this audit."""
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
        least = PaceAudit.least(chosen)
        most = max(reading.io_capacity_max * chosen.step_factor, least) + slack
        assert target.io_capacity_max <= most, "3: a park by more than a step after a gap in time"


# The referee's audit of how often M may be written, how far one write may go, and what is exempt.


HOUR = 3600.0

MOST_RELIEFS = 20
"""That begin within an hour, each with an end."""

BACK = 1.2
"""So many times the M that was too low, rounded up to a whole ratio: there a way back is over."""


class PaceAudit:
    """Audit of the writes on one server; ``judge`` and ``relieves`` call every breach.

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


# The referee's audit of what goes on in a server beside its load, and about readings without counters.


CHOSEN = {DecisionKind.SET, DecisionKind.EMERGENCY}
"""What the loop writes of its own accord."""


class OccurrenceAudit:
    """What was said and shown so far; ``judge`` calls every breach.

    Attributes:
        going: names of what is under way, by the events.
        busy_until: until when nothing may be learned, by the readings alone.
        proved: the flush law of this server was seen to match, now or before this referee came.
    """

    def __init__(self) -> None:
        self.going: set[str] = set()
        self.busy_until = float("-inf")
        self.proved: bool | None = None

    def judge(self, before: State, record: TickRecord, after: State) -> None:
        """Compare one tick with this audit."""
        if self.proved is None:
            self.proved = before.gate.proven != ""
            self.going = set(before.occurrences.names)
        moved = any(event.code == "other_server" for event in record.events)
        if moved:
            self.going, self.busy_until, self.proved = set(), float("-inf"), False
        self._hear(record)
        reading = record.tick.reading
        if isinstance(reading, Sample):
            self._kept_out(before, after, reading, moved=moved)
            self._trusted(record, reading)

    def _hear(self, record: TickRecord) -> None:
        """See that what goes on is said from beginning to end."""
        for event in record.events:
            if event.code.startswith("begin_"):
                self.going.add(event.code.removeprefix("begin_"))
            elif event.code.startswith("end_"):
                self.going.remove(event.code.removeprefix("end_"))
        assert set(record.occurrences) == self.going

    def _kept_out(self, before: State, after: State, reading: Sample, *, moved: bool) -> None:
        """See that nothing is learned from what goes on, nor soon after."""
        shown = (
            reading.backup_locked,
            reading.read_locked,
            reading.cloning,
            reading.undo_truncating,
            reading.pool_loading,
            reading.resizing,
        )
        if any(shown):
            self.busy_until = reading.monotonic + CALM_SECONDS
        old, new = before.estimator, after.estimator
        if (self.going or reading.monotonic < self.busy_until) and not moved:
            assert new.load == old.load, "learned from an occurrence"
            assert new.trends.rate_mean == old.trends.rate_mean
            assert new.trends.checkpoint_seconds == old.trends.checkpoint_seconds
        if reading.degraded and not moved:
            assert new.load == old.load, "learned from the checkpoint's age"

    def _trusted(self, record: TickRecord, reading: Sample) -> None:
        """See that a server without counters is written only where its law had matched before."""
        doubts = [hold for hold in record.holds if hold.code is HoldCode.MODEL_MISMATCH]
        if not reading.degraded and record.estimate is not None:
            self.proved = not any("is not the" in hold.reason for hold in doubts) and (
                self.proved or not doubts
            )
        if reading.degraded and record.decision.steps and record.decision.kind in CHOSEN:
            assert self.proved, "a law that nobody has seen match"


# What the set-point must never be above, judged from what the loop itself holds for true.


def within_bounds(reading: Sample, found: Estimate, after: State) -> None:
    """See that the set-point is above no bound, a person's neither but where persons come first."""
    settings, set_point = after.settings, after.set_point
    assert set_point is not None
    assert 0.2 <= set_point <= max(1.0, reading.sync_point / reading.flush_limit)
    if not LAWS[after.facts.flush_law].m_moves_age:
        assert set_point == 1.0, "not where the age rests whatever M"
        return
    if reading.replica or reading.group_role == "SECONDARY":
        assert set_point <= settings.max_replica_set_point, "a replica above its limit"
    highest = max(1.0, reading.sync_point / reading.flush_limit)
    assert set_point <= after.caution.bound(highest) + STEP, "the set-point is above free_pages"
    if settings.set_point is None:
        for name, bound in _of_the_schedule(reading, found, after).items():
            assert set_point <= max(LOWEST, bound) + STEP, f"the set-point is above {name}"
    else:
        assert set_point <= settings.set_point


def _of_the_schedule(reading: Sample, found: Estimate, after: State) -> dict[str, float]:
    """Return the bounds by budgets and windows: a window's set-point before budgets of no window.

    None by a budget that no set-point keeps, and none below the age of the settings found.
    """
    windows = after.schedule
    headroom = headroom_of(after, reading, found)
    asked = {
        name: [value for one in windows if (value := getattr(one, key)) is not None]
        for name, key in (("recovery", "max_recovery_seconds"), ("shutdown", "max_shutdown_seconds"))
    }
    changed = {f"max_{name}_seconds": min(values) for name, values in asked.items() if values}
    standing = budgets.standing_of(
        after.estimator.recovery,
        headroom,
        replace(after.settings, **changed),
        reading,
        baseline=found.baseline_ratio or 0.0,
    )
    dropped = {name for name, debounced in after.announced.dropped if debounced.on}
    ratios = {name: one.bound for name, one in standing.items() if name not in dropped}
    set_points = [one.set_point for one in windows if one.set_point is not None]
    if not set_points:
        return ratios
    return {"window": min(set_points)} | {name: ratio for name, ratio in ratios.items() if asked[name]}
