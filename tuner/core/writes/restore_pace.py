"""What writing statements and commits take while a restore is under way, and whether its next step may come.

The server counts how many ended and how long they took altogether. The mean before the first
step is the baseline; a step is taken only while the mean since the last one is near it, so
that a restore never becomes the flush storm it is there to avoid. Where the account cannot
see the counters, or nothing is written, time alone sets the pace.
"""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from tuner.records import Sample

HIDDEN = "latency"  # What ``Facts.unseen`` calls these counters

STEP_SECONDS = 5.0
"""Two steps are at least so far apart; also the span of the baseline, and of what is held against it."""

APPEAR_SECONDS = 3.0  # Counters that have not been seen so long after a restore began are not visible
LONGEST_WAIT = 60.0  # A step waits for the latency no longer than this: somebody wants the originals back

LIMIT_FACTOR = 2.0
LIMIT_SLACK = 0.001
"""The latency may be so many times the baseline, and so many seconds more."""


class Reading(Struct, frozen=True):
    """The two counters at one reading of the server."""

    at: float
    statements: int
    seconds: float


class RestorePace(Struct, frozen=True):
    """What a restore knows of the latency."""

    begun: float  # monotonic time when it was asked for, seconds
    readings: tuple[Reading, ...] = ()  # of the last seconds, oldest first
    baseline: float | None = None  # mean latency before the first step, seconds; None where it is not known
    stepped: float | None = None  # monotonic time of the last step, None before the first
    steps: int = 0  # taken so far

    @property
    def limit(self) -> float | None:
        """Return the latency above which the next step waits, seconds; None without a baseline."""
        return None if self.baseline is None else LIMIT_FACTOR * self.baseline + LIMIT_SLACK

    @property
    def latency(self) -> float | None:
        """Return the mean latency since the last step, of the last seconds at most; None where unknown."""
        if self.stepped is None:
            return mean(self.readings)
        return mean(tuple(one for one in self.readings if one.at >= self.stepped))


class Verdict(Struct, frozen=True):
    """Whether the next step may be taken, and why."""

    go: bool
    why: str


def mean(readings: tuple[Reading, ...]) -> float | None:
    """Return the mean latency between the first and the last reading, seconds; None where nothing ended."""
    if not readings:
        return None
    ended = readings[-1].statements - readings[0].statements
    return (readings[-1].seconds - readings[0].seconds) / ended if ended > 0 else None


def see(pace: RestorePace, sample: Sample) -> RestorePace:
    """Take one reading of the server in; counters that are gone or went back begin anew."""
    if sample.write_statements is None or sample.write_time is None:
        return replace(pace, readings=())
    new = Reading(at=sample.monotonic, statements=sample.write_statements, seconds=sample.write_time)
    before = pace.readings
    if before and (new.statements < before[-1].statements or new.seconds < before[-1].seconds):
        before = ()
    while len(before) > 1 and new.at - before[1].at >= STEP_SECONDS:
        before = before[1:]
    pace = replace(pace, readings=(*before, new))
    if pace.stepped is None and pace.baseline is None and _span(pace) >= STEP_SECONDS:
        pace = replace(pace, baseline=mean(pace.readings))
    return pace


def judge(pace: RestorePace, *, now: float, hidden: bool = False) -> Verdict:
    """Say whether the next step may be taken.

    Args:
        pace: with the newest reading in it.
        hidden: the account is known not to see the counters.
    """
    if pace.stepped is None:
        return _first(pace, now=now, hidden=hidden)
    return _next(pace, waited=now - pace.stepped)


def stepped(pace: RestorePace, *, now: float) -> RestorePace:
    """Return the pace with a step more taken."""
    return replace(pace, stepped=now, steps=pace.steps + 1)


def _first(pace: RestorePace, *, now: float, hidden: bool) -> Verdict:
    if pace.readings and _span(pace) < STEP_SECONDS:
        return Verdict(go=False, why="looking at the write latency before the first step")
    if not pace.readings and not hidden and now - pace.begun < APPEAR_SECONDS:
        return Verdict(go=False, why="looking whether the write latency is visible")
    return Verdict(go=True, why=_paced_by(pace))


def _next(pace: RestorePace, *, waited: float) -> Verdict:
    if waited < STEP_SECONDS:
        return Verdict(go=False, why="waiting between steps")
    latency, limit = pace.latency, pace.limit
    if latency is None or limit is None:
        return Verdict(go=True, why=_paced_by(pace))
    measured = f"writes take {latency * 1000:.1f} ms, {limit * 1000:.1f} ms allowed"
    if latency <= limit:
        return Verdict(go=True, why=measured)
    if waited >= LONGEST_WAIT:
        return Verdict(go=True, why=f"{measured}; gone on after waiting {waited:.0f} s")
    return Verdict(go=False, why=f"waiting: {measured}")


def _span(pace: RestorePace) -> float:
    return pace.readings[-1].at - pace.readings[0].at if pace.readings else 0.0


def _paced_by(pace: RestorePace) -> str:
    if not pace.readings:
        return f"the write latency is not visible: a step every {STEP_SECONDS:.0f} s"
    if pace.latency is None:
        return f"nothing is written: a step every {STEP_SECONDS:.0f} s"
    return f"writes take {pace.latency * 1000:.1f} ms"
