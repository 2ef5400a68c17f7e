"""One row: a contender on a site, from the reset to its figures."""

from __future__ import annotations

import contextlib
import time
from typing import TYPE_CHECKING, Any

from lab.bench.daemon import Daemon
from lab.bench.figures import figures, series
from lab.servers.base import LabServerError

if TYPE_CHECKING:
    from lab.bench.contenders import Contender
    from lab.bench.daemon import Footprint
    from lab.bench.site import Site
    from tuner.records import Capacity

RESET_RATIO = 0.25
NEAR_SECONDS = 5.0
FEWEST = 2
"""Readings that a span has a length with."""

Row = dict[str, Any]


def measure(
    site: Site,
    contender: Contender,
    pair: Capacity | None,
    expected: float | None = None,
    *,
    ends_in_crash: bool = False,
) -> Row:
    """Return what a contender did: settling, figures, series, events.

    Args:
        site: where.
        contender: who.
        pair: C and M that it sets, None where a policy moves them.
        expected: the age ratio that it is known to settle at, so that it is brought near it first.
        ends_in_crash: kill the server while it holds its age, and time recovery and shutdown.

    Raises:
        LabServerError: server, load or daemon ended meanwhile.
    """
    timing = site.plan.timing
    if not site.load.running() or site.load.longest_queue(time.monotonic() - NEAR_SECONDS):
        site.start_load()  # transactions that the contender before could not serve are not this one's
    site.reset(timing.reset, RESET_RATIO)
    if pair is not None and expected is not None:
        approach(site, pair, expected, timing.settle_most / 2)
    began = time.monotonic()
    with contextlib.ExitStack() as stack:
        daemon: Daemon | None = None
        if contender.policy is not None:
            daemon = stack.enter_context(Daemon(site.server, policy=contender.policy))
        if pair is not None:
            site.set(pair)

        def check() -> None:
            site.alternate(began)
            if daemon is not None:
                daemon.check()

        waited, rest = site.settle(
            timing.settle_least, timing.settle_most, moves=daemon is not None, check=check
        )
        before = daemon.footprint() if daemon else None
        counted_from = time.monotonic()
        site.watch(site.plan.counted_seconds(), check)
        ended = time.monotonic()
        after = daemon.footprint() if daemon else None
        times: Row = {"recovery_seconds": None, "shutdown_seconds": None}
        if ends_in_crash:
            if daemon is not None:
                daemon.kill()  # in order it would park, and lower the age that the others are killed at
            times = crash(site)
    readings = site.sampler.readings(began, ended)
    counted = site.sampler.readings(counted_from, ended)
    if len(counted) < FEWEST:
        why = (site.sampler.missed(began, ended) or ["none was taken"])[-1]
        raise LabServerError(f"{len(counted)} readings of the server in the counted seconds: {why}")
    return {
        "settled": rest,
        "settle_seconds": round(waited, 1),
        "reset": f"C/M at the default under load until the age ratio is below {RESET_RATIO}, at most"
        f" {timing.reset:.0f} s",
        "figures": figures(
            site.load.seconds(counted_from, ended),
            counted,
            site.load.latency(counted_from, ended),
        )
        | footprint(before, after, ended - counted_from)
        | times
        | {"missed_readings": len(site.sampler.missed(began, ended))},
        "series": series(
            site.load.seconds(began, ended),
            readings,
            began=began,
            counted_from=counted_from,
            capacity=site.server.spec.redo_capacity,
        ),
        "events": [[round(at - began, 1), words] for at, words in site.happened(began) if at <= ended],
    }


def footprint(before: Footprint | None, after: Footprint | None, seconds: float) -> Row:
    """Return what the daemon cost: share of one core, and memory in bytes; None without a daemon."""
    if before is None or after is None:
        return {"daemon_cpu": None, "daemon_resident_bytes": None}
    return {
        "daemon_cpu": round((after.processor - before.processor) / seconds, 5),
        "daemon_resident_bytes": after.resident,
    }


def approach(site: Site, pair: Capacity, expected: float, most: float) -> None:
    """Bring the age near where a setting settles, by a setting beyond it, for at most so many seconds."""
    end = time.monotonic() + most
    rising = _ratio(site) < expected
    helper = int(pair.io_capacity_max * (0.6 if rising else 1.4))
    site.server.set_capacity(max(100, helper // 2), max(100, helper // 2 * 2))
    while time.monotonic() < end and rising == (_ratio(site) < expected):
        site.watch(1.0)


def _ratio(site: Site) -> float:
    """Return the mean age ratio of the last five seconds."""
    recent = site.sampler.readings(since=time.monotonic() - NEAR_SECONDS)
    return sum(one.age_ratio for one in recent) / max(1, len(recent))


def crash(site: Site) -> Row:
    """Kill the server at the age that it holds, then shut it down in order: seconds that each took.

    The load is stopped, and started again by whoever measures next.
    """
    recovery = site.server.crash()
    site.load.stop()
    shutdown, _start = site.server.restart()
    site.limit_as_planned()
    return {"recovery_seconds": round(recovery, 2), "shutdown_seconds": round(shutdown, 2)}
