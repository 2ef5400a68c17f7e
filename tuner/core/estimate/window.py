"""The readings of the last seconds: rates, slopes and what the device answered, as exact differences."""

from __future__ import annotations

import itertools
import math

from msgspec import Struct

from tuner.records import Sample

WINDOW_SECONDS = 16.0  # Readings kept for rates and slope
RATE_SECONDS = 10.0  # Window of the rates that decisions use
WARM_SECONDS = RATE_SECONDS - 1.0  # Readings so far apart are enough for them

LONGEST_INTERVAL = 10.5
"""The longest interval between ticks, and a little. Readings farther apart are no neighbours, seconds."""

LEAST_SECONDS = 0.5  # Two readings nearer to each other say nothing of a rate

EARLY_PART = 0.5
"""Share of what is asked for that is flushed at least where batches end early; below it is the device."""

LITTLE_ASKED = 50.0  # Pages below which the share that was flushed is noise


class Point(Struct, frozen=True):
    """One reading, reduced to what the window needs."""

    at: float
    lsn: int
    oldest: int
    flushed: int
    synced: int
    lru: int
    neighbours: int
    rows: int
    requested: int
    asked: float
    dirty: int
    dirtied: float
    checkpoint_age: int
    idle: int

    @property
    def age(self) -> int:
        """Return the modified age, bytes."""
        return self.lsn - self.oldest


Window = tuple[Point, ...]


def list_flushed(sample: Sample) -> int:
    """Return the pages flushed from the flush list since the server started."""
    return sample.pages_adaptive + sample.pages_sync + sample.pages_background


def all_flushed(sample: Sample) -> int:
    """Return the pages flushed since the server started, the LRU's among them."""
    return list_flushed(sample) + sample.pages_lru


def point_of(sample: Sample, *, dirtied: float, most: float = math.inf) -> Point:
    """Return a reading as a point.

    Args:
        dirtied: pages newly dirtied since the window began.
        most: pages that a batch can get to, where the server ends it early; infinite where it does not.
    """
    part = 1.0 if most == math.inf else EARLY_PART
    return Point(
        at=sample.monotonic,
        lsn=sample.lsn_current,
        oldest=sample.lsn_oldest,
        flushed=list_flushed(sample),
        synced=sample.pages_sync,
        lru=sample.pages_lru,
        neighbours=sample.pages_neighbour,
        rows=sample.row_changes,
        requested=sample.flush_requested,
        asked=min(part * sample.flush_requested, most),
        dirty=sample.pages_dirty,
        dirtied=dirtied,
        checkpoint_age=sample.checkpoint_age,
        idle=sample.pages_background,
    )


def extend(window: Window, sample: Sample, *, newly_dirtied: float, most: float = math.inf) -> Window:
    """Return the window with one reading more and without what is too old; ``most`` as for ``point_of``."""
    point = point_of(sample, dirtied=window[-1].dirtied + newly_dirtied, most=most)
    kept = next(
        (place for place, one in enumerate(window) if one.at > point.at - WINDOW_SECONDS), len(window)
    )
    if 0 < kept < len(window) and window[kept].at > point.at - WARM_SECONDS:
        seldom = window[kept].at - window[kept - 1].at <= LONGEST_INTERVAL
        kept -= 1 if seldom else 0  # the rates would not be known without it
    return (*window[kept:], point)


def since(window: Window, seconds: float) -> Point:
    """Return the newest point at least so old, or the oldest there is."""
    end = window[-1].at
    for point in reversed(window):
        if end - point.at >= seconds - 0.2:
            return point
    return window[0]


def telling(window: Window) -> bool:
    """Tell whether the window is long enough for any rate."""
    return bool(window) and window[-1].at - window[0].at >= LEAST_SECONDS


def warm(window: Window) -> bool:
    """Tell whether the window is long enough for the rates that decisions use."""
    return bool(window) and window[-1].at - window[0].at >= WARM_SECONDS


def slope(window: Window) -> float:
    """Return the least-squares growth of the modified age, bytes/s."""
    origin, count = window[-1].at, len(window)
    times, ages = [p.at - origin for p in window], [p.lsn - p.oldest for p in window]
    mean_t, mean_a = sum(times) / count, sum(ages) / count
    away = [t - mean_t for t in times]
    spread = sum([dt**2 for dt in away])
    if spread <= 0:
        return 0.0
    return sum([dt * (age - mean_a) for dt, age in zip(away, ages, strict=True)]) / spread


def slope_since(window: Window, seconds: float) -> float:
    """Return the growth of the modified age between two readings, bytes/s."""
    new, old = window[-1], since(window, seconds)
    return (new.age - old.age) / max(new.at - old.at, 1e-3)


def redo_rate_since(window: Window, seconds: float) -> float:
    """Return the redo written, bytes/s."""
    new, old = window[-1], since(window, seconds)
    return (new.lsn - old.lsn) / max(new.at - old.at, 1e-3)


def list_rate_since(window: Window, seconds: float) -> float:
    """Return the pages flushed from the flush lists, pages/s."""
    new, old = window[-1], since(window, seconds)
    return (new.flushed - old.flushed) / max(new.at - old.at, 1e-3)


def checkpoint_slope_since(window: Window, seconds: float) -> float:
    """Return the growth of the checkpoint age, bytes/s; half a sawtooth passes for a whole one."""
    new, old = window[-1], since(window, seconds)
    return (new.checkpoint_age - old.checkpoint_age) / max(new.at - old.at, seconds)


def checkpoint_interval(window: Window) -> float | None:
    """Return the longest time between two checkpoints in the window, seconds; None where it has no two."""
    longest: float | None = None
    before: float | None = None
    for old, new in itertools.pairwise(window):
        if new.lsn - new.checkpoint_age == old.lsn - old.checkpoint_age:
            continue
        if before is not None:
            longest = max(longest or 0.0, new.at - before)
        before = new.at
    return longest


def idled(window: Window) -> bool:
    """Tell whether the server flushed as an idle one does since the reading before the last."""
    return len(window) > 1 and window[-1].idle != window[-2].idle


def flushed_share(window: Window) -> float:
    """Return pages flushed per page that the server asked itself for, 0 to 1; 1 where it asked for few.

    Where batches end before they are done, less is flushed than was asked for on any device.
    """
    asked, flushed = 0.0, 0
    for old, new in itertools.pairwise(window):
        if new.idle == old.idle:
            asked += new.requested * (new.at - old.at)
            flushed += new.flushed - old.flushed
    seconds = window[-1].at - window[0].at
    return min(1.0, flushed / asked) if asked > LITTLE_ASKED * seconds > 0.0 else 1.0


def neighbours(window: Window) -> float:
    """Return pages flushed as neighbours per page flushed in its own turn."""
    new, old = window[-1], since(window, RATE_SECONDS)
    others = new.neighbours - old.neighbours
    own = new.flushed + new.lru - old.flushed - old.lru - others
    return others / max(1, own) if others > 0 else 0.0


def authority_since(window: Window, seconds: float) -> float:
    """Return pages flushed per page asked for over the last seconds."""
    old = since(window, seconds)
    return authority(tuple(point for point in window if point.at >= old.at))


def authority(window: Window) -> float:
    """Return pages flushed per page asked for; 1 when next to nothing was asked.

    An idle server flushes at a pace of its own and leaves what the law asked for last in the counter, so
    the time in which it was idle does not count. Nor does that in which less was dirty than was asked for, as
    on an idle server that has flushed everything: no device could have done more.
    """
    count, seconds, wanted, flushed = 0, 0.0, 0.0, 0
    for old, new in itertools.pairwise(window):
        if new.idle != old.idle or old.dirty < new.requested:
            continue
        count += 1
        seconds += new.at - old.at
        wanted += new.asked
        flushed += new.flushed - old.flushed
    asked = wanted * seconds / count if count else 0.0
    if asked < LITTLE_ASKED:
        return 1.0
    return min(1.5, flushed / asked)
