"""A load whose throughput and pages follow the suggestion that is in force, for tests of trials."""

from __future__ import annotations

import math
from collections.abc import Callable

from msgspec.structs import replace

from policies.types import Suggestion
from tests.factory import A, estimate, sample
from tuner.core.trials import engine
from tuner.core.trials.engine import Trials, TrialTick, accepted, update
from tuner.records import OptimiserPhase

GOOD = Suggestion(-0.02, 0.8, 1.2)
STEP = 10.0
Effect = Callable[[float], float]


class TrialLoad:
    """A load that goes on by steps of ten seconds, whose throughput and pages follow what is in force."""

    def __init__(
        self,
        *,
        rows: float = 1.0,
        pages: float = 1.0,
        wave: float = 0.0,
        period: float = 430.0,
        share: float | None = None,
        state: Trials | None = None,
    ) -> None:
        """Make one.

        Args:
            rows: factor on the row changes/s while the suggestion is in force.
            pages: the same on the pages for each.
            wave: relative size of a disturbance.
            period: of that, seconds.
            share: of reads in the statements, one for each row change; None where the server counts none.
            state: to begin with.
        """
        self.rows, self.pages, self.wave, self.period = rows, pages, wave, period
        self.state = Trials() if state is None else state
        self.now = 0.0
        self.share = share
        self.counted, self.flushed, self.redo, self.read = 0.0, 0.0, 0.0, 0.0
        self.said: list[tuple[float, str, str]] = []
        self.forced: list[tuple[float, Suggestion | None]] = []
        self.rate = 1e6

    def look(self, **changes: object) -> TrialTick:
        """Return what the slice sees now."""
        lsn = 10_000_000_000 + round(self.redo)
        seen = sample(
            self.now,
            lsn_current=lsn,
            lsn_oldest=lsn - round(0.7 * A),
            row_changes=round(self.counted),
            pages_adaptive=1000 + round(self.flushed),
            select_statements=None if self.share is None else round(self.read),
            change_statements=None if self.share is None else round(self.counted),
        )
        rates = estimate(redo_rate=self.rate, row_rate=self.rate / 333.0)
        made = TrialTick(
            now=1000.0 + self.now,
            sample=seen,
            estimate=rates,
            set_point=0.7,
            lru_share=0.0,
        )
        return replace(made, **changes)

    def step(self, count: int = 1, **changes: object) -> TrialLoad:
        """Let so many steps pass."""
        for _ in range(count):
            forced = self.state.in_force is not None
            noise = 1.0 + self.wave * math.sin(2.0 * math.pi * self.now / self.period)
            self.now += STEP
            rows = self.rate / 333.0 * (self.rows if forced else 1.0) * noise * STEP
            self.counted += rows
            self.redo += self.rate * STEP
            self.read += 0.0 if self.share is None else rows * self.share / (1.0 - self.share)
            self.flushed += 0.13 * rows * (self.pages if forced else 1.0)
            self.state, events = update(self.state, self.look(**changes))
            self.said += [(self.now, event.code, event.message) for event in events]
            self.forced.append((self.now, self.state.in_force))
        return self

    def blocks(self, count: int) -> TrialLoad:
        """Go on until the trial has so many blocks, or is over."""
        while self.state.running is not None and len(self.state.running.blocks) < count:
            self.step()
        return self

    def until(self, phase: OptimiserPhase, limit: int = 4000) -> TrialLoad:
        """Go on until it does this."""
        for _ in range(limit):
            if engine.progress(self.state, now=0.0).phase is phase:
                return self
            self.step()
        raise AssertionError(f"no {phase} within {limit} steps: {self.state.why}, {self.said}")

    def trial(self, suggestion: Suggestion = GOOD) -> TrialLoad:
        """Answer the next question with this suggestion."""
        self.until(OptimiserPhase.ASKING)
        self.state, why = accepted(self.state, self.state.asking, suggestion, self.look())
        assert why == ""
        return self

    def ended(self, suggestion: Suggestion = GOOD, limit: int = 2000) -> TrialLoad:
        """Try it until the trial is over."""
        self.trial(suggestion)
        for _ in range(limit):
            self.step()
            if self.state.running is None:
                return self
        raise AssertionError("the trial never ends")

    def retested(self) -> TrialLoad:
        """Go on to the trial of what is in use that comes hours after it won."""
        later = self.now + 1000.0 + engine.RETRY_SECONDS + 60.0
        self.state = replace(self.state, rest_until=later)
        self.step(round(engine.RETRY_SECONDS / STEP) + 10)
        assert self.state.running is not None
        assert self.state.running.retest
        return self

    def codes(self) -> list[str]:
        """Return what was said, by code."""
        return [code for _, code, _ in self.said]
