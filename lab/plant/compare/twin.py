"""The simulated twin of a real row: the same way to the same start, the same seconds, the same figures."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from lab.bench.figures import figures, series
from lab.bench.sampler import Reading, reading
from lab.bench.settling import RESET_RATIO
from lab.plant.clock import SimClock
from lab.plant.compare.conditions import default_of
from lab.plant.instances import Instances
from lab.plant.neighbours import Areas
from lab.plant.server import CAPACITY_MINIMUM, NO_LAW, WAKES, SimulatedServer
from lab.report.rows import Series
from lab.workloads.sysbench import Second
from tuner.records import Capacity

if TYPE_CHECKING:
    from collections.abc import Callable

    from lab.plant.parameters import PlantParameters
    from lab.report.rows import Row
    from tuner.records import Sample

RESTS = frozenset({NO_LAW, WAKES})
"""Flush laws under which the age comes to rest at the flush limit, whatever M."""

LOWEST = Capacity(CAPACITY_MINIMUM, CAPACITY_MINIMUM)
LOW, HIGH = 0.1, 0.3
"""Age ratios below which no reset comes, and above which a row that was brought near its age begins."""

HIGHER, FULL = 0.3, 0.98
"""So far above where it ends, and at most so high, the age was before a reset."""

BEFORE_SECONDS = 180
"""What the server was at work before: as long as the flush list takes to be that of a server at work, and no
longer the one of an empty log that filled up.
"""

BEYOND = 0.6
"""M of the bench's way up over the row's own, as ``lab.bench.row.approach`` sets it."""

RISE_SECONDS = 300
FALL_SECONDS = 60
"""Most that the way to the start takes."""

FILLED_AT = 20_000_000
"""Redo rate that filling the tables is taken to leave in the averages, bytes/s; it was not measured."""

LOOK_SECONDS = 0.25
"""How often is looked whether the start is reached: an age falls by 0.05 in a second."""

HALF = 0.5
"""Readings lie between two whole seconds, as those of the bench do."""


def began_at(row: Row) -> float:
    """Return the age ratio with which a row began: of its first reading.

    Raises:
        ValueError: it has no age.
    """
    limit = row.series.flush_limit
    first = next((age for age in row.series.modified_age if age is not None), None)
    if not limit or first is None:
        raise ValueError(f"{row.contender}: the row has no age second by second")
    return first / limit


def simulated(row: Row, parameters: PlantParameters, *, seed: int = 1, fresh: bool = False) -> Row:
    """Return what the plant makes of a row: figures and series as the bench would have written them.

    The plant begins at the row's own age, with the row's own C and M from then on, and is counted in the same
    seconds. What the bench did before is done here too, on a server that was at work: the age comes down
    under the default's C and M, and up again where the row was brought near the age that it would settle at.
    Where no M moves the age, the row before has left it where it stays. An age that no reset leaves is
    reached from an empty log.

    Args:
        row: the real one, with a fixed C and M.
        parameters: the plant's, for the conditions of that row.
        seed: of the plant.
        fresh: the server's averages still hold the redo rate of filling the tables.

    Raises:
        ValueError: the row has no fixed C and M, or no series.
    """
    if row.io_capacity is None or row.io_capacity_max is None:
        raise ValueError(f"{row.contender}: has no C and M of its own")
    clock = SimClock()
    server = SimulatedServer(parameters, clock, seed=seed)
    _bring(server, clock, row, fresh=fresh)
    if fresh:
        server.engine.cleaner.averages.lsn_rate = FILLED_AT
    server.set_capacity(Capacity(row.io_capacity, row.io_capacity_max))
    began = clock.monotonic()
    counted_from = began + row.series.counted_from
    last = server.read()
    readings: list[Reading] = []
    seconds: list[Second] = []
    for number in range(len(row.series.at)):
        clock.advance_to(began + number + HALF)
        sample = server.read()
        now = sample.monotonic
        rate = (sample.commits - last.commits) / (now - last.monotonic)
        readings.append(reading(sample, now=now, cpu_idle=0.0))
        seconds.append(Second(monotonic=now, commits=rate, latency=None, errors=0.0))
        last = sample
    found = series(
        seconds,
        readings,
        began=began,
        counted_from=counted_from,
        capacity=parameters.server.redo_capacity,
    )
    return replace(
        row,
        figures=figures(
            [one for one in seconds if one.monotonic > counted_from],
            [one for one in readings if one.monotonic > counted_from],
        ),
        series=msgspec.convert(found, Series),
        events=[],
    )


def _bring(server: SimulatedServer, clock: SimClock, row: Row, *, fresh: bool) -> None:
    """Let the age come to where a row began, on the bench's own way: a reset, then up by a setting beyond."""
    ratio = began_at(row)
    default = default_of(str(row.conditions["server"]))
    if not fresh:
        _at_work(server)
    if server.facts().flush_law in RESTS:
        server.set_capacity(default)
        clock.advance_to(clock.monotonic() + BEFORE_SECONDS)
        return
    brought = ratio >= HIGH and (row.stage != "block" or row.block > 1 or row.kind == "best static")
    low = min(ratio, RESET_RATIO) if brought else ratio
    reset = low >= LOW
    if reset and not fresh:
        server.set_capacity(default)
        clock.advance_to(clock.monotonic() + BEFORE_SECONDS)
    server.set_capacity(LOWEST)
    above = max(low, min(FULL, low + HIGHER)) if reset else low
    _until(server, clock, RISE_SECONDS, lambda sample: sample.age_ratio >= above)
    if reset:
        server.set_capacity(default)
        _until(server, clock, FALL_SECONDS, lambda sample: sample.age_ratio <= low)
    if brought:
        most = max(CAPACITY_MINIMUM, round((row.io_capacity_max or 0) * BEYOND))
        server.set_capacity(Capacity(max(CAPACITY_MINIMUM, most // 2), most))
        _until(server, clock, RISE_SECONDS, lambda sample: sample.age_ratio >= ratio)


def _at_work(server: SimulatedServer) -> None:
    """Let the areas of a server that flushes neighbours have been flushed one after the other."""
    engine = server.engine
    if isinstance(engine.ledger, Areas | Instances):
        engine.redo.lsn += engine.redo.flush_limit
        engine.ledger.spread(engine.redo.flush_limit / engine.redo_per_commit, engine.redo.lsn)


def _until(server: SimulatedServer, clock: SimClock, seconds: int, there: Callable[[Sample], bool]) -> None:
    """Let seconds pass until a reading is as wanted, at most so many."""
    for _ in range(round(seconds / LOOK_SECONDS)):
        if there(server.read()):
            return
        clock.advance_to(clock.monotonic() + LOOK_SECONDS)
