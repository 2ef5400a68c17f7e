"""One row: a contender on a rig, from the reset to its figures."""

from __future__ import annotations

import contextlib
import math
import subprocess
from typing import TYPE_CHECKING, Literal, NamedTuple

import pymysql
from msgspec import UNSET

from lab.bench.figures import figures, predicted, series
from lab.bench.plan import RESET_RATIO, DiskPlan
from lab.bench.rig import FILL, quiet
from lab.bench.store import Row
from lab.servers.spec import LabServerError
from lab.statistics import slope
from tuner.records import CAPACITY_MINIMUM, Capacity

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from lab.bench.daemon import DaemonProcess, Footprint
    from lab.bench.plan import Contender
    from lab.bench.rig import Rig
    from tuner.records import Sample

AT_ITS_OWN = 30.0
"""Seconds for which M has stayed where a daemon put it, so that the way from the default is done."""

NEAR_SECONDS = 5.0
NEAR_RATIO = 0.02
"""No approach brings an age nearer than this to the one that is expected."""

LOOKS, LOOK_SECONDS = 4, 45.0
"""How often it is looked whether an age rests, and for how many seconds."""

LOWEST_REST, HIGHEST_REST = 0.02, 1.1
"""Age ratios beyond which none is looked for: above, sync flushing ends every rise."""

FIRST_POWER, POWERS = 1.0, (0.2, 4.0)
"""Of the age, with which the flushed share goes: taken first, and the range of what two looks may tell."""

FARTHEST = 3.0
"""One look believes the flushing to be off by this factor at most."""

WAY = 1.5
"""So much longer may a policy take to settle: it makes the way that settings are brought along first."""

End = Literal["crash", "shutdown"]
FAILURES = (LabServerError, pymysql.MySQLError, OSError, subprocess.SubprocessError)


def measure(
    rig: Rig,
    contender: Contender,
    pair: Capacity | None,
    expected: float | None = None,
    *,
    ends_in: End | None = None,
) -> Row:
    """Return what a contender did: settling, figures, series, events.

    Args:
        rig: where.
        contender: who.
        pair: C and M that it sets, None where a policy moves them.
        expected: the age ratio that it is known to settle at, so that it is brought near it first.
        ends_in: kill the server, or shut it down in order, while it holds its age, and time that.

    Raises:
        LabServerError: server, load or daemon ended meanwhile.
    """
    timing = rig.plan.timing
    if not rig.load.running() or _queued(rig):
        rig.start_load()  # transactions that the contender before could not serve are not this one's
    reached = rig.reset(timing.reset, RESET_RATIO)
    hasten(rig, None if pair == rig.default else pair, expected)
    if timing.lifted is UNSET and pair is not None and expected is not None and pair != rig.default:
        approach(rig, pair, expected, timing.settle_most / 2)
    began = rig.now()
    with contextlib.ExitStack() as stack:
        daemon: DaemonProcess | None = None
        if contender.policy is not None:
            daemon = stack.enter_context(rig.daemon(contender.policy))
            accompany(rig, expected, daemon.check)
        if pair is not None:
            rig.set(pair)

        def check() -> None:
            rig.alternate(began)
            if daemon is not None:
                daemon.check()

        most = timing.settle_most if daemon is None else WAY * timing.settle_most
        waited, rest = rig.settle(
            timing.settle_least,
            most,
            slow=timing.lifted is not UNSET,
            holds=daemon.holding if daemon else None,
            check=check,
        )
        if _queued(rig):
            rig.start_load()  # those that waited on the way to this age are not of it, and are served on top
        before = daemon.footprint() if daemon else None
        counted_from = rig.now()
        rig.watch(rig.plan.counted_seconds(), check)
        ended = rig.now()
        after = daemon.footprint() if daemon else None
        conditions = rig.conditions()
        load = rig.load
        happened = [(at, words) for at, words in rig.events if began <= at <= ended]
        disk = DiskPlan() if rig.not_limited else rig.plan.disk  # a limit that was refused slows nothing
        times: Row = {"recovery_seconds": None, "shutdown_seconds": None}
        failures: list[str] = []
        if ends_in is not None:
            if daemon is not None:
                daemon.kill()  # in order it would park, and lower the age that the others are ended at
            failures = end(rig, ends_in, times)
    readings = rig.sampler.readings(began, ended)
    counted = rig.sampler.span(counted_from, ended)
    found = figures(
        load.seconds(counted_from, ended),
        counted,
        load.latency(counted_from, ended),
        load.read_latency(counted_from, ended),
    )
    return {
        "conditions": conditions,
        "settled": rest,
        "settle_seconds": round(waited, 1),
        "reset": f"C/M at the default under load until the age ratio is below {RESET_RATIO}, at most"
        f" {timing.reset:.0f} s",
        "reset_ratio": None if reached is None else round(reached, 3),
        "figures": found
        | predicted(counted, disk, found["pages_per_second"])
        | footprint(before, after, ended - counted_from)
        | times
        | {"missed_readings": len(rig.sampler.missed(began, ended))},
        "series": series(
            load.seconds(began, ended),
            readings,
            began=began,
            counted_from=counted_from,
            capacity=rig.server.spec.redo_capacity,
        ),
        "events": [[round(at - began, 1), words] for at, words in happened]
        + [[round(ended - began, 1), words] for words in failures],
    }


def _queued(rig: Rig) -> bool:
    """Return whether transactions of an open load waited in the last seconds."""
    return bool(rig.load.longest_queue(rig.now() - NEAR_SECONDS))


def footprint(before: Footprint | None, after: Footprint | None, seconds: float) -> Row:
    """Return what the daemon cost: share of one core, and memory in bytes; None without a daemon."""
    if before is None or after is None:
        return {"daemon_cpu": None, "daemon_resident_bytes": None}
    return {
        "daemon_cpu": round((after.processor - before.processor) / seconds, 5),
        "daemon_resident_bytes": after.resident,
    }


def approach(rig: Rig, pair: Capacity, expected: float, most: float) -> None:
    """Bring the age near where a setting settles, by a setting beyond it, for at most so many seconds."""
    end = rig.now() + most
    rising = _ratio(rig) < expected
    helper = max(CAPACITY_MINIMUM, int(pair.io_capacity_max * (0.6 if rising else 1.4)) // 2 * 2)
    if helper == pair.io_capacity_max or abs(_ratio(rig) - expected) <= NEAR_RATIO:
        return
    rig.server.set_capacity(max(CAPACITY_MINIMUM, helper // 2), helper)
    while rig.now() < end and rising == (_ratio(rig) < expected):
        rig.watch(1.0)
        if abs(_ratio(rig) - expected) <= NEAR_RATIO:
            return


def hasten(rig: Rig, pair: Capacity | None, expected: float | None) -> None:
    """Bring the age to where a setting holds it, on a disk without a limit, and look under the limit.

    Nothing happens where the plan does not ask for it. The default needs no help: it brings an age down by
    itself, and the highest C and M would take it lower than where it rests.

    Args:
        rig: where.
        pair: the setting; None where there is none to be brought near.
        expected: the age ratio where it was seen to rest; None where that is not known.
    """
    if rig.plan.timing.lifted is UNSET or pair is None:
        return
    goal, looked = expected, list[Look]()
    for _ in range(LOOKS):
        if goal is not None:
            _bring(rig, goal, rig.plan.timing.lifted)
        rig.set(pair)
        rig.forget()  # a server flushes by its mean rates as well, and those are of the faster disk
        rig.watch(LOOK_SECONDS)
        looked.append(look([one.sample for one in rig.sampler.span(rig.now() - LOOK_SECONDS)]))
        goal = rests_at(looked)
        if abs(goal - looked[-1].ratio) <= NEAR_RATIO:
            return


class Look(NamedTuple):
    """An age ratio, and what share of the pages that become dirty is flushed there: 1 where it rests."""

    ratio: float
    flushed: float


def look(samples: Sequence[Sample]) -> Look:
    """Return where the age is and how it moves, of at least three seconds under one setting and one load.

    An age moves with the redo log's head less what flushing the oldest pages frees: of the redo written it
    grows by the share of its pages that is not flushed.
    """
    times = [one.monotonic for one in samples]
    ages = [one.age_ratio * one.flush_limit for one in samples]
    redo = (samples[-1].lsn_current - samples[0].lsn_current) / (times[-1] - times[0])
    grows = slope(times, ages).mean / redo if redo > 0.0 else 0.0
    return Look(max(LOWEST_REST, samples[-1].age_ratio), min(FARTHEST, max(1.0 / FARTHEST, 1.0 - grows)))


def rests_at(looked: Sequence[Look]) -> float:
    """Return the age ratio at which a setting is expected to rest, by what was seen of it.

    What is flushed of the pages that become dirty goes with a power of the age: one that two looks tell,
    the last and the nearest other one; after one look ``FIRST_POWER``, a low one, which goes rather too far.
    """
    last, power = looked[-1], FIRST_POWER
    others = [one for one in looked[:-1] if one.ratio != last.ratio]
    if others:
        other = min(others, key=lambda one: abs(one.ratio - last.ratio))
        found = math.log(last.flushed / other.flushed) / math.log(last.ratio / other.ratio)
        power = min(POWERS[1], max(POWERS[0], found))
    goal = last.ratio * math.pow(last.flushed, -1.0 / power)
    low = max((one.ratio for one in looked if one.flushed < 1.0), default=LOWEST_REST)
    high = min((one.ratio for one in looked if one.flushed > 1.0), default=HIGHEST_REST)
    return min(high, max(low, goal)) if low < high else goal


def _bring(rig: Rig, goal: float, most: float) -> None:
    """Bring the age near a ratio on a disk without a limit, within so many seconds."""
    end, rising = rig.now() + most * rig.patience, _ratio(rig) < goal
    if abs(_ratio(rig) - goal) <= NEAR_RATIO:
        return
    with rig.lifted():
        rig.set(Capacity(CAPACITY_MINIMUM, CAPACITY_MINIMUM) if rising else FILL)
        while rig.now() < end and rising == (_ratio(rig) < goal):
            if abs(_ratio(rig) - goal) <= NEAR_RATIO:
                return
            rig.watch(1.0)


def accompany(rig: Rig, expected: float | None, check: Callable[[], None]) -> None:
    """Let a daemon bring the age near one, on a disk without a limit, by nothing but its own C and M.

    It has to be done with the way from the default, at which it begins and which takes the age down.

    Args:
        rig: where.
        expected: that age ratio; None where it is not known, and then it has all of the time.
        check: called about once a second.
    """
    most = rig.plan.timing.lifted
    if most is UNSET:
        return
    end = rig.now() + most * rig.patience
    with rig.lifted():
        while rig.now() < end:
            rig.watch(1.0, check)
            recent = rig.sampler.readings(since=rig.now() - AT_ITS_OWN)
            begun = any(one.sample.capacity == rig.default for one in recent)
            near = expected is not None and abs(_ratio(rig) - expected) <= NEAR_RATIO
            if near and not begun and quiet(recent):
                return


def _ratio(rig: Rig) -> float:
    """Return the mean age ratio of the last five seconds."""
    recent = rig.sampler.readings(since=rig.now() - NEAR_SECONDS)
    return sum(one.sample.age_ratio for one in recent) / max(1, len(recent))


def end(rig: Rig, how: End, times: Row) -> list[str]:
    """Kill the server, or shut it down, at the age that it holds, and start it again.

    The load is at work until then, ends with the server, and is started again by whoever measures next. What
    fails costs a time and never the finished row; a server that does not come back ends the next row.

    Args:
        rig: where.
        how: killed, or in order.
        times: gets the seconds that recovery or shutdown took.

    Returns:
        What failed, in words.
    """
    failures: list[str] = []
    try:
        if how == "crash":
            times["recovery_seconds"] = round(rig.server.crash(), 2)
        else:
            times["shutdown_seconds"] = round(rig.server.restart()[0], 2)
    except FAILURES as error:
        failures.append(f"the {how} could not be timed: {error}")
    rig.load.stop()
    try:
        rig.limit_as_planned()
    except FAILURES as error:
        failures.append(f"the disk could not be limited again: {error}")
        rig.not_limited = (f"disk not limited after the {how}: {error}",)
    return failures
