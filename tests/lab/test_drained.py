"""A drain of the simulated server, whose averages lag as the real one's do: down, there, and back."""

from __future__ import annotations

import copy
import functools
from dataclasses import dataclass
from dataclasses import replace as replace_fields

import pytest
from msgspec.structs import replace

from lab.plant.clock import SimClock
from lab.plant.parameters import DiskChange, DiskParameters, LoadParameters, PlantParameters
from lab.plant.server import SimulatedServer
from policies.setpoint import FLUSH_ORDER_LAG
from tests.factory import ACTIVE, SAVED, codes, command, tick
from tuner.core.state import State
from tuner.core.step import start, step
from tuner.records import Receipt, Sample, TickRecord
from tuner.settings import Settings

CLOSED = PlantParameters()
OPEN = replace(
    CLOSED,
    disk=DiskParameters(timeline=(DiskChange(0.0, 20_000.0),)),
    load=LoadParameters(commit_seconds=0.008),
)
HALF_OPEN = replace(OPEN, disk=DiskParameters(timeline=(DiskChange(0.0, 2_400.0),)))
BULK = (20_000_000, 3_000)
"""What a bulk load leaves in the averages: redo, bytes/s, and flushing, pages/s."""

BAND = 0.06
"""How far the age ratio may be from where it is to rest, seconds after it came there and until the end."""

BULK_BAND = 0.07
"""The same where the server's means are those of a bulk load, and fall by half every thirty seconds."""

TTL = 400


@dataclass
class Run:
    """A loop by hand on the simulated server."""

    server: SimulatedServer
    clock: SimClock
    state: State
    records: list[TickRecord]
    receipt: Receipt | None = None

    @classmethod
    def of(cls, parameters: PlantParameters, settings: Settings) -> Run:
        """Start server and loop."""
        clock = SimClock()
        server = SimulatedServer(parameters, clock, seed=1)
        return cls(server, clock, start(settings, server.facts()), [])

    def turn(self, word: str = "", **values: object) -> TickRecord:
        """Let a second pass and tick, with a command; carry out what is decided."""
        self.clock.advance_to(self.clock.monotonic() + 1.0)
        given = () if not word else (SAVED if word == "saved" else command(word, **values),)
        made = tick(self.server.read(), *given, receipt=self.receipt, number=len(self.records) + 1)
        self.state, record = step(self.state, made)
        self.records.append(record)
        decision, self.receipt = record.decision, None
        if decision.steps and decision.target is not None:
            self.receipt = self.server.apply(decision.steps, decision.target)
        return record

    def turns(self, count: int) -> list[TickRecord]:
        """Tick so many times; return the records."""
        return [self.turn() for _ in range(count)]


def reading(record: TickRecord) -> Sample:
    """Return what a tick read."""
    assert isinstance(record.tick.reading, Sample)
    return record.tick.reading


def ratio(record: TickRecord) -> float:
    """Return the age ratio that a tick saw."""
    return reading(record).age_ratio


def drained(run: Run, *, ratio_wanted: float) -> list[TickRecord]:
    """Drain to a checkpoint age that leaves the modified age about there; return all until its end."""
    now = reading(run.records[-1])
    lag = FLUSH_ORDER_LAG + 8.0 * run.state.estimator.trends.rate_mean
    target = ratio_wanted * now.flush_limit / 0.9 + lag
    first = run.turn("drain", value=str(round(target)), ttl=float(TTL))
    assert first.acknowledgements[0].accepted, first.acknowledgements[0].message
    return [first, *run.turns(TTL - 1)]


def strayed(records: list[TickRecord]) -> float:
    """Return how far the age was from its place at most, once it had come within the band of it."""
    apart = [
        ratio(one) - one.decision.terms["aim"] / reading(one).flush_limit
        for one in records
        if "aim" in one.decision.terms
    ]
    there = next(at for at, one in enumerate(apart) if abs(one) <= BAND)
    return max(map(abs, apart[there:]))


@functools.cache
def begun(parameters: PlantParameters) -> Run:
    """Return a loop that has held its set-point for a while."""
    run = Run.of(parameters, ACTIVE)
    run.turn()
    run.turn("saved")
    run.turns(1_200)
    return run


def settled(parameters: PlantParameters) -> Run:
    """Return the same for a test of its own."""
    first = begun(parameters)
    server, clock = copy.deepcopy((first.server, first.clock))
    return replace_fields(first, server=server, clock=clock, records=list(first.records))


@pytest.mark.parametrize(
    ("parameters", "wanted"),
    [(CLOSED, 0.3), (CLOSED, 0.5), (OPEN, 0.3), (HALF_OPEN, 0.3)],
    ids=["closed load", "closed load, half way", "open load", "half open load"],
)
def test_a_drain_goes_down_stays_and_comes_back(parameters: PlantParameters, wanted: float) -> None:
    """The age comes to its place and stays; then it climbs to the set-point and not beyond its usual band."""
    run = settled(parameters)
    down = drained(run, ratio_wanted=wanted)
    back = run.turns(400)

    assert strayed(down) <= BAND
    assert {"drained", "drain_ended"} <= {code for one in (*down, *back) for code in codes(one)}
    assert all(ratio(one) <= (one.decision.set_point or 1.0) + BAND for one in back[30:])
    assert ratio(back[240]) >= (back[240].decision.set_point or 1.0) - BAND
    assert reading(back[-1]).pages_sync == reading(down[0]).pages_sync


@pytest.mark.parametrize("after", [45, 60, 80])
def test_a_drain_soon_after_a_bulk_load_overshoots_no_more(after: int) -> None:
    """While the server's averages still are those of a bulk load, M alone bounds its flushing."""
    parameters = replace(CLOSED, server=replace(CLOSED.server, io_capacity=300, io_capacity_max=600))
    run = Run.of(parameters, replace(ACTIVE, set_point=0.6))
    run.turns(5)
    cleaner = run.server.engine.cleaner
    cleaner.averages.lsn_rate, cleaner.averages.page_rate = BULK
    run.turn("saved")
    run.turns(after)

    assert strayed(drained(run, ratio_wanted=0.25)) <= BULK_BAND


def test_the_time_left_is_honest() -> None:
    """From the first second to the last the time left is about right: less than twice what it takes."""
    run = settled(OPEN)
    records = drained(run, ratio_wanted=0.3)
    reached = next(at for at, one in enumerate(records) if "drained" in codes(one))

    assert reached <= 130
    for at in range(0, reached - 10, 10):
        progress = records[at].drain
        assert progress is not None
        assert progress.seconds_left is not None
        assert 0.5 * (reached - at) <= progress.seconds_left <= 2.0 * (reached - at)


@pytest.mark.long
def test_a_long_drain_leaves_changes_for_the_way_back() -> None:
    """Holding a low age for an hour takes few changes, so that the hour's budget has some left."""
    run = settled(CLOSED)
    now = reading(run.records[-1])
    run.turn("drain", value=str(round(0.5 * now.redo_capacity)), ttl=3_600.0)
    run.turns(3_599)

    assert run.records[-1].changes_last_hour <= 30
