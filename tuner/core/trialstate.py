"""The state of the outer loop's trials: what runs, what is in use, and what one tick lets it know."""

from __future__ import annotations

from msgspec import Struct

from policies.types import Context, Suggestion
from tuner.core.context import Averages
from tuner.core.evidence import Evidence, Win
from tuner.core.switchback import MOST_BLOCKS, Running
from tuner.records import Estimate, Event, InUse, OptimiserPhase, OptimiserProgress, Sample


class Trials(Struct, frozen=True):
    """The outer loop's slice of state; times are monotonic seconds.

    Attributes:
        evidence: what lasts.
        running: the trial under way.
        used: what won and is in force where no trial runs.
        asking: number of the trial that a suggestion is asked for; 0 for none.
        number: of the last trial.
        averages: the load.
        context: the same as an outer law takes it; None until it is known.
        at: time of the last tick.
        quiet_since: since when nothing bars a trial.
        rest_until: none is begun before.
        lost: trials lost in a row.
        why: what bars one.
        moved: what is in force has changed, and the set-point has to follow.
        moved_from: the set-point before it did, at the tick at which it does; else 0.
    """

    evidence: Evidence = Evidence()
    running: Running | None = None
    used: Win | None = None
    asking: int = 0
    number: int = 0
    averages: Averages = Averages()
    context: Context | None = None
    at: float | None = None
    quiet_since: float | None = None
    rest_until: float = 0.0
    lost: int = 0
    why: str = ""
    moved: bool = False
    moved_from: float = 0.0

    @property
    def in_force(self) -> Suggestion | None:
        """Return the suggestion that is in force; None for the analytic set-point."""
        if self.running is not None:
            return self.running.suggestion if self.running.suggested else None
        return None if self.used is None else self.used.suggestion


class Look(Struct, frozen=True):
    """What the slice may know at one tick.

    Attributes:
        now: monotonic time, seconds.
        wall: Unix time, seconds.
        sample: the reading.
        found: its estimate.
        set_point: f in force.
        lru_share: share of the LRU in the pages flushed, averaged.
        bars: why no trial may go on; empty where one may.
        unsafe: which guard fired; empty where none did.
        learns: the reading may be learned from.
    """

    now: float
    wall: float
    sample: Sample
    found: Estimate
    set_point: float
    lru_share: float
    bars: str = ""
    unsafe: str = ""
    learns: bool = True


def progress(state: Trials, *, now: float) -> OptimiserProgress:
    """Return what a watcher may want to know."""
    running, used = state.running, state.used
    rest = max(0.0, state.rest_until - now)
    phase = OptimiserPhase.RESTING
    if running is not None:
        phase = OptimiserPhase.TRIAL
    elif state.asking:
        phase = OptimiserPhase.ASKING
    elif state.why:
        phase = OptimiserPhase.BARRED
    return OptimiserProgress(
        phase=phase,
        why=state.why,
        number=state.asking or state.number,
        blocks=0 if running is None else len(running.blocks),
        most_blocks=0 if running is None else MOST_BLOCKS,
        trying=None if running is None else running.suggestion,
        suggested=running is not None and running.suggested,
        in_use=None if used is None else InUse(used.suggestion, used.gain, used.low, used.high),
        known=len(state.evidence.log),
        rest_seconds=rest,
    )


def event(wall: float, code: str, message: str) -> Event:
    """Return an event of the outer loop's."""
    return Event(wall=wall, code=code, message=message, who="optimiser")
