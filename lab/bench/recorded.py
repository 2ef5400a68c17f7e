"""A recorded journal as a scenario: its load and its device's limit, as far as they were seen.

Of changes that fall evenly on H pages, D of them dirty, the share ``1 - D / H`` makes another page dirty.
So the pages newly dirtied for a byte of redo fall with D along a straight line, which is nought at H and at
D = 0 has the changes for a byte of redo. Where D hardly moved in the journal no line can be told, and the
combining exponent that the daemon had seen stands in: at rest the age has u changes for each of the H pages,
``D / H = u / (1 + u)``, and that is the exponent.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from msgspec import Struct

from lab.plant.flavour import FLAVOURS, FlavourName
from lab.plant.parameters import (
    DiskChange,
    DiskParameters,
    LoadChange,
    LoadParameters,
    ServerParameters,
)
from lab.scenarios.schema import SHORTEST_WINDOW, Scenario
from tuner.core.estimate.window import all_flushed
from tuner.journal.tables import Run
from tuner.records import Sample, TickRecord

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tuner.journal.tables import Snapshot
    from tuner.records import Facts

BIN_SECONDS = 10.0
LONGEST_GAP = 60.0
"""Readings farther apart are of different times; what lies between them is left out, seconds."""

SHORTEST = 300.0
"""Seconds of readings that a comparison needs at least."""

LEAST_FRESH = 0.05
"""Share of the changes that make another page dirty is taken to be this at least."""

LEAST_COMBINING, MOST_COMBINING = 0.05, 1.0 - LEAST_FRESH
TELLING = 10.0
"""Standard errors that the line's slope is away from none at least; with less it is not believed."""

STRANGE = 8.0
"""A transaction's redo is believed to be up to so many times the mean, and so many times less."""

FREE = 1e6
"""Write operations/s of a disk whose limit was never seen."""

COMMIT_SECONDS = 0.001
COSTS_NOTHING = 0.01
"""Write operations of a group of commits: what the device gave was seen beside them."""

OFFERED = (
    "recorded: redo rate, new pages for it and the device's limit are those of the journal; transactions are "
    "offered at the recorded rate whatever is done, so this says what each policy does with pages, age, sync "
    "flush and stalls, and not how much more the load would have done"
)
NO_DICE = "nothing in it is random: one run each, and no bounds"
UNLIMITED = "the device was never seen at its limit: it has none here, and flushing more costs nothing"


class RecordedError(Exception):
    """A journal that cannot be made a scenario of; the message says why."""


class Recorded(Struct, frozen=True):
    """What was made of a journal: the scenario, and what is to be known of it."""

    scenario: Scenario
    notes: tuple[str, ...]


class _Bin(Struct):
    """Some seconds of the journal: redo bytes, commits, pages newly dirtied, and sums over its readings."""

    seconds: float = 0.0
    redo: float = 0.0
    commits: float = 0.0
    dirtied: float = 0.0
    dirty: float = 0.0
    limit: float = 0.0
    limited: float = 0.0


def recorded(items: Iterable[Run | Snapshot | TickRecord], *, name: str) -> Recorded:
    """Return the scenario that one run of a journal makes.

    Args:
        items: as ``tuner.journal.reader.trace`` gives them.
        name: of the scenario.

    Raises:
        RecordedError: there is too little in it, or the server cannot be simulated.
    """
    facts: Facts | None = None
    records: list[TickRecord] = []
    for item in items:
        if isinstance(item, Run):
            facts = item.facts
        elif isinstance(item, TickRecord) and isinstance(item.tick.reading, Sample):
            records.append(item)
    readings = [one.tick.reading for one in records if isinstance(one.tick.reading, Sample)]
    if facts is None or any(one.degraded for one in readings):
        raise RecordedError(f"{name}: InnoDB's counters were off, so the pages flushed are not known")
    bins = list(_binned(records))
    seconds = sum(one.seconds for one in bins)
    if seconds < SHORTEST:
        raise RecordedError(f"{name}: has {seconds:.0f} s of readings; {SHORTEST:.0f} are needed")
    whole = _Bin(
        seconds=seconds,
        redo=sum(one.redo for one in bins),
        commits=sum(one.commits for one in bins),
        dirtied=sum(one.dirtied for one in bins),
        dirty=sum(one.dirty * one.seconds for one in bins) / seconds,
    )
    if min(whole.redo, whole.commits, whole.dirtied, whole.dirty) <= 0.0:
        raise RecordedError(f"{name}: next to nothing was written in it")
    seen = next(
        (one.estimate.combining_exponent for one in reversed(records) if one.estimate is not None), 0.5
    )
    server = _simulated(facts, readings[0], name)
    scenario = Scenario(
        name=name,
        description=f"recorded on {facts.product}",
        seconds=round(seconds),
        measured_from=_counted_from(seconds, server.redo_capacity, whole),
        server=server,
        disk=_disk(bins, server),
        load=_load(bins, whole, _pages_touched(bins, whole, seen)),
    )
    limited = any(one.limited for one in bins)
    return Recorded(scenario, (OFFERED, NO_DICE) if limited else (OFFERED, NO_DICE, UNLIMITED))


def _binned(records: list[TickRecord]) -> Iterator[_Bin]:
    """Yield the journal in bins, without gaps, restarts and what a reversed counter makes."""
    found = _Bin()
    last: Sample | None = None
    for record in records:
        reading = record.tick.reading
        if not isinstance(reading, Sample):
            continue
        before, last = last, reading
        if before is None or reading.identity != before.identity or reading.uptime < before.uptime:
            continue
        elapsed = reading.monotonic - before.monotonic
        redo, commits = reading.lsn_current - before.lsn_current, reading.commits - before.commits
        flushed = all_flushed(reading) - all_flushed(before)
        if not 0.0 < elapsed <= LONGEST_GAP or min(redo, commits, flushed) < 0:
            continue
        found.seconds += elapsed
        found.redo += redo
        found.commits += commits
        found.dirtied += max(0, reading.pages_dirty - before.pages_dirty + flushed)
        found.dirty += reading.pages_dirty * elapsed
        limit = None if record.estimate is None else record.estimate.sustained_capacity
        if limit is not None:
            found.limit += limit * elapsed
            found.limited += elapsed
        if found.seconds >= BIN_SECONDS:
            yield _meant(found)
            found = _Bin()
    if found.seconds > 0.0:
        yield _meant(found)


def _meant(sums: _Bin) -> _Bin:
    """Return a bin whose readings' sums are means."""
    sums.dirty /= sums.seconds
    sums.limit /= max(sums.limited, 1e-9)
    return sums


def _simulated(facts: Facts, first: Sample, name: str) -> ServerParameters:
    try:
        return nearest_server(facts, first)
    except ValueError as error:
        raise RecordedError(f"{name}: cannot be simulated: {error}") from error


def _counted_from(seconds: float, redo_capacity: int, whole: _Bin) -> int:
    """Return the second from which on is counted: the age has to grow first, as far as there is time."""
    residence = redo_capacity * whole.seconds / whole.redo
    return int(min(seconds - SHORTEST_WINDOW, seconds / 3.0, 2.0 * residence))


def _pages_touched(bins: list[_Bin], whole: _Bin, seen: float) -> float:
    """Return the pages that the load changes, from what was dirty and newly dirtied.

    Args:
        bins: the journal.
        whole: all of it.
        seen: the combining exponent that the daemon had seen.
    """
    mean = sum(one.dirty * one.redo for one in bins) / whole.redo
    density = whole.dirtied / whole.redo
    spread = sum(one.redo * (one.dirty - mean) ** 2 for one in bins)
    slope = sum((one.dirtied - density * one.redo) * (one.dirty - mean) for one in bins) / max(spread, 1e-9)
    off = [one.dirtied - (density + slope * (one.dirty - mean)) * one.redo for one in bins]
    scatter = sum(away**2 / one.redo for away, one in zip(off, bins, strict=True) if one.redo > 0.0)
    error = math.sqrt(scatter / (max(1, len(bins) - 2) * max(spread, 1e-9)))
    if -slope > TELLING * error:
        seen = whole.dirty / (mean - density / slope)
    return whole.dirty / min(MOST_COMBINING, max(LEAST_COMBINING, seen))


def _load(bins: list[_Bin], whole: _Bin, pages: float) -> LoadParameters:
    """Return transactions at the recorded redo rate that make as many new pages dirty."""
    fresh = sum(one.redo * max(LEAST_FRESH, 1.0 - one.dirty / pages) for one in bins) / whole.redo
    touches = whole.dirtied / whole.commits / fresh
    mean = whole.redo / whole.commits
    changes: list[LoadChange] = []
    at, most = 0.0, 0.0
    for one in bins:
        fresh = max(LEAST_FRESH, 1.0 - one.dirty / pages)
        wanted = one.dirtied / (touches * fresh)
        redo = min(STRANGE * mean, max(mean / STRANGE, one.redo / wanted if wanted > 0.0 else mean))
        rate = one.redo / redo / one.seconds
        most = max(most, rate)
        changes.append(LoadChange(round(at, 3), 0, rate=rate, redo_bytes_per_commit=max(1.0, redo)))
        at += one.seconds
    threads = min(10_000, 16 + math.ceil(4.0 * most * COMMIT_SECONDS))
    return LoadParameters(
        timeline=tuple(
            LoadChange(one.at, threads, rate=one.rate, redo_bytes_per_commit=one.redo_bytes_per_commit)
            for one in changes
        ),
        hot_pages=max(1.0, pages, touches),
        pages_per_commit=touches,
        redo_bytes_per_commit=max(1.0, mean),
        group_operations=COSTS_NOTHING,
        commit_bytes=1.0,
        commit_seconds=COMMIT_SECONDS,
        noise=0.0,
    )


def _disk(bins: list[_Bin], server: ServerParameters) -> DiskParameters:
    """Return a disk that gives the pages a second that were seen to be its limit, when they were."""
    costs = DiskParameters().page_operations(server.in_force.doublewrite_pages)
    changes: list[DiskChange] = []
    at = 0.0
    for one in bins:
        limit = max(1.0, one.limit * costs) if one.limited else FREE
        if not changes or changes[-1].write_iops != limit:
            changes.append(DiskChange(round(at, 3), limit))
        at += one.seconds
    return DiskParameters(timeline=tuple(changes))


def nearest_server(facts: Facts, first: Sample) -> ServerParameters:
    """Return the simulated server that is nearest to a real one, with the settings of its first reading.

    Raises:
        ValueError: that kind has no redo log of such a size.
    """
    flavour = flavour_of(facts)
    lacks = FLAVOURS[flavour].lacks
    low = None if FLAVOURS[flavour].law.name != "mariadb" else 0.0 if facts.flush_law != "mariadb" else 0.001
    server = ServerParameters(
        flavour=flavour,
        redo_capacity=first.redo_capacity,
        buffer_pool_pages=max(320, first.pages_total),
        io_capacity=first.io_capacity,
        io_capacity_max=first.io_capacity_max,
        adaptive_flushing_lwm=min(70.0, first.adaptive_flushing_lwm),
        max_dirty_pages_pct=min(99.99, max(first.dirty_limit, 0.0)),
        max_dirty_pages_pct_lwm=low,
        flush_sync=None if "flush_sync" in lacks else first.flush_sync,
    )
    server.kind.limits(server.redo_capacity)
    return server


def flavour_of(facts: Facts) -> FlavourName:
    """Return the kind of simulated server that is nearest to a real one."""
    for name, kind in FLAVOURS.items():
        if kind.version == facts.version:
            return name
    major = tuple(int(part) for part in facts.version.split("-")[0].split(".")[:3] if part.isdigit())
    text = f"{facts.family} {facts.version} {facts.version_comment}".lower()
    if "mariadb" in text:
        return "mariadb-11.8"
    if facts.flush_law.startswith("high_checkpoint"):
        return "percona-5.7" if major < (8,) else "percona-8.4"
    if major < (5, 7):
        return "mysql-5.6"
    if major < (8,):
        return "mysql-5.7"
    return "mysql-8.0.28" if major < (8, 0, 30) else "mysql-9.7"
