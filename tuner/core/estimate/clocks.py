"""Whether our clock, the server's and the wall's went on alike: rates across a gap between them mean nothing.

A machine that is suspended, a paused virtual machine, a clock that stands still or is set: one clock counts
seconds that another did not. What the server did meanwhile would count as done within the seconds of ours.
"""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from tuner.core.estimate.window import Window, warm
from tuner.records import Sample

WHOLE = 1.0  # A server's uptime counts whole seconds: it lies so much below the time that it has run, at most
SLACK = 1.0  # Seconds that two clocks may be apart beyond what uptime and a slow reading explain
DRIFT = 0.01  # Share of the time by which they may drift apart: a clock that is being slewed, and much more
TELLING_SECONDS = 3.0  # Readings after a gap span so long before an emergency believes them


class Apart(Struct, frozen=True):
    """Within which bounds one clock lies ahead of ours, seconds."""

    low: float
    high: float

    def distance(self, other: Apart) -> float:
        """Return how far another's bounds lie ahead of these, seconds; negative behind, 0 where they meet."""
        if other.low > self.high:
            return other.low - self.high
        return min(0.0, other.high - self.low)

    def updated(self, seen: Apart, *, elapsed: float) -> Apart:
        """Return the bounds with one reading more, which lies no farther away than the slack."""
        wide = Apart(self.low - DRIFT * elapsed, self.high + DRIFT * elapsed)
        if wide.distance(seen) != 0.0:
            return wide
        return Apart(max(wide.low, seen.low), min(wide.high, seen.high))


class Clocks(Struct, frozen=True):
    """How the clocks stood at the last reading."""

    at: float | None = None  # our monotonic time of it, seconds; None before the first
    # of the server, against ours; None before the first reading of this start of it
    uptime: Apart | None = None
    wall: Apart | None = None  # the same of the wall clock
    # our monotonic time of the first reading after a gap, until rates are warm again; None otherwise
    gap: float | None = None

    def begun(self) -> Clocks:
        """Return them where another server, or another start of one, answers."""
        return replace(self, uptime=None, gap=None)

    def settled(self, window: Window) -> Clocks:
        """Return them without the gap once the readings since span what decisions need."""
        return replace(self, gap=None) if self.gap is not None and warm(window) else self

    def believes(self, window: Window) -> bool:
        """Tell whether the readings since a gap span enough for an emergency; true without a gap."""
        return self.gap is None or window[-1].at - window[0].at >= TELLING_SECONDS - 0.2


def update(state: Clocks, sample: Sample) -> tuple[Clocks, str]:
    """Take a reading in.

    Returns:
        How the clocks stand now, and in words by how much they ran apart; empty where they did not.
    """
    now, slow = sample.monotonic, max(0.0, sample.read_seconds)
    uptime = Apart(sample.uptime - now - slow, sample.uptime + WHOLE - now + slow)
    wall = Apart(sample.wall - now - slow, sample.wall - now + slow)
    elapsed = 0.0 if state.at is None else max(0.0, now - state.at)
    pairs = (("the server's uptime", state.uptime, uptime), ("the wall clock", state.wall, wall))
    said = [_said(name, before.distance(seen), elapsed) for name, before, seen in pairs if before is not None]
    why = "; ".join(one for one in said if one)
    if why:
        return Clocks(at=now, uptime=uptime, wall=wall, gap=now), why
    return replace(
        state,
        at=now,
        uptime=uptime if state.uptime is None else state.uptime.updated(uptime, elapsed=elapsed),
        wall=wall if state.wall is None else state.wall.updated(wall, elapsed=elapsed),
    ), ""


def _said(name: str, ahead: float, elapsed: float) -> str:
    """Return in words that a clock ran apart from ours; empty where drift and slack explain it."""
    if abs(ahead) <= SLACK + DRIFT * elapsed:
        return ""
    how = "more" if ahead > 0 else "less"
    return f"{name} moved {abs(ahead):.0f} s {how} than the daemon's monotonic clock"
