"""What is done at once when the device gives less than was asked for: the load's writes come first.

A flush batch and the commits share the device's queue. Where the device becomes slower, M still asks for what
it gave before; the batch takes most of the queue, commits starve, and R falls with them. That looks like a
load that goes away, and is the opposite. So M goes to half of what is flushed, at once, as long as the sync
point leaves the time for that. When R is back where it was, so is the device, and M goes back to what it was
before. What the policy knows of the load is kept apart for the two: a disk that is slow now and then is two
disks, each with an M of its own, and from the second time on both are known.

A relief that is over within seconds was none of the device: then M stays where the policy wants it, and the
next relief waits, twice as long each time.
"""

from __future__ import annotations

import math
from typing import Any, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from policies.types import Policy
from tuner.core.estimate.trends import AUTHORITY_LOST
from tuner.core.estimate.window import Window, authority_since, list_rate_since, redo_rate_since
from tuner.records import Capacity, Estimate, Sample

T = TypeVar("T")

STARVED = 0.6  # R of the last three seconds below this share of R of the last ten: the commits starve
SHARE = 0.5  # M after the first relief, share of the pages that the device gave
ROOM_SECONDS = 10.0  # With less time to the sync point there is no room for it

RETURNED = 0.8
"""R of the last three seconds from which on the device is back, share of R before it was relieved."""

ABOVE = 0.03  # Age ratio above the set-point up to which there is room for it

FAST_SECONDS = 3.0

SAME = 0.02  # An M that no more than this share away from the one of the last time was left where it was

MOST_DRIFT = 0.25
"""Such an M is corrected by the drift of the age ratio meanwhile, in its logarithm by so much at most: the
next relief is written anyway, and the changes of an hour may all be kept for reliefs."""

SPACING_SECONDS = 5.0  # Between a write and the next relief or its end: the readings have to show the former
SHORTEST_SECONDS = 30.0  # A relief that is over earlier was none of the device

FIRST_WAIT_SECONDS = 60.0
LONGEST_WAIT_SECONDS = 3600.0
"""After such a one the next waits at least, and at most."""

MOST_AN_HOUR = 20  # Reliefs, each with its end: two thirds of the changes that an hour is allowed by default
RECURS = 2  # Reliefs within an hour from which on the next one is reckoned with

RETURN_SECONDS = 5.0
"""Redo of this time, at the rate of before, is kept free for a device that comes back: the load comes back
with it at once, and seconds pass before that is seen and M acts. Without it writers waited in 30 of 1000 s on
MySQL 9.7.4 (a disk of 2400 and 800 writes/s in turns of 100 s)."""

HOUR = 3600.0

KEPT_SECONDS = 3600.0  # A device that has been slow for so long is no slow one any more: it is the device


class Relief(Struct, frozen=True):
    """What is remembered of a device that gives less now and then."""

    since: float | None = None  # when it was relieved, monotonic seconds; None while it is not
    before: int = 0  # M that was in force before, pages/s
    rate_before: float = 0.0  # R then, bytes/s
    slow: int = 0  # M that was in force when the device came back last; 0 before the first time
    other: Any = None  # what the policy knew of the other device; None before the first time
    moments: tuple[float, ...] = ()  # times of the reliefs of the last hour
    # how long the next one waits after one that was none of the device, seconds; 0 for not at all
    wait: float = 0.0
    ratio: float = 0.0  # age ratio when it was relieved

    def reserved(self, *, now: float) -> int:
        """Return the changes that an hour keeps for reliefs and their ends, once there have been some."""
        return 2 * (MOST_AN_HOUR - self._recent(now=now)) if self._recurs(now=now) else 0

    def rate(self, *, now: float) -> float:
        """Return the R that the load goes back to when the device does, bytes/s; 0 for unknown."""
        return self.rate_before if self._recurs(now=now) else 0.0

    def return_bytes(self, *, now: float) -> float:
        """Return the redo to keep free for the load that comes back with the device, bytes."""
        return RETURN_SECONDS * self.rate(now=now)

    def flaps(self, *, now: float) -> bool:
        """Tell whether one that is over by now was none of the device."""
        return self.since is None or now - self.since < SHORTEST_SECONDS

    def _recurs(self, *, now: float) -> bool:
        return self._recent(now=now) >= RECURS

    def _recent(self, *, now: float) -> int:
        return sum(now - at < HOUR for at in self.moments)


class Change(Struct, frozen=True):
    """An M that begins or ends a relief."""

    io_capacity_max: float  # pages/s; 0 where the relief ends without a write
    detail: str  # why, in words
    begins: bool  # it begins one


def called_for(
    relief: Relief,
    window: Window,
    sample: Sample,
    estimate: Estimate,
    *,
    set_point: float,
    last_write: float | None,
    now: float,
) -> Change | None:
    """Return the change of M that begins or ends a relief; None where neither is called for.

    Args:
        set_point: f; above it the age has to come down, and the load waits for that.
        last_write: monotonic time of the last write, seconds; None before the first.
    """
    if last_write is not None and now - last_write < SPACING_SECONDS:
        return None
    if relief.since is not None:
        return _end(relief, sample, estimate.redo_rate_now, now=now)
    left = estimate.seconds_to_sync
    given = authority_since(window, FAST_SECONDS)
    starved = given < AUTHORITY_LOST and estimate.redo_rate_now < STARVED * estimate.redo_rate
    if (
        estimate.age_ratio > set_point + ABOVE
        or not starved
        or (left is not None and left <= ROOM_SECONDS)
        or _waits(relief, now=now)
    ):
        return None
    flushed = list_rate_since(window, FAST_SECONDS)
    wanted = min(SHARE * flushed, sample.capacity.gain) if relief.slow == 0 else float(relief.slow)
    if not 0.0 < wanted < sample.capacity.gain:
        return None
    return Change(
        io_capacity_max=wanted,
        detail=f"the device gives {given:.0%} of the pages that are asked for, and commits slow down",
        begins=True,
    )


def by_emergency(relief: Relief, window: Window, sample: Sample, *, now: float) -> Change | None:
    """Return the end of a relief in place of an emergency that the device's return brings about."""
    change = _end(relief, sample, redo_rate_since(window, 1.0), now=now)
    if change is None or change.io_capacity_max <= 0.0:
        return None
    return change


def _end(relief: Relief, sample: Sample, redo_rate: float, *, now: float) -> Change | None:
    if relief.since is None or redo_rate < RETURNED * relief.rate_before:
        return None
    wanted = 0.0 if relief.flaps(now=now) or relief.before <= sample.capacity.gain else float(relief.before)
    return Change(io_capacity_max=wanted, detail="the device gives as much as before again", begins=False)


def _waits(relief: Relief, *, now: float) -> bool:
    recent = [at for at in relief.moments if now - at < HOUR]
    return len(recent) >= MOST_AN_HOUR or (bool(recent) and now - recent[-1] < relief.wait)


def switched(
    relief: Relief,
    change: Change,
    policy: Policy[T],
    memory: T,
    *,
    current: Capacity,
    estimate: Estimate,
    settled: int,
    now: float,
) -> tuple[Relief, T]:
    """Return what is remembered from a change on, and what the policy knows of the device that is there now.

    Args:
        settled: M before an emergency that made the one in force, pages/s; 0 where none did.
    """
    other = policy.start() if relief.other is None else policy.resumed(relief.other, now)
    if change.begins:
        moments = (*(at for at in relief.moments if now - at < HOUR), now)
        begun = replace(
            relief,
            since=now,
            before=settled or current.io_capacity_max,
            rate_before=estimate.redo_rate,
            other=memory,
            moments=moments,
            ratio=estimate.age_ratio,
        )
        return begun, other
    if relief.flaps(now=now):
        wait = min(LONGEST_WAIT_SECONDS, max(FIRST_WAIT_SECONDS, 2.0 * relief.wait))
        return replace(relief, since=None, other=None, slow=0, wait=wait), other
    slow = settled or current.io_capacity_max
    if abs(slow - relief.slow) <= SAME * slow:
        drift = estimate.age_ratio - relief.ratio
        slow = round(slow * math.exp(min(MOST_DRIFT, max(-MOST_DRIFT, drift))))
    return replace(relief, since=None, other=memory, slow=slow, wait=0.0), other


def followed(relief: Relief, *, now: float) -> Relief:
    """Return it as time goes on: what has been slow for an hour is what the device is."""
    if relief.since is not None and now - relief.since > KEPT_SECONDS:
        return Relief(moments=relief.moments)
    return relief
