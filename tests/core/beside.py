"""The referee's books about what goes on in a server beside its load, and about readings without counters."""

from __future__ import annotations

from tuner.core.estimate.occurrences import CALM_SECONDS
from tuner.core.state import State
from tuner.records import DecisionKind, HoldCode, Sample, TickRecord

CHOSEN = {DecisionKind.SET, DecisionKind.EMERGENCY}
"""What the loop writes of its own accord."""


class Beside:
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
        """Compare one tick with these books."""
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
