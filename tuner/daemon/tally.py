"""Counts of the ticks since the daemon began, and when each stage last succeeded."""

from __future__ import annotations

import time
from bisect import bisect_left
from collections.abc import Mapping

from msgspec import Struct
from msgspec.structs import replace

from tuner.records import HoldCode, OptimiserHealth, Sample, TickRecord

BOUNDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
"""From a reading over a socket to the slowest tick that the time-outs allow, seconds."""


class Histogram(Struct, frozen=True):
    """Durations by size.

    Attributes:
        counts: how many were at most as long as each of ``BOUNDS`` and longer than the one before; last,
            how many were longer than all of them.
        total: sum of all, seconds.
    """

    counts: tuple[int, ...] = (0,) * (len(BOUNDS) + 1)
    total: float = 0.0

    def after(self, seconds: float) -> Histogram:
        """Return it with one duration more."""
        counts = list(self.counts)
        counts[bisect_left(BOUNDS, seconds)] += 1
        return Histogram(tuple(counts), self.total + seconds)


BASELINE_EVENTS = frozenset({"baseline_back", "baseline_left"})
"""What begins and ends the baseline guard's word."""


class Tally(Struct, frozen=True):
    """What has happened since the board was made.

    Attributes:
        alive: when the loop last gave a sign of life, on ``time.monotonic``; None before the first.
        waiting: what the loop waits for instead of ticking; empty while it ticks.
        begun: when the first tick was published, on ``time.monotonic``, and the processor time spent
            until then, seconds; None before.
        ticks: ticks published.
        missed: ticks whose reading failed.
        changes: writes that the server accepted.
        failures: writes that failed.
        decisions: ticks by the kind of their decision.
        holds: times that each hold was entered.
        held: holds in force at the last tick.
        ticking: how long ticks took, seconds on the loop's clock.
        reading: how long good readings took, seconds.
        setting: how long writes took, seconds, the failed ones among them.
        success: Unix time of the last success of each stage: sample, decide, write, journal.
        journal: why the journal cannot be written; empty while it can.
        lost: ticks that the journal will never have.
        optimiser: how the optimiser's process is.
        baseline_back: the baseline is back because the server did worse under our values.
        workers: whether each of the daemon's threads lives, by name.
    """

    alive: float | None = None
    waiting: str = ""
    begun: tuple[float, float] | None = None
    ticks: int = 0
    missed: int = 0
    changes: int = 0
    failures: int = 0
    decisions: Mapping[str, int] = {}
    holds: Mapping[str, int] = {}
    held: frozenset[HoldCode] = frozenset()
    ticking: Histogram = Histogram()
    reading: Histogram = Histogram()
    setting: Histogram = Histogram()
    success: Mapping[str, float] = {}
    journal: str = ""
    lost: int = 0
    optimiser: OptimiserHealth = OptimiserHealth()
    baseline_back: bool = False
    workers: Mapping[str, bool] = {}

    @property
    def dead(self) -> tuple[str, ...]:
        """Return which of the daemon's threads are dead."""
        return tuple(name for name, lives in self.workers.items() if not lives)

    def after(self, record: TickRecord) -> Tally:
        """Return the tally with one more tick."""
        reading, receipt, kind = record.tick.reading, record.tick.receipt, record.decision.kind
        good = reading if isinstance(reading, Sample) else None
        wrote = receipt is not None and not receipt.error
        success = {**self.success, "decide": record.tick.wall}
        if good is not None:
            success["sample"] = good.wall
        if wrote:
            success["write"] = record.tick.wall
        held = frozenset(hold.code for hold in record.holds)
        holds = self.holds
        if not held <= self.held:
            holds = {**holds, **{code: holds.get(code, 0) + 1 for code in held - self.held}}
        return replace(
            self,
            alive=time.monotonic(),
            waiting="",
            begun=self.begun or (time.monotonic(), time.process_time()),
            ticks=self.ticks + 1,
            missed=self.missed + (good is None),
            changes=self.changes + wrote,
            failures=self.failures + (receipt is not None and not wrote),
            decisions={**self.decisions, kind: self.decisions.get(kind, 0) + 1},
            holds=holds,
            held=held,
            reading=self.reading if good is None else self.reading.after(good.read_seconds),
            setting=self.setting if receipt is None else self.setting.after(receipt.seconds),
            success=success,
            baseline_back=self._baseline_back(record),
        )

    def _baseline_back(self, record: TickRecord) -> bool:
        """Tell by the events, of which the last counts, whether the baseline guard has given it back."""
        told = [event.code for event in record.events if event.code in BASELINE_EVENTS]
        return told[-1] == "baseline_back" if told else self.baseline_back
