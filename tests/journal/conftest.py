"""Records as the loop makes them, for every test of the journal."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from tests import factory
from tuner.journal.writer import JournalWriter
from tuner.records import (
    Capacity,
    Decision,
    DecisionKind,
    Event,
    Facts,
    Lifecycle,
    Tick,
    TickRecord,
)
from tuner.settings import Mode

MakeRecord = Callable[..., TickRecord]
MakeWriter = Callable[..., JournalWriter]

SAMPLE = factory.sample(
    monotonic=123456.789012,
    wall=1_795_600_000.123456,
    read_seconds=0.00213,
    lsn_current=7_123_526_789_012,
    lsn_oldest=7_123_456_789_012,
    lsn_checkpoint=7_123_454_689_012,
    pages_adaptive=123_456_789,
    row_changes=987_654_321,
    commits=123_456_789,
)
ESTIMATE = factory.estimate(
    age_ratio=0.888123456,
    age_slope=12345.678,
    redo_rate=3_000_123.4,
    demand=430.2,
    demand_density=0.000143,
    combining_exponent=0.531,
    sustained_capacity=1201.5,
    seconds_to_sync=88.8,
)

KEEP = Decision(
    DecisionKind.KEEP,
    "dead_band",
    "demand 431 pages/s is within 3 % of M 450",
    target=Capacity(225, 450),
    policy="cascade",
    set_point=0.9012345,
    source="policy",
    guards=("dead_band",),
    terms={
        "demand": 431.2345,
        "inverse": 430.1,
        "proportional": 0.001,
        "integral": 0.02,
        "correction": 0.021,
    },
)

SET = replace(
    KEEP,
    kind=DecisionKind.SET,
    reason="raise",
    detail="demand 480 pages/s",
    target=Capacity(250, 500),
    steps=(("innodb_io_capacity_max", 500), ("innodb_io_capacity", 250)),
)

FACTS = Facts(
    identity=SAMPLE.identity,
    endpoint="/run/mysqld/mysqld.sock",
    version="9.7.4",
    version_comment="MySQL Community Server",
    family="mysql",
    flush_law="mysql-8.0.30",
    page_size=16384,
    capacity_minimum=100,
    capacity_maximum=4_294_967_295,
    started=1_795_500_000.0,
)


def make(number: int, decision: Decision = KEEP, events: tuple[str, ...] = ()) -> TickRecord:
    """Return the record of one tick, one second after the one before."""
    wall = SAMPLE.wall + number
    reading = replace(SAMPLE, monotonic=SAMPLE.monotonic + number, wall=wall)
    return TickRecord(
        tick=Tick(number, reading.monotonic + 0.003, wall + 0.003, reading),
        lifecycle=Lifecycle.RUNNING,
        mode=Mode.ACTIVE,
        estimate=ESTIMATE,
        decision=decision,
        events=tuple(Event(code, f"{code} happened", wall=wall) for code in events),
        changes_last_hour=4,
        originals=Capacity(10_000, 20_000),
    )


@pytest.fixture
def record() -> MakeRecord:
    """Return a maker of tick records."""
    return make


@pytest.fixture
def facts() -> Facts:
    """Return what the server is."""
    return FACTS


@pytest.fixture
def keep_decision() -> Decision:
    """Return a decision that leaves things as they are."""
    return KEEP


@pytest.fixture
def set_decision() -> Decision:
    """Return a decision that writes."""
    return SET


@pytest.fixture
def messages() -> list[str]:
    """Return where a writer's complaints go."""
    return []


@pytest.fixture
def writer(tmp_path: Path, messages: list[str]) -> Iterator[MakeWriter]:
    """Return a maker of started writers on one state directory, all closed afterwards."""
    made: list[JournalWriter] = []

    def build(
        *, keep_ticks: int = 3600, queue_ticks: int = 1200, directory: Path = tmp_path
    ) -> JournalWriter:
        journal = JournalWriter(
            directory,
            keep_ticks=keep_ticks,
            on_error=messages.append,
            batch_seconds=60.0,
            queue_ticks=queue_ticks,
        )
        journal.start()
        made.append(journal)
        return journal

    yield build
    for journal in made:
        journal.close(10.0)
